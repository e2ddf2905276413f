"""Checks of the facts stored beside the corpus samples of interface counters."""

from __future__ import annotations

from tests.parsers.formats.evidence import Reading


def counters(reading: Reading, value: int) -> None:
    assert len(reading.table("counters")) == value


def values(reading: Reading, value: dict[str, float]) -> None:
    rows = reading.table("counters")
    assert rows["grp"].unique().to_list() == ["iface"]
    found = {f"{i or '-'} {n}": v for i, n, v in rows.select("item", "name", "value").iter_rows()}
    assert {k: found.get(k) for k in value} == value


def intervals(reading: Reading, value: list[list[object]]) -> None:
    """Check rows as line, sample, whether since boot, interface, name, value, unit, growth."""
    rows = (
        reading.table("counters").select("line_no", "sample", "first", "item", "name", "value", "unit", "delta").rows()
    )
    assert [row for row in map(tuple, value) if row not in rows] == []


def asks_interval(reading: Reading, value: bool) -> None:
    asked = [q["ask"] for q in reading.account.parts[0].facts.get("questions", [])]
    assert ("interval_s" in asked) is value


CHECKERS = {"intervals": intervals, "asks_interval": asks_interval, "counters": counters, "values": values}
WAIVED: dict[str, str] = {}

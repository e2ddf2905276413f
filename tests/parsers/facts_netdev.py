"""What the facts beside counters of interfaces mean."""

from __future__ import annotations

from tests.parsers.evidence import Reading


def counters(reading: Reading, value: int) -> None:
    assert len(reading.table("counters")) == value


def values(reading: Reading, value: dict[str, float]) -> None:
    rows = reading.table("counters")
    assert rows["grp"].unique().to_list() == ["iface"]
    found = {f"{i or '-'} {n}": v for i, n, v in rows.select("item", "name", "value").iter_rows()}
    assert {k: found.get(k) for k in value} == value


CHECKERS = {"counters": counters, "values": values}
WAIVED: dict[str, str] = {}

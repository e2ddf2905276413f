"""Checks of the facts stored beside the corpus samples of SQL traces."""

from __future__ import annotations

from collections import Counter

import polars as pl

from tests.parsers.formats.evidence import Reading

# The header or a tim after WAIT decides the unit; a paste cut before it has no times.
AHEAD = ("t_local", "total_s", "avg_ms", "cpu_s", "elapsed_s")
AHEAD_IF = rb"\A(?!Trace file|Dump file)"


def _waits(reading: Reading) -> pl.DataFrame:
    return reading.table("db_waits")


def wait_lines(reading: Reading, value: int) -> None:
    assert len(_waits(reading)) == value


def starts_at(reading: Reading, value: float) -> None:
    assert reading.account.parts[0].domains[0].t_begin == value


def tim_unit(reading: Reading, value: str) -> None:
    assert value.startswith("microseconds; here Unix time")
    assert _waits(reading)["t_local"][0] == 1414518020.194457
    domain = reading.account.parts[0].domains[0]
    assert (domain.kind, domain.zone) == ("wall-utc", "UTC")
    assert reading.account.parts[0].facts["tz"] == "-04:00"


def calls(reading: Reading, value: dict[str, int]) -> None:
    assert Counter(reading.table("db_calls")["call"]) == value


def longest_wait(reading: Reading, value: float | None) -> None:
    assert _waits(reading)["total_s"].max() == value


def cpu(reading: Reading, value: float) -> None:
    assert reading.table("db_calls")["cpu_s"].sum() == value


def clock(reading: Reading, value: str) -> None:
    assert reading.account.parts[0].domains[0].kind == value


def pid(reading: Reading, value: int) -> None:
    assert _waits(reading)["pid"].unique().to_list() == [value]


def sid(reading: Reading, value: int) -> None:
    assert _waits(reading)["sid"].unique().to_list() == [value]


def masked(reading: Reading, value: list[str]) -> None:
    for word in value:
        assert word not in str([t.to_dicts() for t in reading.tables.values()])
    assert reading.account.account.unknown == 0


def damaged_lines(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "damaged"] == value


def unknown_lines(reading: Reading, value: list[int]) -> None:
    assert [n.line_from for n in reading.account.notes if n.kind == "unknown"] == value


def plan(reading: Reading, value: dict[str, dict[str, float]]) -> None:
    said = reading.table("counters").filter(pl.col("grp") == "plan")
    for item, figures in value.items():
        mine = said.filter(pl.col("item") == item)
        assert dict(mine.select("name", "value").iter_rows()) == figures, item


def plan_steps(reading: Reading, value: int) -> None:
    assert reading.table("counters").filter(pl.col("name") == "rows")["line_no"].n_unique() == value


def deadlock(reading: Reading, value: dict[str, int]) -> None:
    """Check the resources in the graph and the statements of a deadlock."""
    rows = reading.table("logs")
    assert {"resources": rows["code"].count(), "statements": rows["severity"].count()} == value


CHECKERS = {
    "deadlock": deadlock,
    "plan": plan,
    "plan_steps": plan_steps,
    "wait_lines": wait_lines,
    "tim_unit": tim_unit,
    "starts_at": starts_at,
    "calls": calls,
    "longest_wait_s": longest_wait,
    "cpu_s": cpu,
    "clock": clock,
    "pid": pid,
    "sid": sid,
    "masked": masked,
    "damaged_lines": damaged_lines,
    "unknown_lines": unknown_lines,
}
WAIVED: dict[str, str] = {}

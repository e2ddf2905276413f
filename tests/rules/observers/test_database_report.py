"""The load between two snapshots of a report: active sessions, processors that waited, parses, the shared pool."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.database_report import observe
from rules.observers.observer import Sighting

EFFICIENCY = "instance efficiency percentages (target 100%)"
POOL = "shared pool statistics"


def report(*figures: tuple[str, str | None, str, float], ncpu: int | None = None) -> list[Sighting]:
    rows: list[dict[str, Any]] = [
        {"line_no": n, "grp": grp, "item": item, "name": name, "value": value}
        for n, (grp, item, name, value) in enumerate(figures, 1)
    ]
    tables: dict[str, list[dict[str, Any]]] = {"counters": rows}
    return list(observe(Case.of_tables(tables | ({"hosts": [{"line_no": 90, "ncpu": ncpu}]} if ncpu else {}))))


@pytest.mark.parametrize(("db_time", "ncpu", "normal"), [(7201.0, 4, False), (7200.0, 4, True), (7201.0, None, True)])
def test_active_sessions(db_time: float, ncpu: int | None, normal: bool) -> None:
    (made,) = report(("snapshot", None, "elapsed", 1800.0), ("snapshot", None, "db_time", db_time), ncpu=ncpu)
    processors = f", on {ncpu} processors" if ncpu else ""
    assert made.headline == (
        f"{db_time / 60:.2f} min of database time fall into 30.00 min: 4.0 sessions were active on average{processors}"
    )
    assert made.normal is normal


def test_the_processors_of_the_statistics() -> None:
    (made,) = report(
        ("snapshot", None, "elapsed", 60.0), ("snapshot", None, "db_time", 600.0), ("os_stats", None, "NUM_CPUS", 8.0)
    )
    assert (made.against_value, made.normal) == (8.0, False)


def test_half_a_report_says_nothing() -> None:
    assert report(("snapshot", None, "elapsed", 0.0), ("snapshot", None, "db_time", 9.0)) == []
    assert report(("snapshot", None, "db_time", 9.0), (POOL, "begin", "Memory Usage %", 90.0)) == []
    assert report(("host_cpu", None, "%wio", 0.0), (EFFICIENCY, None, "Parse CPU to Parse Elapsd %", 0.0)) == []


@pytest.mark.parametrize(("waited", "normal"), [(20.0, False), (19.9, True)])
def test_processors_that_waited(waited: float, normal: bool) -> None:
    (made,) = report(
        ("host_cpu", None, "%user", 6.0), ("host_cpu", None, "%system", 3.0), ("host_cpu", None, "%wio", waited)
    )
    assert made.headline.endswith("of the time (%WIO) and worked 9 %")
    assert made.normal is normal


@pytest.mark.parametrize(("pct", "normal"), [(49.9, False), (50.0, True)])
def test_the_time_of_parses(pct: float, normal: bool) -> None:
    (made,) = report((EFFICIENCY, None, "Parse CPU to Parse Elapsd %", pct))
    assert made.headline.endswith("the rest was waiting (Parse CPU to Parse Elapsd %)")
    assert (made.normal, made.beside) == (normal, None)


@pytest.mark.parametrize(("pct", "told"), [(89.9, True), (90.0, False)])
def test_what_stands_beside_parses(pct: float, told: bool) -> None:
    (made,) = report(
        (EFFICIENCY, None, "Parse CPU to Parse Elapsed %", 3.0),
        (EFFICIENCY, None, "Execute  to Parse %", pct),
        ("load_profile", "per second", "Parses (SQL)", 1200.0),
        ("load_profile", "per transaction", "Parses (SQL)", 12.0),
    )
    runs = f"; {pct} % of the executions did without a parse" if told else ""
    assert made.beside == f"1,200.0 statements were parsed per second{runs}"
    assert len(made.lines) == 2 + told


@pytest.mark.parametrize(
    ("begin", "end", "normal", "words"),
    [
        (89.0, 90.0, False, "rose from 89 % to 90 %"),
        (50.0, 70.0, False, "rose from 50 % to 70 %"),
        (50.1, 70.0, True, "rose from 50.1 % to 70 %"),
        (80.0, 75.0, True, "went from 80 % to 75 %"),
    ],
)
def test_the_shared_pool(begin: float, end: float, normal: bool, words: str) -> None:
    (made,) = report((POOL, "begin", "Memory Usage %", begin), (POOL, "end", "Memory Usage %", end))
    assert words in made.headline
    assert made.normal is normal

"""The part that holds half of a duration is told; a duration that no part holds is not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.split import observe


def timed(elapsed: float | None, cpu: float | None) -> list[Sighting]:
    row: dict[str, Any] = {"line_no": 2, "line_end": 5, "series": "sqlplus", "elapsed_s": elapsed, "cpu_s": cpu}
    return list(observe(Case.of_tables({"conn_times": [row]})))


def test_a_command_that_waits() -> None:
    (made,) = timed(12.4, 0.5)
    assert made.headline == "sqlplus took 12.400 s, 0.500 s of it on a processor: 96.0 % was waiting"
    assert made.seconds == pytest.approx(11.9)
    assert made.of_s == 12.4
    assert [(c.line_from, c.line_to) for c in made.lines] == [(2, 5)]


def test_a_command_that_computes() -> None:
    (made,) = timed(2.498, 2.53)
    assert made.headline.endswith("2.530 s of it on a processor: 100 % was on a processor")
    assert made.seen == ({"counter": "request_cpu_pct"},)


@pytest.mark.parametrize(("elapsed", "cpu"), [(0.09, 0.0), (None, 0.1), (5.0, None), (float("nan"), 1.0), (-1.0, 0.0)])
def test_what_is_too_short_or_unknown(elapsed: float | None, cpu: float | None) -> None:
    assert timed(elapsed, cpu) == []


def parts(*rows: tuple[str, float]) -> list[Sighting]:
    listed = [
        {
            "request": 1,
            "level": 0,
            "kind": kind,
            "name": "poll",
            "n": 3,
            "dur_s": s,
            "share": s,
            "line_no": 4,
            "line_max": 9,
        }
        for kind, s in rows
    ]
    return list(observe(Case.of_tables({"request_parts": listed})))


def test_the_part_of_a_request_that_holds_it() -> None:
    made = parts(("socket", 0.9), ("own code", 0.1))
    assert [(s.headline, s.normal) for s in made] == [
        ("poll holds 0.900 s in 3 calls of a request of 1.000 s, 90 %", False),
        ("10 % of the request of 1.000 s was outside of calls", True),
    ]
    assert made[0].lines[0].line_from == 9
    assert made[1].name == "request_cpu_pct"


def test_a_request_that_no_part_holds_and_one_that_is_idle() -> None:
    assert parts(("socket", 0.4), ("file", 0.3), ("sync", 0.3)) == []
    assert parts(("idle", 0.9), ("socket", 0.1)) == []


def test_calls_of_a_database() -> None:
    rows = [
        {"line_no": 1, "call": "parse", "elapsed_s": 0.1, "cpu_s": 0.1},
        {"line_no": 2, "call": "fetch", "elapsed_s": 0.5, "cpu_s": 0.0},
        {"line_no": 3, "call": "fetch", "elapsed_s": 0.7, "cpu_s": 0.1},
    ]
    (made,) = observe(Case.of_tables({"db_calls": rows}))
    assert made.headline == "fetch holds 1.200 s of 1.300 s in calls of the database, 0.100 s of it on a processor"
    assert made.lines[0].line_from == 3

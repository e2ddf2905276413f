"""Tests that impossible figures of curl are reported as such, and that other observers ignore them."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers import long_waits, split
from rules.observers.impossible_times import OVER_S, RAN_OVER_S, SPARE, SPARE_S, observe

Row = dict[str, Any]


def curl(seq: int = 1, line: int = 1, **times: float) -> list[Row]:
    return [
        {"part": 1, "series": f"time_{name}", "seq": seq, "line_no": line + n, "elapsed_s": took, "ok": True}
        for n, (name, took) in enumerate(times.items())
    ]


def shell(real: float, line: int) -> Row:
    return {
        "part": 2,
        "series": "curl",
        "line_no": line,
        "line_end": line + 2,
        "elapsed_s": real,
        "cpu_s": 0.01,
        "ok": True,
    }


def case(*rows: Row) -> Case:
    return Case.of_tables({"conn_times": list(rows)})


def heads(*rows: Row) -> list[str]:
    return [s.headline for s in observe(case(*rows))]


RAN_OVER = curl(namelookup=0.004, connect=RAN_OVER_S + 0.09, starttransfer=RAN_OVER_S + 0.2, total=RAN_OVER_S + 0.21)


def test_a_part_longer_than_the_command() -> None:
    (made,) = observe(case(*RAN_OVER, shell(0.25, 10)))
    assert made.headline == (
        "time_total of curl cannot be 1 h 11 min (nor what it prints of 2 more steps): the shell measured 0.250 s for the same call;"
        " it is 2^32 microseconds and 0.210 s more, as of a counter that ran over"
    )
    assert [c.line_from for c in made.lines] == [4, 3, 2, 10] or [c.line_from for c in made.lines] == [2, 3, 4, 10]
    assert (made.against_value, made.seen) == (0.25, ())


def test_no_other_observer_makes_a_request_of_it() -> None:
    wrong = case(*RAN_OVER, shell(0.25, 10))
    assert not [s for s in (*split.observe(wrong), *long_waits.observe(wrong)) if (s.value or 0) > 1]


def test_a_counter_that_ran_over_is_known_without_the_shell() -> None:
    assert heads(*RAN_OVER) == [
        "time_total of curl cannot be 1 h 11 min (nor what it prints of 2 more steps): it is 2^32 microseconds and 0.210 s more,"
        " as of a counter that ran over"
    ]
    long = RAN_OVER_S + OVER_S + 1
    assert heads(*curl(namelookup=0.004, starttransfer=long, total=long)) == []
    assert heads(*curl(namelookup=RAN_OVER_S - 9, starttransfer=RAN_OVER_S + 1, total=RAN_OVER_S + 2)) == []


def test_a_step_after_the_end_of_its_request() -> None:
    assert heads(*curl(connect=0.02, appconnect=0.9, total=0.3)) == [
        "time_appconnect of curl cannot be 0.900 s: the whole request took 0.300 s, and both count from its beginning"
    ]


@pytest.mark.parametrize("rows", [
    [*curl(namelookup=0.004, connect=0.02, starttransfer=0.2, total=0.21), shell(0.25, 10)],
    [*curl(namelookup=0.004, total=0.25 * SPARE + SPARE_S), shell(0.25, 10)],
    [*curl(namelookup=0.004, total=70.0), shell(0.25, 90)],
    [*curl(connect=9.0, total=1.0)],
    [],
])  # fmt: skip
def test_healthy_figures_and_those_of_another_command_are_silent(rows: list[Row]) -> None:
    assert heads(*rows) == []


def test_one_above_the_spare_is_told() -> None:
    assert len(heads(*curl(namelookup=0.004, total=0.25 * SPARE + SPARE_S + 0.001), shell(0.25, 10))) == 1

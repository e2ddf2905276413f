"""Tests of a command that was run with two different arguments and is slow with one of them."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.command_twins import TIMES, observe
from rules.observers.observer import FELT_S


def heads(*rows: tuple[str, float], hosts: tuple[str | None, ...] = (None, None, None)) -> list[str]:
    made: list[dict[str, Any]] = [
        {
            "host": hosts[n],
            "series": series,
            "line_no": 10 * n + 1,
            "line_end": 10 * n + 5,
            "elapsed_s": took,
            "cpu_s": 0.001,
        }
        for n, (series, took) in enumerate(rows)
    ]
    found = list(observe(Case.of_tables({"conn_times": made})))
    assert all(c.line_to - c.line_from == 2 for s in found for c in s.lines)
    return [s.headline for s in found]


def test_the_word_that_makes_it_slow_is_named() -> None:
    assert heads(("client -c a.example", 8.2), ("client -c b.example", 0.01), ("client -c b.example", 0.011)) == [
        "client -c a.example took 8.200 s; with b.example in place of a.example it took 10 ms",
        "client -c a.example took 8.200 s; with b.example in place of a.example it took 11 ms",
    ]


@pytest.mark.parametrize(
    ("long", "short", "n"),
    [(8.0, 8.0 / TIMES, 1), (8.0, 8.1 / TIMES, 0), (FELT_S, 0.001, 1), (FELT_S - 0.01, 0.001, 0)],
)
def test_bounds(long: float, short: float, n: int) -> None:
    assert len(heads(("client -c b", short), ("client -c a", long))) == n


def test_other_commands_are_not_compared() -> None:
    assert heads(("client -c a", 8.0), ("server -c a", 0.01)) == []
    assert heads(("client -c a", 8.0), ("client -c a", 0.01)) == []
    assert heads(("client -c a", 8.0), ("client -d b", 0.01)) == []
    assert heads(("time", 8.0), ("time", 0.01)) == []
    assert heads(("client -c a", 8.0), ("client -c b", 0.01), hosts=("one", "two", None)) == []


def test_an_option_that_makes_it_quick_is_named() -> None:
    with_it = "ssh -o GSSAPIAuthentication=no till9 true"
    assert heads(("ssh till9 true", 25.0), (with_it, 0.3)) == [
        "ssh till9 true took 25.000 s; with -o GSSAPIAuthentication=no it took 0.300 s"
    ]
    assert heads((with_it, 25.0), ("ssh till9 true", 0.3)) == [], "the option made it slow: nothing says why"

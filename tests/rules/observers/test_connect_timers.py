"""Tests of connects that end at the timers of a lost SYN."""

from __future__ import annotations

import pytest

from rules.observers import connect_timers
from tests.rules.observers.of_text import told


def _log(*ms: int) -> str:
    return "".join(
        f"2031-09-08 07:00:{n:02},000 INFO  tills - connected to till9:9042 in {x} ms\n" for n, x in enumerate(ms)
    )


def test_connects_at_the_timers() -> None:
    [made] = told(connect_timers, _log(2, 3004, 1, 1003, 7012))
    assert (made.n, made.seen) == (3, ({"event": "connects-at-syn-timers"},))
    assert made.value == pytest.approx(7.012)


@pytest.mark.parametrize("ms", [(2, 3, 1), (2, 3004, 1), (1800, 3004, 2500, 4100), (1002, 1003, 1)])
def test_quick_connects_and_those_that_spread_are_normal(ms: tuple[int, ...]) -> None:
    assert told(connect_timers, _log(*ms)) == []


def test_how_long_a_connection_lived_is_no_time_to_connect() -> None:
    text = "2031-09-08 07:00:01 connection to till9 closed after 3.001 s\n2031-09-08 07:00:09 connection to till9 closed after 7.002 s\n"
    assert told(connect_timers, text) == []

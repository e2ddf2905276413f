"""Tests of timer steps: equal durations form a crowd, spread durations do not."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.timer_steps import observe


def reads(*seconds: float, name: str = "read") -> list[Sighting]:
    made = [
        {"pid": 7, "lwp": 7, "line_no": n, "seq": n, "t_local": 100.0 * n, "stamp": "start", "state": "done", "name": name,
         "path": "/a", "dur_hi_s": s, "elapsed_s": s, "contiguous": "proven"}
        for n, s in enumerate(seconds, 1)
    ]  # fmt: skip
    return list(observe(Case.of_tables({"syscalls": made})))


def test_equal_durations_crowd() -> None:
    (one,) = reads(7.301, 7.305, 7.303)
    assert (one.value, one.n) == (7.303, 3)


def test_durations_that_spread_and_too_few_do_not() -> None:
    assert reads(7.0, 7.3, 7.6) == []
    assert reads(7.301, 7.305) == []


def test_short_ones_accepts_and_nothing_are_left_out() -> None:
    assert reads(0.4, 0.4, 0.4) == []
    assert reads(7.3, 7.3, 7.3, name="accept") == []
    assert list(observe(Case.of_tables({}))) == []

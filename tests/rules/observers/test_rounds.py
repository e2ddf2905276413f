"""Tests that the repeated rounds of a thread are described step by step, and calls made once are not."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.rounds import ROUNDS, STEPS, observe

Call = tuple[str, float, dict[str, Any]]
WRITE: Call = ("write", 1e-5, {"fd": 3, "bytes": 512})
FLUSH: Call = ("fdatasync", 0.06, {"fd": 3})


def seen(*calls: Call) -> list[Sighting]:
    rows, t = [], 0.0
    for n, (name, took, more) in enumerate(calls, 1):
        rows.append(
            {"line_no": n, "seq": n, "pid": 7, "lwp": 7, "t_local": t, "stamp": "start", "state": "done", "name": name, "dur_hi_s": took,
             "dur_kind": "elapsed", "elapsed_s": took, "ret": 0, **more}
        )  # fmt: skip
        t += took
    return list(observe(Case.of_tables({"syscalls": rows})))


def test_a_write_and_its_flush() -> None:
    begin: list[Call] = [("openat", 1e-5, {"path": "/data/redo.log", "ret": 3}), ("brk", 1e-6, {})]
    (made,) = seen(*begin, *[WRITE, FLUSH] * 10)
    assert made.headline == (
        "9 times process 7 did the same on /data/redo.log: write of 512 bytes (0.01 ms), fdatasync (60 ms)"
    )
    assert (made.n, made.value) == (9, 9.0)
    assert made.share == pytest.approx(0.5 * 9 / 10, rel=0.05)
    assert [(c.line_from, c.line_to, c.role) for c in made.lines] == [
        (13, 14, "a round"),
        (5, 5, "first"),
        (22, 22, "last"),
    ]


def test_a_step_that_fails_and_one_that_repeats() -> None:
    failed: Call = ("connect", 1e-4, {"err": "EADDRNOTAVAIL", "ret": -1})
    (made,) = seen(*[WRITE, WRITE, failed, ("nanosleep", 0.25, {})] * 8)
    assert "2 x write of 512 bytes (0.02 ms), connect, EADDRNOTAVAIL (0.1 ms), nanosleep (0.250 s)" in made.headline


@pytest.mark.parametrize(("rounds", "n"), [(ROUNDS + 1, 1), (ROUNDS, 0)])
def test_fewer_rounds_are_no_habit(rounds: int, n: int) -> None:
    assert len(seen(*[WRITE, FLUSH] * rounds)) == n


def test_a_round_is_short_and_has_several_calls() -> None:
    others: list[Call] = [(f"call{n}", 1e-6, {}) for n in range(STEPS)]
    assert seen(*[*others, FLUSH] * 10) == []
    assert seen(*[FLUSH] * 30) == []


def test_different_things_in_between_are_no_rounds() -> None:
    mixed: list[Call] = []
    for n in range(20):
        mixed += [(f"call{n % 7}", 1e-6, {}), FLUSH]
    assert seen(*mixed) == []


def test_a_server_that_waits_for_requests_is_a_measure_only() -> None:
    (made,) = seen(*[("accept", 0.1, {"fd": 4, "ret": 5}), WRITE] * 10)
    assert made.normal


def test_threads_of_a_pool_are_told_once() -> None:
    rows = [
        {"line_no": n, "seq": n, "pid": 7, "lwp": 7 + n % 2, "t_local": n * 0.1, "stamp": "start", "state": "done", "dur_hi_s": 0.05,
         "dur_kind": "elapsed", "elapsed_s": 0.05, "ret": 0, "name": "write" if n % 4 < 2 else "fdatasync", "fd": 3}
        for n in range(1, 61)
    ]  # fmt: skip
    (made,) = observe(Case.of_tables({"syscalls": rows}))
    assert "thread 8" in made.headline or "process 7" in made.headline


CLOCK: Call = ("clock_gettime", 0.0, {})
PARK: Call = ("lwp_park", 0.0, {})


def untimed(*calls: Call) -> list[Sighting]:
    rows = [
        {"line_no": n, "seq": n, "pid": 7, "lwp": 7, "state": "done", "name": name, "ret": 0, **more}
        for n, (name, _, more) in enumerate(calls, 1)
    ]
    return list(observe(Case.of_tables({"syscalls": rows})))


@pytest.mark.parametrize("rounds", [4, 60])
def test_a_call_that_comes_twice_in_a_round_does_not_cut_it(rounds: int) -> None:
    open_: Call = ("open", 0.0, {"ret": 3})
    (made,) = untimed(*[CLOCK, open_, CLOCK, PARK] * rounds)
    assert made.headline == f"{rounds - 1} times process 7 did the same: clock_gettime, lwp_park, clock_gettime, open"


def test_few_rounds_count_only_where_there_is_nothing_else() -> None:
    others: list[Call] = [(f"call{n}", 0.0, {}) for n in range(8)]
    assert len(untimed(*[PARK, CLOCK] * 4)) == 1
    assert untimed(*others, *[PARK, CLOCK] * 4) == []
    assert untimed(*[PARK, CLOCK] * 3) == []

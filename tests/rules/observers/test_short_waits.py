"""Tests that a short time-out, computed from the clock read before, stands out unless others end the wait earlier."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.short_waits import WAITS, observe


def seen(
    n: int, wait_ns: int, *, err: str | None = "ETIMEDOUT", real: bool = False, named: bool = True
) -> list[Sighting]:
    rows: list[dict[str, Any]] = []
    clock, flag = ("CLOCK_REALTIME", "|FUTEX_CLOCK_REALTIME") if real else ("CLOCK_MONOTONIC", "")
    sec, nsec = ("tv_sec=", "tv_nsec=") if named else ("", "")
    for i in range(n):
        at = 17_000_000_000 + i * 2_000_000 + 100
        end = at + wait_ns
        lwp = 71 + i % 2
        rows.append(
            {"pid": lwp, "lwp": lwp, "name": "clock_gettime", "ret": 0, "args": f"{clock}, {{{sec}{at // 10**9}, {nsec}{at % 10**9}}}"}
        )  # fmt: skip
        rows.append(
            {"pid": lwp, "lwp": lwp, "name": "futex", "ret": -1 if err else 0, "err": err,
             "args": f"0x6a04, FUTEX_WAIT_BITSET_PRIVATE{flag}, {i}, {{{sec}{end // 10**9}, {nsec}{end % 10**9}}}, ffffffff"}
        )  # fmt: skip
    made = [{"line_no": k, "seq": k, "state": "done", **row} for k, row in enumerate(rows, 1)]
    return list(observe(Case.of_tables({"syscalls": made})))


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_the_deadline_less_the_clock_is_the_wait(real: bool, named: bool) -> None:
    (made,) = seen(6, 1_000_000, real=real, named=named)
    assert made.headline == (
        "threads 71, 72 waited 6 times with a time-out of 1 ms, and 6 of 6 that ended did so by it:"
        " at most 1,000 rounds a second each, for which nobody woke them"
    )
    assert made.value == pytest.approx(0.001)
    assert made.seen == ({"event": "wait-of-milliseconds-times-out"},)


def test_a_plain_wait_names_its_length() -> None:
    rows = [
        {"line_no": n, "pid": 7, "lwp": 7, "name": "futex", "err": "ETIMEDOUT", "ret": -1, "state": "done",
         "args": f"0x6a04, FUTEX_WAIT_PRIVATE, {n}, {{tv_sec=0, tv_nsec=5000000}}"}
        for n in range(1, 5)
    ]  # fmt: skip
    (made,) = observe(Case.of_tables({"syscalls": rows}))
    assert made.value == pytest.approx(0.005)


@pytest.mark.parametrize(("n", "told"), [(WAITS, 1), (WAITS - 1, 0)])
def test_one_or_two_are_the_rest_of_a_longer_time_out(n: int, told: int) -> None:
    assert len(seen(n, 1_000_000)) == told


def test_a_longer_time_out_is_a_clock_of_the_run_time() -> None:
    assert len(seen(9, 10_000_000)) == 1
    assert seen(9, 50_000_000) == []


def test_threads_that_others_wake_are_at_work() -> None:
    assert seen(9, 1_000_000, err=None) == []
    assert seen(9, 1_000_000, err="EAGAIN") == []


def test_without_the_clock_the_deadline_says_nothing() -> None:
    rows = [
        {"line_no": n, "pid": 7, "lwp": 7, "name": "futex", "err": "ETIMEDOUT", "ret": -1, "state": "done",
         "args": f"0x6a04, FUTEX_WAIT_BITSET_PRIVATE, 9, {{17, {n}000000}}, ffffffff"}
        for n in range(1, 9)
    ]  # fmt: skip
    assert list(observe(Case.of_tables({"syscalls": rows}))) == []


def test_waits_that_are_open_at_the_end_count_as_waits() -> None:
    call = {"pid": 7, "lwp": 7, "name": "futex", "args": "0x6a04, FUTEX_WAIT_PRIVATE, 1, {0, 2000000}"}
    ended = {**call, "line_no": 1, "err": "ETIMEDOUT", "ret": -1, "state": "done"}
    still = [{**call, "line_no": n, "lwp": 7 + n} for n in (2, 3)]
    (made,) = observe(Case.of_tables({"syscalls": [ended], "open_calls": still}))
    assert made.n == 3
    assert made.value == pytest.approx(0.002)
    assert "1 of 1 that ended did so by it" in made.headline
    assert list(observe(Case.of_tables({"open_calls": still}))) == [], "nobody knows how they end"

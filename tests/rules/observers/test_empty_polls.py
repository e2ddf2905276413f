"""Polls that do not wait and find nothing are a loop only where the thread does nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.empty_polls import FEW, LOOP, observe
from rules.observers.observer import Sighting

Call = dict[str, Any]
EMPTY: Call = {"name": "epoll_wait", "args": "7, [], 64, 0", "ret": 0}
CLOCK: Call = {"name": "clock_gettime", "args": "CLOCK_THREAD_CPUTIME_ID, {tv_sec=71, tv_nsec=5}", "ret": 0}


def seen(*calls: Call) -> list[Sighting]:
    rows = [{"line_no": n, "seq": n, "pid": 7, "lwp": 7, "state": "done", **c} for n, c in enumerate(calls, 1)]
    return list(observe(Case.of_tables({"syscalls": rows})))


def test_a_loop_of_polls_that_do_not_wait() -> None:
    (made,) = seen(*[CLOCK, CLOCK, EMPTY] * 40)
    assert made.headline == (
        "process 7 called epoll_wait 40 times with a time-out of 0 and found nothing each time;"
        " of its 80 other calls most are clock_gettime"
    )
    assert (made.value, made.share, made.seen) == (40.0, 1.0, ({"event": "poll-without-waiting"},))
    assert [c.line_from for c in made.lines] == [3, 6, 9, 12, 120]


@pytest.mark.parametrize(("n", "told", "named"), [(LOOP, 1, True), (LOOP - 1, 1, False), (FEW - 1, 0, False)])
def test_few_of_them_are_a_measure_only(n: int, told: int, named: bool) -> None:
    made = seen(*[EMPTY, CLOCK] * n)
    assert len(made) == told
    assert all(bool(s.seen) is named and s.normal is not named for s in made)


@pytest.mark.parametrize(
    "other",
    [
        {"name": "epoll_wait", "args": "7, [], 64, 20", "ret": 0},
        {"name": "read", "args": '9, "a", 64', "ret": 1},
        {"name": "nanosleep", "args": "{tv_sec=0, tv_nsec=1000000}, NULL", "ret": 0},
    ],
    ids=["it waits as well", "it moves data", "it sleeps"],
)
def test_an_event_loop_that_works_or_waits_is_normal(other: Call) -> None:
    assert seen(*[EMPTY, other] * 40) == []
    assert len(seen(*[EMPTY] * 40, other)) == 1


@pytest.mark.parametrize(
    ("name", "args", "empty"),
    [
        ("poll", "[{fd=3, events=POLLIN}], 1, 0", True), ("poll", "[{fd=3, events=POLLIN}], 1, 1000", False),
        ("epoll_pwait", "4, [], 64, 0, NULL, 8", True), ("epoll_pwait", "4, [], 64, 10, NULL, 8", False),
        ("select", "4, [3], NULL, NULL, {tv_sec=0, tv_usec=0}", True), ("select", "4, [3], NULL, NULL, {tv_sec=0, tv_usec=5}", False),
        ("select", "4, [3], NULL, NULL, NULL", False), ("ppoll", "[{fd=3}], 1, {tv_sec=0, tv_nsec=0}, NULL, 8", True),
        ("pselect6", "4, [3], [], [], {tv_sec=1, tv_nsec=0}, {[], 8}", False), ("poll", "0x804ac20, 0x1, 0x0", True),
    ],
)  # fmt: skip
def test_forms_of_a_time_out_of_nothing(name: str, args: str, empty: bool) -> None:
    assert len(seen(*[{"name": name, "args": args, "ret": 0}] * LOOP)) == int(empty)


def test_polls_that_found_something_are_work() -> None:
    assert seen(*[{**EMPTY, "ret": 1}] * 40) == []


READY: Call = {"name": "epoll_wait", "args": "4, {{EPOLLIN, {u32=20, u64=20}}}, 32, 998", "ret": 1}
READ: Call = {"name": "read", "args": '20, "a", 64', "ret": 1}


def test_what_is_ready_and_not_taken_is_told_again_at_once() -> None:
    (made,) = seen(*[READY, CLOCK] * LOOP)
    assert made.headline == (
        f"process 7 called epoll_wait {LOOP} times, was told each time that something is ready, and took nothing;"
        f" of its {LOOP} other calls most are clock_gettime"
    )
    assert made.seen == ({"event": "poll-ready-ignored"},)


def test_the_end_of_a_connection_is_read_again_and_again() -> None:
    (made,) = seen(*[READY, {"name": "read", "args": '20, "", 64', "ret": 0}] * LOOP)
    assert made.seen == ({"event": "poll-ready-ignored"},)


@pytest.mark.parametrize(
    "calls",
    [[READY, READ] * 40, [READY] * 40, [READY, CLOCK] * (LOOP - 1)],
    ids=["it is taken", "only polls are traced", "few"],
)
def test_what_is_ready_and_taken_is_an_event_loop(calls: list[Call]) -> None:
    assert seen(*calls) == []


def test_each_thread_is_counted_alone_and_a_trace_may_name_none() -> None:
    beside = {"name": "read", "args": '3, "x"', "ret": 1, "lwp": 8}
    (made,) = seen(*[EMPTY, beside] * LOOP)
    assert (made.n, made.share) == (LOOP, 1.0)
    (made,) = seen(*[{**EMPTY, "pid": None, "lwp": None}, {**CLOCK, "pid": None, "lwp": None}] * LOOP)
    assert (made.n, made.lines[0].line_from) == (LOOP, 1)

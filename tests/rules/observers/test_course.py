"""Tests of the summary of a traced program; many descriptors that were opened and not closed stand out."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.course import LEFT, SHARE, observe
from rules.observers.observer import Sighting


def seen(*calls: dict[str, Any]) -> list[Sighting]:
    rows = [
        {
            "line_no": n,
            "seq": n,
            "pid": 7,
            "lwp": 7,
            "t_local": n * 0.5,
            "stamp": "start",
            "state": "done",
            "ret": 0,
            **c,
        }
        for n, c in enumerate(calls, 1)
    ]
    return list(observe(Case.of_tables({"syscalls": rows})))


def test_the_command_its_threads_and_its_time() -> None:
    (made,) = seen(
        {"name": "execve", "args": '"/usr/bin/java", ["java", "-Xmx160m", "say \\"x\\""], 0x7fff /* 43 vars */'},
        {"name": "clone3", "args": "{flags=CLONE_VM|CLONE_THREAD}", "child_pid": 8, "ret": 8},
        {"name": "clone3", "args": "{flags=CLONE_VM|CLONE_THREAD}", "child_pid": 9, "ret": 9},
        {"name": "fork", "child_pid": 10, "ret": 10},
        {"name": "fork", "err": "EAGAIN", "ret": -1},
        {"name": "execve", "args": '"/bin/true", ["true"], 0x7fff', "pid": 10},
    )
    assert made.headline == 'The trace is of java -Xmx160m say \\"x\\": 2.500 s, 2 threads started, 1 process started'
    assert made.share == SHARE
    assert [(c.line_from, c.role) for c in made.lines] == [
        (1, 'start: java -Xmx160m say \\"x\\"'),
        (2, "first thread started"),
        (4, "first process started"),
    ]


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([{"name": "timer_settime", "args": "0, 0, {it_value={tv_sec=2}}, NULL"}], "The trace is of a running program"),
        ([{"name": "execve", "args": '"/bin/true", ["true"], 0x7fff'}], "The trace is of true: its start"),
    ],
)
def test_only_a_trace_with_an_exec_is_of_a_start(calls: list[dict[str, Any]], said: str) -> None:
    (made,) = seen(*({**c, "t_local": None, "stamp": None} for c in calls))
    assert made.headline == said


def test_a_trace_of_a_running_program_that_starts_nothing_says_nothing() -> None:
    assert seen({"name": "read"}, {"name": "execve", "args": '"/x", ["x"]', "err": "ENOENT"}) == []
    assert list(observe(Case.of_tables({}))) == []


def opened(n: int, closed: int = 0) -> list[Sighting]:
    made = [{"name": "openat", "path": "/etc/hosts", "ret": 3 + k} for k in range(n)]
    return seen(*made, *({"name": "close", "fd": 3 + k} for k in range(closed)))


@pytest.mark.parametrize(("n", "found"), [(LEFT, 1), (LEFT - 1, 0)])
def test_descriptors_that_stay_open(n: int, found: int) -> None:
    made = opened(n)
    assert len(made) == found
    if made:
        assert made[0].headline == (
            "process 7 made 20 descriptors and closed all but 20 of them, most of /etc/hosts; the highest is 22"
        )
        assert [(c.line_from, c.role) for c in made[0].lines] == [
            (LEFT, "the last that stays open"),
            (1, "the first that stays open"),
        ]


def test_most_are_closed_or_used_again() -> None:
    assert opened(60, closed=40) == []
    again = [{"name": "openat", "ret": 3}, {"name": "close", "fd": 3}] * 30
    assert seen(*again) == []


def test_what_the_calls_of_a_trace_set_is_told_beside() -> None:
    rows = [
        ("prlimit64", "0, RLIMIT_NOFILE, {rlim_cur=40, rlim_max=40}, NULL"),
        ("prlimit64", "0, RLIMIT_STACK, NULL, {rlim_cur=8192*1024}"),
        ("setsockopt", "3, SOL_SOCKET, SO_RCVTIMEO, {tv_sec=5}, 16"),
        ("setsockopt", "3, SOL_SOCKET, SO_REUSEADDR, [1], 4"),
        ("listen", "3, 128"),
        ("listen", "3, 128"),
    ]
    (made,) = seen(*({"name": name, "args": args} for name, args in rows))
    assert made.beside == (
        "its calls set prlimit64(RLIMIT_NOFILE, {rlim_cur=40, rlim_max=40}, NULL);"
        " setsockopt(3, SOL_SOCKET, SO_RCVTIMEO, {tv_sec=5}, 16); listen(3, 128), 2 times"
    )
    assert [c.role for c in made.lines][2] == "listen(3, 128), 2 times"
    assert made.share == SHARE


def test_a_call_that_failed_or_was_cut_sets_nothing() -> None:
    assert seen({"name": "listen", "args": "3, 5", "err": "EINVAL"}, {"name": "listen", "args": None}) == []

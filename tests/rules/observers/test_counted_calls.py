"""Tests that a table of processor time gives a remark that waits are missing, and a table of wall time none."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.counted_calls import MANY, observe
from rules.observers.observer import Sighting


def seen(*calls: tuple[str, int, float], kind: str = "unknown", **more: Any) -> list[Sighting]:
    rows = [
        {"line_no": line, "name": name, "n": n, "errors": 2 * (name == "mmap"), "total_s": s, "total_kind": kind, "pct": 10.0, "section": "call", **more}
        for line, (name, n, s) in enumerate(calls, 3)
    ]  # fmt: skip
    return list(observe(Case.of_tables({"syscall_totals": rows})))


def test_a_sleep_of_microseconds_proves_that_waits_are_left_out() -> None:
    (made,) = seen(("mmap", 9, 0.0004), ("nanosleep", 1, 0.000041))
    assert made.headline == (
        "The table counts processor time in the kernel, not waiting, so what nanosleep waited is not in it:"
        " 0.441 ms in 10 calls, 2 of them failed"
    )
    assert [(c.line_from, c.role) for c in made.lines] == [(4, "last"), (3, "first")]
    assert made.kind == "setting"


@pytest.mark.parametrize(
    ("calls", "kind", "said"),
    [
        ((("mmap", 9, 0.0004),), "unknown", "unless it was made with -w, not waiting: "),
        ((("nanosleep", 9, 0.0006),), "unknown", "unless it was made with -w, not waiting, so what nanosleep"),
        ((("nanosleep", 1, 1.0),), "unknown", "unless it was made with -w, not waiting, so what nanosleep"),
        ((("mmap", 9, 0.0004),), "cpu", "in the kernel, not waiting: "),
    ],
)
def test_where_nothing_proves_it_the_default_is_told(
    calls: tuple[tuple[str, int, float], ...], kind: str, said: str
) -> None:
    (made,) = seen(*calls, kind=kind)
    assert said in made.headline


def test_a_table_of_wall_time_or_of_another_tool_is_normal() -> None:
    assert seen(("nanosleep", 1, 1.0), kind="wall") == []
    assert seen(("nanosleep", 1, 1.0), pct=None) == []


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ((("futex", MANY, 0.7),), True),
        ((("futex", MANY - 1, 0.7),), False),  # idle threads that were counted for minutes
        ((("epoll_wait", MANY, 0.7), ("read", MANY // 2, 0.7)), False),  # an event loop with work
        ((("read", MANY, 0.7),), False),  # it moves data
    ],
)
def test_calls_that_only_wait_or_look_make_no_progress(calls: tuple[tuple[str, int, float], ...], told: bool) -> None:
    made = [s for s in seen(*calls) if s.kind == "alone"]
    assert [s.seen[0] for s in made] == ([{"event": "calls-without-progress"}] if told else [])


def test_an_aggregation_of_dtrace_counts_calls_as_well() -> None:
    rows = [
        {"line_no": n, "grp": "aggregation 1", "item": item, "value": value, "sample": 1}
        for n, (item, value) in enumerate((("readv", 9.0), ("kevent", float(MANY))), 1)
    ]
    (made,) = observe(Case.of_tables({"counters": rows}))
    assert (made.subject, made.value, made.lines[0].line_from) == ("kevent", float(MANY), 2)
    assert list(observe(Case.of_tables({"counters": [r | {"grp": "queue"} for r in rows]}))) == []

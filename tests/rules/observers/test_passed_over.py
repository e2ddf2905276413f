"""Tests that NetBSD's threads stand out if they are ready at the lowest priority while others run; only NetBSD's do."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.passed_over import ABOVE, observe


def seen(*threads: tuple[int, str, int], os: str = "netbsd") -> list[Sighting]:
    rows = [
        {"line_no": n, "sample": 1, "pid": 710, "lwp": lwp, "state": state, "pri": pri}
        for n, (lwp, state, pri) in enumerate(threads, 2)
    ]
    return list(observe(Case.of_tables({"ps": rows, "artifacts": [{"artifact_id": 1, "os": os}]})))


WAITS = (710, "I", 85)


def test_threads_that_are_ready_at_0_below_those_that_run() -> None:
    (made,) = seen(WAITS, (101, "R", 0), (102, "R", 0), (103, "O", 26), (104, "R", 27))
    assert made.headline == (
        "2 threads are ready at priority 0 and on no processor, below 2 that run or are ready at 26 or more: 101, 102"
    )
    assert made.seen == ({"event": "ready-below-all-others"},)
    assert [(c.line_from, c.role) for c in made.lines] == [
        (3, "ready at priority 0"), (4, "ready at priority 0"), (5, "served first"), (6, "served first"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "threads",
    [
        [WAITS, (101, "R", 0)],
        [(101, "R", 26), (103, "O", 26)],
        [(101, "S", 0), (103, "O", 26)],
        [(101, "R", 0), (103, "O", ABOVE - 1), (104, "O", 30)],
    ],
    ids=["nobody runs", "at the same priority", "it sleeps", "one of a priority between is served"],
)
def test_others_are_normal(threads: list[tuple[int, str, int]]) -> None:
    assert seen(*threads) == []


def test_other_systems_order_priorities_otherwise() -> None:
    assert seen((101, "R", 0), (103, "O", 26), os="linux") == []

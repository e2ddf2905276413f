"""Tests of threads kept off the processor: calls that wait for nothing are long only if their thread did not run."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.off_processor import observe


def seen(*rows: tuple[str, float], **more: Any) -> list[Sighting]:
    made = [
        {"pid": 7, "lwp": 7, "line_no": 2 * n, "line_end": 2 * n + 1, "seq": n, "t_local": float(n), "stamp": "start",
         "state": "done", "name": name, "dur_hi_s": s, "elapsed_s": s, "contiguous": "proven", **more}
        for n, (name, s) in enumerate(rows, 1)
    ]  # fmt: skip
    return list(observe(Case.of_tables({"syscalls": made})))


LATE = (("getpid", 0.3), ("fstat", 0.2), ("brk", 0.4), ("getpid", 0.1))


def test_long_calls_that_wait_for_nothing_stand_out() -> None:
    (made,) = seen(*LATE, ("read", 5.0))
    assert (made.subject, made.n) == ("process 7", 4)
    assert made.seconds == pytest.approx(1.0)
    assert made.headline == (
        "4 calls of process 7 that wait for nothing took 1.000 s together (brk 0.400 s, getpid 0.300 s, fstat 0.200 s):"
        " it was ready and did not run"
    )
    assert [c.line_from for c in made.lines[:2]] == [6, 7], "where the longest begins and ends"


@pytest.mark.parametrize(
    "rows",
    [
        LATE[:3],  # too few
        (*LATE[:3], ("getpid", 0.099)),  # one was not long
        (("getpid", 0.3), ("fstat", 0.2), ("getpid", 0.4), ("fstat", 0.1)),  # two names
        (("brk", 0.3), ("fstat", 0.2), ("dup", 0.4), ("brk", 0.1)),  # each may have met a page or a lock
        (("read", 0.3), ("poll", 0.2), ("futex", 0.4), ("write", 0.1), ("getpid", 0.5)),  # these wait
        (),
    ],
)
def test_what_may_have_waited_does_not(rows: tuple[tuple[str, float], ...]) -> None:
    assert seen(*rows) == []


def test_a_call_that_was_told_not_to_wait_counts() -> None:
    random = (*LATE[:3], ("getrandom", 0.1))
    assert len(seen(*random, args="0x7f, 8, GRND_NONBLOCK")) == 1
    assert seen(*random, args="0x7f, 8, 0") == []

"""Where the time of a statement's calls went: the sums of tkprof."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.statement_calls import HEADING, observe


def seen(*calls: str) -> list[Sighting]:
    rows = [
        {"line_no": n, "table_no": 1, "row_no": n, "heading": list(HEADING), "cells": call.split()}
        for n, call in enumerate(calls, 3)
    ]
    return list(observe(Case.of_tables({"rows": rows})))


def test_the_call_that_took_longest_is_told_with_its_parts() -> None:
    (made,) = seen("Parse 1 0.01 0.01 0 0 0 0", "Execute 1 0.50 8.00 3 410 9 5", "total 2 0.51 8.01 3 410 9 5")
    assert made.headline == (
        "Execute took 8.000 s, of which 0.500 s was on a processor and 7.500 s waiting; 3 blocks were read from disk"
        " meanwhile; it used 419 blocks for 5 rows"
    )
    assert (made.value, made.seconds, made.of_s, made.lines[0].line_from) == (8.0, 7.5, 8.0, 4)


@pytest.mark.parametrize(
    ("call", "event"),
    [
        ("Fetch 9 4.00 8.00 0 100000 0 5", "statement-on-cpu"),
        ("Fetch 9 3.99 8.00 401 100000 0 5", "statement-reads-slowly"),
        ("Fetch 9 3.99 8.00 500 100000 0 5", "statement-reads-much"),
        ("Execute 1 0.10 8.00 20 410 9 5", "change-waits"),
        ("Execute 1 0.10 8.00 20 410 0 1", None),  # a block that sleeps
        ("Execute 1 0.10 8.00 99 410 9 5", None),  # few reads that may have been slow
        ("Fetch 9 0.10 8.00 0 410 0 5", None),
        ("Fetch 9 0.90 0.99 0 410 0 5", None),
    ],
)
def test_what_the_time_fits(call: str, event: str | None) -> None:
    (made,) = seen(call)
    assert made.seen == (({"event": event},) if event else ())
    assert made.normal is (call.split()[3] == "0.99")


def test_a_row_that_is_cut_or_no_call_is_left_out() -> None:
    assert seen("Fetch 9 0.90 8.00 0 410 0 -", "count 9 0.90 8.00 0 410 0 5") == []

"""Shares of a database's time by wait, or by class of waits."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.database_shares import observe
from rules.observers.observer import Sighting


def listing(heading: str, *rows: str) -> list[Sighting]:
    made = [
        {
            "line_no": n,
            "line_end": n,
            "table_no": 1,
            "row_no": n,
            "heading": heading.split("|"),
            "cells": row.split("|"),
        }
        for n, row in enumerate(rows, 3)
    ]
    return list(observe(Case.of_tables({"rows": made})))


CLASSES = "Wait Class|Waits|Time (sec)|DB time|Avg(ms)"


def test_a_class_of_waits_with_most_of_the_time() -> None:
    made = listing(CLASSES, "Concurrency|900|12,004|64.2|13.3", "DB CPU||3,000|20.1|", "Commit|70|90|4.0|1.3")
    assert [(s.subject, s.value, s.normal) for s in made] == [
        ("Concurrency", 64.2, False),
        ("DB CPU", 20.1, False),
        ("Commit", 4.0, True),
    ]
    assert made[0].seen == ({"event": "wait class Concurrency"},)
    assert made[0].lines[0].line_from == 3


@pytest.mark.parametrize(("average", "slow"), [("10.0", True), ("9.9", False), ("", False)])
def test_reads_are_slow_only_by_their_average(average: str, slow: bool) -> None:
    made = listing(CLASSES, f"User I/O|900|9|70.0|{average}", "DB CPU||3|20.1|", "Commit|70|90|4.0|1.3")
    assert bool(made[0].seen) is slow


def test_samples_of_sessions_by_event() -> None:
    made = listing("EVENT|SESSIONS|PCT", "row cache lock|60|70.1", "ON CPU|20|20.0", "gc buffer busy acquire|9|9.9")
    assert made[0].seen == ({"event": "row cache lock"},)


def test_idle_waits_two_rows_and_totals_without_a_whole_name_nothing() -> None:
    assert listing("EVENT|SESSIONS|PCT", "SQL*Net message from client|60|70.1") == []
    assert [s.seen for s in listing("EVENT|SESSIONS|PCT", "row cache lock|60|70.1", "ON CPU|20|20.0")] == [(), ()]
    assert listing("wait_type|wait_time_s|pct", "LCK_M_X|60|70.1", "LCK_M_S|20|20.0", "CXPACKET|9|9.9") == []

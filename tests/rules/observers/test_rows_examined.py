"""Tests of statements in slow logs that read far more rows than they return; sums and quick ones are not blamed."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.rows_examined import observe

SCAN = "Full_scan: Yes  Full_join: No  Tmp_table: No"
EXPLAIN = "explain: 1\tSIMPLE\titems\tALL\tNULL\tNULL\tNULL\tNULL\t91000\t91000.00\t100.00\t0.10\tUsing where"


def slow(statement: str, sent: int, read: int, taken: float, *plan: str) -> list[Sighting]:
    rows: list[dict[str, Any]] = [
        {"line_no": 1, "line_end": 9, "op": "slow_query", "elapsed_s": taken, "text": statement},
        {"line_no": 3, "text": f"Lock_time: 0.0001  Rows_sent: {sent}  Rows_examined: {read}"},
        *({"line_no": 4 + n, "text": text} for n, text in enumerate(plan)),
    ]
    return list(observe(Case.of_tables({"logs": rows})))


def test_a_statement_that_reads_far_more_than_it_returns() -> None:
    (made,) = slow("select a from items where b = 1", 4, 5_200_000, 7.3)
    assert made.headline == "A statement read 5,200,000 rows to return 4 in 7.300 s"
    assert made.seen == ({"log": "read many rows to return few"},)
    assert [line.line_from for line in made.lines] == [3, 1]


@pytest.mark.parametrize(
    ("sent", "read", "taken", "told"),
    [
        (4, 999, 7.3, False),
        (10, 1000, 7.3, True),
        (11, 1000, 7.3, False),
        (4, 90_000, 0.09, False),
        (4, 90_000, 0.1, True),
    ],
)
def test_few_rows_and_quick_statements_say_nothing(sent: int, read: int, taken: float, told: bool) -> None:
    assert bool(slow("select a from items", sent, read, taken)) is told


@pytest.mark.parametrize(
    "statement", ["select count(*) from items", "select b, 1 from items group by b", "update items set a = 1"]
)
def test_what_needs_all_rows_is_blamed_only_if_a_table_is_read_whole(statement: str) -> None:
    (made,) = slow(statement, 1, 91_000, 7.3)
    assert made.seen == ()
    (made,) = slow(statement, 1, 91_000, 7.3, SCAN, EXPLAIN)
    assert made.seen == ({"log": "read whole tables to return few"},)
    assert made.beside == "items is read whole (type ALL): 91,000 rows by estimate"
    assert [line.line_from for line in made.lines] == [3, 4, 5, 1]


@pytest.mark.parametrize(
    "text",
    [
        "Slow query ns=shop.orders planSummary=COLLSCAN docsExamined=800000 nreturned=1",
        "command shop.orders command: find { } planSummary: COLLSCAN docsExamined:800000 cursorExhausted:1 nreturned:1 1204ms",
    ],
)
def test_a_store_of_documents_counts_them_too(text: str) -> None:
    (made,) = observe(Case.of_tables({"logs": [{"line_no": 1, "text": text}]}))
    assert made.headline == "A statement of shop.orders read 800,000 rows to return 1"
    assert made.beside == "the log says that no index was used (COLLSCAN)"
    assert made.seen


def test_a_plan_by_an_index_says_nothing() -> None:
    text = "Slow query ns=shop.orders planSummary=IXSCAN docsExamined=100 nreturned=100"
    assert list(observe(Case.of_tables({"logs": [{"line_no": 1, "text": text}]}))) == []


def explained(read: float, returned: float, ms: float, stage: str = "COLLSCAN") -> list[Sighting]:
    sums = (
        ("nReturned", returned),
        ("executionTimeMillis", ms),
        ("totalKeysExamined", 0.0),
        ("totalDocsExamined", read),
    )
    counters = [{"line_no": n, "name": name, "value": value} for n, (name, value) in enumerate(sums, 14)]
    params = [
        {"line_no": 4, "name": "namespace", "value": "shop.orders"},
        {"line_no": 6, "name": "stage", "value": stage},
    ]
    return list(observe(Case.of_tables({"counters": counters, "params": params})))


def test_what_mongodb_explains_of_a_statement() -> None:
    (made,) = explained(300_000.0, 3.0, 812.0)
    assert made.headline == "A statement of shop.orders read 300,000 documents to return 3 in 0.812 s"
    assert made.seen == ({"log": "read whole tables to return few"},)
    assert [c.line_from for c in made.lines] == [17, 14, 15, 6]
    (by_index,) = explained(300_000.0, 3.0, 812.0, "IXSCAN")
    assert by_index.seen == ({"log": "read many rows to return few"},)


@pytest.mark.parametrize(("read", "returned", "ms"), [(999.0, 3.0, 812.0), (2000.0, 21.0, 812.0), (9000.0, 3.0, 99.0)])
def test_a_statement_of_mongodb_that_reads_little_or_is_quick_is_normal(
    read: float, returned: float, ms: float
) -> None:
    assert explained(read, returned, ms) == []

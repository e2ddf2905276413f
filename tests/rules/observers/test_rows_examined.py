"""Statements of slow logs that read far more than they return; sums and quick ones are blamed for nothing."""

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

"""Tests of lists of statements with their total time: one stands out if it has half of it."""

from __future__ import annotations

import pytest

from rules.observers import statement_totals
from tests.rules.observers.of_text import told

PG = """ query | calls | total_exec_time | mean_exec_time
-------+-------+-----------------+----------------
 SELECT * FROM shops WHERE town = $1 | {n} | 4500000 | 9
 UPDATE shelves SET n = $1 | 900 | {other} | 9
"""


@pytest.mark.parametrize(("n", "other", "seen"), [(900, 90_000, True), (900_000, 90_000, False)])
def test_its_calls_must_take_long(n: int, other: int, seen: bool) -> None:
    made = told(statement_totals, PG.format(n=n, other=other))
    assert [bool(s.seen) for s in made] == [seen]
    assert "98.0 %" in made[0].headline


def test_several_share_the_time() -> None:
    text = PG.format(n=900, other=4_400_000) + " DELETE FROM carts WHERE id = $1 | 900 | 4400000 | 9\n"
    assert told(statement_totals, text) == []


def test_times_with_units() -> None:
    text = (
        "| query | exec_count | total_latency |\n|-------|------------|---------------|\n"
        "| SELECT a FROM shelves | 90 | 1.5 h |\n| SELECT 1 | 900 | 9.00 s |\n"
    )
    (made,) = told(statement_totals, text)
    assert made.value == 5400.0
    assert made.seen == ({"event": "one-statement-takes-the-time"},)


def test_statements_of_awr_by_elapsed_time() -> None:
    text = (
        "        Time (s)    Executions  per Exec (s)  %Total   %CPU    %IO    SQL Id\n"
        "---------------- -------------- ------------- ------ ------ ------ -------------\n"
        "        90,000.1            900        100.00   72.0   12.0   80.0 9axq9a9a9a9ab\n"
        "         4,000.3          8,000          0.50    4.0   90.0    1.0 9bxq9b9b9b9bc\n"
    )
    (made,) = told(statement_totals, text)
    assert made.share == 0.72
    assert made.seen == ({"event": "one-statement-takes-the-time"},)

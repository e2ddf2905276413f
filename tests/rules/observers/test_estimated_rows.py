"""Tests of estimates in plans that are printed as tables."""

from __future__ import annotations

import pytest

from rules.observers import estimated_rows
from tests.rules.observers.of_text import told

PLAN = """Rows        Executes   StmtText                                     EstimateRows
----------- ---------- -------------------------------------------- ------------
{rows:<11} {n:<10} |--Nested Loops(Inner Join)                  9
90          1               |--Index Seek(OBJECT:([till].[Carts]))  90
"""


@pytest.mark.parametrize(("rows", "n", "off"), [(900_000, 1, True), (900_000, 90_000, False), (900, 1, False)])
def test_a_step_with_far_more_rows(rows: int, n: int, off: bool) -> None:
    made = told(estimated_rows, PLAN.format(rows=rows, n=n))
    assert [s.seen for s in made] == ([({"event": "estimates-far-off"},)] if off else [])

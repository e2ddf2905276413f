"""Tests of batches of whole processes."""

from __future__ import annotations

import polars as pl
import pytest

from rules.case.case import Case
from rules.walking.threads import batches

PIDS = [7, 8, 7, None, 9, 7, 8, None]


@pytest.mark.parametrize(("most", "sizes"), [(1, [2, 3, 2, 1]), (4, [2, 3, 3]), (5, [5, 3]), (8, [8])])
def test_batches_hold_whole_processes_and_every_row_once(most: int, sizes: list[int]) -> None:
    case = Case.of_tables({"syscalls": [{"line_no": line, "pid": pid} for line, pid in enumerate(PIDS, 1)]})
    found = [case.table("syscalls", ["line_no", "pid"], where) for where in batches(case, most=most)]
    assert [f.height for f in found] == sizes
    assert sorted(line for f in found for line in f["line_no"]) == [*range(1, len(PIDS) + 1)]
    assert len({pid for f in found for pid in f["pid"].unique()}) == sum(f["pid"].n_unique() for f in found)


def test_batches_of_some_rows() -> None:
    case = Case.of_tables({"syscalls": [{"line_no": line, "pid": pid} for line, pid in enumerate(PIDS, 1)]})
    seven = pl.col("pid") == 7
    (where,) = batches(case, seven)
    assert case.table("syscalls", ["pid"], seven & where)["pid"].to_list() == [7, 7, 7]
    assert list(batches(case, pl.col("pid") == 1)) == []

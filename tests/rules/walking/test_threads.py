"""Tests of batches of whole processes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rules.case.case import Case
from rules.case.reading import open_paths
from rules.walking.threads import among, batches

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


def test_values_with_and_without_null_are_found_among_the_wanted() -> None:
    rows = pl.DataFrame({"pid": [1, None, 3]})
    assert rows.filter(among("pid", [1, None]))["pid"].to_list() == [1, None]
    assert rows.filter(among("pid", pl.Series([3, 4])))["pid"].to_list() == [3]
    assert rows.filter(among("pid", [None]))["pid"].to_list() == [None]


def test_traces_with_and_without_pids_are_read_in_one_batch(tmp_path: Path) -> None:
    """Check two Parquet files, as in a room: there Polars panicked when it searched for NULL in a list."""
    corpus = Path(__file__).parents[2] / "corpus" / "strace"
    spec = open_paths(sorted(corpus.glob("*.txt")), None, tmp_path)[0]
    case = Case(spec, None)
    failed = pl.col("err").is_not_null()
    found = [case.table("syscalls", ["pid", "err"], failed & batch) for batch in batches(case, failed)]
    whole = case.table("syscalls", ["pid", "err"], failed)
    assert sum(rows.height for rows in found) == whole.height
    assert whole["pid"].null_count() not in (0, whole.height), "some traces name a process and some do not"

"""Tests of names of processes: a part that the evidence does not print is left out, never written as None."""

from __future__ import annotations

import polars as pl
import pytest

from rules.writing.process_words import pid_words, process_named, process_words

NAMED = [
    ("java", 12, "java (pid 12)"),
    ("java", None, "java"),
    ("", 12, "process (pid 12)"),
    (None, 12, "process (pid 12)"),
    (None, None, "a process"),
]


@pytest.mark.parametrize(("comm", "pid", "name"), NAMED)
def test_words_and_expression_say_the_same(comm: str | None, pid: int | None, name: str) -> None:
    assert process_words(comm, pid) == name
    row = pl.DataFrame({"comm": [comm], "pid": [pid]}, schema={"comm": pl.String, "pid": pl.Int64})
    assert row.select(process_named().alias("who"))["who"].to_list() == [name]


def test_a_pid_alone() -> None:
    assert (pid_words(0), pid_words(None)) == ("pid 0", "one process")

"""Checks of the facts stored beside the corpus samples of perf trace; `facts_perf.py` includes them."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.parsers.formats.evidence import Reading

SAMPLE = Path(__file__).parents[3] / "corpus" / "perf" / "trace-ls.txt"


def first_record_time(reading: Reading, value: str) -> None:
    """Check that `?` is neither a time nor a duration."""
    row = reading.table("syscalls").row(0, named=True)
    assert value == "?"
    assert (row["t_local"], row["elapsed_s"], row["name"], row["args"]) == (None, None, "execve", None)


def unit_duration(reading: Reading, value: str) -> None:
    printed = re.findall(r"\( *([0-9.]+) ms\)", SAMPLE.read_text())
    assert value == "ms"
    rows = reading.table("syscalls").filter(pl.col("elapsed_s").is_not_null())
    assert rows["elapsed_s"].to_list() == pytest.approx([float(x) / 1000 for x in printed])


def tid(reading: Reading, value: int) -> None:
    assert reading.table("syscalls")["lwp"].unique().to_list() == [value]


CHECKERS = {"first_record_time": first_record_time, "unit_duration": unit_duration, "tid": tid}

"""Test the operations on a block's data frame that do not use Polars' thread pool."""

from __future__ import annotations

import polars as pl

from parsers.text.inline_polars import where


def test_rows_of_several_pieces_are_kept_without_an_empty_one():
    pieces = [pl.DataFrame({"n": [1, 2], "name": ["a", "b"]}), pl.DataFrame({"n": [3], "name": ["c"]})]
    frame = pl.concat(pieces, rechunk=False)
    kept = where(frame, pl.col("n") > 2)
    assert kept["name"].chunk_lengths() == [1]
    assert kept.select_seq(pl.format("{} of {}", "n", "name")).item() == "3 of c"
    assert where(frame, pl.col("n") > 3).equals(frame.clear())
    assert where(frame, pl.col("n") > 0) is frame

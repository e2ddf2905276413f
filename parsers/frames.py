"""What is done to the frame of a block in the thread that asks for it.

Polars hands `filter`, `select` and `with_columns` to its pool of threads. A block is small and has a thread of its own for
each stage of reading, so whoever hands over mostly waits for the others: `select_seq`, `with_columns_seq` and `where` stay.
"""

from __future__ import annotations

import polars as pl


def where(frame: pl.DataFrame, test: pl.Series | pl.Expr) -> pl.DataFrame:
    """Give the rows that a mask without NULLs marks, or for which an expression is true, as `filter` does.

    >>> where(pl.DataFrame({"line_no": [1, 2, 3]}), pl.Series([True, False, True]))["line_no"].to_list()
    [1, 3]
    """
    mask = test if isinstance(test, pl.Series) else frame.select_seq(test).to_series()
    marked = mask.sum()
    if marked == len(mask):
        return frame
    return pl.DataFrame([column.filter(mask) for column in frame]) if marked else frame.clear()

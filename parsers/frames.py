"""What is done to the frame of a block in the thread that asks for it.

Polars hands `filter`, `select` and `with_columns` to its pool of threads. A block is small and has a thread of its own for
each stage of reading, so whoever hands over mostly waits for the others: `select_seq`, `with_columns_seq` and `where` stay.
"""

from __future__ import annotations

import numpy as np
import polars as pl


def where(frame: pl.DataFrame, test: pl.Series | pl.Expr) -> pl.DataFrame:
    """Give the rows that a mask marks, or for which an expression is true, as `filter` does.

    >>> where(pl.DataFrame({"line_no": [1, 2, 3]}), pl.Series([True, False, True]))["line_no"].to_list()
    [1, 3]
    """
    mask = test if isinstance(test, pl.Series) else frame.select_seq(test).to_series()
    if mask.null_count():
        mask = mask.fill_null(False)
    marked = mask.sum()
    if marked == len(mask):
        return frame
    return pl.DataFrame([column.filter(mask) for column in frame]) if marked else frame.clear()


def without(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Give the other columns, as `drop` does.

    >>> without(pl.DataFrame({"line_no": [1], "line": ["a"]}), "line").columns
    ['line_no']
    """
    return pl.DataFrame([column for column in frame if column.name not in names])


def spread(found: pl.Series, mask: pl.Series) -> pl.Series:
    """Put what was found in the rows that a mask without NULLs marks back in their places, NULL elsewhere.

    >>> spread(pl.Series([7]), pl.Series([False, True, False])).to_list()
    [None, 7, None]
    """
    empty = pl.Series(found.name, [None], found.dtype).new_from_index(0, len(mask))
    return empty.scatter(np.flatnonzero(mask.to_numpy()), found)

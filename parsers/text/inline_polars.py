"""What is done to the frame of a block in the thread that asks for it.

Polars hands `filter`, `select` and `with_columns` to its pool of threads. A block is small and has a thread of its own for
each stage of reading, so whoever hands over mostly waits for the others: `select_seq`, `with_columns_seq` and `where` stay.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa


def where(frame: pl.DataFrame, test: pl.Series | pl.Expr) -> pl.DataFrame:
    """Return the rows that a mask marks, or for which an expression is true, as `filter` does.

    >>> where(pl.DataFrame({"line_no": [1, 2, 3]}), pl.Series([True, False, True]))["line_no"].to_list()
    [1, 3]
    """
    mask = test if isinstance(test, pl.Series) else frame.select_seq(test).to_series()
    if mask.null_count():
        mask = mask.fill_null(False)
    marked = mask.sum()
    if marked == len(mask):
        return frame
    if not marked:
        return frame.clear()
    kept = pl.DataFrame([column.filter(mask) for column in frame])
    # Unlike a frame's `filter`, a series' leaves a chunk of which nothing is left, and `pl.format` panics over one.
    return kept.rechunk() if 0 in kept.to_series().chunk_lengths() else kept


def without(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Return the other columns, as `drop` does.

    >>> without(pl.DataFrame({"line_no": [1], "line": ["a"]}), "line").columns
    ['line_no']
    """
    return pl.DataFrame([column for column in frame if column.name not in names])


def in_order(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Return the rows in ascending order of whole numbers, the first name's first, equal ones as they stood; NULL stands first.

    >>> in_order(pl.DataFrame({"line_no": [2, 1, 1], "pos": [0, 1, 0]}), "line_no", "pos").rows()
    [(1, 0), (1, 1), (2, 0)]
    """
    least = np.iinfo(np.int64).min
    keys = [frame[name].cast(pl.Int64, strict=False).fill_null(least).to_numpy() for name in names]
    order = np.lexsort(keys[::-1])
    if (order[1:] > order[:-1]).all():
        return frame
    return frame[order]


def neighbours(*keys: pl.Series) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each row the place of the one before and behind that has the same keys (NULL equals NULL); -1 if there is none.

    >>> neighbours(pl.Series([7, 8, 7]), pl.Series([None, None, None], dtype=pl.Int64))
    (array([-1, -1,  0]), array([ 2, -1, -1]))
    """
    who, count = np.zeros(len(keys[0]), np.int64), 1
    for key in keys:
        coded = key.to_arrow().dictionary_encode("encode")
        who = who * len(coded.dictionary) + coded.indices.to_numpy()
        count *= len(coded.dictionary)
    if count < np.iinfo(np.int16).max:
        who = who.astype(np.int16)  # numpy sorts these in a tenth of the time
    order = np.argsort(who, kind="stable")
    same = np.flatnonzero(who[order[1:]] == who[order[:-1]])
    before, behind = np.full(len(who), -1), np.full(len(who), -1)
    before[order[same + 1]], behind[order[same]] = order[same], order[same + 1]
    return before, behind


def rows_or_null(name: str, rows: npt.NDArray[np.int64]) -> pl.Series:
    """Make places of rows a column, negative ones NULL."""
    return pl.Series(name, pa.array(rows.astype(np.uint32), mask=rows < 0))


def spread(found: pl.Series, mask: pl.Series) -> pl.Series:
    """Put what was found in the rows that a mask without NULLs marks back in their places, NULL elsewhere.

    >>> spread(pl.Series([7]), pl.Series([False, True, False])).to_list()
    [None, 7, None]
    """
    empty = pl.Series(found.name, [None], found.dtype).new_from_index(0, len(mask))
    return empty.scatter(np.flatnonzero(mask.to_numpy()), found)

"""Run Polars operations on the data frame of a block without the thread pool.

Polars hands `filter`, `select` and `with_columns` to its pool of threads. A block is small, and each stage of reading
has a thread of its own, so handing over means mostly waiting for the others. `select_seq`, `with_columns_seq` and
`where` run in the calling thread.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa


def where(frame: pl.DataFrame, test: pl.Series | pl.Expr) -> pl.DataFrame:
    """Return the rows that a mask marks or for which an expression is true, as `filter` does.

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
    # Unlike a data frame's `filter`, a series' `filter` leaves empty chunks, and `pl.format` panics over one.
    return kept.rechunk() if 0 in kept.to_series().chunk_lengths() else kept


def without(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Return the other columns, as `drop` does.

    >>> without(pl.DataFrame({"line_no": [1], "line": ["a"]}), "line").columns
    ['line_no']
    """
    return pl.DataFrame([column for column in frame if column.name not in names])


def in_order(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Return the rows sorted by integer columns, the first name first; equal rows keep their order and NULL comes
    first.

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
    """Return for each row the index of the previous and the next row with the same keys (NULL equals NULL), -1 if none.

    >>> neighbours(pl.Series([7, 8, 7]), pl.Series([None, None, None], dtype=pl.Int64))
    (array([-1, -1,  0]), array([ 2, -1, -1]))
    """
    who, count = np.zeros(len(keys[0]), np.int64), 1
    for key in keys:
        coded = key.to_arrow().dictionary_encode("encode")
        who = who * len(coded.dictionary) + coded.indices.to_numpy()
        count *= len(coded.dictionary)
    if count < np.iinfo(np.int16).max:
        who = who.astype(np.int16)  # numpy sorts int16 in a tenth of the time
    order = np.argsort(who, kind="stable")
    same = np.flatnonzero(who[order[1:]] == who[order[:-1]])
    before, behind = np.full(len(who), -1), np.full(len(who), -1)
    before[order[same + 1]], behind[order[same]] = order[same], order[same + 1]
    return before, behind


def rows_or_null(name: str, rows: npt.NDArray[np.int64]) -> pl.Series:
    """Return row indices as a column, with NULL for negative ones."""
    return pl.Series(name, pa.array(rows.astype(np.uint32), mask=rows < 0))


def spread(found: pl.Series, mask: pl.Series) -> pl.Series:
    """Spread values over the rows that a mask without NULLs marks, in order; other rows are NULL.

    >>> spread(pl.Series([7]), pl.Series([False, True, False])).to_list()
    [None, 7, None]
    """
    empty = pl.Series(found.name, [None], found.dtype).new_from_index(0, len(mask))
    return empty.scatter(np.flatnonzero(mask.to_numpy()), found)

"""Find for each record of an Oracle Net trace the previous record of the same thread, and its time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

Longs = npt.NDArray[np.int64]

LINKS = pl.Schema({"thread": pl.Int64(), "line_no": pl.Int64(), "t": pl.Int64(), "epoch": pl.Int64()})
"""Columns of the last record of a thread, as `chain` takes and returns it; `t` in microseconds since 1970."""


def by_thread(thread: pl.Series) -> tuple[Longs, Longs]:
    """Return the order of the rows thread by thread (each in file order), and for each row the previous one of its thread, -1 if none.

    Records without a thread number form one thread.
    """
    rows = np.arange(len(thread))
    if not len(rows) or thread.null_count() == len(rows):
        return rows, rows - 1
    thread = thread.fill_null(np.iinfo(np.int64).min)
    numbers, known = thread.to_numpy(), thread.unique().sort().to_numpy()
    codes = np.searchsorted(known, numbers)
    # Numbers of sixteen bits are sorted by radix, which is three times faster.
    order = np.argsort(codes.astype(np.uint16) if len(known) < 1 << 16 else codes, kind="stable")
    before = np.full(len(rows), -1)
    same = codes[order[1:]] == codes[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    return order, before


def last_above(order: Longs, begins: npt.NDArray[np.bool_]) -> Longs:
    """Return for each row the last row of its thread, at or before it, for which `begins` is true; it must be true for each thread's first."""
    places = np.maximum.accumulate(np.where(begins[order], np.arange(len(order)), 0))
    above = np.empty(len(order), np.int64)
    above[order] = order[places]
    return above


def chain(rows: pl.DataFrame, earlier: pl.DataFrame, most: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return past_line, past_t, past_epoch of each row (NULL for a thread's first), and the last link of each thread.

    `rows` has the columns of LINKS; `earlier` are the links of the previous blocks; at most `most` links, those of the latest lines,
    are returned.
    """
    links = pl.concat([earlier, rows.select_seq(LINKS.names())])
    _, before = by_thread(links["thread"])
    place = pl.Series(before[len(earlier) :])
    place = place.set(place < 0, None) if (place < 0).any() else place
    past = links.select_seq(past_line="line_no", past_t="t", past_epoch="epoch").select_seq(pl.all().gather(place))
    is_followed = np.zeros(len(links), np.bool_)
    is_followed[before[before >= 0]] = True
    newest = links.filter(pl.Series(~is_followed))
    return past, newest.sort("line_no", maintain_order=True).tail(most)

"""Read the calls of accepting threads in slices of a long trace, divided at accepts so that cycles stay whole.

A trace of one listener or web server may hold ten million calls of one thread. The calls of a connection are between
its accept and the next accept of the same thread, and the poll that reported it is a few accepts before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rules.derived.derived_table import CaseTables, nanoseconds
from rules.walking.threads import DONE_S, TIMED, among

THREAD = ["artifact_id", "clock", "pid", "lwp"]
BACK = 8
"""Number of accepts by which a slice begins early; a poll reports one connection, or a few that are accepted in a row.
"""

STAMPED = pl.col("t_local").is_not_null()
AT_NS, SEQ = nanoseconds(DONE_S).alias("at_ns"), pl.col("seq").fill_null(pl.col("line_no")).alias("seq")


def accepts_of(case: CaseTables, accepted: pl.Expr) -> pl.DataFrame:
    """Return the accepts of the case in order of time: THREAD, line_no, at_ns, seq."""
    found = case.table("syscalls", TIMED, accepted & STAMPED)
    return found.select(*THREAD, "line_no", AT_NS, SEQ).sort("at_ns", "seq")


def calls_of(case: CaseTables, accepts: pl.DataFrame, columns: list[str], where: pl.Expr | None = None) -> pl.LazyFrame:
    """Open the stamped calls of all threads that accept."""
    threads = accepts.select(THREAD).unique()
    processes = among("pid", threads["pid"].unique())
    wanted = STAMPED & processes if where is None else STAMPED & processes & where
    return case.scan("syscalls", columns, wanted).join(threads.lazy(), on=THREAD, how="semi", nulls_equal=True)


def slices(
    case: CaseTables, accepts: pl.DataFrame, rows: int, most: int, columns: list[str]
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield some accepts with the calls that their cycles need (and calls of earlier cycles, which do not belong to
    them).

    `rows` is the number of calls of the accepting threads, `most` the approximate maximum per slice.
    """
    ordered = accepts.with_columns(
        pl.col("at_ns", "seq").shift(BACK).over(THREAD).name.prefix("from_"),
        pl.col("at_ns", "seq").shift(-1).over(THREAD).name.prefix("until_"),
    )
    each = -(-len(ordered) // max(1, -(-rows // most)))
    for part in ordered.iter_slices(max(1, each)):
        borders = part.group_by(THREAD).agg(
            pl.col("from_at_ns", "from_seq").first(), pl.col("until_at_ns", "until_seq").last()
        )
        near = calls_of(case, part, columns, _within(borders)).join(borders.lazy(), on=THREAD, nulls_equal=True)
        inside = ~_before("from").fill_null(False) & _before("until").fill_null(True)
        yield part, near.filter(inside).select(columns).collect(engine="streaming")


def _within(borders: pl.DataFrame) -> pl.Expr:
    """Return a coarse condition on time alone, which the borders of every thread imply; it keeps the joins small."""
    first, last = borders["from_at_ns"], borders["until_at_ns"]
    lower = [] if first.null_count() else [pl.lit(first.min(), pl.Int64) <= AT_NS]
    upper = [] if last.null_count() else [pl.lit(last.max(), pl.Int64) >= AT_NS]
    return pl.all_horizontal(pl.lit(True), *lower, *upper)


def _before(border: str) -> pl.Expr:
    """Return whether a call comes before its thread's border; NULL if there is no border."""
    same = (pl.col(f"{border}_at_ns") == AT_NS) & (pl.col(f"{border}_seq") > SEQ)
    return (pl.col(f"{border}_at_ns") > AT_NS) | same

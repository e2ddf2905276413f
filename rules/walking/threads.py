"""System calls in the order in which each thread completed them, with the known bounds of each call's own time.

Two facts determine all arithmetic here: truss -d stamps the *end* of a call, strace the start; and a gap in which lines
are missing belongs to nobody. Times are whole nanoseconds (Int64), so that sums over a thread telescope without
rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables, nanoseconds, number

FORK_NAME = r"fork|clone|spawn"
EXEC_NAMES = ["execve", "exec", "exece", "execveat", "fexecve", "execv", "execvp"]
EXIT_NAMES = ["_exit", "exit", "exit_group", "rexit"]
WRITE_NAMES = ["write", "writev", "pwrite", "pwrite64", "send", "sendto", "sendmsg", "kwrite"]
READ_NAMES = ["read", "readv", "pread", "pread64", "recv", "recvfrom", "recvmsg", "kread"]

ENDS = pl.col("stamp").fill_null("end") == "end"
BROKEN = pl.col("contiguous").fill_null("assumed") == "broken"
SUCCEEDED = pl.col("err").is_null() & (pl.col("state").fill_null("done") == "done")

# A difference printed by the tool is valid even where a paste left lines out. The first event of a thread prints its
# whole stamp there, and a returning child its parent's stamp: neither is a difference.
PRINTED = (
    ENDS
    & pl.col("delta_s").is_not_null()
    & (pl.col("state").fill_null("done") != "child_start")
    & (pl.col("delta_s") < pl.col("t_local") - 5e-5)
)
OWN_S = (
    pl.when(~BROKEN)
    .then(pl.col("dur_hi_s"))
    .when(pl.col("elapsed_s").is_not_null())
    .then(pl.col("elapsed_s"))
    .when(PRINTED)
    .then(pl.col("delta_s"))
)
DONE_S = pl.when(ENDS).then(pl.col("t_local")).otherwise(pl.col("t_local") + pl.col("dur_hi_s").fill_null(0.0))

TIMED = [*PLACE_COLUMNS, "pid", "lwp", "line_no", "seq", "t_local", "stamp", "state", "contiguous", "dur_hi_s"]
TIMED += ["delta_s", "elapsed_s"]  # the columns that `by_thread`, DONE_S and OWN_S use

BATCH_ROWS = 1_000_000


def among(name: str, values: Iterable[Any]) -> pl.Expr:
    """Return whether a column has one of these values, NULL among them or not.

    Polars' `is_in(..., nulls_equal=True)` panics in a scan of several Parquet files where the list holds a NULL.
    """
    wanted = list(dict.fromkeys(values))
    known = pl.col(name).is_in([v for v in wanted if v is not None])
    return known | pl.col(name).is_null() if None in wanted else known


def batches(
    case: CaseTables, where: pl.Expr | None = None, most: int = BATCH_ROWS, split: str | None = None
) -> Iterator[pl.Expr]:
    """Yield conditions that divide the rows of `syscalls` (for which `where` holds) into whole processes.

    Each batch has at most `most` rows unless one process has more, so that code that walks along threads holds one
    batch at a time. A process with more rows is divided by the values of the column `split`, if one is named.
    """
    keys = ["pid"] if split is None else ["pid", split]
    sizes = (
        case.scan("syscalls", [*keys, "line_no"], where)
        .group_by(keys)
        .agg(pl.len().alias("n"), pl.col("line_no").min().alias("first"), pl.col("line_no").max().alias("last"))
        .collect(engine="streaming")
        .sort(keys)
    )
    # A trace may have tens of thousands of processes: they are summed up as columns, not one by one.
    of_pid = sizes.group_by("pid", maintain_order=True).agg(
        pl.col("n").sum(), pl.col("first").min(), pl.col("last").max()
    )
    if split is not None:
        for pid in of_pid.filter(pl.col("n") > most)["pid"].to_list():
            one = pl.col("pid").eq_missing(pl.lit(pid, sizes.schema["pid"]))
            for group, first, last in _packed(sizes.filter(one).select(split, "n", "first", "last").rows(), most):
                yield one & among(split, group) & pl.col("line_no").is_between(first, last)
        of_pid = of_pid.filter(pl.col("n") <= most)
    # Line ranges let whole runs of rows be skipped where processes come and go.
    for group, first, last in _packed(of_pid.rows(), most):
        yield among("pid", group) & pl.col("line_no").is_between(first, last)


def _packed(
    sizes: Iterable[tuple[int | None, int, int, int]], most: int
) -> Iterator[tuple[list[int | None], int, int]]:
    """Pack (value, rows, first line, last line) into groups of at most `most` rows, or a single value.

    Yields the values and the first and last line of each group.
    """
    group: list[tuple[int | None, int, int, int]] = []
    rows = 0
    for entry in sizes:
        if group and rows + entry[1] > most:
            yield [e[0] for e in group], min(e[2] for e in group), max(e[3] for e in group)
            group, rows = [], 0
        group.append(entry)
        rows += entry[1]
    if group:
        yield [e[0] for e in group], min(e[2] for e in group), max(e[3] for e in group)


def by_thread(syscalls: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Return the stamped rows of `syscalls`, sorted by thread and completion.

    Columns: the requested ones, the common ones, pid, lwp, line_no, and `domain` and `thread` (dense numbers),
    `done_ns` (completion in the artifact's clock), `own_ns` (upper bound of the call's own time, NULL where lines are
    missing and the tool printed no difference), `broken` (lines may be missing since the previous row). Rows without a
    stamp have no order in time and are left out. n log n in the rows returned.
    """
    wanted = list(dict.fromkeys([*PLACE_COLUMNS, "pid", "lwp", "line_no", *columns]))
    rows = syscalls.filter(pl.col("t_local").is_not_null()).select(
        *wanted,
        pl.col("seq").alias("_seq"),
        nanoseconds(DONE_S).alias("done_ns"),
        nanoseconds(OWN_S).alias("own_ns"),
        BROKEN.alias("broken"),
    )
    rows = number(number(rows, ["artifact_id", "clock"], "domain"), ["domain", "pid", "lwp"], "thread")
    return rows.sort("thread", "done_ns", "_seq", "line_no", nulls_last=True).drop("_seq")

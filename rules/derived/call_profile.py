"""Where the time of a thread went, call by call: for the whole trace of each thread, and for each complete listener
cycle.

Inputs: `syscalls`, `listener_cycles`. R is the time from the first completion to the last (of a cycle: from the
accept's return to its end). The intervals between completions divide into: the call's own time (`dur_s`, upper bound),
user time if the tool measures the call itself (name `user`), and time over which lines are missing (name `not traced`).
They add up to R exactly.
Columns: pid, lwp, cycle (NULL: the whole thread; never add the two), name, n, dur_s, mean_s, max_s (s), cpu_s (s,
NULL if not printed), share of R (0 to 1), verdict: blocked (CPU at most a tenth), burning (at least 80 %), mixed, not
traced; NULL without CPU times; line_no, line_end: first and last line of these calls.
Worked example (a listener cycle of 0.2962 s): read 4 calls 0.1995, waitid 0.0542, fork1 0.0300 with 0.0299 CPU
(burning), lwp_sigmask 0.0055, lseek 0.0024, 26 others 0.0046: together 0.2962.
A duration printed by the tool is valid even across missing lines: an execve of 0.0139 after a cut of 0.0318 leaves
0.0179 not traced.
Cost: n log n in the rows, no loop. Source: Method R (Millsap, Holt), truss(1).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, nanoseconds, seconds
from rules.walking.threads import TIMED, batches, by_thread

TABLE = DerivedTable(
    "call_profile",
    {
        **PLACE,
        "pid": pl.Int64(),
        "lwp": pl.Int64(),
        "cycle": pl.Int64(),
        "name": pl.String(),
        "n": pl.Int64(),
        "dur_s": pl.Float64(),
        "mean_s": pl.Float64(),
        "max_s": pl.Float64(),
        "cpu_s": pl.Float64(),
        "share": pl.Float64(),
        "verdict": pl.String(),
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
    },
)
NEEDS = ("syscalls", "listener_cycles")
SCOPE: Scope = "artifact"
VERSION = "1"

NOT_TRACED, USER = "not traced", "user"
BLOCKED, BURNING = 0.1, 0.8
PER = ["thread", "cycle"]


def intervals(syscalls: pl.DataFrame, more: Sequence[str] = ()) -> pl.DataFrame:
    """Return one row per interval between completions of a thread, divided into call, user and lost nanoseconds.

    `more` names further columns of `syscalls` to include.
    """
    rows = by_thread(syscalls, ["name", "cpu_s", "elapsed_s", *more])
    gap = pl.col("done_ns") - pl.col("done_ns").shift(1).over("thread")
    first = gap.is_null()
    # A first call counts with its own time if that is measured; otherwise its time is unknown.
    whole = pl.when(first).then(pl.col("own_ns")).otherwise(gap)
    # A bound derived from the gap equals the interval; only a measured or printed duration can be shorter.
    shorter = pl.col("broken") | pl.col("elapsed_s").is_not_null()
    part = pl.when(shorter).then(pl.min_horizontal("own_ns", whole).clip(lower_bound=0)).otherwise(whole)
    call = pl.when(pl.col("own_ns").is_not_null()).then(part)
    rest = whole - call.fill_null(0)
    lost = pl.col("broken") | call.is_null()
    return rows.with_columns(
        whole.alias("whole_ns"), call.alias("call_ns"), rest.alias("rest_ns"), lost.alias("lost")
    ).filter(pl.col("whole_ns").is_not_null())


def total(parts: pl.DataFrame) -> pl.DataFrame:
    """Sum intervals by thread, cycle and call.

    `parts` needs the columns `thread` and `cycle`; the result has no other identification of the thread.
    """
    calls = parts.filter(pl.col("call_ns").is_not_null()).select(*PER, "line_no", "name", "cpu_s", ns="call_ns")
    others = parts.filter(pl.col("rest_ns") > 0).select(
        *PER,
        "line_no",
        pl.when("lost").then(pl.lit(NOT_TRACED)).otherwise(pl.lit(USER)).alias("name"),
        pl.lit(None, pl.Float64).alias("cpu_s"),
        ns="rest_ns",
    )
    ratio = pl.col("cpu_s") / pl.col("dur_s")
    whole = pl.col("ns").sum().over(PER)
    return (
        pl.concat([calls, others])
        .group_by([*PER, "name"])
        .agg(
            pl.len().alias("n"),
            pl.col("ns").sum(),
            pl.col("ns").max().alias("max_ns"),
            pl.col("cpu_s").sum(),
            pl.col("cpu_s").is_not_null().any().alias("cpu_known"),
            pl.col("line_no").min(),
            pl.col("line_no").max().alias("line_end"),
        )
        .with_columns(
            pl.when("cpu_known").then("cpu_s").alias("cpu_s"),
            seconds(pl.col("ns")).alias("dur_s"),
            seconds(pl.col("ns") / pl.col("n")).alias("mean_s"),
            seconds(pl.col("max_ns")).alias("max_s"),
            (pl.col("ns") / pl.when(whole > 0).then(whole)).alias("share"),
        )
        .with_columns(
            pl.when(pl.col("name") == NOT_TRACED)
            .then(pl.lit(NOT_TRACED))
            .when(pl.col("cpu_s").is_null() | (pl.col("ns") == 0))
            .then(None)
            .when(ratio <= BLOCKED)
            .then(pl.lit("blocked"))
            .when(ratio >= BURNING)
            .then(pl.lit("burning"))
            .otherwise(pl.lit("mixed"))
            .alias("verdict")
        )
        .sort([*PER, "ns", "name"], descending=[False, False, True, False])
    )


def profile(syscalls: pl.DataFrame, listener: pl.DataFrame) -> pl.DataFrame:
    """Return `call_profile` for data frames of system calls and of `listener_cycles`."""
    parts = intervals(syscalls)
    threads = parts.group_by("thread", maintain_order=True).agg(pl.col(*PLACE_COLUMNS, "pid", "lwp").first())
    parts = parts.select("thread", "done_ns", "line_no", "name", "cpu_s", "call_ns", "rest_ns", "lost")
    served = (
        listener.filter(pl.col("complete"))
        .join(threads, on=["artifact_id", "clock", "pid", "lwp"], nulls_equal=True)
        .select(
            "thread",
            "cycle",
            nanoseconds(pl.col("t_accept")).alias("done_ns"),
            nanoseconds(pl.col("t_end")).alias("end_ns"),
        )
        .sort("done_ns")
    )
    cycled = (
        parts.join(served.select("thread").unique(), on="thread", how="semi")
        .sort("done_ns")
        .join_asof(
            served,
            on="done_ns",
            by="thread",
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .filter(pl.col("done_ns") <= pl.col("end_ns"))
    )
    whole = parts.with_columns(pl.lit(None, pl.Int64).alias("cycle"))
    both = pl.concat([total(cycled), total(whole)])
    return TABLE.shape(both.join(threads, on="thread", how="left", maintain_order="left"))


def build(case: CaseTables) -> pl.DataFrame:
    """Return `call_profile` for all system call traces of the case."""
    listener = case.derived("listener_cycles")
    columns = [*TIMED, "name", "cpu_s"]
    found = [profile(case.table("syscalls", columns, where), listener) for where in batches(case)]
    return pl.concat(found) if found else TABLE.rows([])

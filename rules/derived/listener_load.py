"""Load of an accepting thread: how busy its polls show it, how long it serves one caller, and the queueing delay that
follows.

Inputs: `syscalls` of accepting threads, `listener_cycles`, `logs` of a listener of the same host and phase.
Columns: pid, lwp; line_from, line_to, t_from, t_to (s, own clock) of the stretch examined; `span_s` from a return of
the thread's poll to the return of its last idle poll, `idle_s` its time in idle polls, `busy_s` the rest, `busy` =
busy_s / span_s; `accepts` in it; `n_cycles`, `service_s` (median), `mean_s`, `cs2` (squared variation) of its complete
cycles, `capacity_ps` = 1 / service_s; `in_poll_s` time in polls with a connection open (an event loop rather than one
caller at a time);
`alone`: no other thread of the trace accepts; `n_arrivals`, `arrivals_ps` from a listener's log of the same host and
phase (log_artifact, log_from, log_to), `rho` = arrivals_ps * service_s, and the mean waits of `rules/statistics/queueing.py` in
seconds (NULL from rho 1 on).
An idle poll is one with no accepted connection open, or whose printed descriptors include the listening one but not the
accepted one; for a thread that never polls, the accepts themselves count as idle. Time over which lines are missing is
in no span. All times are under tracing.
Worked example: polls return at 1.5426 and 2.6446, the second took 0.8021: span 1.1020, idle 0.8021, busy 0.2999, 27 %;
one cycle of 0.2962 s: capacity 3.38 a second.
Cost: n log n in the polls, accepts and closes of threads that accept. Source: truss(1), poll(2); utilisation law.
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, nanoseconds, seconds
from rules.derived.listener_cycles import ACCEPT, ACCEPTED, POLL
from rules.statistics.queueing import waits
from rules.walking.accept_slices import THREAD, accepts_of, calls_of
from rules.walking.threads import BROKEN, TIMED, by_thread

TABLE = DerivedTable(
    "listener_load",
    {
        **PLACE,
        "pid": pl.Int64(),
        "lwp": pl.Int64(),
        "line_from": pl.Int64(),
        "line_to": pl.Int64(),
        "t_from": pl.Float64(),
        "t_to": pl.Float64(),
        "span_s": pl.Float64(),
        "idle_s": pl.Float64(),
        "busy_s": pl.Float64(),
        "busy": pl.Float64(),
        "accepts": pl.Int64(),
        "in_poll_s": pl.Float64(),
        "alone": pl.Boolean(),
        "n_cycles": pl.Int64(),
        "service_s": pl.Float64(),
        "mean_s": pl.Float64(),
        "cs2": pl.Float64(),
        "capacity_ps": pl.Float64(),
        "n_arrivals": pl.Int64(),
        "arrivals_ps": pl.Float64(),
        "log_artifact": pl.Int64(),
        "log_from": pl.Int64(),
        "log_to": pl.Int64(),
        "rho": pl.Float64(),
        "wq_mm1_s": pl.Float64(),
        "wq_md1_s": pl.Float64(),
        "wq_mg1_s": pl.Float64(),
    },
)
NEEDS = ("syscalls", "listener_cycles", "logs")
SCOPE: Scope = "host"
VERSION = "1"

NAME, FD = pl.col("name"), pl.col("fd")
CLOSE = NAME == "close"
LOOKED_AT = NAME.is_in([*POLL, *ACCEPT]) | CLOSE | BROKEN
CALL = ["name", "args", "data", "fd", "ret", "err", "state"]


def utilisation(syscalls: pl.DataFrame) -> pl.DataFrame:
    """Return the examined stretch of each accepting thread: span, idle and busy seconds.

    Needs the thread's polls, accepts, closes and every row before which lines may be missing.
    """
    rows = by_thread(syscalls, CALL).with_columns(
        ACCEPTED.alias("accepted"),
        pl.col("broken").cum_sum().over("thread").alias("stretch"),
        NAME.is_in(POLL).any().over("thread").alias("polls"),
    )
    rows = rows.with_columns(
        pl.when("accepted").then(pl.col("ret")).forward_fill().over("thread").alias("conn_fd"),
        pl.when("accepted").then(FD).forward_fill().over("thread").alias("listen_fd"),
        pl.col("accepted").cum_sum().over("thread").alias("segment"),
    )
    closes = (CLOSE & (pl.col("conn_fd") == FD) & pl.col("err").is_null()).fill_null(False)
    printed = pl.concat_str("args", "data", separator=" ", ignore_nulls=True).str.extract_all(r"\bfd=\d+")
    elsewhere = printed.list.contains(pl.format("fd={}", "listen_fd")) & ~printed.list.contains(
        pl.format("fd={}", "conn_fd")
    )
    opened = (pl.col("segment") > 0) & (closes.cum_sum().over("thread", "segment") == 0)
    waits_idle = NAME.is_in(POLL) & (~opened | elsewhere.fill_null(False))
    rows = rows.with_columns(
        pl.when(pl.col("polls")).then(waits_idle).otherwise(NAME.is_in(ACCEPT)).alias("idle"),
        pl.when(pl.col("polls")).then(NAME.is_in(POLL)).otherwise(NAME.is_in(ACCEPT)).alias("mark"),
        pl.col("own_ns").fill_null(0),
    )
    within = ["thread", "stretch"]
    rows = rows.with_columns(
        pl.col("done_ns").filter("mark").min().over(within).alias("from_ns"),
        pl.col("done_ns").filter("idle").max().over(within).alias("to_ns"),
    ).filter(pl.col("done_ns").is_between("from_ns", "to_ns"))
    after = pl.col("done_ns") > pl.col("from_ns")
    stretches = rows.group_by(within, maintain_order=True).agg(
        *(pl.col(c).first() for c in [*PLACE_COLUMNS, "pid", "lwp", "from_ns", "to_ns"]),
        pl.col("line_no").first().alias("line_from"),
        pl.col("line_no").filter("idle").last().alias("line_to"),
        pl.col("own_ns").filter(pl.col("idle") & after).sum().alias("idle_ns"),
        pl.col("own_ns").filter(pl.col("mark") & ~pl.col("idle") & after).sum().alias("in_poll_ns"),
        (pl.col("accepted") & (after | ~pl.col("mark"))).sum().alias("accepts"),
    )
    return (
        stretches.filter(pl.col("to_ns") > pl.col("from_ns"))
        .group_by("thread", maintain_order=True)
        .agg(
            *(pl.col(c).first() for c in [*PLACE_COLUMNS, "pid", "lwp", "line_from"]),
            pl.col("line_to").last(),
            seconds(pl.col("from_ns").first()).alias("t_from"),
            seconds(pl.col("to_ns").last()).alias("t_to"),
            (pl.col("to_ns") - pl.col("from_ns")).sum().alias("span_ns"),
            pl.col("idle_ns").sum(),
            pl.col("in_poll_ns").sum(),
            pl.col("accepts").sum(),
        )
        .filter((pl.col("accepts") > 0) & (pl.col("idle_ns") <= pl.col("span_ns")))
        .with_columns(
            seconds(pl.col("span_ns")).alias("span_s"),
            seconds(pl.col("idle_ns")).alias("idle_s"),
            seconds(pl.col("span_ns") - pl.col("idle_ns")).alias("busy_s"),
            (1 - pl.col("idle_ns") / pl.col("span_ns")).alias("busy"),
            seconds(pl.col("in_poll_ns")).alias("in_poll_s"),
        )
        .drop("thread")
    )


def services(cycles: pl.DataFrame) -> pl.DataFrame:
    """Return median, mean and variation of the complete cycles of each thread, with their first and last line."""
    known = cycles.filter(pl.col("complete") & (pl.col("cycle_s") > 0))
    length = pl.col("cycle_s")
    return known.group_by(*PLACE_COLUMNS, "pid", "lwp", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n_cycles"),
        seconds(nanoseconds(length.median())).alias("service_s"),
        length.mean().alias("mean_s"),
        (length.var() / length.mean() ** 2).alias("cs2"),
        pl.col("line_accept").min().alias("first_line"),
        pl.col("line_end").max().alias("last_line"),
    )


def arrivals(logs: pl.DataFrame) -> pl.DataFrame:
    """Return the mean connection rate from listener logs, one row per host and phase: that of the log with the most
    connections.
    """
    asked = logs.filter(
        (pl.col("source") == "listener") & (pl.col("op") == "establish") & pl.col("t_local").is_not_null()
    )
    return (
        asked.group_by("host", "phase", pl.col("artifact_id").alias("log_artifact"), maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("n_arrivals"),
            pl.col("line_no").min().alias("log_from"),
            pl.col("line_no").max().alias("log_to"),
            (pl.col("t_local").max() - pl.col("t_local").min()).alias("log_s"),
        )
        .filter(pl.col("host").is_not_null() & (pl.col("log_s") > 0))
        .with_columns(((pl.col("n_arrivals") - 1) / pl.col("log_s")).alias("arrivals_ps"))
        .sort("n_arrivals", descending=True, maintain_order=True)
        .unique(["host", "phase"], keep="first", maintain_order=True)
    )


def load(used: pl.DataFrame, cycles: pl.DataFrame, logs: pl.DataFrame) -> pl.DataFrame:
    """Return `listener_load` from `utilisation`, `listener_cycles` and `logs`."""
    keys = [*PLACE_COLUMNS, "pid", "lwp"]
    threads = cycles.group_by("artifact_id", "clock").agg(pl.struct("pid", "lwp").n_unique().alias("n_threads"))
    frame = (
        services(cycles)
        .join(used, on=keys, how="full", coalesce=True, nulls_equal=True)
        .join(threads, on=["artifact_id", "clock"], how="left", nulls_equal=True)
        .join(arrivals(logs), on=["host", "phase"], how="left", nulls_equal=True)
        .with_columns(
            pl.col("line_from").fill_null(pl.col("first_line")),
            pl.col("line_to").fill_null(pl.col("last_line")),
            (pl.col("n_threads").fill_null(1) <= 1).alias("alone"),
            (1 / pl.col("service_s")).alias("capacity_ps"),
            (pl.col("arrivals_ps") * pl.col("service_s")).alias("rho"),
        )
    )
    queue = [
        waits(s, a, c) if s is not None and a is not None else None
        for s, a, c in frame.select("service_s", "arrivals_ps", "cs2").iter_rows()
    ]
    return TABLE.shape(
        frame.with_columns(
            pl.Series("wq_mm1_s", [q and q.mm1_s for q in queue], pl.Float64),
            pl.Series("wq_md1_s", [q and q.md1_s for q in queue], pl.Float64),
            pl.Series("wq_mg1_s", [q and q.mg1_s for q in queue], pl.Float64),
        )
    ).sort("artifact_id", "line_from", "pid", "lwp")


def build(case: CaseTables) -> pl.DataFrame:
    """Return `listener_load` for all system call traces of the case."""
    accepts = accepts_of(case, ACCEPTED)
    columns = list(dict.fromkeys([*THREAD, *TIMED, *CALL]))
    calls = calls_of(case, accepts, columns, LOOKED_AT).collect(engine="streaming")
    logs = case.table("logs", [*PLACE_COLUMNS, "line_no", "t_local", "source", "op"])
    return load(utilisation(calls), case.derived("listener_cycles"), logs)

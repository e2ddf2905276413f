"""One row per wait during which a whole traced program stops while one of its threads works: a stop-the-world pause.

Inputs: `syscalls` (waits and wakes with `arg_addr`). A thread wakes another thread of its process and parks without a
time limit; the other one works outside of calls for most of the wait, then wakes it; all further threads are parked
too.
Columns: pid, `waiter_lwp`, `helper_lwp`, `helper_comm`, `wait_s` (the parked call, s), `silent_s` (the helper's time outside
of calls in it), `n_parked` (further threads parked for at least 0.9 of it), line_wait, line_wake, t_from, t_to (s).
Worked example: thread 1 wakes thread 2 at 1.00 and parks until 1.30; 2 ends its own wait at 1.00 and computes until it
wakes 1 at 1.30; 3 and 4 are parked from 0.5 to 2.0: one row, wait_s 0.30, silent_s 0.30, n_parked 2. Waits below 0.05 s
and beyond the 200 longest of a process are not examined. Waits with a time limit (idle threads) and waits of an idle
pool that did not wake its own waker do not count.
Cost: n log n in the waits; 200 scans of a process's calls at most. Source: safepoints of the HotSpot virtual machine (a
requesting thread, the VM thread, all others blocked), as system calls show them; thresholds of 0.8 and 0.9 are practice.
"""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope, nanoseconds
from rules.walking.targets import LOCKS
from rules.walking.threads import DONE_S, batches

TABLE = DerivedTable(
    "stop_waits",
    {
        **PLACE,
        "pid": pl.Int64(),
        "waiter_lwp": pl.Int64(),
        "helper_lwp": pl.Int64(),
        "helper_comm": pl.String(),
        "wait_s": pl.Float64(),
        "silent_s": pl.Float64(),
        "n_parked": pl.Int64(),
        "line_wait": pl.Int64(),
        "line_wake": pl.Int64(),
        "t_from": pl.Float64(),
        "t_to": pl.Float64(),
    },
)
NEEDS = ("syscalls",)
SCOPE: Scope = "artifact"
VERSION = "1"

LEAST_NS: Final = 50_000_000
"""Minimum length of a wait in nanoseconds; shorter ones are normal in any program with locks."""

MOST: Final = 200
SLACK_NS: Final = 2_000_000
"""Maximum distance in nanoseconds between the stamps of both ends of a hand-over."""

LATE: Final = 10
"""The helper may have been woken up to 1/LATE of the wait before it: a loaded host runs the asking thread late."""

SHORT_S: Final = 0.001
"""Minimum length of a call in seconds; shorter calls are not worth naming as part of a wait."""

SILENT, PARKED = 0.8, 0.9
PROCESS = [*PLACE_COLUMNS, "pid"]
WAIT = r"FUTEX_WAIT|UMTX_OP_WAIT"
WAKE = r"FUTEX_WAKE|UMTX_OP_WAKE"
COLUMNS = [*PLACE, "name", "pid", "lwp", "comm", "line_no", "t_local", "stamp", "dur_hi_s", "arg_addr", "args", "err", "state", "contiguous"]  # fmt: skip


def stops(calls: pl.DataFrame, spans: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of one process.

    `calls` are its calls (begin_ns, done_ns; bool `waits`, `wakes`, `limited`), `spans` its threads' `first` and `last`
    times (ns).
    """
    parked = calls.filter(
        pl.col("waits")
        & ~pl.col("limited")
        & pl.col("err").is_null()
        & (pl.col("state").fill_null("done") == "done")
        & (pl.col("contiguous").fill_null("assumed") != "broken")
        & (pl.col("done_ns") - pl.col("begin_ns") >= LEAST_NS)
    ).sort(pl.col("done_ns") - pl.col("begin_ns"), descending=True)
    found = []
    for wait in parked.head(MOST).sort("line_no").iter_rows(named=True):
        begin, end = wait["begin_ns"], wait["done_ns"]
        woke = calls.filter(
            pl.col("wakes")
            & (pl.col("arg_addr") == wait["arg_addr"])
            & (pl.col("lwp") != wait["lwp"])
            & pl.col("begin_ns").is_between(end - SLACK_NS, end)
        ).sort("begin_ns")
        if woke.is_empty():
            continue
        wake = woke.row(-1, named=True)
        helper = calls.filter(pl.col("lwp") == wake["lwp"])
        ended = helper.filter(
            pl.col("waits")
            & pl.col("done_ns").is_between(begin - max(SLACK_NS, (end - begin) // LATE), begin + SLACK_NS)
        )
        request = calls.filter(pl.col("wakes") & (pl.col("lwp") == wait["lwp"]) & (pl.col("begin_ns") <= begin)).select(
            "arg_addr", asked_ns="begin_ns"
        )
        asked = ended.join(request, on="arg_addr").filter(
            (pl.col("done_ns") - pl.col("asked_ns")).is_between(0, SLACK_NS)
        )
        edges = helper.filter((pl.col("done_ns") > begin) & (pl.col("begin_ns") < end)).sort("begin_ns")
        inside = edges.select(
            (pl.min_horizontal("done_ns", pl.lit(end)) - pl.max_horizontal("begin_ns", pl.lit(begin))).sum()
        ).item()
        silent = end - begin - (inside or 0)
        if asked.is_empty() or silent < SILENT * (end - begin):
            continue
        covered = calls.filter("waits").group_by("lwp").agg(
            (pl.min_horizontal("done_ns", pl.lit(end)) - pl.max_horizontal("begin_ns", pl.lit(begin)))
            .clip(lower_bound=0).sum().alias("parked")
        )  # fmt: skip
        others = spans.filter(
            ~pl.col("lwp").is_in([wait["lwp"], wake["lwp"]]) & (pl.col("first") < begin) & (pl.col("last") >= end)
        ).join(covered, on="lwp", how="left")
        still = int((others["parked"].fill_null(0) >= PARKED * (end - begin)).sum())
        if still < others.height:
            continue
        found.append(
            {
                **{c: wait[c] for c in PLACE},
                "pid": wait["pid"],
                "waiter_lwp": wait["lwp"],
                "helper_lwp": wake["lwp"],
                "helper_comm": wake["comm"],
                "wait_s": (end - begin) / 1e9,
                "silent_s": silent / 1e9,
                "n_parked": still,
                "line_wait": wait["line_no"],
                "line_wake": wake["line_no"],
                "t_from": begin / 1e9,
                "t_to": end / 1e9,
            }
        )
    return found


def build(case: CaseTables) -> pl.DataFrame:
    """Return `stop_waits` for all traces of the case."""
    lock = pl.col("name").is_in(LOCKS)
    timed = pl.col("t_local").is_not_null() & pl.col("lwp").is_not_null() & pl.col("dur_hi_s").is_not_null()
    long = timed & lock & (pl.col("dur_hi_s") >= LEAST_NS / 1e9)
    pids = case.scan("syscalls", ["pid"], long).unique().collect(engine="streaming")["pid"].drop_nulls().to_list()
    if not pids:
        return TABLE.rows([])
    timed &= pl.col("pid").is_in(pids)
    done = nanoseconds(DONE_S)
    begin = done - nanoseconds(pl.col("dur_hi_s"))
    spans = (
        case.scan("syscalls", [*PROCESS, "lwp", "t_local", "stamp", "dur_hi_s"], timed)
        .group_by(*PROCESS, "lwp")
        .agg(begin.min().alias("first"), done.max().alias("last"))
        .collect(engine="streaming")
    )
    # Of the many short calls only waits and wakes matter here.
    relevant = timed & (lock | (pl.col("dur_hi_s") >= SHORT_S))
    rows: list[dict[str, Any]] = []
    for where in batches(case, relevant):
        calls = (
            case.scan("syscalls", COLUMNS, where & relevant)
            .with_columns(
                done.alias("done_ns"),
                begin.alias("begin_ns"),
                (lock & pl.col("args").str.contains(WAIT)).fill_null(value=False).alias("waits"),
                (lock & pl.col("args").str.contains(WAKE)).fill_null(value=False).alias("wakes"),
                pl.col("args").str.contains(r"\{").fill_null(value=False).alias("limited"),
            )
            .drop("args", "name")
            .collect()
        )
        for process in calls.partition_by(PROCESS, maintain_order=True):
            rows += stops(process, spans.join(process.select(PROCESS).head(1), on=PROCESS, nulls_equal=True))
    return TABLE.shape(pl.DataFrame(rows, infer_schema_length=None)) if rows else TABLE.rows([])

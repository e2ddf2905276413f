"""Who is ready to run at a priority below all who do? Threads of NetBSD, where a higher number is served first.

Stands out: threads in state R (ready, on no processor) at priority 0, the lowest of all, while others of the same moment run
or are ready at least `ABOVE` higher: as long as those go on, they are not served, and what they hold stays held.
Normal: threads that sleep or run, whatever their priority; ready ones at the priority of those that run. Other systems order
priorities otherwise, or show none that can be compared, and are left out.
Worked example: LID 101 R 0, LID 103 O 26, LID 104 R 26: one ready at 0 below two at 26.
Cost: one pass over the rows of threads. Source: NetBSD ps(1) (state O: running on a processor, R: runnable), sched_4bsd(9),
sys/sys/param.h (PRI_USER 0 to PRI_COUNT, higher is better).
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, place

OBSERVER = Observer(
    "passed-over",
    "Who is ready to run at a priority below all who do?",
    ("ps",),
    {
        "netbsd": "ps -s -p PID -o pid,lid,stat,wchan,cpuid,pri,time,pcpu, five times, 1 s apart; gdb -p PID, thread apply all bt"
    },
)

ABOVE = 16
"""Minimum difference of priorities: a quarter of the 64 of time-sharing threads, more than a second of use takes away."""

SHARE = 0.2
"""Share of one moment: it does not tell whether they are served in the next."""

CITED = 5
"""Maximum number of threads of each side that are cited."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield, once per sample, how many ready threads do not run because others have a higher priority."""
    artifacts = case.table("artifacts", ["artifact_id", "os"])
    netbsd = artifacts.filter(pl.col("os") == "netbsd")["artifact_id"].unique()
    if netbsd.is_empty():
        return
    columns = [*PLACE_COLUMNS, "part", "sample", "line_no", "pid", "lwp", "state", "pri"]
    threads = pl.col("artifact_id").is_in(netbsd.implode()) & pl.col("lwp").is_not_null() & pl.col("pri").is_not_null()
    state, pri, line = pl.col("state"), pl.col("pri"), pl.col("line_no")
    ready = state.str.starts_with("R") & (pri == 0)
    above = state.str.contains("^[RO]") & (pri >= ABOVE)
    between = state.str.contains("^[RO]") & pri.is_between(1, ABOVE - 1)
    found = (
        case.scan("ps", columns, threads)
        .group_by(*PLACE_COLUMNS, "part", "sample")
        .agg(
            ready.sum().alias("n"),
            above.sum().alias("above"),
            between.sum().alias("between"),
            pri.filter(above).min().alias("least"),
            line.filter(ready).head(CITED).alias("lines"),
            line.filter(above).head(CITED).alias("others"),
            pl.col("lwp").filter(ready).head(CITED).alias("named"),
        )
        .filter((pl.col("n") > 0) & (pl.col("above") > 0) & (pl.col("between") == 0))
        .sort("n", *PLACE_COLUMNS, "part", "sample", descending=[True, *[False] * (len(PLACE_COLUMNS) + 2)])
        .unique("artifact_id", keep="first", maintain_order=True)
        .head(3)
        .collect(engine="streaming")
    )
    for row in found.iter_rows(named=True):
        who = "1 thread is" if row["n"] == 1 else f"{row['n']:,} threads are"
        yield Sighting(
            "passed-over",
            f"thread {row['named'][0]}",
            f"{who} ready at priority 0 and on no processor, below"
            f" {row['above']:,} that run or are ready at {row['least']} or more: {', '.join(map(str, row['named']))}",
            "passed_over_count",
            float(row["n"]),
            "count",
            (
                *(Lines(row["artifact_id"], no, no, "ready at priority 0") for no in row["lines"]),
                *(Lines(row["artifact_id"], no, no, "served first") for no in row["others"]),
            ),
            **place(row),
            share=SHARE,
            n=row["n"],
            seen=({"event": "ready-below-all-others"},),
        )

"""What is waited for only briefly, again and again? Waits on a futex whose time-out is at most `SHORT_S`.

A wait with an absolute time-out (FUTEX_WAIT_BITSET, as condition variables use it) lasts until the deadline that the call
names; the clock that the thread read just before tells how far away that is, so no stamps are needed. A plain FUTEX_WAIT
names the length itself. Waits that are open at the end of the trace count as waits, not as ended.
Stands out: threads with the same time-out of at most `SHORT_S` that made `WAITS` such waits together, of those that ended
nearly all by their time-out: they look for work, and nobody wakes them. Normal: a longer time-out; threads that others wake.
Worked example: `clock_gettime(CLOCK_MONOTONIC, {17, 100000000})`, `futex(0x6a04, FUTEX_WAIT_BITSET_PRIVATE, 9,
{17, 101000000}, ffffffff) = -1 ETIMEDOUT`, five times: a wait of 1 ms, 5 of 5 ended by it.
Cost: the first `MOST_CALLS` futex calls and readings of clocks. Source: futex(2); pthread_cond_timedwait(3).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "short-waits",
    "What is waited for only briefly, again and again?",
    ("syscalls", "open_calls"),
    {"linux": "gdb -p PID -batch -ex 'thread apply all bt'; strace -c -f -w -p PID"},
)

SHORT_S = 0.01
"""Maximum time-out in seconds: with 10 ms a thread wakes 100 times a second, which is where the cost becomes visible as
some tenths of a percent of a processor; run-times' own clocks (50 ms of a JVM, 100 ms of event loops) are longer."""

WAITS = 3
"""Minimum number of such waits together: one or two are the rest of a longer time-out."""

WOKEN = 0.1
"""Maximum part of the waits that somebody else ended."""

SHARE = 0.2
"""Share of such a pace: it is felt on a processor, and explains no slow request by itself."""

MOST_CALLS = 200_000
"""Maximum number of calls of a trace that are looked at."""

NAMED = 4
"""Maximum number of threads that a sentence names."""

CITED = 4
"""Maximum number of waits that are cited."""

TIME = r"\{(?:tv_sec=)?([0-9]+), (?:tv_nsec=)?([0-9]+)\}"
READ = rf"^CLOCK_(MONOTONIC|REALTIME), {TIME}"
UNTIL = rf"FUTEX_WAIT_BITSET[A-Z_|]*, (?:0x)?[0-9a-f]+, {TIME}"
FOR = rf"FUTEX_WAIT(?:_PRIVATE)?, (?:0x)?[0-9a-f]+, {TIME}"


def _seconds(pattern: str, first: int) -> pl.Expr:
    """Return nanoseconds from two groups of a pattern over `args`: whole seconds, and nanoseconds."""
    found = pl.col("args").str.extract_groups(pattern)
    whole, part = (found.struct[first + n - 1].cast(pl.Int64, strict=False) for n in (0, 1))
    return whole * 1_000_000_000 + part


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield short time-outs that nobody ends earlier, the shortest first."""
    columns = [*PLACE_COLUMNS, "pid", "lwp", "line_no", "line_end", "name", "args", "err", "ret"]
    name = pl.col("name")
    wanted = (name.str.starts_with("futex") & pl.col("args").str.contains("FUTEX_WAIT")) | (
        name.str.starts_with("clock_gettime") & pl.col("args").str.contains(READ)
    )
    never = pl.col("done_line").is_null()
    ended = case.scan("syscalls", columns, wanted).head(MOST_CALLS)
    still = case.scan(
        "open_calls", [*PLACE_COLUMNS, "pid", "lwp", "line_no", "line_end", "name", "args"], wanted & never
    )
    still = still.with_columns(pl.lit(None, pl.String).alias("err"), pl.lit(None, pl.Int64).alias("ret")).head(
        MOST_CALLS
    )
    calls = pl.concat([ended, still.select(columns)], how="vertical_relaxed").collect(engine="streaming")
    if calls.filter(pl.col("name").str.starts_with("futex")).is_empty():
        return
    thread = ["artifact_id", "clock", "pid", "lwp"]
    clock = pl.col("args").str.extract(READ, 1)
    read = _seconds(READ, 2)
    real = pl.col("args").str.contains("FUTEX_CLOCK_REALTIME")
    of = {which: pl.when(clock == which).then(read).forward_fill().over(thread) for which in ("MONOTONIC", "REALTIME")}
    now = pl.when(real).then(of["REALTIME"]).otherwise(of["MONOTONIC"])
    waits = (
        calls.sort("line_no", maintain_order=True)
        .with_columns(pl.coalesce(_seconds(UNTIL, 1) - now, _seconds(FOR, 1)).alias("ns"))
        .filter(pl.col("ns") > 0)
        .with_columns((pl.col("ns") / 1e9).round_sig_figs(2).alias("wait_s"))
    )
    found = (
        waits.filter(pl.col("wait_s") <= SHORT_S)
        .group_by(*PLACE_COLUMNS, "wait_s")
        .agg(
            pl.len().alias("n"),
            (pl.col("err") == "ETIMEDOUT").sum().alias("timed_out"),
            ((pl.col("ret") == 0) | (pl.col("err") == "EAGAIN")).sum().alias("woken"),
            pl.coalesce("lwp", "pid").drop_nulls().unique().sort().alias("threads"),
            pl.col("line_no").bottom_k(CITED).sort().alias("lines"),
            pl.col("line_end").filter(pl.col("err") == "ETIMEDOUT").bottom_k(CITED).sort().alias("ends"),
        )
        .filter((pl.col("n") >= WAITS) & (pl.col("timed_out") > 0) & (pl.col("woken") <= WOKEN * pl.col("timed_out")))
        .sort("wait_s", *PLACE_COLUMNS, nulls_last=True)
    )
    for row in found.head(5).iter_rows(named=True):
        yield _told(row)


def _told(row: dict[str, Any]) -> Sighting:
    threads = row["threads"]
    named = ", ".join(map(str, threads[:NAMED])) + (
        f" and {len(threads) - NAMED:,} more" if len(threads) > NAMED else ""
    )
    who = f"{'thread' if len(threads) == 1 else 'threads'} {named}" if threads else "a thread"
    wait = figure(row["wait_s"], "s")
    ended = row["timed_out"] + row["woken"]
    cited = {no: "its time-out" for no in row["ends"] if no is not None} | dict.fromkeys(
        row["lines"], f"a wait of {wait}"
    )
    return Sighting(
        "short-wait",
        named or "a thread",
        f"{who} waited {row['n']:,} times with a time-out of {wait}, and {row['timed_out']:,} of {ended:,} that ended"
        f" did so by it: at most {1 / row['wait_s']:,.0f} rounds a second each, for which nobody woke them",
        "time_out_s",
        row["wait_s"],
        "s",
        tuple(Lines(row["artifact_id"], no, no, role) for no, role in cited.items()),
        **place(row),
        against="a time-out that a processor does not notice",
        against_value=SHORT_S,
        share=SHARE,
        n=row["n"],
        seen=({"event": "wait-of-milliseconds-times-out"},),
    )

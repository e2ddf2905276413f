"""What does a table of counted calls leave out? The time that calls wait, if it counts processor time.

Stands out: a table of `strace -c` without -w: its seconds are those that the kernel worked for the calls, so sleeps, polls and
waits for locks are nearly absent from it, and its shares say nothing about where the wall time went. That it is so is
proven by a sleep of less than `NO_SLEEP_S`; where no option and no sleep tells, it is said as the default. Normal: a table
of wall time (-w).
A second thing stands out: nearly all calls are of one kind that waits or looks. An event loop reads or writes between its
polls, so polls, locks and clocks alone are a loop without progress, or threads that fight for one lock.
Worked example: nanosleep 1 call, 0.000041 s, of 0.000512 s of all calls: a sleep of 41 us is none.
Cost: one aggregation over the tables. Source: strace(1), -c and -w ("Summarise the time difference between the beginning and
end of each system call. The default is to summarise the system time").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.walking.targets import LOCKS, POLLS, SLEEPS

OBSERVER = Observer(
    "counted-calls",
    "What does a table of counted calls leave out?",
    ("syscall_totals", "counters"),
    {"linux": "strace -c -w -f -p PID; strace -f -T -tt -p PID"},
)

NO_SLEEP_S = 5e-5
"""Maximum mean seconds of a sleep that is only the kernel's work for it: the timer slack lets each sleep end up to 50 us
late (prctl(2), PR_SET_TIMERSLACK), and the tracer's two stops make the shortest one longer than that."""

ALONE, MANY = 0.9, 50_000
"""Minimum part of all calls, and number, of a call that waits or looks: threads that wake twenty times a second to find
nothing make 40 such calls a second, and nobody counts for twenty minutes."""

LOOKS = frozenset(
    {
        "clock_gettime",
        "gettimeofday",
        "gtime",
        "gethrtime",
        "time",
        "times",
        "getrusage",
        "sched_yield",
        "yield",
        "getpid",
    }
)
"""Calls that only look, or give the processor to others."""

NAMED = 4
"""Maximum number of calls that a sentence names."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield calls that only wait or look and make up nearly all of a table, then per table what it does not count."""
    yield from _alone(case)
    yield from _uncounted(case)


def _alone(case: CaseTables) -> Iterator[Sighting]:
    """Yield calls that only wait or look and make up nearly all calls of a table."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "line_end", "section", "pid", "name", "n", "errors"]
    rows = case.scan("syscall_totals", columns, pl.col("n") > 0)
    all_ = pl.col("n").sum().over("artifact_id", "part", "pid", "section")
    tables = rows.filter(pl.col("section").fill_null("call") == "call").with_columns(all_.alias("all"))
    # An aggregation of DTrace by probefunc is such a table, without errors.
    counted = case.scan("counters", [*PLACE_COLUMNS, "part", "sample", "grp", "line_no", "line_end", "item", "value"])
    sums = counted.filter(
        pl.col("grp").str.contains(r"^(?:aggregation|syscall$)"), pl.col("value").is_between(1, 1e15)
    ).with_columns(
        pl.col("value").sum().over("artifact_id", "part", "sample", "grp").cast(pl.Int64).alias("all"),
        pl.col("value").cast(pl.Int64).alias("n"),
        pl.col("item").alias("name"),
        pl.lit(None, pl.Int64).alias("errors"),
    )
    kept = [*PLACE_COLUMNS, "line_no", "line_end", "name", "n", "errors", "all"]
    found = (
        pl.concat([tables.select(kept), sums.select(kept)], how="vertical_relaxed")
        .filter(
            pl.col("name").is_in([*POLLS, *LOCKS, *LOOKS]),
            pl.col("n") >= MANY,
            pl.col("n") >= ALONE * pl.col("all"),
        )
        .sort("n", descending=True)
        .head(3)
        .collect(engine="streaming")
    )
    for row in found.iter_rows(named=True):
        share = min(1.0, row["n"] / row["all"])
        failed = f", {row['errors']:,} of them failed" if row["errors"] else ""
        yield Sighting(
            "alone",
            row["name"],
            f"{figure(100 * share, '%')} of all calls are {row['name']}: {row['n']:,} times{failed}, and hardly anything is read or written",
            "calls_count",
            float(row["n"]),
            "count",
            (Lines(row["artifact_id"], row["line_no"], row["line_end"] or row["line_no"], row["name"]),),
            **place(row),
            against="a loop that moves data between its waits",
            against_value=ALONE * row["all"],
            share=share,
            n=int(row["n"]),
            seen=({"event": "calls-without-progress"}, {"call": row["name"]}),
        )


def _uncounted(case: CaseTables) -> Iterator[Sighting]:
    """Yield once per table what it does not count."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "section", "name", "n", "errors", "total_s", "total_kind", "pct"]
    rows = case.scan("syscall_totals", columns, pl.col("pct").is_not_null() & pl.col("total_s").is_between(0, 1e9))
    name, kind, mean = pl.col("name"), pl.col("total_kind"), pl.col("total_s") / pl.col("n")
    calls = rows.filter(pl.col("section").fill_null("call") == "call", pl.col("n") > 0)
    waits = name.is_in([*SLEEPS, *POLLS, *LOCKS])
    found = (
        calls.group_by(*PLACE_COLUMNS, "part")
        .agg(
            (kind == "cpu").any().alias("counted"),
            (kind == "wall").any().alias("wall"),
            (name.is_in(SLEEPS) & (mean < NO_SLEEP_S) & (pl.col("errors").fill_null(0) == 0)).any().alias("no_sleep"),
            name.filter(waits).head(NAMED).alias("waits"),
            pl.col("line_no").filter(waits).head(NAMED).alias("lines"),
            pl.col("n").sum(),
            pl.col("errors").sum(),
            pl.col("total_s").sum(),
            pl.col("line_no").min().alias("first"),
            pl.col("line_no").max().alias("last"),
        )
        .filter(~pl.col("wall"))
        .sort(*PLACE_COLUMNS, "part", nulls_last=True)
        .head(3)
        .collect(engine="streaming")
    )
    for row in found.iter_rows(named=True):
        sure = row["counted"] or row["no_sleep"]
        what = "processor time in the kernel" if sure else "processor time in the kernel unless it was made with -w"
        waits_too = f", so what {', '.join(row['waits'])} waited is not in it" if row["waits"] else ""
        failed = f", {row['errors']:,} of them failed" if row["errors"] else ""
        cited = {**dict(zip(row["lines"], row["waits"], strict=True)), row["first"]: "first", row["last"]: "last"}
        yield Sighting(
            "setting",
            "table of counted calls",
            f"The table counts {what}, not waiting{waits_too}: {figure(row['total_s'], 's')} in {row['n']:,} calls{failed}",
            "counted_s",
            row["total_s"],
            "s",
            tuple(Lines(row["artifact_id"], no, no, role) for no, role in cited.items()),
            **place(row),
            n=int(row["n"]),
            seen=({"event": "calls-counted-without-waits"},),
        )

"""Where a duration went: on the processor or waiting, and which part of a request or of a database's calls holds it.

Standing out: a timed command of `FELT_S` (0.1 s) or more of which at least half was on a processor, or waiting; the part
of a traced request that has half of it; the calls of a database (parse, execute, fetch) that have half of their time.
Normal: a duration that no part holds half of; it is not shown. The processor's part of a request is kept as a measure,
because a request that computes waits for nothing.
Worked example: `real 12.4 user 0.3 sys 0.2`: 0.5 s of 12.4 s on a processor, 96 % was waiting: value 11.9, share 0.96.
Cost: the timed commands and database calls, grouped; the parts of the five longest requests of a kind. Source: time(1);
Method R (Millsap, Holt): a response time is the sum of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "split",
    "Which part holds the time?",
    ("conn_times", "syscalls", "db_calls"),
    {
        "linux": "strace -f -ttt -T -o FILE COMMAND; perf record -g COMMAND",
        "solaris": "truss -f -d -D -E -o FILE COMMAND",
    },
)

HALF = 0.5
"""Minimum part of a duration that holds it."""

TOP = 5
"""Maximum number of durations of a kind that are told, the longest first."""

LONGEST_S = 30 * 86400.0
"""Maximum believable duration in seconds."""

COMPUTES: Seen = {"counter": "request_cpu_pct"}


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the part that holds each duration, the longest duration first."""
    found = [*_timed(case), *_requests(case), *_database(case)]
    return sorted(found, key=lambda s: (s.normal, -(s.of_s or 0.0)))


def _timed(case: CaseTables) -> Iterator[Sighting]:
    """Yield timed commands: `real` against `user` and `sys`."""
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "series", "elapsed_s", "cpu_s"]
    felt = pl.col("elapsed_s").is_between(FELT_S, LONGEST_S) & (pl.col("cpu_s") >= 0)
    rows = case.scan("conn_times", columns, felt).top_k(TOP, by="elapsed_s").collect(engine="streaming")
    for row in rows.sort("elapsed_s", descending=True).iter_rows(named=True):
        whole, busy = row["elapsed_s"], min(row["cpu_s"], row["elapsed_s"])
        who = row["series"] or "a command"
        computes = busy >= HALF * whole
        part = busy if computes else whole - busy
        words = "was on a processor" if computes else "was waiting"
        last = min(row["line_end"] or row["line_no"], row["line_no"] + 19)
        yield Sighting(
            "split",
            who,
            f"{who} took {figure(whole, 's')}, {figure(row['cpu_s'], 's')} of it on a processor:"
            f" {figure(100 * part / whole, '%')} {words}",
            "part_s",
            part,
            "s",
            (Lines(row["artifact_id"], row["line_no"], last, "real, user and sys"),),
            **place(row),
            against="the whole duration",
            against_value=whole,
            seconds=part,
            of_s=whole,
            seen=(COMPUTES,) if computes else (),
        )


def _requests(case: CaseTables) -> Iterator[Sighting]:
    """Yield the part of each traced request that has half of it, and how much of it was the program's own code."""
    columns = [
        *PLACE_COLUMNS,
        "request",
        "level",
        "kind",
        "name",
        "target",
        "n",
        "dur_s",
        "share",
        "line_no",
        "line_max",
    ]
    rows = case.scan("request_parts", columns, (pl.col("level") == 0) & (pl.col("dur_s") >= 0)).collect()
    whole = pl.col("dur_s").sum().over("artifact_id", "request").alias("wall")
    rows = rows.with_columns(whole).filter(pl.col("wall").is_between(FELT_S, LONGEST_S))
    own = rows.filter(pl.col("kind") == "own code").sort("wall", descending=True)
    for row in own.unique("artifact_id", keep="first", maintain_order=True).iter_rows(named=True):
        yield Sighting(
            "split",
            "own code",
            f"{figure(100 * row['dur_s'] / row['wall'], '%')} of the request of {figure(row['wall'], 's')} was outside of calls",
            "request_cpu_pct",
            100 * row["dur_s"] / row["wall"],
            "%",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "request"),),
            **place(row),
            against="the whole request",
            against_value=100.0,
            normal=True,
        )
    held = rows.filter((pl.col("dur_s") >= HALF * pl.col("wall")) & (pl.col("kind") != "idle"))
    for row in held.sort("wall", descending=True).head(TOP).iter_rows(named=True):
        what = row["name"] or row["kind"]
        on = f" on {row['target']}" if row["target"] else ""
        times = f" in {row['n']:,} calls" if row["n"] and row["n"] > 1 else ""
        line = row["line_max"] or row["line_no"]
        # What the calls stand for is told by those who see the single calls; the sum is no second observation.
        yield Sighting(
            "split",
            f"{what}{on}",
            f"{what}{on} holds {figure(row['dur_s'], 's')}{times} of a request of {figure(row['wall'], 's')},"
            f" {figure(100 * row['dur_s'] / row['wall'], '%')}",
            "part_s",
            row["dur_s"],
            "s",
            (Lines(row["artifact_id"], line, line, "longest"),),
            **place(row),
            against="the whole request",
            against_value=row["wall"],
            seconds=row["dur_s"],
            of_s=row["wall"],
            n=row["n"] or 1,
            seen=(COMPUTES,) if row["kind"] == "own code" else (),
        )


def _database(case: CaseTables) -> Iterator[Sighting]:
    """Yield the sort of database call that has half of the time of all of them, and how much of it was computing."""
    key = [*PLACE_COLUMNS, "call"]
    elapsed = pl.col("elapsed_s")
    rows = (
        case.scan("db_calls", [*key, "line_no", "elapsed_s", "cpu_s"], elapsed.is_between(0, LONGEST_S))
        .group_by(key)
        .agg(
            pl.len().alias("n"),
            elapsed.sum().alias("sum"),
            pl.col("cpu_s").sum().alias("cpu"),
            pl.col("line_no").get(elapsed.arg_max()),
        )
        .with_columns(pl.col("sum").sum().over("artifact_id").alias("all"))
        .filter((pl.col("all") >= FELT_S) & (pl.col("sum") >= HALF * pl.col("all")))
    )
    for row in rows.top_k(TOP, by="sum").collect(engine="streaming").iter_rows(named=True):
        call = str(row["call"])
        yield Sighting(
            "split",
            call,
            f"{call} holds {figure(row['sum'], 's')} of {figure(row['all'], 's')} in calls of the database,"
            f" {figure(row['cpu'], 's')} of it on a processor",
            "part_s",
            row["sum"],
            "s",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "longest"),),
            **place(row),
            against="all calls of the database",
            against_value=row["all"],
            seconds=row["sum"],
            of_s=row["all"],
            n=row["n"],
            seen=({"call": call},),
        )

"""Long waits within functions of libraries, and within the program between two calls of one thread.

The time between two events of a thread belongs to the function that it is in: the one just entered, or the one that it
leaves next. So that a function is not told for what it calls. A thread whose calls have elapsed times of their own also
shows how long it was outside of every call: it computed, was stopped, or waited for a page or a processor. Before an accept
it waited for a caller in a call that the trace does not show.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.frames import idle_reason
from rules.observers.observer import FELT_S, Lines, Sighting, figure, place
from rules.observers.traced import union
from rules.signatures.signatures import Seen
from rules.walking.targets import ACCEPTS
from rules.walking.threads import BROKEN, ENDS, batches
from rules.writing.process_words import number_words

LONGEST_S = 30 * 86400.0
"""Maximum believable time in seconds."""

LONG_ONES = 5_000
"""Maximum number of long intervals that are looked at: the longest."""

OUTSIDE = 0.5
"""Factor of the share of time outside of calls: most of it is work, and nobody can tell it from a stop."""

THREAD = [*PLACE_COLUMNS, "part", "pid", "lwp"]


def functions(case: CaseTables) -> Iterator[Sighting]:
    """Yield library functions in which a thread stayed for `FELT_S` or longer, without the time of functions called."""
    columns = [*THREAD, "line_no", "t_local", "lib", "func", "event"]
    rows = case.scan("libcalls", columns, pl.col("t_local").is_finite() & pl.col("func").is_not_null())
    before = {c: pl.col(c).shift(1).over(THREAD) for c in ("t_local", "line_no", "func", "lib", "event")}
    entered = before["event"] == "entry"
    inside = entered | (pl.col("event") == "exit")
    long = (
        rows.with_columns(
            (pl.col("t_local") - before["t_local"]).alias("own_s"),
            before["line_no"].alias("line_before"),
            *(pl.when(entered).then(before[c]).otherwise(pl.col(c)).alias(f"in_{c}") for c in ("func", "lib")),
            inside.alias("inside"),
        )
        .filter(pl.col("inside") & pl.col("own_s").is_between(FELT_S, LONGEST_S))
        .top_k(LONG_ONES, by="own_s")
        .collect(engine="streaming")
        .sort("own_s", "line_no", descending=[True, False])
    )
    if long.is_empty():
        return
    spans = dict(
        rows.group_by("artifact_id")
        .agg((pl.col("t_local").max() - pl.col("t_local").min()).alias("s"))
        .collect()
        .iter_rows()
    )
    for _, held in long.group_by(*PLACE_COLUMNS, "in_lib", "in_func", maintain_order=True):
        first = held.row(0, named=True)
        name = f"{first['in_lib']}:{first['in_func']}" if first["in_lib"] else str(first["in_func"])
        seconds = union(held.with_columns(pl.col("t_local").alias("done_s")))
        more = f", {held.height:,} times {figure(seconds, 's')} together" if held.height > 1 else ""
        symbol: Seen = {"symbol": str(first["in_func"])}
        yield Sighting(
            "wait",
            name,
            f"{name} took {figure(first['own_s'], 's')} by itself{more}",
            "duration_s",
            first["own_s"],
            "s",
            tuple(
                Lines(r["artifact_id"], r[c], r[c], role)
                for r in held.head(5).iter_rows(named=True)
                for c, role in (("line_before", "before it"), ("line_no", "after it"))
            ),
            **place(first),
            t_from=first["t_local"] - first["own_s"],
            t_to=first["t_local"],
            seconds=seconds,
            of_s=max(seconds, spans.get(first["artifact_id"]) or 0.0),
            n=held.height,
            seen=({**symbol, "seconds": round(first["own_s"], 6)}, symbol),
            idle=idle_reason((symbol, {"call": str(first["in_func"])})),
        )


def outside_calls(case: CaseTables) -> Iterator[Sighting]:
    """Yield threads that were outside of calls for `FELT_S` or longer, for tracers that print how long calls took."""
    columns = [*THREAD, "line_no", "t_local", "name", "elapsed_s", "stamp", "contiguous", "state"]
    timed = (pl.col("elapsed_s") >= 0) & pl.col("t_local").is_finite()
    begin = pl.when(ENDS).then(pl.col("t_local") - pl.col("elapsed_s")).otherwise(pl.col("t_local"))
    end = pl.when(ENDS).then(pl.col("t_local")).otherwise(pl.col("t_local") + pl.col("elapsed_s"))
    before = {c: pl.col(c).shift(1).over(THREAD) for c in ("end", "line_no", "name")}
    # truss of Solaris prints no such time: then there is nothing to walk along millions of calls for.
    if case.scan("syscalls", ["line_no"], timed).head(1).collect().is_empty():
        return

    def stretches(where: pl.Expr | None = None) -> pl.LazyFrame:
        return case.scan("syscalls", columns, where).with_columns(
            pl.when(timed).then(begin).alias("begin"), pl.when(timed).then(end).alias("end"), BROKEN.alias("broken")
        )

    rows = stretches()
    long = [
        stretches(where)
        .with_columns(
            (pl.col("begin") - before["end"]).alias("own_s"),
            before["line_no"].alias("line_before"),
            before["name"].alias("name_before"),
        )
        .filter(pl.col("own_s").is_between(FELT_S, LONGEST_S) & ~pl.col("broken") & ~pl.col("name").is_in(ACCEPTS))
        .top_k(LONG_ONES, by="own_s")
        .collect(engine="streaming")
        for where in batches(case)  # whole processes: a thread's calls follow each other within one
    ]
    if not long:
        return
    gaps = pl.concat(long).sort("own_s", "line_no", descending=[True, False]).head(LONG_ONES)
    if gaps.is_empty():
        return
    thread = ["artifact_id", "pid", "lwp"]
    spans = (
        rows.join(gaps.lazy().select(thread).unique(), on=thread, how="semi", nulls_equal=True)
        .group_by(thread)
        .agg((pl.col("end").max() - pl.col("begin").min()).alias("s"))
        .collect(engine="streaming")
    )
    of = {key: s for *key_, s in spans.iter_rows() for key in [tuple(key_)]}
    for key, held in gaps.group_by(thread, maintain_order=True):
        first = held.row(0, named=True)
        outside = float(held["own_s"].sum())
        who = number_words(first["lwp"] if first["lwp"] is not None else first["pid"], "thread")
        more = f", {held.height:,} times {figure(outside, 's')} together" if held.height > 1 else ""
        span = of.get(key) or 0.0
        yield Sighting(
            "outside-calls",
            f"{who} between {first['name_before']} and {first['name']}",
            f"{who} made no call for {figure(first['own_s'], 's')} between {first['name_before']} and {first['name']}{more}",
            "gap_s",
            first["own_s"],
            "s",
            tuple(
                Lines(r["artifact_id"], r[c], r[c], role)
                for r in held.head(4).iter_rows(named=True)
                for c, role in (("line_before", "call before"), ("line_no", "call after"))
            ),
            **place(first),
            t_from=first["begin"] - first["own_s"],
            t_to=first["begin"],
            against="the time of the thread" if span > 0 else None,
            against_value=span if span > 0 else None,
            share=OUTSIDE * min(1.0, outside / span) if span > 0 else None,
            n=held.height,
        )

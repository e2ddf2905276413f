"""What grew between two artifacts of one host: counters that should be still, interrupts, and processes of two listings.

Standing out: a counter that a signature knows, or whose name says that it should stand still, and that grew between two
totals of one host (`counter_growth` decides which two belong together: two `nstat -az`, two `netstat -s`, two
`vmstat -s`); for each second where both have times. A program with at least `MORE` processes more than before and twice
as many; a process whose memory, or memory of the host that cannot be given back, grew by half and `GREW_KB`; those that used
a processor for at least half of the time between. Normal: counters and processes that stay as they are.
Worked example: nstat of 10:00 has TcpExtListenOverflows 128, that of 10:01 has 145: 17 more in 60 s, 0.28 per s.
Cost: one aggregation of the listings, the growth is a derived table. Source: netstat(1), nstat(8): totals since boot mean
something only as differences; ps(1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.observers.still_counters import TRAFFIC_LINE, moving
from rules.writing.process_words import process_words

OBSERVER = Observer(
    "growth-between",
    "What grew between two artifacts of one host?",
    ("counters", "ps", "meminfo"),
    across=True,
    wordless=True,
)

MORE = 20
"""Minimum number of further processes of one program: fewer come and go on any host."""

TIMES = 2.0
"""Minimum ratio of the processes of one program after and before."""

GREW_KB = 102_400.0
"""Minimum growth of a process in kB (100 MiB)."""

GREW = 1.5
"""Minimum ratio of a process's memory after and before."""

HELD = (
    "SUnreclaim", "AnonPages", "Shmem", "PageTables", "KernelStack", "Percpu", "VmallocUsed", "Unevictable", "Kernel", "Anon", "User/Anon",
)  # fmt: skip
"""Figures of memory that the kernel cannot give back when it is asked for; caches may grow as they like."""

BUSY = 0.5
"""Minimum part of the time between two listings that a process was on a processor."""

LISTINGS = 20
"""Maximum number of listings of one host that are compared, the first ones."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield counters that grew, then what changed between two listings of processes, the largest first."""
    yield from _counters(case)
    yield from sorted(_processes(case), key=lambda s: -(s.share or 0.0))
    yield from _memory(case)


def _counters(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "grp", "item", "name", "mode", "value", "delta", "span_s", "t_to"]
    across = pl.col("across") & (pl.col("delta") >= 0) & (pl.col("delta") < 1e18)
    rows = (
        case.scan("counter_growth", [*columns, "before_artifact", "before_line"], across)
        .with_columns(
            pl.col("delta").alias("moved"),
            pl.lit(1, pl.Int64).alias("n_flows"),
            pl.col("value").alias("total"),
            pl.col("span_s").alias("interval_s"),
            pl.col("t_to").alias("t_from"),
        )
        .sort("artifact_id", "line_no", nulls_last=True)
        .collect(engine="streaming")
    )
    before = {
        (a, line): (b, at)
        for a, line, b, at in rows.select("artifact_id", "line_no", "before_artifact", "before_line").iter_rows()
    }
    for made in moving(rows):
        line = made.lines[0]
        earlier, at = before.get((line.artifact, line.line_from), (None, None))
        cited = [replace(line, role="later")]
        if earlier is not None and at is not None:
            cited.append(Lines(earlier, at, at, "earlier"))
        cited.extend(x for x in made.lines if x.role == TRAFFIC_LINE)
        yield replace(made, lines=tuple(cited))


def _processes(case: CaseTables) -> Iterator[Sighting]:
    """Yield changes of processes between consecutive listings of a host: the last samples of its artifacts."""
    known = (
        pl.col("host").is_not_null()
        & pl.col("pid").is_not_null()
        & pl.col("lwp").is_null()
        & ~pl.col("first").fill_null(False)
    )
    columns = [
        *PLACE_COLUMNS,
        "part",
        "sample",
        "line_no",
        "t_local",
        "pid",
        "comm",
        "rss_kb",
        "cpu_time_s",
        "start_text",
    ]
    listing = ["host", "artifact_id", "part"]
    rows = case.scan("ps", columns, known).with_columns(pl.col("sample").fill_null(1))
    heads = (
        rows.group_by(listing)
        .agg(pl.col("sample").max(), pl.len().alias("n"))
        .sort(listing)
        .collect(engine="streaming")
    )
    if heads["host"].n_unique() == heads.height:
        return
    for _, held in heads.group_by("host", maintain_order=True):
        few = held.unique("artifact_id", keep="last", maintain_order=True).head(LISTINGS)
        if few.height < 2:
            continue
        frames = [_listing(rows, one) for one in few.iter_rows(named=True)]
        for earlier, later in pairwise(frames):
            yield from _programs(earlier, later)
            yield from _grown(earlier, later)


def _memory(case: CaseTables) -> Iterator[Sighting]:
    """Yield unreclaimable memory that grew much since the previous artifact of the same host."""
    keys = ["host", "phase", "name"]
    value, before = pl.col("value"), pl.col("value_before")
    columns = [*PLACE_COLUMNS, "part", "sample", "line_no", "t_local", "name", "value", "unit"]
    known = pl.col("host").is_not_null() & pl.col("name").is_in(HELD) & (value > 0) & value.is_finite()
    rows = (
        case.scan("meminfo", columns, known & (pl.col("unit") == "kb"))
        .sort("artifact_id", "part", "sample", "line_no")
        .group_by("artifact_id", *keys, maintain_order=True)
        .last()
        .with_columns(pl.col("value", "artifact_id", "line_no").shift(1).over(keys).name.suffix("_before"))
        .filter((value >= GREW * before) & (value - before >= GREW_KB))
        .sort(value - before, "artifact_id", "line_no", descending=[True, False, False])
        .head(LISTINGS)
        .collect(engine="streaming")
    )
    for row in rows.iter_rows(named=True):
        yield Sighting(
            "growth",
            row["name"],
            f"{row['name']} holds {figure(row['value'], 'kB')}, {figure(row['value_before'], 'kB')} in the listing before",
            row["name"],
            row["value"],
            "kB",
            _pair(row),
            **place(row),
            against="the listing before",
            against_value=row["value_before"],
        )


def _listing(rows: pl.LazyFrame, of: dict[str, Any]) -> pl.DataFrame:
    same = [pl.col(c) == of[c] for c in ("host", "artifact_id", "part", "sample")]
    return rows.filter(*same).unique("pid", keep="first", maintain_order=True).collect(engine="streaming")


def _programs(earlier: pl.DataFrame, later: pl.DataFrame) -> Iterator[Sighting]:
    """Yield programs that have many more processes."""
    counts = [
        f.filter(pl.col("comm").is_not_null())
        .group_by("comm")
        .agg(pl.len().alias("n"), pl.col("line_no").min(), pl.col("line_no").max().alias("last"))
        for f in (earlier, later)
    ]
    both = (
        counts[1].join(counts[0], on="comm", how="left", suffix="_before").with_columns(pl.col("n_before").fill_null(0))
    )
    many = both.filter((pl.col("n") >= pl.col("n_before") + MORE) & (pl.col("n") >= TIMES * pl.col("n_before")))
    for row in many.sort("n", "comm", descending=[True, False]).head(5).iter_rows(named=True):
        a = later["artifact_id"][0]
        lines = [Lines(a, n, n, role) for n, role in ((row["line_no"], "first of them"), (row["last"], "last of them"))]
        if row["line_no_before"] is not None:
            lines.append(Lines(earlier["artifact_id"][0], row["line_no_before"], row["line_no_before"], "before"))
        yield Sighting(
            "growth",
            row["comm"],
            f"{row['comm']}: {row['n']:,} processes, {row['n_before']:,} in the listing before",
            "processes_count",
            float(row["n"]),
            "count",
            tuple(lines),
            **place(later.row(0, named=True)),
            against="the listing before",
            against_value=float(row["n_before"]),
            share=(row["n"] - row["n_before"]) / later.height,
            n=row["n"] - row["n_before"],
            seen=({"process": row["comm"]},),
        )


def _grown(earlier: pl.DataFrame, later: pl.DataFrame) -> Iterator[Sighting]:
    """Yield processes of both listings that grew, and those that were on a processor meanwhile."""
    both = later.join(earlier, on=["pid", "comm"], how="inner", suffix="_before", nulls_equal=True)
    restarted = pl.col("start_text") != pl.col("start_text_before")
    both = both.filter(~restarted.fill_null(False))
    rss, rss_before = pl.col("rss_kb"), pl.col("rss_kb_before")
    grew = both.filter(rss.is_finite() & (rss_before > 0) & (rss >= GREW * rss_before) & (rss - rss_before >= GREW_KB))
    for row in grew.sort("rss_kb", descending=True).head(5).iter_rows(named=True):
        who = process_words(row["comm"], row["pid"])
        yield Sighting(
            "growth",
            f"{who} resident memory",
            f"The resident memory of {who} was {figure(row['rss_kb'], 'kB')}, {figure(row['rss_kb_before'], 'kB')} in the listing before",
            "rss_kb",
            row["rss_kb"],
            "kB",
            _pair(row),
            **place(row),
            against="the listing before",
            against_value=row["rss_kb_before"],
            seen=({"counter": "ps.rss_kb"},),
        )
    used, span = pl.col("cpu_time_s") - pl.col("cpu_time_s_before"), pl.col("t_local") - pl.col("t_local_before")
    # Times of two clocks give no span; a listing without times has no clock (NULL).
    timed = both.filter(pl.col("clock") == pl.col("clock_before")).with_columns(used.alias("used"), span.alias("span"))
    busy = timed.filter((pl.col("span") > 1) & (pl.col("used") >= BUSY * pl.col("span")) & pl.col("used").is_finite())
    for row in busy.sort("used", descending=True).head(5).iter_rows(named=True):
        who = process_words(row["comm"], row["pid"])
        yield Sighting(
            "growth",
            f"{who} processor time",
            f"{who} used {figure(row['used'], 's')} of processor time in the {figure(row['span'], 's')} between two listings",
            "cpu_s",
            row["used"],
            "s",
            _pair(row),
            **place(row),
            against="the time between",
            against_value=row["span"],
            seen=({"process": str(row["comm"])},),
        )


def _pair(row: dict[str, Any]) -> tuple[Lines, ...]:
    now, then = row["line_no"], row["line_no_before"]
    return (Lines(row["artifact_id"], now, now, "later"), Lines(row["artifact_id_before"], then, then, "earlier"))

"""Performance counters of Windows beyond their bounds, from typeperf, Performance Monitor's export, or Get-Counter.

Standing out: processors busy for 80 % of the time, a disk that takes 20 ms for a read or write, more than two threads per processor
in the queue for one (ten where the number is unknown), less than 100 MB of memory available, nine tenths of the commit limit in use,
a page file nearly full, 1,000 pages a second read or written for want of memory, 4 GiB of a kernel's pool, 100,000 handles of a
process, a fifth of the processors or most of one in deferred calls and interrupts, a third of the time in .NET's collector,
in at least a quarter of the samples. Normal: all others; they are kept as measures. Pages that are read while next to no memory is
available say outright what each of both is only a sign of.
Worked example: `\\\\db1\\PhysicalDisk(2 E:)\\Avg. Disk sec/Read` 0.31, 0.29, 0.33: 310 ms in the median, in 3 of 3 samples.
Cost: one filter by name over the counters and one aggregation. Source: Microsoft Learn, Performance counters (PhysicalDisk, Processor,
System, Memory objects), Troubleshoot performance problems in Windows; Gregg, the USE method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "performance-counters",
    "Which performance counters of Windows are beyond their bounds?",
    ("counters",),
    {"*": "typeperf -si 1 -sc 60 of these counters, and of the processes (Process(*)\\% Processor Time, Working Set)"},
    alone=True,
    wordless=True,
)

PATH = r"^(?:\\\\[^\\]+)?\\([^\\()]+)(?:\((.*)\))?\\([^\\]+)$"
"""Path of a counter: host, object, instance, counter."""

OFTEN = 0.25
"""Minimum part of the samples beyond the bound: less is a moment."""


@dataclass(frozen=True)
class Bound:
    """A counter (object and name), the measure that it gives, the factor to the measure's unit, and the bound."""

    of: str
    counter: str
    instance: str
    name: str
    unit: str
    factor: float
    bound: float
    says: str
    below: bool = False


AVAILABLE, PAGES, SHORT = "available_mb", "pages_ps", "pages_while_short"
"""Measures of memory, and what pages are called that are read while next to none is available."""

BOUNDS = (
    Bound(
        r"^(?:physical|logical)disk$",
        r"^avg[.] disk sec/(?:read|write|transfer)$",
        r".",
        "disk_response_ms",
        "ms",
        1e3,
        20.0,
        "takes",
    ),
    Bound(r"^processor(?: information)?$", r"^% processor time$", r"_total", "cpu_busy_pct", "%", 1.0, 80.0, "is at"),
    Bound(
        r"^hyper-v hypervisor logical processor$",
        r"^% total run time$",
        r"_total",
        "cpu_busy_pct",
        "%",
        1.0,
        90.0,
        "is at",
    ),
    Bound(r"^system$", r"^processor queue length$", r"", "threads_queued", "count", 1.0, 10.0, "is at"),
    Bound(r"^memory$", r"^available (?:mbytes|mb)$", r"", AVAILABLE, "MB", 1.0, 100.0, "is at", below=True),
    Bound(r"^memory$", r"^% committed bytes in use$", r"", "committed_pct", "%", 1.0, 90.0, "is at"),
    Bound(r"^memory$", r"^pages(?: input)?/sec$", r"", PAGES, "per s", 1.0, 1_000.0, "is at"),
    Bound(r"^paging file$", r"^% usage$", r"_total", "paging_file_pct", "%", 1.0, 90.0, "is at"),
    Bound(r"^memory$", r"^pool (?:non)?paged bytes$", r"", "pool_mb", "MB", 1 / 1048576, 4_096.0, "is at"),
    Bound(r"^physicaldisk$", r"^avg[.] disk queue length$", r"^[0-9]", "disk_queue", "count", 1.0, 16.0, "is at"),
    Bound(
        r"^processor(?: information)?$",
        r"^% (?:dpc|interrupt) time$",
        r"_total$",
        "cpu_interrupt_pct",
        "%",
        1.0,
        20.0,
        "is at",
    ),
    Bound(
        r"^processor(?: information)?$",
        r"^% (?:dpc|interrupt) time$",
        r"^[0-9]+(?:,[0-9]+)?$",
        "one_cpu_soft_pct",
        "%",
        1.0,
        80.0,
        "is at",
    ),
    Bound(r"^process$", r"^handle count$", r"^[^_]", "handles_count", "count", 1.0, 100_000.0, "is at"),
    Bound(r"^[.]net clr memory$", r"^% time in gc$", r"^[^_]", "dotnet_gc_pct", "%", 1.0, 33.0, "is at"),
)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield each known counter with its median and worst sample."""
    columns = [*PLACE_COLUMNS, "line_no", "name", "value"]
    name = pl.col("name").str.to_lowercase()
    part = name.str.extract_groups(PATH).struct
    rows = case.scan("counters", columns, pl.col("name").str.contains(PATH) & pl.col("value").is_between(0, 1e15))
    rows = rows.with_columns(
        part.field("1").alias("of"), part.field("2").alias("instance"), part.field("3").alias("counter")
    )
    found = [one for bound in BOUNDS for one in _series(rows, bound)]
    short = {one.lines[0].artifact for one in found if one.name == AVAILABLE and not one.normal}
    for one in found:
        paged = one.name == PAGES and not one.normal and one.lines[0].artifact in short
        yield replace(one, seen=({"counter": SHORT},)) if paged else one


def _series(rows: pl.LazyFrame, bound: Bound) -> Iterator[Sighting]:
    known = (
        pl.col("of").str.contains(bound.of)
        & pl.col("counter").str.contains(bound.counter)
        & pl.col("instance").fill_null("").str.contains(bound.instance)
    )
    value = pl.col("value") * bound.factor
    beyond = value < bound.bound if bound.below else value >= bound.bound
    worst = value if bound.below else -value
    made = (
        rows.filter(known)
        .group_by([*PLACE_COLUMNS, "name"])
        .agg(
            pl.len().alias("n"),
            beyond.sum().alias("beyond"),
            value.median().alias("median"),
            value.get(worst.arg_min()).alias("worst"),
            pl.col("line_no").get(worst.arg_min()).alias("worst_line"),
            pl.col("line_no").min().alias("first"),
        )
        .with_columns((pl.col("beyond") / pl.col("n")).alias("share"))
        .sort(pl.col("share"), "first", descending=[True, False])
        .head(MOST)
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        yield _sighting(row, bound)


def _sighting(row: dict[str, Any], bound: Bound) -> Sighting:
    name = str(row["name"])
    label = name[name.index("\\", 2) + 1 :] if name.startswith("\\\\") else name.lstrip("\\")
    n, normal = row["n"], row["share"] < OFTEN
    times = "" if n == 1 else f" in the median of {n:,} samples, {figure(row['worst'], bound.unit)} at worst"
    if n > 1 and row["beyond"]:
        times += (
            f", {row['beyond']:,} of them {'below' if bound.below else 'at or above'} {figure(bound.bound, bound.unit)}"
        )
    return Sighting(
        "measure",
        label,
        f"{label} {bound.says} {figure(row['median'], bound.unit)}{times}",
        bound.name,
        row["median"],
        bound.unit,
        (Lines(row["artifact_id"], row["worst_line"], row["worst_line"], "the worst sample"),),
        **place(row),
        against="its bound",
        against_value=bound.bound,
        share=None if normal else row["share"],
        n=n,
        seen=({"counter": bound.name},),
        normal=normal,
    )

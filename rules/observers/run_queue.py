"""How many threads wait for a processor, for each that the host has, wherever its artifacts say how many these are.

Standing out: half a thread more than processors in the middle of the samples that are beyond it, or, where nobody says
how many processors there are, eight; sixteen while they are full name the shortage. Normal: less.
Worked example: r of 30 in vmstat, and lscpu of the same host with 8 processors: run_queue_per_cpu 3.8.
Cost: one aggregation over the samples of vmstat and one look at the headers of the hosts. Source: Gregg, the USE method:
one waiting thread per processor is saturation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting
from rules.observers.samples import Measure, sampled, sightings

OBSERVER = Observer(
    "run-queue",
    "Does work wait for a processor?",
    ("vmstat",),
    {
        "linux": "ps -eo pid,stat,wchan:32,pcpu,rss,comm --sort=-pcpu | head -40; pidstat -urd 5 6",
        "solaris": "prstat -amc 5 6",
        "aix": "ps aux | head -40; svmon -G",
        "*": "ps -ef; top",
    },
    across=True,
    like="saturation",
    wordless=True,
)

PER_CPU = Measure(
    "run_queue_per_cpu",
    pl.col("r") / pl.col("ncpu"),
    "",
    1.5,
    "{value} for each of the {who} processors",
    "run queue",
    seen=({"counter": "run_queue_per_cpu"},),
    felt=2.0,
)

READY = "the queue of threads ready to run was {value} long ({worst} at worst)"

QUEUE = Measure(
    "run_queue",
    pl.col("r"),
    "",
    8.0,
    f"{READY}; how many processors there are is not known",
    "run queue",
    seen=({"counter": "run_queue"},),
)


FULL_PCT, LONG = 95.0, 16.0
"""Part of the time in % from which processors have no room, and length of the queue from which that is felt on most hosts."""

OF_FULL = replace(
    QUEUE,
    name="run_queue_of_full_processors",
    bound=LONG,
    says=f"{READY}, and the processors were full; how many there are is not known",
    seen=({"counter": "run_queue_of_full_processors"},),
    felt=LONG,
    least_samples=2,
    least_beyond=2,
)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the queue of each artifact, for each processor where their number is known."""
    rows = sampled(case, "vmstat", ["r", "idle", "wa", "st"])
    known = processors(case)
    unknown = rows.join(known.lazy(), on="host", how="anti", nulls_equal=True)
    busy = 100.0 - pl.col("idle") - pl.sum_horizontal("wa", "st")
    full = [one for one in sightings(unknown.filter(busy >= FULL_PCT), [OF_FULL]) if not one.normal]
    told = {one.lines[0].artifact for one in full}
    yield from full
    yield from (one for one in sightings(unknown, [QUEUE]) if one.lines[0].artifact not in told)
    if not known.is_empty():
        counted = rows.join(known.select("host", "ncpu").lazy(), on="host", how="inner", nulls_equal=True)
        said = {row["host"]: row for row in known.iter_rows(named=True)}
        whole = {_worst(one): one.headline for one in sightings(counted, [replace(QUEUE, says=READY)])}
        for one in sightings(counted, [PER_CPU], ["ncpu"]):
            lines = (*one.lines, *_counted_at(said[one.host]))
            yield replace(one, subject="run queue", headline=f"{whole[_worst(one)]}, {one.headline}", lines=lines)


def _worst(one: Sighting) -> tuple[Any, ...]:
    """Return the key by which two sightings of one series are recognised: place of the worst sample, and phase."""
    return (one.lines[0].artifact, one.lines[0].line_from, one.phase)


def processors(case: CaseTables) -> pl.DataFrame:
    """Return the number of processors per host (`ncpu`) and the line that shows it.

    If no header names the number, the entries of a listing per processor are counted.
    """
    columns = [*PLACE_COLUMNS[:2], "line_no", "line_end", "ncpu"]
    said = case.scan("hosts", columns).select(columns)
    numbered = pl.col("cpu").cast(pl.String).str.contains(r"^\d+$")
    listed = (
        case.scan("mpstat", ["host", "cpu"])
        .filter(numbered)
        .group_by("host")
        .agg(pl.col("cpu").n_unique().cast(pl.Int64).alias("ncpu"))
    )
    both = pl.concat([said, listed], how="diagonal_relaxed").filter(pl.col("ncpu") > 0)
    found = both.collect(engine="streaming").sort("line_no", nulls_last=True, maintain_order=True)
    return found.unique("host", keep="first", maintain_order=True)


def _counted_at(row: dict[str, Any]) -> Iterator[Lines]:
    if row["artifact_id"] is not None and row["line_no"] is not None:
        last = min(row["line_end"] or row["line_no"], row["line_no"] + MOST_LINES - 2)
        yield Lines(row["artifact_id"], row["line_no"], last, f"{row['ncpu']} processors, by this listing")

"""Silence: samples that are missing, gaps in a chatty log, a collector that came late. The host may have stood still.

Standing out: a distance between two records of one clock that is at least three times the usual one (the interval of a
sampler, else the median of at least twenty distances) and at least a second. Normal: distances that spread around it.
Worked example: samples every 5 s and one distance of 41 s: 36 s without a sample.
Cost: n log n in the stamps of samplers and logs. Source: missed ticks as a sign of a stopped machine (stolen time,
swapping, a paused guest); three times the usual distance is practice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "silence",
    "Where is something missing that came regularly?",
    ("vmstat", "mpstat", "iostat", "logs"),
    {
        "linux": "vmstat -t 1 300; dmesg -T",
        "*": "vmstat of the same minutes",
    },
    wordless=True,
)

TIMES_USUAL = 3.0
"""Minimum ratio of a gap to the usual distance."""

LEAST_S = 1.0
"""Minimum length of a gap in seconds."""

LEAST_RECORDS = {"vmstat": 4, "mpstat": 4, "iostat": 4, "logs": 20}
"""Minimum number of distances from which the usual one is taken, per table."""

CHATTY_S = 60.0
"""Maximum usual distance of a log's records: one that speaks once an hour is not silent."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the longest gap of each sampler and log, the longest first."""
    found = [s for table in LEAST_RECORDS for s in _gaps(case, table)]
    return sorted(found, key=lambda s: -s.value)


def _gaps(case: CaseTables, table: str) -> Iterator[Sighting]:
    keys = [*PLACE_COLUMNS, "part"]
    t = pl.col("t_local")
    stamps = case.scan(table, [*keys, "line_no", "t_local"], t.is_not_null() & t.is_finite())
    gap = t.diff()
    made = (
        stamps.unique([*keys, "t_local"], keep="first", maintain_order=True)
        .sort(*keys, "t_local", nulls_last=True, maintain_order=True)
        .group_by(keys, maintain_order=True)
        .agg(
            gap.len().alias("n"),
            gap.median().alias("usual"),
            gap.max().alias("gap"),
            t.get(gap.arg_max()).alias("t_to"),
            pl.col("line_no").get(gap.arg_max()).alias("line_after"),
            pl.col("line_no").get(gap.arg_max() - 1).alias("line_before"),
            (t.max() - t.min()).alias("span"),
        )
        .filter(
            (pl.col("n") > LEAST_RECORDS[table])
            & (pl.col("gap") >= LEAST_S)
            & (pl.col("gap") >= TIMES_USUAL * pl.col("usual"))
        )
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        if table != "logs" or 0 < row["usual"] <= CHATTY_S:
            yield _sighting(row, table)


def _sighting(row: dict[str, Any], table: str) -> Sighting:
    what = "log record" if table == "logs" else f"sample of {table}"
    before, after = sorted((row["line_before"], row["line_after"]))
    lines = (
        Lines(row["artifact_id"], before, before, "last before"),
        Lines(row["artifact_id"], after, after, "first after"),
    )
    return Sighting(
        kind="silence",
        subject=what,
        headline=f"No {what} came for {figure(row['gap'], 's')}; the usual distance is {figure(row['usual'], 's')}",
        name="gap_s",
        value=row["gap"],
        unit="s",
        lines=lines,
        **place(row),
        t_from=row["t_to"] - row["gap"],
        t_to=row["t_to"],
        against="the usual distance",
        against_value=row["usual"],
        share=0.5 * min(1.0, row["gap"] / row["span"]) if row["span"] > 0 else None,
        seen=({"counter": f"{table}_gap_s"},),
    )

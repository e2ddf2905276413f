"""Totals that fall: counters that only ever rise, and were lower in a later sample.

Standing out: a total that fell by less than nine tenths of itself: no restart explains that, so whoever computes rates from
it is wrong. One that fell further began again: its program, device or host was restarted between the samples; all that did
so in one artifact are told as one. Normal: everything that rises or stands.
Worked example: steal of /proc/stat at 1,504,706,785,701 and two samples later at 1,461,300,076,681: it fell twice.
Cost: one aggregation over the counters. Source: RFC 2578 7.1.6 (Counter32: it increases until it wraps or is re-initialised).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "backwards",
    "Which totals fall?",
    ("counters",),
    {
        "linux": "uptime; the same counters again, twice, 60 s apart",
        "*": "when the host, the device and the program were started",
    },
)

AGAIN = 0.1
"""Maximum part of the value before at which a total has begun again."""

BEGAN, FELL, BROKEN = 0.1, 0.3, 0.5
"""Share of a total that began again, of one that fell and of one of the kernel that did: nobody loses time by it, but
figures made from it are wrong."""

KERNELS = r"^proc"
"""Groups of counters that the kernel itself keeps."""

MAY_FALL = ("idle", "iowait")
"""Totals of the kernel that may fall by a little: they are estimated while a processor sleeps (proc(5))."""

LEAST = 100.0
"""Minimum fall: a smaller one may be the rounding of a tool."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the totals that fell, the largest part of their value first."""
    keys = [*PLACE_COLUMNS[:3], "grp", "item", "name"]
    value = pl.col("value")
    rows = case.scan("counters", [*keys, "clock", "line_no", "t_local", "mode", "value"], value.is_finite())
    # Where a tool prints no mode, a name that counts may as well stand for a level.
    before = {c: pl.col(c).shift(1) for c in ("value", "line_no", "t_local")}
    fall = before["value"] - value
    made = (
        rows.filter(pl.col("mode") == "total")
        .group_by(keys, maintain_order=True)
        .agg(
            (fall >= LEAST).sum().alias("n"),
            fall.max().alias("most"),
            before["value"].get(fall.arg_max()).alias("from"),
            value.get(fall.arg_max()).alias("to"),
            pl.col("line_no").get(fall.arg_max()),
            before["line_no"].get(fall.arg_max()).alias("line_before"),
            pl.col("clock").first(),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .filter(pl.col("n") > 0)
        .sort(pl.col("most") / pl.col("from"), *keys, descending=[True, *[False] * len(keys)], nulls_last=True)
        .head(MOST)
        .collect(engine="streaming")
    )
    return [_sighting(row) for row in made.iter_rows(named=True)]


def _kernels(row: dict[str, Any]) -> bool:
    """Return whether the kernel keeps the total and promises that it only rises."""
    return bool(re.match(KERNELS, row["grp"] or "")) and row["name"] not in MAY_FALL


def _sighting(row: dict[str, Any]) -> Sighting:
    who = " ".join(str(row[k]) for k in ("grp", "item", "name") if row[k])
    began = row["to"] <= AGAIN * row["from"]
    times = f", {row['n']:,} times" if row["n"] > 1 else ""
    fell = f"fell from {figure(row['from'], 'count')} to {figure(row['to'], 'count')}"
    why = "it began again" if began else "a total that only rises"
    return Sighting(
        "backwards",
        who,
        f"{who} {fell}{times}: {why}",
        "fell_count",
        row["most"],
        "count",
        (
            Lines(row["artifact_id"], row["line_before"], row["line_before"], f"before it fell: {row['from']:.15g}"),
            Lines(row["artifact_id"], row["line_no"], row["line_no"], f"after it fell: {row['to']:.15g}"),
        ),
        **place(row),
        t_from=row["t_from"],
        t_to=row["t_to"],
        against="rising",
        against_value=0.0,
        share=BEGAN if began else BROKEN if _kernels(row) else FELL,
        n=row["n"],
        seen=({"event": "kernel-total-falls"},) if _kernels(row) and not began else (),
        joins="began again" if began else None,
        short=f"{who} {fell}" if began else None,
    )

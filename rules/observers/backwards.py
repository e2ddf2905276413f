"""Totals that fall: counters that only ever rise, and were lower in a later sample.

Standing out: a total that fell by less than nine tenths of itself: no restart explains that, so whoever computes rates from
it is wrong. One that fell further began again: its program, device or host was restarted between the samples; all that did
so in one artifact are told as one. Normal: everything that rises or stands.
Worked example: steal of /proc/stat at 1,504,706,785,701 and two samples later at 1,461,300,076,681: it fell twice.
Cost: one aggregation over the counters. Source: RFC 2578 7.1.6 (Counter32: it increases until it wraps or is re-initialised).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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

NAMED = 2
"""Maximum number of other totals that are named as having risen, and as not having changed."""

MOST_BESIDE = 1_000
"""Maximum number of totals on the same lines that are looked at."""

LEAST = 100.0
"""Minimum fall: a smaller one may be the rounding of a tool."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the totals that fell, those that lost the largest part of their value first."""
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
    fell = made.to_dicts()
    found = [_sighting(row) for row in fell]
    same = _same_lines(case, fell)
    return [replace(one, beside=_others(row, same)) for one, row in zip(found, fell, strict=True)]


Place = tuple[int, str | None, str | None, int]
"""Artifact, group, item and line."""


def _same_lines(case: CaseTables, fell: Sequence[Mapping[str, Any]]) -> dict[Place, dict[str, float]]:
    """Return place -> totals by name, for the lines of the totals that fell."""
    lines = {row[c] for row in fell for c in ("line_no", "line_before")}
    columns = ["artifact_id", "grp", "item", "line_no", "name", "value"]
    total = (pl.col("mode") == "total") & pl.col("value").is_finite() & pl.col("line_no").is_in(list(lines))
    found: dict[Place, dict[str, float]] = {}
    for *place_, name, value in case.scan("counters", columns, total).head(MOST_BESIDE).collect().iter_rows():
        artifact, grp, item, line = place_
        found.setdefault((artifact, grp, item, line), {})[name] = value
    return found


def _others(row: Mapping[str, Any], same: Mapping[Place, Mapping[str, float]]) -> str | None:
    """Describe how other totals on the same two lines changed, which shows whether only this one is wrong."""
    before, after = (
        same.get((row["artifact_id"], row["grp"], row["item"], row[c]), {}) for c in ("line_before", "line_no")
    )
    moved = {n: after[n] - v for n, v in before.items() if n in after and n != row["name"]}
    if not moved or min(moved.values()) < 0:
        return None
    rose = sorted((n for n, by in moved.items() if by > 0), key=lambda n: -moved[n])
    stood = sorted((n for n, by in moved.items() if by == 0 and after[n] > 0), key=lambda n: -after[n])
    words = [f"{n} rose by {figure(moved[n], 'count')}" for n in rose[:NAMED]]
    if stood:
        words.append(f"{' and '.join(stood[:NAMED])} did not change")
    return f"meanwhile {', '.join(words)}" if words else None


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

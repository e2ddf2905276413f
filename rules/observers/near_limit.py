"""What is near a limit: descriptors, processes, ports, semaphores, sessions, tables, memory of a group.

Standing out: used at least four fifths of what is allowed. Pairs come from `resource_use` (used and limit in one row),
from counters and settings whose names belong together (`x_count` and `x_max`, usage and limit of a group), and from
file systems and memory groups that print both. Normal: below; it is not shown.
Worked example: nf_conntrack_count 58 and nf_conntrack_max 60 in one listing: 96.7 % of the table used.
Cost: the rows of the listings, which are small; counters are filtered by name first. Source: the kernels' and databases'
own pairs of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "near-limit",
    "What is nearly used up?",
    ("resource_use", "counters", "params"),
    {
        "linux": "cat /proc/PID/limits; sysctl -a",
        "solaris": "prctl PID; ipcs -A",
        "aix": "lsattr -El sys0; ulimit -a",
    },
)

NEAR = 0.8
"""Part of a limit from which it is nearly used up."""

UNLIMITED = 2.0**48
"""Limits above this are none: kernels print the largest number for "unlimited"."""

PAIRS = (
    (r"(.*)_count$", r"\1_max"),
    (r"memory\.usage_in_bytes", "memory.limit_in_bytes"),
    (r"memory\.current", "memory.max"),
    (r"memory\.max_usage_in_bytes", "memory.limit_in_bytes"),
    (r"pids\.current", "pids.max"),
    (r"(.*?)[._ ]?(?:used|in use|inuse|current)$", r"\1 (?:limit|max|maximum|total)"),
)
"""Name of what is used, and the pattern of the name of its limit in the same listing."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what is nearly used up, the fullest first."""
    return sorted([*_listed(case), *_paired(case)], key=lambda s: -(s.share or 0.0))


def _listed(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "t_local", "scope", "entity", "name", "used", "peak", "limit_num"]
    rows = (
        case.scan("resource_use", columns)
        .filter((pl.col("limit_num") > 0) & (pl.col("limit_num") < UNLIMITED))
        .with_columns(pl.max_horizontal("used", "peak").alias("most"))
        .filter(pl.col("most") >= NEAR * pl.col("limit_num"))
        .collect(engine="streaming")
    )
    for row in rows.iter_rows(named=True):
        who = " ".join(str(row[k]) for k in ("scope", "entity", "name") if row[k])
        at_most = "" if row["used"] == row["most"] else " at the peak"
        line = Lines(row["artifact_id"], row["line_no"], row["line_no"], "used and limit")
        yield _sighting(row, who, row["most"], row["limit_num"], (line,), at_most, {"counter": str(row["name"])})


def _paired(case: CaseTables) -> Iterator[Sighting]:
    """Yield pairs of a used and an allowed figure that stand in one artifact under the same item."""
    named = pl.col("name").str.contains(r"(?i)count$|max|limit|usage|current|used|in.?use|total$")
    columns = ["artifact_id", "host", "phase", "clock", "line_no", "t_local", "name"]
    counters = case.scan("counters", [*columns, "item", "value"]).filter(named)
    params = case.scan("params", [*columns, "entity", "num"]).filter(named).rename({"entity": "item", "num": "value"})
    rows = (
        pl.concat([counters.select(*columns, "item", "value"), params.select(*columns, "item", "value")])
        .filter(pl.col("value") > 0)
        .group_by("artifact_id", "host", "item", "name", maintain_order=True)
        .last()
        .collect(engine="streaming")
    )
    by_item: dict[tuple[Any, Any], dict[str, dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        by_item.setdefault((row["artifact_id"], row["item"]), {})[row["name"]] = row
    for (_, item), names in by_item.items():
        for name, row in names.items():
            limit = _limit(name, names)
            if limit is not None and NEAR * limit["value"] <= row["value"] <= 1.2 * limit["value"] < UNLIMITED:
                lines = (
                    Lines(row["artifact_id"], row["line_no"], row["line_no"], "used"),
                    Lines(limit["artifact_id"], limit["line_no"], limit["line_no"], "limit"),
                )
                yield _sighting(
                    row,
                    " ".join(x for x in (item, name) if x),
                    row["value"],
                    limit["value"],
                    lines,
                    "",
                    {"counter": name},
                )


def _limit(name: str, names: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    for used, allowed in PAIRS:
        found = re.fullmatch(used, name, re.IGNORECASE)
        if found:
            pattern = re.compile(
                found.expand(re.sub(r"([.])", r"\\\1", allowed)) if "\\1" in allowed else re.escape(allowed),
                re.IGNORECASE,
            )
            other = next((row for n, row in names.items() if n != name and pattern.fullmatch(n)), None)
            if other is not None:
                return other
    return None


def _sighting(
    row: dict[str, Any], who: str, used: float, limit: float, lines: tuple[Lines, ...], more: str, seen: Seen
) -> Sighting:
    share = min(1.0, used / limit)
    return Sighting(
        kind="limit",
        subject=who,
        headline=f"{who} has used {figure(100 * share, '%')} of what is allowed{more}: {figure(used, 'count')} of {figure(limit, 'count')}",
        name="used",
        value=used,
        unit="count",
        lines=lines,
        **place(row),
        t_from=row["t_local"],
        t_to=row["t_local"],
        against="the limit",
        against_value=limit,
        share=share,
        seen=(seen,),
    )

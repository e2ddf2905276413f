"""What one artifact says is used and another one of the same host says is allowed.

Standing out: mappings of a process (the rows of its address map, or the lines of `/proc/PID/maps` that `wc -l` counted)
from four fifths of vm.max_map_count on; descriptors of a process (its listing) from four fifths of "Max open files" in
the limits of that process. Normal: below; it is not shown. Pairs within one artifact are those of `near-limit`.
Worked example: `65519 /proc/21626/maps` in one file, `vm.max_map_count = 65530` in another: 100 % used.
Cost: one aggregation of address maps and listings, which are small. Source: proc_sys_vm(5), proc_pid_maps(5),
proc_pid_limits(5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.near_limit import DESCRIPTORS, NEAR, UNLIMITED
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "limits-apart",
    "What is nearly used up by what another listing allows?",
    ("pmap", "fdmap", "counters", "params"),
    {"linux": "wc -l /proc/PID/maps; ls /proc/PID/fd | wc -l; cat /proc/PID/limits; sysctl -a"},
    across=True,
)

MAPPINGS = "vm.max_map_count"
"""Setting of the number of mappings that one process may have."""

OVER = 1.05
"""Maximum ratio of used and allowed: what is further above its limit is not held by it."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield mappings and descriptors of processes near their limits, the fullest first."""
    return sorted([*_mappings(case), *_descriptors(case)], key=lambda s: -(s.share or 0.0))


def _mappings(case: CaseTables) -> Iterator[Sighting]:
    limit = case.scan("params", [*PLACE_COLUMNS, "line_no", "name", "num"], pl.col("name") == MAPPINGS)
    limits = limit.filter(pl.col("num").is_between(1, UNLIMITED)).collect(engine="streaming")
    if limits.is_empty():
        return
    maps = (
        case.scan("pmap", [*PLACE_COLUMNS, "part", "pid", "line_no"])
        .group_by(*PLACE_COLUMNS, "part", pl.col("pid").cast(pl.String))
        .agg(pl.len().cast(pl.Float64).alias("used"), pl.col("line_no").max())
        .select(*PLACE_COLUMNS, "pid", "used", "line_no")
    )
    lines = (pl.col("grp") == "lines of /proc/PID") & (pl.col("name") == "maps")
    counted = case.scan("counters", [*PLACE_COLUMNS, "item", "line_no", "value", "grp", "name"], lines).select(
        *PLACE_COLUMNS, pid="item", used="value", line_no="line_no"
    )
    used = pl.concat([maps, counted], how="vertical_relaxed").collect(engine="streaming")
    for row, allowed in _pairs(used, limits, of_one=False):
        who = f"process {row['pid']} mappings" if row["pid"] else "mappings"
        yield _sighting(row, allowed, who, MAPPINGS)


def _descriptors(case: CaseTables) -> Iterator[Sighting]:
    wanted = (pl.col("scope") == "limits") & pl.col("name").str.contains(DESCRIPTORS)
    soft = pl.col("privilege").fill_null("soft") == "soft"
    limits = case.scan(
        "params", [*PLACE_COLUMNS, "line_no", "name", "num", "entity", "scope", "privilege"], wanted & soft
    )
    held = limits.filter(pl.col("num").is_between(1, UNLIMITED)).collect(engine="streaming")
    if held.is_empty():
        return
    opened = (
        case.scan("fdmap", [*PLACE_COLUMNS, "sample", "pid", "fd", "line_no"], pl.col("fd") >= 0)
        .group_by(*PLACE_COLUMNS, "sample", pl.col("pid").cast(pl.String))
        .agg(pl.col("fd").n_unique().cast(pl.Float64).alias("used"), pl.col("line_no").max())
        .collect(engine="streaming")
    )
    for row, allowed in _pairs(opened, held, of_one=True):
        yield _sighting(row, allowed, f"process {row['pid']} open descriptors", "process.max-file-descriptor")


Row = dict[str, Any]


def _pairs(used: pl.DataFrame, limits: pl.DataFrame, *, of_one: bool) -> Iterator[tuple[Row, Row]]:
    """Yield (largest use of a process, limit of its host in another artifact).

    With `of_one` a limit counts only if all limits of the host are equal; otherwise its owner is unknown.
    """
    seen: set[tuple[Any, Any]] = set()
    for row in used.sort("used", descending=True).iter_rows(named=True):
        same = [r for r in limits.iter_rows(named=True) if r["host"] == row["host"]]
        if not same or (of_one and len({r["num"] for r in same}) > 1) or (row["host"], row["pid"]) in seen:
            continue
        allowed = min(same, key=lambda r: float(r["num"]))
        apart = all(r["artifact_id"] != row["artifact_id"] for r in same)
        if apart and NEAR * allowed["num"] <= row["used"] <= OVER * allowed["num"]:
            seen.add((row["host"], row["pid"]))
            yield row, allowed


def _sighting(row: Row, allowed: Row, who: str, counter: str) -> Sighting:
    used, limit = float(row["used"]), float(allowed["num"])
    share = min(1.0, used / limit)
    return Sighting(
        "limit",
        who,
        f"{who}: {figure(100 * share, '%')} of what is allowed, {used:,.0f} of {limit:,.0f} ({allowed['name']})",
        "used",
        used,
        "count",
        (
            Lines(row["artifact_id"], row["line_no"], row["line_no"], "used"),
            Lines(allowed["artifact_id"], allowed["line_no"], allowed["line_no"], "limit"),
        ),
        **place(row),
        against="the limit",
        against_value=limit,
        share=share,
        seen=({"counter": counter},),
    )

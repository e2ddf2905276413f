"""What is near a limit: descriptors, processes, ports, semaphores, sessions, tables, memory of a group.

Standing out: used at least four fifths of what is allowed. Pairs come from `resource_use` (used and limit in one row),
from counters and settings whose names belong together (`x_count` and `x_max`, usage and limit of a group), and from
file systems and memory groups that print both. Normal: below; it is not shown. Of descriptors and processes the fullest
pair of each listing is kept as a measure (descriptors_used_pct, processes_used_pct), normal or not: the descriptors of a
process against its soft limit, never those of the whole host, which say nothing of one process.
Worked example: nf_conntrack_count 58 and nf_conntrack_max 60 in one listing: 96.7 % of the table used.
Cost: the rows of the listings, which are small; counters are filtered by name first. Source: the kernels' and databases'
own pairs of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen
from rules.writing.process_words import process_words

OBSERVER = Observer(
    "near-limit",
    "What is nearly used up?",
    ("resource_use", "counters", "params", "fdmap"),
    {
        "linux": "cat /proc/PID/limits; sysctl -a",
        "solaris": "prctl PID; ipcs -A",
        "aix": "lsattr -El sys0; ulimit -a",
    },
)

NEAR = 0.8
"""Part of a limit from which it is nearly used up."""

USED_UP = 0.98
"""Part of a limit from which it is used up."""

UNLIMITED = 2.0**48
"""Limits above this are none: kernels print the largest number for "unlimited"."""

PAIRS = (
    (r"(.*)_count$", r"\1_max"),
    (r"memory\.usage_in_bytes", "memory.limit_in_bytes"),
    (r"memory\.current", "memory.max"),
    (r"memory\.current", "memory.high"),
    (r"memory\.max_usage_in_bytes", "memory.limit_in_bytes"),
    (r"pids\.current", "pids.max"),
    (r"scur", "slim"),
    (r"(.*?)[._ ]?(?:used|in use|inuse|current)$", r"\1 (?:limit|max|maximum|total)"),
)
"""Name of what is used, and the pattern of the name of its limit in the same listing; `scur` and `slim` are the sessions
of HAProxy's statistics."""


MEMORY_USED, CACHE = ("memory.usage_in_bytes", "memory.current"), ("cache", "file")
"""Names of a group's used memory, and of its file cache in memory.stat, of version 1 and 2."""

DESCRIPTORS = r"(?i)^(?:process\.max-file-descriptor|(?:max )?open files|nofiles?(?:\(descriptors\))?|(?:open )?descriptors|open_fds)$"
PROCESSES = (
    r"(?i)^(?:pids\.current|(?:max )?user processes|nproc|(?:project|zone)\.max-(?:lwps|processes)|proc-sz|processes)$"
)
MEASURES = (("descriptors_used_pct", DESCRIPTORS), ("processes_used_pct", PROCESSES))
"""Measures by the names of what is used. Those of a database (scope oracle) and of the host (sysctl) are something else."""

NOT_OF_ONE = ("oracle", "sysctl")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield limits that are nearly used up, the fullest first, then the measures."""
    found = [*_listed(case), *_paired(case), *_descriptors(case), *_measures(case)]
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0)))


def _measures(case: CaseTables) -> Iterator[Sighting]:
    """Yield of each listing in `resource_use` the highest used part of a limit on descriptors and on processes."""
    used, limit = pl.max_horizontal("used", "peak"), pl.col("limit_num")
    known = (
        (limit > 0)
        & (limit < UNLIMITED)
        & (used >= 0)
        & used.is_finite()
        & ~pl.col("scope").is_in(NOT_OF_ONE).fill_null(value=False)
    )
    rows = case.scan("resource_use", [*PLACE_COLUMNS, "line_no", "scope", "name", "used", "peak", "limit_num"], known)
    for measure, names in MEASURES:
        fullest = (
            rows.filter(pl.col("name").str.contains(names))
            .with_columns((100 * used / limit).alias("pct"))
            .group_by(PLACE_COLUMNS)
            .agg(pl.col("pct").max(), pl.col("name", "line_no").get(pl.col("pct").arg_max()))
            .collect(engine="streaming")
        )
        for row in fullest.iter_rows(named=True):
            line = Lines(row["artifact_id"], row["line_no"], row["line_no"], "used and limit")
            yield _measure(row, measure, str(row["name"]), row["pct"], (line,))


def _measure(row: dict[str, Any], name: str, who: str, pct: float, lines: tuple[Lines, ...]) -> Sighting:
    value = min(100.0, pct)
    return Sighting(
        "limit",
        who,
        f"{who} has used {figure(value, '%')} of what is allowed",
        name,
        value,
        "%",
        lines,
        **place(row),
        share=value / 100,
        normal=True,
    )


def _descriptors(case: CaseTables) -> Iterator[Sighting]:
    """Yield the process with most descriptors against the soft limit, where one artifact has both."""
    wanted = pl.col("name").str.contains(DESCRIPTORS) & (pl.col("scope") == "limits") & (pl.col("num") > 0)
    soft = pl.col("privilege").fill_null("soft") == "soft"
    limits = (
        case.scan("params", ["artifact_id", "line_no", "entity", "name", "num", "scope", "privilege"], wanted & soft)
        .group_by("artifact_id")
        .agg(pl.col("num").min(), pl.col("line_no").first().alias("limit_line"), pl.col("num").n_unique().alias("n"))
        .filter((pl.col("n") == 1) & (pl.col("num") < UNLIMITED))
    )
    counted = (
        case.scan("fdmap", [*PLACE_COLUMNS, "sample", "pid", "comm", "fd", "line_no"], pl.col("fd") >= 0)
        .group_by(*PLACE_COLUMNS, "sample", "pid")
        .agg(pl.col("fd").n_unique().alias("open"), pl.col("comm").first(), pl.col("line_no").max())
        .group_by(PLACE_COLUMNS)
        .agg(pl.col("open").max(), pl.col("pid", "comm", "line_no").get(pl.col("open").arg_max()))
    )
    for row in counted.join(limits, on="artifact_id").collect(engine="streaming").iter_rows(named=True):
        a = row["artifact_id"]
        who = f"{process_words(row['comm'], row['pid']).replace('(pid ', '(')} open descriptors"
        lines = (
            Lines(a, row["line_no"], row["line_no"], "last of them"),
            Lines(a, row["limit_line"], row["limit_line"], "limit"),
        )
        yield _measure(row, "descriptors_used_pct", who, 100 * row["open"] / row["num"], lines)
        if NEAR * row["num"] <= row["open"] <= 1.2 * row["num"]:
            seen: Seen = {"counter": "process.max-file-descriptor"}
            yield _sighting({**row, "t_local": None}, who, float(row["open"]), row["num"], lines, "", seen)


def _listed(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "t_local", "scope", "entity", "name", "used", "peak", "limit_num"]
    rows = (
        case.scan("resource_use", columns)
        .filter((pl.col("limit_num") > 0) & (pl.col("limit_num") < UNLIMITED))
        .with_columns(pl.max_horizontal("used", "peak").alias("most"))
        .filter((pl.col("most") >= NEAR * pl.col("limit_num")) & pl.col("most").is_finite())
        .collect(engine="streaming")
    )
    for row in rows.iter_rows(named=True):
        who = " ".join(str(row[k]) for k in ("scope", "entity", "name") if row[k])
        at_most = "" if row["used"] == row["most"] else " at the peak"
        line = Lines(row["artifact_id"], row["line_no"], row["line_no"], "used and limit")
        yield _sighting(row, who, row["most"], row["limit_num"], (line,), at_most, {"counter": str(row["name"])})


def _paired(case: CaseTables) -> Iterator[Sighting]:
    """Yield pairs of a used and an allowed figure for the same item in one artifact."""
    named = pl.col("name").str.contains(
        r"(?i)count$|max|limit|usage|current|used|in.?use|total$|^s(?:cur|lim)$|^(?:cache|file)$"
    )
    columns = ["artifact_id", "host", "phase", "clock", "line_no", "t_local", "name"]
    counters = case.scan("counters", [*columns, "item", "value"]).filter(named)
    params = case.scan("params", [*columns, "entity", "num"]).filter(named).rename({"entity": "item", "num": "value"})
    rows = (
        pl.concat([counters.select(*columns, "item", "value"), params.select(*columns, "item", "value")])
        .filter((pl.col("value") > 0) & pl.col("value").is_finite())
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
            if limit is not None and row["value"] <= 1.2 * limit["value"] < UNLIMITED:
                for measure, known in MEASURES:
                    if re.search(known, name):
                        line = Lines(row["artifact_id"], row["line_no"], row["line_no"], "used")
                        yield _measure(row, measure, name, 100 * row["value"] / limit["value"], (line,))
            if limit is not None and NEAR * limit["value"] <= row["value"] <= 1.2 * limit["value"] < UNLIMITED:
                lines = (
                    Lines(row["artifact_id"], row["line_no"], row["line_no"], "used"),
                    Lines(limit["artifact_id"], limit["line_no"], limit["line_no"], "limit"),
                )
                who = " ".join(x for x in (item, name) if x)
                made = _sighting(row, who, row["value"], limit["value"], lines, "", {"counter": name})
                yield _with_cache(made, names) if name in MEMORY_USED else made


def _with_cache(made: Sighting, names: dict[str, dict[str, Any]]) -> Sighting:
    """Add how much of a group's memory is file cache, which the kernel frees before it refuses memory to the group."""
    cache = next((names[n] for n in CACHE if n in names), None)
    if cache is None or cache["value"] > made.value:
        return made
    line = Lines(cache["artifact_id"], cache["line_no"], cache["line_no"], cache["name"])
    words = (
        f"{cache['name']} is {figure(cache['value'], 'bytes')} of it, {figure(100 * cache['value'] / made.value, '%')}"
    )
    return replace(made, beside=words, lines=(*made.lines, line))


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
        # What is used up altogether may be recognised apart from what is only near its limit.
        seen=({"counter": f"{seen['counter']} used up"}, seen) if share >= USED_UP else (seen,),
    )

"""What only rises: a process's memory, a table's use, a level that is never given back.

Standing out: a series of at least three samples of which at least four fifths of the steps go up and none falls below
the first, and that rose by a tenth of its first value or more; of a number that a command printed, two. Normal: a level
within its noise.
Worked example: RSS of a process 16,644 kB, 22,684, 28,724 ... 89,120 in 13 samples: up by 72,476 kB, 6,040 a sample.
Cost: one aggregation over the samples of each table. Source: monotone runs as the simplest test of a trend (Mann 1945);
the derived table `trends` gives slopes with intervals for rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.writing.process_words import process_words

OBSERVER = Observer(
    "growing",
    "What only rises?",
    ("ps", "meminfo", "resource_use", "counters"),
    {
        "linux": "pmap -x PID, twice, a minute apart; cat /proc/meminfo; slabtop -o",
        "solaris": "pmap -xs PID, twice; echo ::memstat | mdb -k",
        "aix": "svmon -P PID, twice",
    },
    wordless=True,
)

LEAST = 3
"""Minimum number of samples: two are a difference, not a trend."""

STEPS_UP = 0.8
"""Minimum part of the steps that go up."""

GROWTH = 0.1
"""Minimum rise as part of the first value."""

ANY_LEVEL = 1024.0
"""Minimum rise in kB of a memory figure; less is noise of any running system."""

LEVEL_UNIT = {"meminfo": "kB", "counters": "count"}
"""Unit of the levels of a table whose rows name none."""

COMMAND = "command"
"""Group of the numbers that stood alone below a command."""

OPEN_FILES = re.compile(
    r"\blsof\b.*\|\s*wc\b|/proc/\S+/fd\b.*\|\s*wc\b|\b(?:pfiles|fstat|procfiles|sockstat)\b.*\|\s*wc\b"
)
"""Commands that count the open files of a program or host."""

LEAKED, LEAKED_PART, HALF = 100.0, 0.1, 0.5
"""Minimum rise of open files, and its part of the first count, that is no coming and going; and its share at least."""

NEVER_GIVEN_BACK = r"(?i)^(?:MemFree|MemAvailable|SwapFree|HugePages_Free|.*free.*)$"
"""Names of levels whose rise is good news."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield rising series, the largest growth of its own first value first."""
    found = [
        *_processes(case),
        *_levels(case, "meminfo", ["name", "unit"]),
        *_used(case),
        *_levels(case, "counters", ["grp", "item", "name"]),
        *_commands(case),
    ]
    return sorted(found, key=lambda s: -(s.share or 0.0))


def rising(rows: pl.LazyFrame, keys: list[str], value: str, least: float, samples: int = LEAST) -> pl.DataFrame:
    """Return the series that only rise: first, last, median step, number of samples, first and last line."""
    v = pl.col("v")
    step = v.diff().drop_nulls()
    return (
        rows.with_columns(pl.col(value).cast(pl.Float64).alias("v"))
        .filter(v.is_not_null() & v.is_finite())
        .group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("n"),
            v.first().alias("first_value"),
            v.last().alias("last_value"),
            v.min().alias("least"),
            step.median().alias("step"),
            (step > 0).mean().alias("up"),
            pl.col("line_no").first(),
            pl.col("line_no").last().alias("line_last"),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .filter(
            (pl.col("n") >= samples)
            & (pl.col("up") >= STEPS_UP)
            & (pl.col("least") >= pl.col("first_value"))
            & (
                pl.col("last_value") - pl.col("first_value")
                >= pl.max_horizontal(pl.lit(least), GROWTH * pl.col("first_value"))
            )
        )
        .collect(engine="streaming")
    )


def _processes(case: CaseTables) -> Iterator[Sighting]:
    keys = [*PLACE_COLUMNS[:3], "pid", "comm"]
    columns = [*PLACE_COLUMNS, "pid", "comm", "lwp", "line_no", "t_local", "rss_kb", "vsz_kb", "nlwp"]
    rows = case.scan("ps", columns).filter(pl.col("lwp").is_null() & pl.col("pid").is_not_null())
    for column, words, unit, least in (
        ("rss_kb", "resident memory", "kB", ANY_LEVEL),
        ("vsz_kb", "address space", "kB", ANY_LEVEL),
        ("nlwp", "threads", "count", 5.0),
    ):
        for row in rising(rows, keys, column, least).iter_rows(named=True):
            who = process_words(row["comm"], row["pid"])
            yield _sighting(row, f"{who} {words}", f"The {words} of {who}", column, unit, {"counter": f"ps.{column}"})


def _levels(case: CaseTables, table: str, by: list[str]) -> Iterator[Sighting]:
    keys = [*PLACE_COLUMNS[:3], *by]
    columns = [*PLACE_COLUMNS, *by, "line_no", "t_local", "value", *(["mode"] if table == "counters" else [])]
    rows = case.scan(table, columns).filter(~pl.col("name").fill_null("").str.contains(NEVER_GIVEN_BACK))
    if table == "counters":
        rows = rows.filter((pl.col("mode") == "level") & pl.col("grp").ne_missing(COMMAND))
    for row in rising(rows, keys, "value", ANY_LEVEL if table == "meminfo" else 5.0).iter_rows(named=True):
        who = " ".join(str(row[k]) for k in by if k != "unit" and row[k])
        unit = {"kb": "kB"}.get(row["unit"], row["unit"]) if row.get("unit") else LEVEL_UNIT[table]
        yield _sighting(row, who, who, str(row["name"]), unit, {"counter": str(row["name"])})


def _commands(case: CaseTables) -> Iterator[Sighting]:
    """Yield numbers that were higher when the same command was run again."""
    keys = [*PLACE_COLUMNS[:3], "name"]
    rows = case.scan(
        "counters", [*PLACE_COLUMNS, "grp", "name", "line_no", "t_local", "value"], pl.col("grp") == COMMAND
    )
    for row in rising(rows, keys, "value", 5.0, samples=2).iter_rows(named=True):
        name, rise = str(row["name"]), row["last_value"] - row["first_value"]
        made = _sighting(row, name, f"What `{name}` printed", "number", "count", {"counter": name})
        if OPEN_FILES.search(name) and rise >= max(LEAKED, LEAKED_PART * row["first_value"]):
            made = replace(made, share=max(made.share or 0.0, HALF), seen=({"event": "open-files-grow"}, *made.seen))
        yield made


def _used(case: CaseTables) -> Iterator[Sighting]:
    keys = [*PLACE_COLUMNS[:3], "scope", "entity", "name"]
    rows = case.scan("resource_use", [*PLACE_COLUMNS, "scope", "entity", "name", "line_no", "t_local", "used"])
    for row in rising(rows, keys, "used", 5.0).iter_rows(named=True):
        who = " ".join(str(row[k]) for k in ("scope", "entity", "name") if row[k])
        yield _sighting(row, who, who, str(row["name"]), "count", {"counter": str(row["name"])})


def _sighting(row: dict[str, Any], subject: str, who: str, name: str, unit: str, seen: Any) -> Sighting:
    rise = row["last_value"] - row["first_value"]
    lines = [
        Lines(row["artifact_id"], row["line_no"], row["line_no"], "first"),
        Lines(row["artifact_id"], row["line_last"], row["line_last"], "last"),
    ]
    return Sighting(
        kind="growth",
        subject=subject,
        headline=(
            f"{who} rose by {figure(rise, unit)} in {row['n']} samples, from {figure(row['first_value'], unit)} to"
            f" {figure(row['last_value'], unit)}, {figure(row['step'], unit)} at a time"
        ),
        name=name,
        value=rise,
        unit=unit,
        lines=tuple(reversed(lines)),
        **place(row),
        t_from=row["t_from"],
        t_to=row["t_to"],
        against="its first sample",
        against_value=row["first_value"],
        share=min(1.0, 0.5 * rise / row["last_value"]) if row["last_value"] > 0 else None,
        n=row["n"],
        seen=(seen,),
    )

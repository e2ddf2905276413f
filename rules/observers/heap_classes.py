"""Which classes hold the heap that a run-time lists by class: jmap -histo of Java, dumpheap -stat of .NET.

Standing out: a class with a third of the bytes that the list names, told with the largest class of the program's own below the
run-time's buffers and strings; a class that has grown by half and by 10 MB between the first and the last list of one artifact.
Objects of the program that hold half of a large heap themselves, or by arrays of the run-time that are as many, are what it keeps.
Normal: less; the largest class is kept as a measure.
Worked example: `2:  8801234  422459232  com.acme.web.SessionEntry` and an hour later 844859232: it holds twice as much.
Cost: the first `MOST_ROWS` rows of such lists of each artifact. Source: jmap(1), -histo; .NET documentation, SOS debugging extension,
DumpHeap; Java SE Troubleshooting Guide, Troubleshoot Memory Leaks (compare histograms).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.function_lists import CLASSES
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "heap-classes",
    "Which classes hold the heap?",
    ("rows",),
    {
        "*": "who points at these objects (a heap dump: Eclipse MAT, dotnet-gcdump report), and the same list an hour later"
    },
)

MOST_ROWS = 5_000
"""Maximum number of rows of an artifact: the tools print the largest first."""

LARGE = 1 / 3
"""Minimum part of the listed bytes of a class that is told: strings and buffers of a healthy program have a quarter."""

GROWN = 1.5
"""Minimum factor by which a class has grown between two lists: a heap between two collections changes by less."""

GROWN_B = 10e6
"""Minimum bytes by which it has grown."""

HEAP_B, OBJECTS = 1e9, 10_000
"""Minimum bytes of a list, and number of objects of a class, that a program keeps beyond what it is built of."""

HALF, PAIRED = 0.5, 0.75
"""Minimum part of the bytes of what is kept; minimum ratio of the numbers of two classes that go together."""

OF_RUNTIME = r"^(?:\[|java\.|javax\.|jdk\.|sun\.|com\.sun\.|System\.|Microsoft\.|Free$|<)"
"""Classes of the run-time itself: what the program keeps is behind them."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the largest classes of the last list of each artifact, and those that grew since its first."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    first = pl.col("heading").list.first()
    held = (
        case.scan("rows", columns, first.is_in([h[0] for h in CLASSES]) & (pl.col("cells").list.len() == 4))
        .filter(pl.col("heading").list.last().str.to_lowercase() == "class name")
        .sort("artifact_id", "part", "table_no", "line_no", nulls_last=True)
        .group_by("artifact_id", maintain_order=True)
        .head(MOST_ROWS)
        .with_columns(
            pl.col("cells").list.get(1).str.replace_all(",", "").cast(pl.Float64, strict=False).alias("objects"),
            pl.col("cells").list.get(2).str.replace_all(",", "").cast(pl.Float64, strict=False).alias("bytes"),
            pl.col("cells").list.get(3).str.replace(r" \([a-z][a-zA-Z0-9.]*@.*\)$", "").alias("name"),
        )
        .filter(pl.col("bytes") > 0)
        .with_columns(pl.col("name").str.contains(OF_RUNTIME).alias("of_runtime"))
        .collect(engine="streaming")
        .to_dicts()
    )
    for _, of_artifact in groupby(held, key=lambda r: r["artifact_id"]):
        lists = [list(g) for _, g in groupby(of_artifact, key=lambda r: (r["part"], r["table_no"]))]
        yield from _largest(lists[-1])
        if len(lists) > 1:
            yield from _grown(lists[0], lists[-1])


def _largest(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    whole = sum(r["bytes"] for r in rows)
    order = sorted(rows, key=lambda r: -r["bytes"])
    own = next((r for r in order if not r["of_runtime"]), None)
    kept = own if own is not None and _keeps(own, order[0], whole) else None
    for row in [order[0], *([own] if own is not None and own is not order[0] else [])]:
        share = row["bytes"] / whole
        # The arrays belong to the objects of the program that are as many.
        of = row is kept or (row is order[0] and kept is not None)
        yield Sighting(
            "heap",
            row["name"],
            f"{row['name']} holds {figure(row['bytes'] / 1e6, 'MB')} of the {figure(whole / 1e6, 'MB')} that the list of"
            f" classes names ({figure(100 * share, '%')}), in {figure(row['objects'], 'count')} objects"
            + ("" if row["of_runtime"] or row is order[0] else ": the most of any class of the program's own"),
            "class_mb",
            row["bytes"] / 1e6,
            "MB",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], "a class of the heap"),),
            **place(row),
            against="a third of what is listed",
            against_value=LARGE * whole / 1e6,
            share=share,
            n=int(row["objects"]),
            seen=({"event": "heap-kept-by-program"},) if of else (),
            normal=order[0]["bytes"] < LARGE * whole,
        )


def _keeps(own: dict[str, Any], top: dict[str, Any], whole: float) -> bool:
    """Return whether objects of the program hold a large heap: by their own bytes, or by the arrays that go with them."""
    if whole < HEAP_B or own["objects"] < OBJECTS:
        return False
    if own["bytes"] >= HALF * whole:
        return True
    paired = PAIRED <= own["objects"] / max(top["objects"], 1.0) <= 1 / PAIRED
    return bool(top["of_runtime"] and paired and top["bytes"] >= HALF * whole)


def _grown(first: list[dict[str, Any]], last: list[dict[str, Any]]) -> Iterator[Sighting]:
    before = {r["name"]: r for r in first}
    pairs = [(before[r["name"]], r) for r in last if r["name"] in before]
    rise = {r["name"]: r["bytes"] - b["bytes"] for b, r in pairs}
    risen = sum(v for v in rise.values() if v > 0)
    for old, row in sorted(pairs, key=lambda p: (p[1]["of_runtime"], -rise[p[1]["name"]]))[:3]:
        grown = rise[row["name"]]
        if row["bytes"] < GROWN * old["bytes"] or grown < GROWN_B:
            continue
        yield Sighting(
            "growing",
            row["name"],
            f"{row['name']} holds {figure(row['bytes'] / 1e6, 'MB')} in the last list of classes,"
            f" {row['bytes'] / old['bytes']:.1f} times as much as in the first ({figure(old['bytes'] / 1e6, 'MB')})",
            "class_grown_mb",
            grown / 1e6,
            "MB",
            (
                Lines(row["artifact_id"], old["line_no"], old["line_no"], "in the first list"),
                Lines(row["artifact_id"], row["line_no"], row["line_no"], "in the last list"),
            ),
            **place(row),
            against="its bytes in the first list",
            against_value=old["bytes"] / 1e6,
            share=min(1.0, grown / risen),
            seen=({"event": "heap-class-grew"},),
        )

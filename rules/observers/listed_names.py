"""Which wait a list names most often that was cut to the column of its names.

People copy only the column of wait types of the sessions of a database. Standing out: a name that signatures know as a wait, on
`LEAST` lines or more and at least half of those that hold a name alone. Normal: other names; a single one may be a title.
Worked example: RESOURCE_SEMAPHORE on 9 of 9 lines.
Cost: one pass over at most `MOST_ROWS` rows. Source: Microsoft Learn, sys.dm_os_wait_stats (names of waits).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, place
from rules.signatures.signatures import recognise

OBSERVER = Observer(
    "listed-names",
    "Which wait does a list of names have most often?",
    ("rows",),
    {"*": "the whole list: the sessions with their numbers, how long they wait, and their statements"},
)

LISTED = "listed name"
MOST_ROWS = 20_000
LEAST = 3
HALF = 0.5
CITED = 10


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the commonest wait of each list."""
    named = pl.col("heading").list.get(0, null_on_oob=True) == LISTED
    rows = case.scan("rows", [*PLACE_COLUMNS, "line_no", "heading", "cells"], named).head(MOST_ROWS)
    for _, part in rows.collect(engine="streaming").group_by("artifact_id", maintain_order=True):
        by_name: dict[str, list[dict[str, Any]]] = {}
        for row in part.iter_rows(named=True):
            by_name.setdefault(row["cells"][0], []).append(row)
        name, held = max(by_name.items(), key=lambda x: len(x[1]))
        known = any(s.strength == "mechanism" for s in recognise(event=name))
        if not known or len(held) < LEAST or len(held) < HALF * part.height:
            continue
        first = held[0]
        yield Sighting(
            "wait",
            name,
            f"{name} stands on {len(held):,} of {part.height:,} lines of a list of names",
            "sessions_count",
            float(len(held)),
            "count",
            tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], name) for r in held[:CITED]),
            **place(first),
            against="all that are listed",
            against_value=float(part.height),
            share=len(held) / part.height,
            n=len(held),
            seen=({"event": name},),
        )

"""Which container uses nearly all of the memory that it may, as docker stats or podman stats list it.

Standing out: 95 % or more of a limit that is its own: one that the whole host has is told by other observers. Normal: less; the
container nearest to its own limit is kept as a measure.
Worked example: `NAME  MEM USAGE / LIMIT  MEM %`, `shop  1.996GiB / 2GiB  99.80%`, beside others with a limit of 15.5GiB.
Cost: the first `MOST_ROWS` rows of listings with such a column. Source: docker stats (MEM USAGE / LIMIT, without the file cache that is
not in use); Docker documentation, Resource constraints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "container-memory",
    "Which container has used up its memory?",
    ("rows",),
    {"linux": "docker inspect NAME (State.OOMKilled, HostConfig.Memory); dmesg -T | grep -i oom"},
)

NEAR_PCT, ALL_PCT = 95.0, 99.0
"""Part of its limit in percent from which a container is near it, and from which it has used it up."""

MOST_ROWS = 5_000
TOLD = 3
USAGE, NAMES = "MEM USAGE / LIMIT", ("NAME", "CONTAINER", "CONTAINER ID", "ID")
SHARE = r"^MEM ?%$"
LIMIT = re.compile(r".*/ *(?P<limit>[0-9.]+ ?[A-Za-z]{1,3})")
PERCENT = re.compile(r"(?P<pct>[0-9]{1,3}(?:\.[0-9]+)?)%")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield containers near their own limit, the nearest first."""
    columns = [*PLACE_COLUMNS, "table_no", "line_no", "heading", "cells"]
    rows = (
        case.scan("rows", columns, pl.col("heading").list.contains(USAGE)).head(MOST_ROWS).collect(engine="streaming")
    )
    for _, held in rows.sort("artifact_id", "line_no").group_by("artifact_id", maintain_order=True):
        found, limits = [], list[str]()
        for row in held.iter_rows(named=True):
            cells = dict(zip(row["heading"], row["cells"], strict=False))
            name = next((cells[n] for n in NAMES if cells.get(n)), None)
            limit = LIMIT.fullmatch(cells.get(USAGE) or "")
            share = next((PERCENT.fullmatch(c or "") for h, c in cells.items() if re.match(SHARE, h)), None)
            if name and limit and share:
                limits.append(limit["limit"])
                found.append((float(share["pct"]), name, limit["limit"], row))
        # Where all have the same limit it may be the memory of the host.
        own = [x for x in found if limits.count(x[2]) < len(found)]
        own.sort(key=lambda x: (-x[0], x[3]["line_no"]))
        near = [x for x in own if x[0] >= NEAR_PCT][:TOLD]
        for pct, name, limit_text, row in near or own[:1]:
            event = "container-all-of-limit" if pct >= ALL_PCT else "container-near-limit"
            yield Sighting(
                "near-limit",
                f"memory of {name}",
                f"The container {name} uses {figure(pct, '%')} of its limit of {limit_text} of memory",
                "container_memory_pct",
                pct,
                "%",
                (Lines(row["artifact_id"], row["line_no"], row["line_no"], "use and limit"),),
                **place(row),
                against="near its limit",
                against_value=NEAR_PCT,
                share=min(1.0, pct / 100) if pct >= NEAR_PCT else None,
                seen=({"event": event},),
                normal=pct < NEAR_PCT,
            )

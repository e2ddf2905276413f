"""What a disk counts of its own health: the attributes of SMART that tell of sectors that could not be read, and of its link.

Standing out: an attribute that stands at or below its threshold (WHEN_FAILED), sectors that wait to be reallocated, errors that could
not be corrected, sectors that were replaced, checksum errors of the link. Normal: these are 0; the least of them is kept as a measure.
VALUE, WORST and THRESH are scores between 1 and 253 that fall from a vendor's best towards the threshold: they compare only with each
other. RAW_VALUE counts in a unit of its own for each attribute, and some vendors pack several numbers into one, so that only
attributes whose raw value is a plain count are read: 5, 187, 197, 198, 199.
Worked example: `197 Current_Pending_Sector 0x0032 100 100 000 Old_age Always - 8`: "8 sectors could not be read and wait to be replaced".
Cost: at most `MOST_ROWS` rows. Source: smartctl(8), -A; ATA8-ACS, SMART; E. Pinheiro et al., Failure Trends in a Large Disk Drive
Population (FAST 2007), table 2: scan errors, offline reallocations and probational counts go before failures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "disk-health",
    "What does a disk count of its own health?",
    ("rows",),
    {"*": "smartctl -x /dev/DISK; nvme smart-log /dev/nvmeN"},
)

MOST_ROWS = 5_000

ATTRIBUTES = "ATTRIBUTE_NAME"
"""Heading by which a table of smartctl -A is known; RAW_VALUE is its last column."""


@dataclass(frozen=True)
class Count:
    """What an attribute counts, in words behind 1 and behind more, its event for signatures, and its share.

    What is unreadable now weighs most; what once happened over the life of a disk says little about today.
    """

    one: str
    more: str
    event: str
    share: float


COUNTS = {
    197: Count(
        "sector could not be read and waits to be replaced",
        "sectors could not be read and wait to be replaced",
        "disk-sectors-pending",
        0.5,
    ),
    198: Count(
        "sector stayed unreadable in the disk's own test",
        "sectors stayed unreadable in the disk's own test",
        "disk-sectors-pending",
        0.5,
    ),
    187: Count(
        "error could not be corrected since the disk is new",
        "errors could not be corrected since the disk is new",
        "disk-errors-uncorrected",
        0.4,
    ),
    5: Count(
        "sector was replaced since the disk is new",
        "sectors were replaced since the disk is new",
        "disk-sectors-replaced",
        0.15,
    ),
    199: Count(
        "transfer between disk and controller had a wrong checksum since the disk is new",
        "transfers between disk and controller had a wrong checksum since the disk is new",
        "disk-link-errors",
        0.15,
    ),
}

_PLAIN = re.compile(r"[0-9]{1,9}")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield failing attributes and counts that are not 0, what weighs most first, else that all are 0."""
    named = pl.col("heading").list.contains(ATTRIBUTES)
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    rows = case.scan("rows", columns, named.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.group_by("artifact_id", "part", "table_no", maintain_order=True):
        listed = [(r, dict(zip(r["heading"], r["cells"], strict=False))) for r in part.sort("line_no").to_dicts()]
        found = [*_failing(listed), *_counted(listed)]
        yield from sorted((s for s in found if not s.normal), key=lambda s: (-(s.share or 0.0), s.lines[0].line_from))
        yield from (s for s in found[:1] if s.normal)


def _failing(rows: list[tuple[dict[str, Any], dict[str, str]]]) -> Iterator[Sighting]:
    for row, cells in rows:
        when = cells.get("WHEN_FAILED", "-")
        if when not in ("FAILING_NOW", "In_the_past") or not (value := cells.get("VALUE", "")).isdigit():
            continue
        now, name = when == "FAILING_NOW", cells[ATTRIBUTES]
        yield Sighting(
            "disk",
            name,
            f"{name} stands at {value}, its threshold is {cells.get('THRESH')}: {'failing now' if now else 'it failed in the past'}",
            "attribute_value",
            float(value),
            "",
            (Lines(row["artifact_id"], row["line_no"], row["line_no"], when),),
            **place(row),
            share=0.6 if now else 0.2,
            seen=({"event": "disk-attribute-failing"},) if now else (),
        )


def _counted(rows: list[tuple[dict[str, Any], dict[str, str]]]) -> Iterator[Sighting]:
    known = [(r, c, int(c["ID#"])) for r, c in rows if c.get("ID#", "").isdigit() and int(c["ID#"]) in COUNTS]
    plain = [(r, c, n) for r, c, n in known if _PLAIN.fullmatch(c.get("RAW_VALUE", ""))]
    for row, cells, number in plain:
        count, value = COUNTS[number], int(cells["RAW_VALUE"])
        if value:
            yield Sighting(
                "disk",
                cells[ATTRIBUTES],
                f"{figure(float(value), 'count')} {count.one if value == 1 else count.more} ({cells[ATTRIBUTES]})",
                f"smart_{number}",
                float(value),
                "count",
                (Lines(row["artifact_id"], row["line_no"], row["line_no"], f"raw value {value}"),),
                **place(row),
                against="none",
                against_value=0.0,
                share=count.share,
                n=value,
                seen=({"event": count.event},),
            )
    if plain and not any(int(c["RAW_VALUE"]) for _, c, _ in plain):
        row = plain[0][0]
        yield Sighting(
            "context",
            "the disk",
            f"the disk counts none of {', '.join(c[ATTRIBUTES] for _, c, _ in plain)}",
            "smart_counts",
            0.0,
            "count",
            tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], "0") for r, _, _ in plain),
            **place(row),
            normal=True,
        )

"""What a disk counts of its own health: the attributes of SMART that tell of sectors that could not be read, and of its link.

Standing out: an attribute that stands at or below its threshold (WHEN_FAILED), sectors that wait to be reallocated, errors that could
not be corrected, sectors that were replaced, checksum errors of the link. Normal: these are 0; the least of them is kept as a measure.
VALUE, WORST and THRESH are scores between 1 and 253 that fall from a vendor's best towards the threshold: they compare only with each
other. RAW_VALUE counts in a unit of its own for each attribute, and some vendors pack several numbers into one, so that only
attributes whose raw value is a plain count are read: 5, 187, 197, 198, 199.
Worked example: `197 Current_Pending_Sector 0x0032 100 100 000 Old_age Always - 8`: "8 sectors could not be read and wait to be replaced".
An NVMe disk counts by name (smart-log, smartctl): a critical warning, media errors, its wear, its spare blocks below their threshold,
and minutes in which it was too hot. Unsafe shutdowns and entries of its error log tell nothing of its health.
Cost: at most `MOST_ROWS` rows. Source: smartctl(8), -A; nvme-smart-log(1); NVM Express Base
Specification, SMART / Health Information (log 02h); ATA8-ACS, SMART; E. Pinheiro et al., Failure Trends in a Large Disk Drive
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
    ("rows", "counters", "params"),
    {"*": "smartctl -x /dev/DISK; nvme smart-log /dev/nvmeN"},
)

MOST_ROWS = 5_000

ATTRIBUTES = "ATTRIBUTE_NAME"
"""Heading by which a table of smartctl -A is known; RAW_VALUE is its last column."""


@dataclass(frozen=True)
class Count:
    """What an attribute counts (in words for one and for more), its event for signatures, and its share.

    Sectors that are unreadable now weigh most; totals over the life of a disk say little about today.
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

NVME = {
    "critical_warning": (1.0, "the disk sets a critical warning ({value})", "disk-warns", 0.6),
    "media_errors": (1.0, "the disk counts {value} errors of its medium since it is new", "disk-errors-uncorrected", 0.4),
    "media_and_data_integrity_errors": (1.0, "the disk counts {value} errors of its medium since it is new", "disk-errors-uncorrected", 0.4),
    "percentage_used": (100.0, "the disk has used {value} % of the life that its maker expects", "disk-worn", 0.3),
    "warning_temperature_time": (60.0, "the disk was too hot for {value} minutes since it is new", "disk-hot", 0.2),
    "warning_comp._temperature_time": (60.0, "the disk was too hot for {value} minutes since it is new", "disk-hot", 0.2),
    "critical_composite_temperature_time": (1.0, "the disk was critically hot for {value} minutes since it is new", "disk-hot", 0.25),
    "critical_comp._temperature_time": (1.0, "the disk was critically hot for {value} minutes since it is new", "disk-hot", 0.25),
}  # fmt: skip
"""Names of a health log of NVMe, the value from which they tell something, in which words, as which event and share."""

SPARE, SPARE_LEAST = "available_spare", "available_spare_threshold"
_NUMBERED = re.compile(r"(0x[0-9a-fA-F]{1,8}|[0-9]{1,12}(?:,[0-9]{3}){0,6})\b.*")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield failing attributes and counts that are not 0, what weighs most first, else that all are 0."""
    named = pl.col("heading").list.contains(ATTRIBUTES)
    columns = [*PLACE_COLUMNS, "part", "line_no", "table_no", "heading", "cells"]
    rows = case.scan("rows", columns, named.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    yield from _of_nvme(case)
    for _, part in rows.group_by("artifact_id", "part", "table_no", maintain_order=True):
        listed = [(r, dict(zip(r["heading"], r["cells"], strict=False))) for r in part.sort("line_no").to_dicts()]
        found = [*_failing(listed), *_counted(listed)]
        yield from sorted((s for s in found if not s.normal), key=lambda s: (-(s.share or 0.0), s.lines[0].line_from))
        yield from (s for s in found[:1] if s.normal)


def _of_nvme(case: CaseTables) -> Iterator[Sighting]:
    """Yield figures of an NVMe health log that show a fault; the general reader has read its lines."""
    name = pl.col("name").str.to_lowercase().str.replace_all(r"[ _]+", "_")
    ours = name.is_in([*NVME, SPARE, SPARE_LEAST])
    said = pl.col("value").cast(pl.String)
    listed = [
        case.scan(table, [*PLACE_COLUMNS, "part", "line_no", "name", "value"], ours)
        .with_columns(name.alias("name"), said.alias("value"))
        .head(MOST_ROWS)
        .collect(engine="streaming")
        for table in ("counters", "params")
    ]
    for _, part in pl.concat(listed).group_by("artifact_id", "part", maintain_order=True):
        rows = {r["name"]: r for r in part.sort("line_no", descending=True).to_dicts()}
        # A single one of these names may come from any program.
        if not rows.keys() & {"critical_warning", SPARE} or len(rows) < 2:
            continue
        values = {n: v for n, r in rows.items() if (v := _whole(r["value"])) is not None}
        for known, (least, words, event, share) in NVME.items():
            if values.get(known, 0.0) >= least:
                shown = rows[known]["value"] if known == "critical_warning" else figure(values[known], "count")
                yield _nvme(rows[known], values[known], words.format(value=shown), event, share)
        if SPARE in values and values[SPARE] < values.get(SPARE_LEAST, 0.0):
            words = f"the disk has {values[SPARE]:.0f} % of its spare blocks left, its threshold is {values[SPARE_LEAST]:.0f} %"
            yield _nvme(rows[SPARE], values[SPARE], words, "disk-warns", 0.5)


def _whole(text: str) -> float | None:
    found = _NUMBERED.fullmatch(text.strip())
    if found is None:
        return None
    return float(int(found[1], 16)) if found[1].startswith("0x") else float(found[1].replace(",", ""))


def _nvme(row: dict[str, Any], value: float, words: str, event: str, share: float) -> Sighting:
    return Sighting(
        "disk",
        row["name"],
        words,
        f"nvme_{row['name']}",
        value,
        "",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], row["name"]),),
        **place(row),
        against="none",
        against_value=0.0,
        share=share,
        seen=({"event": event},),
    )


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

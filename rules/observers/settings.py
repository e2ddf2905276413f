"""Settings that a signature knows as a risk: a remark, until another observation shows their effect.

Standing out: a parameter or a limit that a signature with `parameter` knows by its name and value.
Normal: all others, those that were commented out or overridden, and what a signature calls harmless. The share is small
whatever the setting, so that what was measured comes first, and no setting alone becomes a lead.
What the calls of a trace set is told with its course.
Worked example: `vm.zone_reclaim_mode = 1` and a signature for it with value "1": "vm.zone_reclaim_mode is 1".
Cost: one aggregation per table and one look-up per different setting. Source: that of each signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, lines_of, place
from rules.signatures.signatures import Seen, Signature, recognise

OBSERVER = Observer(
    "settings",
    "Which settings are a risk?",
    ("params",),
    wordless=True,
)

SHARE = 0.05
"""Share of a setting that nobody has seen to cost anything: below every measure that stands out."""

RISKS = ("mechanism", "shape", "remark")
"""Strengths of signatures that say more of a setting than that it is all right."""

MOST_SETTINGS = 20_000
"""Maximum number of different settings that are looked at."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield settings that a signature knows as a risk, those that name a mechanism outright first."""
    found = list(_params(case))
    found.sort(key=lambda x: (RISKS.index(x[0].strength), x[1].lines[0].line_from))
    return [sighting for _, sighting in found]


def _params(case: CaseTables) -> Iterator[tuple[Signature, Sighting]]:
    group = [*PLACE_COLUMNS, "scope", "entity", "name", "value"]
    named = pl.col("name").is_not_null() & pl.col("active").fill_null(True)
    rows = (
        case.scan("params", [*group, "num", "line_no", "line_end"], named)
        .group_by(group)
        .agg(
            pl.col("num").filter(pl.col("num").is_finite()).first(),
            pl.col("line_no").min(),
            pl.col("line_end").get(pl.col("line_no").arg_min()),
            pl.col("line_no").max().alias("line_last"),
        )
        .sort(*PLACE_COLUMNS, "line_no", "name", "scope", "entity", "value", nulls_last=True)
        .head(MOST_SETTINGS)
        .collect(engine="streaming")
    )
    for row in rows.iter_rows(named=True):
        yield from _risk(row, f" of {row['entity']}" if row["entity"] else "")


def _risk(row: Mapping[str, Any], whose: str) -> Iterator[tuple[Signature, Sighting]]:
    """Yield the sighting of a setting if a signature knows it, as printed or as a number."""
    value = None if row["value"] is None else str(row["value"]).strip()
    number = None if row["num"] is None else f"{row['num']:.15g}"
    for form in dict.fromkeys((value, number)):
        seen: Seen = {"parameter": row["name"]}
        if row.get("scope"):
            seen["group"] = row["scope"]
        if form is not None:
            seen["value"] = form
        found = next((s for s in recognise(**seen) if "parameter" in s.match), None)
        if found is not None:
            if found.strength in RISKS:
                yield found, _sighting(row, value, whose, seen)
            return


def _sighting(row: Mapping[str, Any], value: str | None, whose: str, seen: Seen) -> Sighting:
    shown = "set, its value is not shown" if value is None else value or "empty"
    number = row["num"]
    return Sighting(
        kind="setting",
        subject=row["name"],
        headline=f"{row['name']}{whose} is {shown}",
        name=row["name"],
        # A word has no figure: 1 stands for "it is set so".
        value=float(number) if number is not None else 1.0,
        unit="",
        lines=_lines(row),
        **place(row),
        share=SHARE,
        seen=(seen,),
    )


def _lines(row: Mapping[str, Any]) -> tuple[Lines, ...]:
    """Return the lines of a setting; of several samples the first and the last."""
    last = row.get("line_last")
    again = (Lines(row["artifact_id"], last, last, "still so"),) if last and last > row["line_no"] else ()
    return (*lines_of(row, "setting"), *again)

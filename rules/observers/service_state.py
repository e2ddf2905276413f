"""What a service manager says of its units: in what state they are, how they ended, how much of their limits they use.

Standing out: a unit that has failed, is on its way up or down, or whose last processes ended with an error; one that uses
at least `NEAR` of the memory or the tasks that it may use. Files beside the unit that change its settings (drop-ins) are
told with it. Normal: units that run, or that have ended with success: told where little else stands out.
Worked example: `Active: failed (Result: timeout) since ...; 2min ago`: backup.service has been in state failed for 2min, with the
result timeout. `Memory: 1.9G (limit: 2.0G)`: 95 % of the limit.
Cost: the rows of the reports, at most `MOST_ROWS` of each artifact. Source: systemctl(1), systemd.resource-control(5);
svcs(1), smf(7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.near_limit import NEAR
from rules.observers.observer import CONTEXT, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "service-state",
    "In what state are services?",
    ("rows",),
    {
        "linux": "journalctl -u UNIT -b --no-pager; systemctl show UNIT",
        "solaris": "svcs -xv; the log that it names",
    },
)

REPORT = "service status"
"""Heading of the rows that the general reader takes from such a report."""

MOST_ROWS = 5_000
MOST_UNITS = 20
"""Maximum number of units of an artifact that are told."""

FAILED_SHARE, CHANGING_SHARE = 0.4, 0.3
"""Share of a unit that ended with an error, and of one that is between two states: what it costs nobody has seen."""

_UNIT = re.compile(r"(?:[●○◍×x↻*] )?(?P<unit>(?:svc:)?\S+?)(?: - .*| \(.*\))?")
_FIELD = re.compile(r"\s*(?P<name>[A-Z][A-Za-z -]{1,20}): ?(?P<value>.*?)\s*")
_STATE = re.compile(
    r"(?P<state>[a-z-]+(?: \([\w -]+\))?)(?: \(Result: (?P<result>[\w-]+)\))?(?: since .*?; (?P<ago>.*) ago)?.*"
)
_SMF = re.compile(r"(?P<state>[a-z]+)(?: \([\w -]+\))?(?: since .*)?")
_ENDED = re.compile(r"\b(?P<pid>\d+) .*?\(code=(?P<code>exited|killed|dumped), (?:status|signal)=(?P<status>[\w/]+)")
_SIZE = re.compile(
    r"(?P<used>\d[\d.]*)(?P<unit>[BKMGTP]?)\b.*?\b(?:limit|max): (?P<limit>\d[\d.]*)(?P<of>[BKMGTP]?)\b.*"
)
_KB = {"B": 1 / 1024, "K": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4}

CHANGING = ("activating", "deactivating", "reloading", "maintenance", "offline", "degraded")
"""States between or beside running and at rest."""

SUCCESS = ("0", "0/SUCCESS")


@dataclass
class Unit:
    """One unit: its rows, the line of each field by name, and the files that change its settings."""

    name: str
    rows: list[dict[str, Any]]
    fields: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)
    ended: list[tuple[dict[str, Any], re.Match[str]]] = field(default_factory=list)
    added: list[tuple[dict[str, Any], str]] = field(default_factory=list)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield units in a bad state, limits that are nearly used up, then units that are well."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    rows = case.scan("rows", columns).filter(pl.col("heading").list.first() == REPORT).head(MOST_ROWS)
    found: list[Sighting] = []
    for _, part in (
        rows.collect(engine="streaming").sort("line_no").group_by("artifact_id", "part", maintain_order=True)
    ):
        for unit in _units(part.to_dicts())[:MOST_UNITS]:
            found += [*_state(unit), *_limits(unit)]
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0), s.lines[0].line_from))


def _units(rows: Sequence[dict[str, Any]]) -> list[Unit]:
    made: list[Unit] = []
    dropping = False
    for row in rows:
        text = str(row["cells"][0])
        named = _FIELD.fullmatch(text)
        if not text.startswith((" ", "\t")) and not named and (head := _UNIT.fullmatch(text)):
            made.append(Unit(head["unit"], [row]))
        elif made and named:
            dropping = named["name"] == "Drop-In"
            made[-1].rows.append(row)
            made[-1].fields.setdefault(named["name"], (row, named["value"]))
            if found := _ENDED.search(named["value"]):
                made[-1].ended.append((row, found))
        elif made and dropping:
            made[-1].added.append((row, text.strip(" \t├└│─|`-")))
    return made


def _line(row: dict[str, Any], role: str) -> Lines:
    return Lines(int(row["artifact_id"]), int(row["line_no"]), int(row["line_no"]), role)


def _state(unit: Unit) -> Iterator[Sighting]:
    row, value = unit.fields.get("Active") or unit.fields.get("State") or (None, "")
    found = (_STATE if "Active" in unit.fields else _SMF).fullmatch(value)
    if row is None or found is None:
        return
    said = found.groupdict()
    bad = [(at, end) for at, end in unit.ended if end["status"] not in SUCCESS]
    well = [(at, end) for at, end in unit.ended if end["status"] in SUCCESS]
    result = said.get("result")
    failed = said["state"].startswith(("failed", "maintenance")) or bool(result and result != "success")
    changing = said["state"].split()[0] in CHANGING
    been = (
        f" has been in state {said['state']} for {said['ago']}" if said.get("ago") else f" is in state {said['state']}"
    )
    headline = f"{unit.name}{been}"
    headline += f", with the result {result}" if result else ""
    if bad:
        headline += f"; its process {bad[0][1]['pid']} ended with {_how(bad[0][1])}"
    elif well:
        headline += f"; its process {well[-1][1]['pid']} ended with {_how(well[-1][1])}, without an error"
    if reason := unit.fields.get("Reason"):
        headline += f": {reason[1][:120]}"
    stands_out = failed or changing or bool(bad)
    yield Sighting(
        "service" if stands_out else CONTEXT,
        unit.name,
        headline,
        "unit_state",
        1.0,
        "count",
        (
            _line(row, said["state"]),
            *(_line(at, _how(end)) for at, end in (bad or well)[:2]),
            *([_line(reason[0], "reason")] if reason else []),
        ),
        **place(row),
        share=(FAILED_SHARE if failed or bad else CHANGING_SHARE) if stands_out else None,
        normal=not stands_out,
    )


def _how(end: re.Match[str]) -> str:
    """Describe how a process ended, as the report prints it."""
    return f"{'signal' if end['code'] != 'exited' else 'status'}={end['status']}"


def _limits(unit: Unit) -> Iterator[Sighting]:
    for name, what, unit_word in (("Memory", "memory", "kB"), ("Tasks", "tasks", "count")):
        row, value = unit.fields.get(name, (None, ""))
        found = _SIZE.fullmatch(value)
        if row is None or found is None:
            continue
        factors = [_KB.get(found[of], 1.0) if unit_word == "kB" else 1.0 for of in ("unit", "of")]
        used, limit = (float(found[g].rstrip(".")) * f for g, f in zip(("used", "limit"), factors, strict=True))
        if limit <= 0:
            continue
        share = used / limit
        amount = f"{found['used']}{found['unit']} of the {found['limit']}{found['of']}"
        where = unit.fields.get("Drop-In")
        files = ", ".join(text for _, text in unit.added)
        yield Sighting(
            "limit",
            f"{unit.name} {what}",
            f"{unit.name} uses {amount} of {what} that it may use, {figure(100 * share, '%')}",
            f"{what}_used",
            used,
            unit_word,
            (
                _line(row, f"{what} used and limit"),
                *([_line(where[0], "files that change its settings")] if where else []),
                *(_line(at, text[:80]) for at, text in unit.added[:4]),
            ),
            **place(row),
            against="its limit",
            against_value=limit,
            share=min(1.0, share) if share >= NEAR else None,
            normal=share < NEAR,
            beside=f"settings are changed by {files[:80]} in {where[1][:80]}" if where and files else None,
        )

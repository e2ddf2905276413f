"""Which single events took long, in listings of tools that print one line for each with its latency (bcc, bpftrace).

Standing out: a disk whose middle read or write took 16 ms and more; operations of files of 0.1 s and more; connects and
look-ups of names of 0.1 s and more. Normal: shorter ones; the longest of a listing is told as a measure. Tools such as ext4slower print slow
operations only, so that their number is no part of all.
Worked example: biosnoop with ten reads of sda of 640 to 1,310 ms and one of 2 ms: "10 of 11 reads and writes of sda took 16 ms
and more, half of them 940 ms, the longest 1.31 s".
Cost: the first `MOST_ROWS` rows of listings with such a column. Source: bcc biosnoop(8), ext4slower(8), fileslower(8),
tcpconnlat(8), and their `LAT(ms)`; RFC 6298 2.1 (the first repetition of a SYN comes after a second).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.distributions import LATE
from rules.observers.observer import FELT_S, MOST, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "event-latencies",
    "Which single events took long?",
    ("rows",),
    {"linux": "biolatency -D 10 3; iostat -x 1 30", "*": "the same listing while nobody complains"},
    like="listed-values",
)

_LATENCY = re.compile(
    r"(?i)(?:LAT(?:ENCY)?|DELTA|DURATION|ELAPSED|DELAY)[ _(]?(?P<unit>s|secs?|ms|us|usecs?|ns|nsecs?)\)?"
)
"""Headings of latencies: `LAT(ms)`, `LATms`, `LATENCY(us)`, `DELTA(ms)`."""

UNITS_S: Mapping[str, float] = {"s": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
"""Seconds of a unit by its first letter."""

MOST_ROWS = 100_000
"""Maximum number of rows that are looked at."""

FEW = 5
"""Minimum number of reads and writes of a disk of which a middle one says anything."""

CITED = 6
"""Maximum number of events that are cited, the longest first."""

SYN_S = 0.9
"""Minimum time of a connect in which its first segment may have been lost: it is sent again after a second."""

OPERATIONS = {"S": "syncs", "R": "reads", "W": "writes", "O": "opens"}
"""Letters of operations of files."""


@dataclass(frozen=True)
class Event:
    """One line of such a listing: its row, the latency in seconds, and the cells by their headings."""

    row: Mapping[str, Any]
    s: float
    cells: Mapping[str, str]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what took long in each listing, the longest first."""
    columns = [*PLACE_COLUMNS, "part", "table_no", "line_no", "heading", "cells"]
    timed = pl.col("heading").list.join(" ").str.contains(r"(?i)\b(?:LAT|DELTA|DURATION|ELAPSED|DELAY)")
    rows = case.scan("rows", columns, timed).head(MOST_ROWS).collect(engine="streaming").sort("artifact_id", "line_no")
    found: list[Sighting] = []
    for _, table in rows.group_by("artifact_id", "part", "table_no", maintain_order=True):
        events = [made for row in table.iter_rows(named=True) if (made := _event(row))]
        if not events:
            continue
        cells = events[0].cells
        if "DISK" in cells or "DEVICE" in cells:
            found += _disks(events)
        elif "FILENAME" in cells or "FILE" in cells:
            found += _files(events)
        elif {"DADDR", "DPORT"} <= set(cells):
            found += _connects(events)
        elif "HOST" in cells:
            found += _lookups(events)
    yield from sorted(found, key=lambda s: (s.normal, -s.value))[:MOST]


def _event(row: Mapping[str, Any]) -> Event | None:
    held = {name: cell for name, cell in _cells(row["heading"] or (), row["cells"] or ()) if name and cell}
    name, unit = next(((n, m["unit"]) for n in held if (m := _LATENCY.fullmatch(n))), ("", ""))
    text = held.get(name, "")
    if not unit or not text.replace(".", "", 1).isdecimal() or len(text) > 20:
        return None
    return Event(row, float(text) * UNITS_S[unit[0].lower()], held)


def _cells(heading: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield names and cells; a column of two words above two values is two columns that one blank separates."""
    for name, cell in zip(heading, cells, strict=False):
        names, parts = (name or "").split(), (cell or "").split()
        if len(names) == len(parts) > 1:
            yield from zip(names, parts, strict=True)
        else:
            yield name, cell


def _grouped(events: Iterable[Event], *names: str) -> Iterator[tuple[str, list[Event]]]:
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(":".join(event.cells.get(n, "?") for n in names), []).append(event)
    yield from groups.items()


def _disks(events: Sequence[Event]) -> Iterator[Sighting]:
    """Yield disks whose median read or write is slow, with the bound that `distributions` has for histograms."""
    least, _, name = LATE["block device I/O"]
    for disk, held in _grouped(events, "DISK" if "DISK" in events[0].cells else "DEVICE"):
        late = [e for e in held if e.s >= least]
        middle = median(e.s for e in held)
        stands = len(held) >= FEW and middle >= least
        share = sum(e.s for e in late) / max(sum(e.s for e in held), 1e-12) if stands else None
        text = f"{len(late):,} of {len(held):,} reads and writes of {disk} took {figure(least, 's')} and more, the middle one {figure(middle, 's')}"
        yield _sighting(held, disk, text, share, {"event": name} if stands else None)


def _files(events: Sequence[Event]) -> Iterator[Sighting]:
    """Yield file operations, by kind of operation."""
    whole = sum(e.s for e in events)
    for letter, held in _grouped(events, "T"):
        worst = max(held, key=lambda e: e.s)
        stands = worst.s >= FELT_S
        what = OPERATIONS.get(letter, "operations")
        file = worst.cells.get("FILENAME") or worst.cells.get("FILE")
        whose = f" of {file} by {worst.cells.get('COMM', 'a program')}"
        event: Seen = {"event": "file-sync-late" if letter == "S" else "file-operation-late"}
        part = sum(e.s for e in held) / max(whole, 1e-12) if stands else None
        yield _sighting(held, what, f"{len(held):,} {what} of files are listed", part, event if stands else None, whose)


def _connects(events: Sequence[Event]) -> Iterator[Sighting]:
    """Yield the addresses to which connects took long."""
    for end, held in _grouped(events, "DADDR", "DPORT"):
        late = [e for e in held if e.s >= FELT_S]
        if not late:
            continue
        text = f"{len(late):,} of {len(held):,} connects to {end} took {figure(FELT_S, 's')} and more"
        lost = max(e.s for e in late) >= SYN_S
        yield _sighting(late, end, text, None, {"event": "connect-after-a-second"} if lost else {"call": "connect"})


def _lookups(events: Sequence[Event]) -> Iterator[Sighting]:
    """Yield the names whose look-up took long, all together: the resolver is the same for all."""
    late = [e for e in events if e.s >= FELT_S]
    if not late:
        return
    worst = max(late, key=lambda e: e.s)
    names = len({e.cells["HOST"] for e in late if "HOST" in e.cells})
    text = f"{len(late):,} of {len(events):,} look-ups of names took {figure(FELT_S, 's')} and more, {names:,} different names"
    whose = f" of {worst.cells.get('HOST', 'a name')} by {worst.cells.get('COMM', 'a program')}"
    yield _sighting(
        late,
        "look-ups of names",
        text,
        sum(e.s for e in late) / sum(e.s for e in events),
        {"event": "lookup-took-long"},
        whose,
    )


def _sighting(
    held: Sequence[Event], subject: str, text: str, share: float | None, seen: Seen | None, whose: str = ""
) -> Sighting:
    longest = sorted(held, key=lambda e: -e.s)
    row = longest[0].row
    return Sighting(
        "latency",
        subject,
        f"{text}, the longest{whose} {figure(longest[0].s, 's')}",
        "latency_s",
        longest[0].s,
        "s",
        tuple(Lines(e.row["artifact_id"], e.row["line_no"], e.row["line_no"], "long") for e in longest[:CITED]),
        **place(row),
        against="what a person notices",
        against_value=FELT_S,
        share=None if share is None else min(1.0, share),
        n=len(held),
        seen=(seen,) if seen else (),
        normal=seen is None,
    )

"""What single lines of tools state: how fast dd copied, a link below its speed, a deadlock of SQL Server, the head of a digest.

Standing out: a large copy below `SLOW_MBPS`; a link slower than both its ends can be, or at half duplex; sessions of a deadlock; a blocked
process that waits for a second or longer; the statement with half of the time of a digest whose calls take a second or longer. Normal:
quicker copies, of which the general reader keeps the time; other statements.
Worked example: `943718400 bytes (944 MB) copied, 472 s, 2.0 MB/s`: dd copied 2 MB per second.
Cost: at most `MOST_ROWS` rows. Source: dd(1); Microsoft Learn, Deadlocks guide; Percona Toolkit documentation, pt-query-digest. A single disk of
the last twenty years writes 40 MB/s or more in one piece (hdparm(8), -t).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.observers.system_reports import REPORT

OBSERVER = Observer(
    "stated-figures",
    "What do single lines of tools state?",
    ("rows", "logs"),
    {"*": "the same once more while iostat -x 1 runs; or the list of sessions with those that block them"},
)

SLOW_MBPS, LEAST_MB, LEAST_S = 15.0, 32.0, 5.0
"""Rate of a copy in MB per second that no disk has by nature; size and time from which caches do not decide on it."""

_COPY = re.compile(r"a copy of ([0-9,]{1,24}) bytes")
LOCKED_S = 1.0
HALF = 0.5
FELT_S = 1.0
SHARE = 0.6
MOST_ROWS = 2_000
MOST_CITED = 10

IN_DEADLOCK = "sessions of a deadlock"
BEHIND = "seconds a blocked process waits"
SPENT, CALLED = "response time of a statement", "calls of a statement"
SLOWER, HALF_DUPLEX = "speed of a link in Mbit/s", "half duplex of a link"
NAMES = (IN_DEADLOCK, BEHIND, SPENT, CALLED, SLOWER, HALF_DUPLEX)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what stands out of the figures of each part."""
    yield from _copies(case)
    ours = (pl.col("heading").list.first() == REPORT) & pl.col("cells").list.first().is_in(NAMES)
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    rows = case.scan("rows", columns, ours.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.sort("line_no").group_by("artifact_id", "part", maintain_order=True):
        by_name: dict[str, list[dict[str, Any]]] = {}
        for row in part.iter_rows(named=True):
            by_name.setdefault(row["cells"][0], []).append(row)
        yield from _deadlock(by_name.get(IN_DEADLOCK, ()))
        yield from _blocked(by_name.get(BEHIND, ()))
        yield from _link(by_name.get(SLOWER, ()), by_name.get(HALF_DUPLEX, ()))
        yield from _digest(by_name.get(SPENT, ()), by_name.get(CALLED, ()))


def _value(row: dict[str, Any]) -> float:
    return float(row["cells"][2])


def _line(row: dict[str, Any], role: str) -> Lines:
    return Lines(row["artifact_id"], row["line_no"], row["line_no"], role)


def _copies(case: CaseTables) -> Iterator[Sighting]:
    """Yield the slowest large copy of dd, whose size and time the general reader keeps as one operation."""
    columns = [*PLACE_COLUMNS, "line_no", "op", "elapsed_s"]
    ours = pl.col("op").str.starts_with("a copy of ") & (pl.col("elapsed_s") >= LEAST_S)
    rows = case.scan("logs", columns, ours.fill_null(value=False)).head(MOST_ROWS).collect(engine="streaming")
    found = []
    for row in rows.iter_rows(named=True):
        size = _COPY.fullmatch(row["op"])
        mb = float(size[1].replace(",", "")) / 1e6 if size else 0.0
        if mb >= LEAST_MB and mb / row["elapsed_s"] < SLOW_MBPS:
            found.append((mb / row["elapsed_s"], row))
    if not found:
        return
    rate, row = min(found, key=lambda x: x[0])
    yield Sighting(
        "rate",
        "dd",
        f"dd copied {figure(rate, 'MB')} per second",
        "copied_mbps",
        rate,
        "MB",
        (_line(row, "what dd copied"),),
        **place(row),
        against="what one disk writes in one piece",
        against_value=SLOW_MBPS,
        share=SHARE,
        n=len(found),
        seen=({"event": "copy-slow"},),
    )


def _link(slower: Sequence[dict[str, Any]], half: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    for row in (*half[:1], *slower[:1]):
        speed, most = _value(row), row["cells"][3]
        can = f", though both of its ends can do {float(most):,.0f}" if most else ""
        duplex = " at half duplex" if row in half else ""
        yield Sighting(
            "setting",
            "a link at half duplex" if duplex else "a link below its speed",
            f"The link works with {speed:,.0f} Mbit/s{duplex}{can}",
            "link_mbit",
            speed,
            "Mbit/s",
            (_line(row, "what the ends agreed on"),),
            **place(row),
            against="the most that both ends can",
            against_value=float(most) if most else None,
            share=SHARE,
            seen=({"event": "link-at-half-duplex" if duplex else "link-below-its-speed"},),
        )


def _deadlock(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    who = list(dict.fromkeys(row["cells"][1] for row in rows))
    if len(who) >= 2:
        yield Sighting(
            "lock",
            "deadlock",
            f"{len(who)} sessions wait for each other (deadlock): {'; '.join(who[:3])}",
            "deadlocked_sessions_count",
            float(len(who)),
            "count",
            tuple(_line(row, row["cells"][1]) for row in rows[:MOST_CITED]),
            **place(rows[0]),
            against="none",
            against_value=0.0,
            share=1.0,
            seen=({"event": "sessions-in-deadlock"},),
        )


def _blocked(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    longest = max(rows, key=_value, default=None)
    if longest is not None and _value(longest) >= LOCKED_S:
        yield Sighting(
            "wait",
            longest["cells"][1],
            f"{longest['cells'][1]} has waited {figure(_value(longest), 's')} for a lock that another session holds",
            "lock_wait_s",
            _value(longest),
            "s",
            tuple(_line(row, row["cells"][1]) for row in rows[:MOST_CITED]),
            **place(longest),
            against="how locks work",
            against_value=LOCKED_S,
            share=SHARE,
            seen=({"event": "process-blocked-by-lock"},),
        )


def _digest(rows: Sequence[dict[str, Any]], called: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    largest = max(rows, key=_value, default=None)
    if largest is None or not largest["cells"][3]:
        return
    spent, whole = _value(largest), float(largest["cells"][3])
    n = next((_value(row) for row in called if row["line_no"] == largest["line_no"]), 0.0)
    if spent < HALF * whole or n < 1:
        return
    what = largest["cells"][1]
    yield Sighting(
        "statement",
        what,
        f"{what} has {figure(100 * spent / whole, '%')} of the time of all statements, {figure(spent, 's')} in {n:,.0f} calls,"
        f" {figure(spent / n, 's')} each",
        "statement_s",
        spent,
        "s",
        (_line(largest, "the statement with most time"),),
        **place(largest),
        against="all statements",
        against_value=whole,
        share=min(1.0, spent / whole),
        n=int(min(n, 1e15)),
        seen=({"event": "one-statement-heads-the-digest"},) if spent / n >= FELT_S else (),
    )

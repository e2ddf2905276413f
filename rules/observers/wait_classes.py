"""Which class of waits holds the time of a database where no single event has half of it: reads and writes, locks, latches ...

The class of an event is the layer of the mechanism that signatures name for it. Standing out: a class with `HALF` of what a listing of waits
has that are not idle, of two events or more, none of which has that alone; it is told under the name of its largest event. Where the
listing counts the waits, those for storage must take `SLOW_MS` on average: quicker ones are many, not slow. The same for pairs of names
and times below a total (`TOTAL_WAIT_TIME`). Normal: less.
Worked example: `PAGEIOLATCH_SH 41 %`, `WRITELOG 22 %`, `IO_COMPLETION 9 %`: three waits for storage have 72 % together.
Cost: one pass over listings with these columns. Source: Microsoft Learn, sys.dm_os_wait_stats; IBM Db2 documentation, total_wait_time and
its parts; Oracle Database Reference, Classes of Wait Events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.database_lists import (
    COUNTED,
    IDLE_WAITS,
    TIMES,
    WAITS,
    WHO,
    Listed,
    figure_of,
    is_known,
    listings,
)
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting, figure, place
from rules.signatures.mechanisms import mechanisms
from rules.signatures.signatures import recognise

OBSERVER = Observer(
    "wait-classes",
    "Which class of waits holds the time of the database?",
    ("rows", "params", "counters"),
    {"*": "the waits of the same minutes with times and numbers; the statements that wait"},
    like="database-lists",
)

HALF = 0.5
SLOW_MS = 10.0
LEAST_S = 1.0
"""Minimum time in seconds of a total: less says nothing of a server."""

MOST_ROWS = 5_000
SHARES = ("pct", "percentage", "wait_pct", "percent", "pct_total", "pct_of_total")
NUMBERS = ("waiting_tasks", "waiting_tasks_count", "waits", "wait_count", "total_waits", "count_star", "tasks")
TOTAL = ("total_wait_time", "total wait time (ms)", "total_act_wait_time")
"""Names of totals, in ms, of which the pairs of the same part are the parts."""

NAMED_LEAST = 2
ON_CPU = ("database-cpu", "cpu-saturated")
"""Mechanisms of waits for a processor, a class of their own."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the classes of waits with most of the time of each listing."""
    for names, listing in listings(case):
        yield from _of_listing(names, listing)
    yield from _of_total(case)


def _layer(event: str) -> str | None:
    """Return the class of an event; None if no signature knows what it waits for."""
    known = recognise(event=event, observer=OBSERVER.name)[:1]
    if not known or known[0].mechanism is None or known[0].strength not in ("mechanism", "shape"):
        return None
    layer = known[0].layer or mechanisms()[known[0].mechanism].layer
    return f"{layer}: processors" if known[0].mechanism in ON_CPU else layer


def _is_idle(event: str) -> bool:
    return IDLE_WAITS.fullmatch(event) is not None or any(s.strength == "idle" for s in recognise(event=event)[:1])


def _of_listing(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    event = next((n for n in WAITS if n in names), None)
    times = next((n for n in TIMES if n in names), None)
    shares = next((n for n in SHARES if n in names), None)
    column = shares or times or next((n for n in COUNTED if n in names), None)
    if event is None or column is None or names & set(WHO):
        return
    number = next((n for n in NUMBERS if n in names), None)
    parts: list[tuple[float, str, Listed]] = []
    for one in listing:
        kind, name = one.of.get("wait_event_type", ""), one.of[event]
        called = f"{kind}:{name}" if is_known(kind) and is_known(name) else name
        value = figure_of((one.of[column] or "").rstrip("% "))
        if is_known(name) and value and value > 0 and not _is_idle(called):
            parts.append((value, called, one))
    whole = 100.0 if shares else sum(value for value, _, _ in parts)
    for layer in sorted({made for _, name, _ in parts if (made := _layer(name))}):
        of = sorted((p for p in parts if _layer(p[1]) == layer), key=lambda p: -p[0])
        average = None
        if times and number:
            n = sum(figure_of(one.of.get(number)) or 0.0 for _, _, one in of)
            spent = sum((figure_of(one.of.get(times)) or 0.0) * TIMES[times] for _, _, one in of)
            average = 1e3 * spent / n if n else None
        held = [(value, name, one.line(name), one.row) for value, name, one in of]
        yield from _told(layer, held, whole, average)


def _of_total(case: CaseTables) -> Iterator[Sighting]:
    """Yield the classes of times that are listed as names with values below a total."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "name", "value"]
    named = pl.col("name").str.to_lowercase().str.contains(r"wait|_time|time ")
    frames = [
        case.scan(table, columns, named).head(MOST_ROWS).collect(engine="streaming").cast({"value": pl.String})
        for table in ("params", "counters")
    ]
    for _, part in pl.concat(frames, how="diagonal").sort("line_no").group_by("artifact_id", "part"):
        rows = {str(r["name"]).strip().lower(): r for r in part.iter_rows(named=True)}
        whole = next((figure_of(str(rows[t]["value"])) for t in TOTAL if t in rows), None)
        if not whole or whole < 1e3 * LEAST_S:
            continue
        parts = []
        for name, row in rows.items():
            value = figure_of(str(row["value"]))
            if name not in TOTAL and value and value > 0 and _layer(name):
                parts.append((value, name, Lines(row["artifact_id"], row["line_no"], row["line_no"], name), row))
        for layer in sorted({str(_layer(p[1])) for p in parts}):
            held = sorted((p for p in parts if _layer(p[1]) == layer), key=lambda p: -p[0])
            yield from _told(layer, held, whole, None, least=1)


def _told(
    layer: str,
    held: Sequence[tuple[float, str, Lines, Mapping[str, Any]]],
    whole: float,
    average_ms: float | None,
    least: int = NAMED_LEAST,
) -> Iterator[Sighting]:
    """Yield a class; of one event that has half by itself its own listing tells."""
    mine = sum(p[0] for p in held)
    if not held or whole <= 0 or len(held) < least or mine < HALF * whole:
        return
    if least > 1 and held[0][0] >= HALF * whole:
        return
    slow = layer != "storage" or average_ms is None or average_ms >= SLOW_MS
    share = min(1.0, mine / whole)
    each = f"; each took {figure(average_ms, 'ms')} on average" if average_ms is not None else ""
    called = ", ".join(name for _, name, _, _ in held[:3])
    several = f"{len(held)} waits of one class have" if len(held) > 1 else "One wait has"
    yield Sighting(
        "wait",
        f"waits like {held[0][1]}",
        f"{several} {figure(100 * share, '%')} of the time together: {called}{each}",
        "wait_pct",
        100 * share,
        "%",
        tuple(lines for _, _, lines, _ in held[:MOST_LINES]),
        **place(held[0][3]),
        against="all that is not idle",
        against_value=100.0,
        share=share,
        n=len(held),
        seen=({"event": held[0][1]},) if slow else (),
    )

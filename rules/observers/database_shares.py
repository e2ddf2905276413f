"""Which wait, or class of waits, holds the time of a database: shares of an AWR section, of ASH, of samples of its sessions.

Standing out: a wait with a tenth of the time. Where the listing says how long one read took, reads of `SLOW_MS` or more count as slow;
quicker ones, and those of which it does not say it, are only told. Normal: less; what is idle is left out.
Worked example: `Concurrency 900,331 12,004 64.2 13.3` below `Wait Class Waits Time (sec) % DB time Avg(ms)`: 64.2 % of the DB time.
Cost: the first 20,000 rows of listings with these columns. Source: Oracle Database Reference, Classes of Wait Events; Oracle
Performance Tuning Guide, Active Session History.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rules.derived.derived_table import CaseTables
from rules.observers.database_lists import (
    IDLE_WAITS,
    TOLD,
    WAITS,
    Listed,
    figure_of,
    is_known,
    listings,
    share_of_whole,
)
from rules.observers.observer import Observer, Sighting, figure, place
from rules.signatures.signatures import Seen, recognise

OBSERVER = Observer(
    "database-shares",
    "Which wait holds the time of the database?",
    ("rows",),
    {"*": "the waits of the same minutes with times and averages (AWR or Statspack, v$active_session_history)"},
    alone=True,
)

OWNS = 0.1
SLOW_MS = 10.0
"""Minimum time in ms of a read that a disk answers slowly."""

AVERAGES = ("avg_ms", "avg_wait", "avg_wait_ms", "wait_avg", "ms", "avg_wait_time_ms", "average_wait_ms")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the waits with most time of each listing."""
    found = [s for names, listing in listings(case) for s in _shares(names, listing)]
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0)))


def _shares(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    column = share_of_whole(names)
    if column is None:
        return
    event = next((n for n in WAITS if n in names), "wait_class")
    parts: list[tuple[float, str, Listed]] = []
    for one in listing:
        name, part = one.of[event], figure_of((one.of[column] or "").rstrip("% "))
        if not is_known(name) or not part or not 0 < part <= 100 or IDLE_WAITS.fullmatch(name):
            continue
        if not any(s.strength == "idle" for s in recognise(event=name)[:1]):
            parts.append((part, name, one))
    for part, name, one in sorted(parts, key=lambda x: -x[0])[:TOLD]:
        yield Sighting(
            "wait",
            name,
            f"{name} has {figure(part, '%')} as it is listed",
            "wait_pct",
            part,
            "%",
            (one.line(name),),
            **place(one.row),
            against="all that is not idle",
            against_value=100.0,
            share=part / 100,
            seen=_seen(event, name, one) if len(parts) >= TOLD else (),
            normal=part < 100 * OWNS,
        )


def _seen(event: str, name: str, one: Listed) -> tuple[Seen, ...]:
    called = name if event != "wait_class" else f"wait class {name}"
    mechanisms = {s.mechanism for s in recognise(event=called, observer=OBSERVER.name)}
    average = next((n for a in AVERAGES if (n := figure_of(one.of.get(a))) is not None), 0.0)
    return () if "read-wait" in mechanisms and average < SLOW_MS else ({"event": called},)

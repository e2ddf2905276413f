"""Which command of a store takes its time: totals of Redis and its kin, which serve one command after the other.

Standing out: a command with half or more of the time of all commands, and with `LONG_S` for each call: nobody else is
served meanwhile. Normal: commands of less, which are told as measures, the largest only. Of the others the one
called most often is told beside it: it shows what a call usually takes.
Worked example: 4 KEYS in 6.7 s beside 152 GET in 1 ms: KEYS has 100 % of the time, 1.67 s for each call.
Cost: the counters of one group, which are few. Source: Redis documentation, INFO commandstats, Diagnosing latency issues.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "command-times",
    "Which command of a store takes its time?",
    ("counters",),
    {"*": "redis-cli slowlog get 20; redis-cli client list; redis-cli info commandstats once more, 60 s later"},
)

GROUP = "commands of a store"

LONG_S = 0.01
"""Minimum mean time of a call in seconds: the store's own limit for its list of slow calls (slowlog-log-slower-than)."""

HALF = 0.5
"""Minimum part of the time of all commands."""

FELT_S = 0.1
"""Minimum time in seconds of all calls together."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the command that takes most of a store's time."""
    columns = [*PLACE_COLUMNS, "line_no", "grp", "item", "name", "value"]
    named = (pl.col("grp") == GROUP) & pl.col("name").is_in(["calls", "usec"]) & (pl.col("value") >= 0)
    rows = case.scan("counters", columns, named).collect(engine="streaming")
    last = rows.sort("artifact_id", "line_no").unique(["artifact_id", "item", "name"], keep="last", maintain_order=True)
    for _, held in last.group_by("artifact_id", maintain_order=True):
        totals: dict[str, dict[str, dict[str, Any]]] = {}
        for row in held.iter_rows(named=True):
            totals.setdefault(row["item"], {})[row["name"]] = row
        whole = {k: v for k, v in totals.items() if {"calls", "usec"} <= set(v) and v["calls"]["value"] >= 1}
        spent = sum(v["usec"]["value"] for v in whole.values()) / 1e6
        if whole and spent > 0:
            slow = max(whole, key=lambda name: float(whole[name]["usec"]["value"]))
            others = {name: of for name, of in whole.items() if name != slow}
            often = max(others, key=lambda name: float(others[name]["calls"]["value"]), default=None)
            yield _sighting(slow, whole[slow], spent, (often, others[often]) if often else None)


def _sighting(
    command: str,
    totals: dict[str, dict[str, Any]],
    spent: float,
    often: tuple[str, dict[str, dict[str, Any]]] | None,
) -> Sighting:
    row = totals["usec"]
    seconds, calls = row["value"] / 1e6, totals["calls"]["value"]
    share, each = min(1.0, seconds / spent), seconds / calls
    stands = share >= HALF and each >= LONG_S and seconds >= FELT_S
    return Sighting(
        "command",
        command,
        f"{command} took {figure(seconds, 's')} in {calls:,.0f} calls, {figure(each, 's')} each:"
        f" {figure(100 * share, '%')} of the time of all commands",
        "command_s",
        seconds,
        "s",
        tuple(
            Lines(r["artifact_id"], r["line_no"], r["line_no"], "calls and time")
            for r in (row, *([often[1]["usec"]] if often else []))
        ),
        **place(row),
        against="all commands",
        against_value=spent,
        share=share,
        n=int(calls),
        seen=({"event": f"store-command {command}"},) if stands else (),
        normal=not stands,
        beside=_quick(*often) if often else None,
    )


def _quick(command: str, totals: dict[str, dict[str, Any]]) -> str:
    """Return what the command took that was called most often of the others."""
    calls, seconds = totals["calls"]["value"], totals["usec"]["value"] / 1e6
    return f"{command} took {figure(seconds, 's')} in {calls:,.0f} calls, {figure(seconds / calls, 's')} each"

"""Which command of a store takes its time: totals of Redis and its kin, which serve one command after the other.

Standing out: a command with half or more of the time of all commands, and with `LONG_S` for each call: nobody else is
served meanwhile. Normal: commands of less, which are told as measures, the largest only. Of the others the one
called most often is told beside it: it shows what a call usually takes.
Of a list of slow commands (SLOWLOG GET) the command with the longest call is told; it stands out from `LONG_S` on, and leads where it
goes through all keys (KEYS, also from a script).
Worked example: 4 KEYS in 6.7 s beside 152 GET in 1 ms: KEYS has 100 % of the time, 1.67 s for each call.
Cost: the counters of one group, and the entries of lists of slow commands, which are few.
Source: Redis documentation, INFO commandstats, Diagnosing latency issues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "command-times",
    "Which command of a store takes its time?",
    ("counters", "logs"),
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
    """Yield the command that takes most of a store's time, and the slowest of its list of slow ones."""
    yield from _slow(case)
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


ALL_KEYS = re.compile(r"""(?i)^KEYS\b|\bcall\(\\*["']KEYS\\*["']""")
"""A command, or one called by a script, that goes through all keys."""

MOST_ENTRIES = 10_000


def _slow(case: CaseTables) -> Iterator[Sighting]:
    """Yield the longest call of each list of slow commands. The store measures the call alone, without queue and network."""
    entry = pl.col("op").str.starts_with("command ") & (pl.col("elapsed_s") >= 0)
    rows = case.scan("logs", [*PLACE_COLUMNS, "line_no", "line_end", "op", "elapsed_s", "text"], entry)
    for _, held in (
        rows.head(MOST_ENTRIES).collect(engine="streaming").sort("line_no").group_by("artifact_id", maintain_order=True)
    ):
        entries = sorted(held.to_dicts(), key=lambda r: -r["elapsed_s"])
        top, n = entries[0], len(entries)
        walks = next((r for r in entries if r["elapsed_s"] >= LONG_S and ALL_KEYS.search(r["text"] or "")), None)
        command = top["op"].removeprefix("command ")
        of = f"the longest of {n:,} slow commands" if n > 1 else "the only slow command of the list"
        script = walks is not None and not walks["op"].upper().endswith(" KEYS")
        beside = f"{'a script calls KEYS' if script else 'KEYS'}, which goes through all keys" if walks else None
        shown = [top, *([walks] if walks and walks is not top else []), *(r for r in entries[1:3] if r is not walks)]
        stands = top["elapsed_s"] >= LONG_S
        yield Sighting(
            "command",
            command,
            f"{command} took {figure(top['elapsed_s'], 's')}, {of}; a store that serves one command after the other serves nobody else meanwhile",
            "slow_command_s",
            top["elapsed_s"],
            "s",
            tuple(
                Lines(r["artifact_id"], r["line_no"], min(r["line_end"], r["line_no"] + 5), "slow command")
                for r in shown
            ),
            **place(top),
            against="the store's own limit (slowlog-log-slower-than)",
            against_value=LONG_S,
            seconds=None if walks and stands else top["elapsed_s"],
            share=HALF if walks and stands else None,
            n=n,
            seen=({"event": "store-command keys"},) if walks and stands else (),
            normal=not stands,
            beside=beside,
        )


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
    """Return in words the time of one command: in all and per call."""
    calls, seconds = totals["calls"]["value"], totals["usec"]["value"] / 1e6
    return f"{command} took {figure(seconds, 's')} in {calls:,.0f} calls, {figure(seconds / calls, 's')} each"

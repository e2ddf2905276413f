"""How fast files are transferred, as rsync, scp and wget say, and whether nothing comes any more.

Standing out: a transfer that stalls, and one slower than `SLOW_BPS` that takes `LONG_S` or longer, or has that long
before it. Only scp and wget always go over a network: of rsync, whose other end may be a disk, the rate alone is told.
Normal: quicker ones.
Worked example: `91.21M  48.2KB/s    eta 3h 52m`: 48.2 kB/s, 3 h 52 min left.
Cost: at most `MOST_ROWS` rows. Source: scp(1), rsync(1), wget(1).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "transfers",
    "How fast are files transferred?",
    ("rows",),
    {"*": "iperf3 between the two hosts, both ways; ping -M do -s 1472; iostat -x of both ends while it runs"},
    alone=True,
)

TRANSFER = "transfer"
MOST_ROWS = 5_000
SLOW_BPS = 1e6
LONG_S = 60.0
SHARE = 0.6
CITED = 5
OVER_NETWORK = ("scp", "wget")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield stalled transfers, else the slowest one, of each artifact and tool."""
    named = pl.col("heading").list.get(0, null_on_oob=True) == TRANSFER
    rows = case.scan("rows", [*PLACE_COLUMNS, "line_no", "heading", "cells"], named).head(MOST_ROWS)
    groups: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in rows.collect(engine="streaming").iter_rows(named=True):
        groups.setdefault((row["artifact_id"], row["cells"][0]), []).append(row)
    for (_, tool), held in groups.items():
        stalled = [row for row in held if row["cells"][4]]
        slow = [row for row in held if 0 < float(row["cells"][2]) < SLOW_BPS and float(row["cells"][3] or 0) >= LONG_S]
        if stalled or slow:
            yield _told(tool, stalled or sorted(slow, key=lambda row: float(row["cells"][2])), bool(stalled))


def _told(tool: str, held: list[dict[str, Any]], stalled: bool) -> Sighting:
    first = held[0]
    name, rate, left = first["cells"][1], float(first["cells"][2]), first["cells"][3]
    event: Seen = {"event": "transfer-stalls" if stalled else "transfer-creeps"}
    speed = "nothing comes any more" if stalled else f"{figure(rate / 1e3, 'kB')} per second"
    span = f", {figure(float(left), 's')} of it told" if left and not stalled else ""
    return Sighting(
        "transfer",
        name,
        f"{tool}: {speed} ({name}){span}",
        "rate_bps",
        rate,
        "B/s",
        tuple(Lines(row["artifact_id"], row["line_no"], row["line_no"], "rate") for row in held[:CITED]),
        **place(first),
        against="a megabyte per second",
        against_value=SLOW_BPS,
        share=SHARE,
        n=len(held),
        seen=(event,) if tool in OVER_NETWORK else (),
    )

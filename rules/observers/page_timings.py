"""Which requests of a page's recording (HAR) waited for their server.

Standing out: requests whose wait for the first byte (`timings.wait`) is `LONG_S` or longer and at least half of their
whole time (`time`, in ms), all of them together with the slowest. Normal: quicker ones; what the other parts of a request
say, `status-values` knows.
Requests that stay open until there is news by their address are left out.
Worked example: `time` 8,123 and `timings.wait` 8,071: 8.071 s of 8.123 s.
Cost: at most `MOST_ROWS` rows. Source: HTTP Archive (HAR) 1.2, entries: time, timings.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Observer, Sighting, figure, lines_of, place
from rules.observers.request_times import stays_open
from rules.observers.split import HALF, percent

OBSERVER = Observer(
    "page-timings",
    "Which requests of a page wait for their server?",
    ("rows",),
    {"*": "the server's own log of that request with its time; the same request with curl -w from another host"},
)

MOST_ROWS = 20_000
LONG_S = 1.0
CITED, MOST_LINES = 5, 4
"""Maximum number of entries that are cited, and of lines of each: its beginning has its address and time."""

WAIT, WHOLE, URL, METHOD = "timings.wait", "time", "request.url", "request.method"


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the requests of each recording that waited for their server, as one."""
    columns = [*PLACE_COLUMNS, "line_no", "line_end", "heading", "cells"]
    known = pl.col("heading").list.contains(WAIT)
    rows = case.scan("rows", columns, known).head(MOST_ROWS).collect(engine="streaming")
    late: dict[int, list[tuple[float, float, str, dict[str, Any]]]] = {}
    for row in rows.iter_rows(named=True):
        of = dict(zip(row["heading"], row["cells"], strict=False))
        wait, whole = (_seconds(of.get(name)) for name in (WAIT, WHOLE))
        asked = " ".join(filter(None, (of.get(METHOD), (of.get(URL) or "").partition("?")[0])))
        if wait >= LONG_S and wait >= HALF * whole and not stays_open(asked):
            late.setdefault(row["artifact_id"], []).append((wait, max(wait, whole), asked or "a request", row))
    for held in late.values():
        held.sort(key=lambda x: -x[0])
        wait, whole, asked, row = held[0]
        more = f"; {len(held):,} such requests" if len(held) > 1 else ""
        yield Sighting(
            "split",
            asked,
            f"{asked} took {figure(whole, 's')}, {figure(wait, 's')} ({percent(wait, whole)}) of it"
            f" waiting for the first byte{more}",
            "wait_s",
            wait,
            "s",
            tuple(c for *_, r in held[:CITED] for c in lines_of(r, "waited for the first byte", MOST_LINES)),
            **place(row),
            against="the whole request",
            against_value=whole,
            seconds=wait,
            share=wait / whole,
            of_s=whole,
            n=len(held),
            seen=({"event": "server-answers-late"},),
        )


def _seconds(text: str | None) -> float:
    try:
        return float(text or 0.0) / 1000
    except ValueError:
        return 0.0

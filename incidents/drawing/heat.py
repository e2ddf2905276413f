"""Count the calls of a window by time and duration: a heat map that shows one slow call above thousands of fast ones.

At most MOST_COLUMNS x BANDS cells, however many calls there are. A large trace is read from its overview: of calls that
are merged there the longest counts with its own duration and the others with their mean, so no slow call is lost.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incidents.drawing import windows
from incidents.drawing.frames import Frame
from incidents.drawing.lane import Window
from incidents.drawing.ranges import BANDS, CALLS, LEAST_S
from incidents.drawing.registry import lanes
from rules.engine.read import ReadOnly

#: Minimum number of calls in view; fewer are seen one by one.
LEAST_CALLS = 500
CELL_PX = 8
MOST_COLUMNS = 200


def heat(frame: Frame, window: Window, source: ReadOnly, cache: Path | None) -> dict[str, Any] | None:
    """Return the lane of all calls in a window as cells `[column, band, calls]`; None with fewer than LEAST_CALLS.

    A call counts in the column in which it ends, or in the last one if it ends later. Bands are those of
    `ranges.band_s`.
    """
    parts = []
    for name in CALLS if not frame.ordered else ():
        if source.has(name):
            relation = windows.relation(windows.Choice(name, lanes()[name][0]), frame.laid, window, source, cache)
            parts.append(
                f"select t1, n, total_s, worst_s from ({relation}) where coalesce(top.contiguous, '') <> 'broken'"
            )
    if not parts:
        return None
    columns = max(1, min(MOST_COLUMNS, window.px // CELL_PX))
    width = (window.end - window.start) / columns
    cells = source.query(
        f"""
        with r as materialized ({" union all ".join(parts)}),
        calls as (select t1, 1 as n, worst_s as s from r
                  union all select t1, n - 1, (total_s - worst_s) / (n - 1) from r where n > 1)
        select least(greatest(floor((t1 - {window.start!r}) / {width!r}), 0), {columns - 1})::integer as x,
               least(greatest(floor(2 * log10(greatest(s, 1e-9) / {LEAST_S!r})), 0), {BANDS - 1})::integer as band, sum(n)::bigint as n
        from calls group by all order by all"""
    )
    calls = sum(cell["n"] for cell in cells)
    if calls < LEAST_CALLS:
        return None
    return {
        "lane": "heat",
        "kind": "heat",
        "clock": frame.clocks[0]["clock"],
        "host": None,
        "label": "all calls",
        "unit": "s",
        "rows": 0,
        "thinned": False,
        "spans": [],
        "calls": calls,
        "columns": columns,
        "start": window.start,
        "end": window.end,
        "cells": [[cell["x"], cell["band"], cell["n"]] for cell in cells],
    }

"""Note where stamps of a log go back: a changed clock, the end of summer time, or several writers."""

from __future__ import annotations

import polars as pl

from parsers.tables.rows import State, Tables

LEAST_S = 60.0
"""Minimum fall in seconds that is noted: processes that write one log overtake each other by fractions of a second
only.
"""


def remark(rows: pl.DataFrame, out: Tables, state: State) -> None:
    """Add one note where `t_local` (s) falls by more than LEAST_S; rows are in line order.

    `state` carries the last stamp.
    """
    before = pl.col("t_local").forward_fill().shift().fill_null(pl.lit(state.get("last"), pl.Float64))
    fell = rows.filter(pl.col("t_local") < before - LEAST_S)
    if len(fell) and not state.get("fell"):
        state["fell"] = True
        line = int(fell["line_no"][0])
        text = "stamps go back here: a changed clock, the end of summer time, or several writers"
        out.note(line, line, "remark", text)
    known = rows["t_local"].drop_nulls()
    if len(known):
        state["last"] = float(known[-1])

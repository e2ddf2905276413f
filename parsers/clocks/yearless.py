"""Parse stamps without a year (`Apr 14 05:58:39`): a person gives the year, and a fall over New Year begins the next
one.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.source import Hints
from parsers.text.times import MONTHS, WALL_BASE, span_s

LEAP_YEAR = 1972
"""Year used for an unknown one: it has a 29 February."""

HALF_YEAR = 183 * 86400.0


def day_seconds(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Return the wall seconds of a day's midnight; NULL for a day that does not exist (`pl.date` would raise)."""
    date = pl.format("{}-{}-{}", year, month, day).str.to_date("%Y-%m-%d", strict=False)
    return date.cast(pl.Int32, strict=False).cast(pl.Float64) * 86400


def clock_seconds() -> pl.Expr:
    """Return the seconds of the day from text columns h, m, s; NULL for an invalid time."""
    h, m, s = (pl.col(n).cast(pl.Float64, strict=False) for n in ("h", "m", "s"))
    return pl.when((h < 24) & (m < 60) & (s < 61)).then(h * 3600 + m * 60 + s)


def seconds(rows: pl.DataFrame, hints: Hints, state: State) -> pl.Series:
    """Return wall seconds of columns mon (a name), day, h, m, s (texts) in line order; NULL for an invalid date.

    With a year (from a person, or from the known day of the first line) they count from WALL_BASE, else from 1 January
    of the unknown year. `state` carries year and last time, so the cuts between runs do not matter.
    """
    year = state.setdefault("year", hints.year or int((hints.date or "0")[:4]) or LEAP_YEAR)
    month = (
        pl.col("mon")
        .str.to_lowercase()
        .str.strip_chars(".")
        .replace_strict(MONTHS, default=None, return_dtype=pl.Int64)
    )
    day = pl.col("day").cast(pl.Int64, strict=False)
    clock = clock_seconds()
    rough = ((month - 1) * 31 + day - 1).cast(pl.Float64) * 86400 + clock
    placed = rows.select(month=month, day=day, clock=clock, rough=rough)
    before = pl.col("rough").forward_fill().shift().fill_null(pl.lit(state.get("rough"), pl.Float64))
    placed = placed.with_columns(
        year=pl.lit(year)
        + (before - pl.col("rough") > HALF_YEAR).fill_null(False).cum_sum().cast(pl.Int64, strict=False)
    )
    known = placed["rough"].drop_nulls()
    if len(known):
        state |= {"year": int(placed["year"][-1]), "rough": float(known[-1])}
    at = placed.select(
        (day_seconds(pl.col("year"), pl.col("month"), pl.col("day")) + pl.col("clock")).alias("t_local")
    ).to_series()
    return at if known_year(hints) else at - float(_days(LEAP_YEAR) * 86400)


def known_year(hints: Hints) -> bool:
    return hints.year is not None or hints.date is not None


def _days(year: int) -> int:
    return (year - 1970) * 365 + (year - 1969) // 4


def report(rows: pl.DataFrame, hints: Hints, out: Tables, state: State) -> None:
    """Report the domain of `rows` (line_no, line_end, t_local); ask for the year once if it is unknown."""
    timed = rows.filter(pl.col("t_local").is_not_null())
    if timed.is_empty():
        return
    first, last = line_span(timed)
    base = WALL_BASE if known_year(hints) else None
    out.domain(Domain(1, "wall-local", base, hints.tz, *span_s(timed["t_local"]), [(first, last)]))
    if base is None and not state.get("asked"):
        state["asked"] = True
        out.note(first, first, "remark", "the stamps have no year: times count from 1 January of the first line's year")
        out.fact("questions", [question(first)])


def question(line: int) -> dict[str, Any]:
    """Return the question for the year of stamps that have none."""
    return {
        "ask": "year",
        "text": "Which year is the first line from?",
        "default": "",
        "reason": "the stamps have no year, so their times count from 1 January and stand on no common axis",
        "choices": [],
        "line": line,
    }

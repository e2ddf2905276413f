"""Parse stamps of Oracle's logs: lines that hold only a time, dates of entries, zones that are an offset.

    Fri Jun 01 14:15:30 2018                  listener and alert log up to 12.1, whole seconds, no zone
    2024-07-31T02:00:00.006290+08:00          12.2 and later, zone as an offset
    14-1月 -2012 02:39:08                     entries of a listener: day, month in the listener's language, year

All functions work on columns and return seconds of a wall clock since `times.WALL_BASE`; an offset is seconds east of
UTC.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.text.times import month, wall_seconds

WEEKDAY = (
    r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ 0-3]?[0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}(?: [A-Z]{2,5})? [0-9]{4}$"
)
ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,:][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?$"
CLOCK = f"{WEEKDAY}|{ISO}"
"""A line that holds only a stamp."""

_SERVER_VERSION = r"TNS for [^:]+: Version (?:1[1-9]|2[0-9])\."


def is_alert_block(text: str) -> bool:
    """Decide whether `Fatal NI connect error` blocks stand in an alert log.

    They do beside stamps of an alert log, or in the form that a server of 11.1 or later writes (without `connecting
    to:`, which a client prints; before 11.1 a server wrote sqlnet.log).
    """
    if re.search(f"(?m){CLOCK}", text):
        return True
    return "connecting to:" not in text and re.search(_SERVER_VERSION, text) is not None


_PARTS = r"^[A-Z][a-z]{2} ([A-Z][a-z]{2} [ 0-3]?[0-9] [0-9]{2}:[0-9]{2}:[0-9]{2})(?: [A-Z]{2,5})? ([0-9]{4})$"
_FRACTION = r"^.{19}[.,:]([0-9]{1,9})"
_OFFSET = r"([+-])([0-9]{2}):?([0-9]{2})$"


def iso_seconds(text: pl.Expr) -> pl.Expr:
    """Parse `2019-05-19T17:53:28.124+08:00` (or with a blank for the T) as wall seconds; `offset` reads the zone."""
    whole = text.str.slice(0, 19).str.replace(" ", "T", literal=True).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False)
    digits = text.str.extract(_FRACTION)
    fraction = digits.cast(pl.Float64) / pl.lit(10.0).pow(digits.str.len_bytes().cast(pl.Float64))
    return (whole.dt.epoch("s").cast(pl.Float64) + fraction.fill_null(0.0)).round(6)


def offset(text: pl.Expr) -> pl.Expr:
    """Return the offset behind an ISO time in seconds east of UTC, NULL if there is none."""
    sign = text.str.extract(_OFFSET, 1)
    seconds = (
        text.str.extract(_OFFSET, 2).cast(pl.Int64, strict=False) * 3600
        + text.str.extract(_OFFSET, 3).cast(pl.Int64, strict=False) * 60
    )
    given = pl.when(sign == "-").then(-seconds).otherwise(seconds)
    return pl.when(text.str.ends_with("Z")).then(pl.lit(0, pl.Int64)).otherwise(given)


def clock_seconds(text: pl.Expr) -> pl.Expr:
    """Parse a line that matches `CLOCK`."""
    plain = text.str.extract(_PARTS, 1) + pl.lit(" ") + text.str.extract(_PARTS, 2)
    weekday = plain.str.replace("  ", " 0", literal=True).str.to_datetime("%b %d %H:%M:%S %Y", strict=False)
    return pl.coalesce(weekday.dt.epoch("s").cast(pl.Float64), iso_seconds(text))


def entry_seconds(date: pl.Series, time: pl.Series) -> pl.Series:
    """Parse dates like `06-FEB-2025`, `14-1月 -2012`, `10-10月-2012` with times like `10:56:39` (or with `:123` behind).

    Each distinct date is parsed once: a log of a year has 366. NULL if it is not a date.
    """
    days = {text: _day(text) for text in date.drop_nulls().unique()}
    seconds = pl.DataFrame({"d": date, "t": time}).select(
        day=pl.col("d").replace_strict(days, return_dtype=pl.Float64) if days else pl.lit(None, pl.Float64),
        at=pl.col("t").str.slice(0, 8).str.to_time("%H:%M:%S", strict=False).cast(pl.Int64, strict=False) / 1e9,
        part=pl.col("t").str.extract(r"[:.]([0-9]{3})$").cast(pl.Float64) / 1000,
    )
    return seconds.select((pl.col("day") + pl.col("at") + pl.col("part").fill_null(0.0)).round(3)).to_series()


def _day(text: str) -> float | None:
    day, name, year = text.split("-") if text.count("-") == 2 else ("", "", "")
    number = month(name)
    if number is None or not (day.strip().isdecimal() and year.isdecimal()):
        return None
    return wall_seconds(int(year) + (2000 if len(year) == 2 else 0), number, int(day))


def offset_text(seconds: int) -> str:
    """Return an offset as a stamp shows it.

    >>> offset_text(-16200)
    '-04:30'
    """
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02d}:{minutes:02d}"

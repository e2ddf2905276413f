"""Read time marks between snapshots of one tool: collectors' `zzz ***` and `zzz <` lines, and bare `date` lines.

The lines below a mark were recorded at its time: the stamp is the start of the snapshot. Wall clock, in seconds since
`times.WALL_BASE`; the zone's name is kept as printed, and since names are ambiguous (IST, CST) it is not an offset.
"""

from __future__ import annotations

import polars as pl

from parsers.clocks import stamp_falls
from parsers.tables.rows import Domain, State, Tables
from parsers.text.times import MONTHS, WALL_BASE, span_s

_DAY = r"(?:[^ 0-9]{2,4}\.? +)?"
ZZZ = r"^zzz <?(?:\*\*\*)?"
DATED = r"([^\s0-9:,]{2,12}) +([0-9]{1,2}),? ([0-9]{2}):([0-9]{2}):([0-9]{2})(?: ([A-Z]{2,6}))? ([0-9]{4})"
_NUMBERS = r"([0-9]{2})/([0-9]{2})/([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2})"
MARK = (
    rf"^(?:zzz +(?:\*\*\*)? *(?:[^\s0-9:,]{{2,12}} )?{DATED}.*|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? {DATED}"
    rf"|zzz <{_NUMBERS}>.*)$"
)
"""A mark; groups 1 to 7 (zzz) or 8 to 14 (date) are month, day, hour, minute, second, zone, year; 15 to 20 (ExaWatcher)
month and day as numbers, year, hour, minute, second."""


def marked(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Add `t_local` (time of the mark above, NULL before the first) and `is_mark`; marks count as read, their domain is
    reported.

    `state["t_mark"]` carries the last mark's time, `state["marks"]` their number.
    """
    is_mark = pl.col("line").str.contains(MARK)
    if not frame.select(is_mark.any()).item() and "t_mark" not in state:
        return frame.with_columns(is_mark=pl.lit(False), t_local=pl.lit(None, pl.Float64))
    names = [f"{way} {what}" for way in "ab" for what in ("month", "day", "hour", "minute", "second", "zone", "year")]
    names += [f"c {what}" for what in ("month", "day", "year", "hour", "minute", "second")]
    found = frame.with_columns(
        is_mark=is_mark, g=pl.col("line").str.extract_groups(MARK).struct.rename_fields(names)
    ).unnest("g")
    part = {
        what: pl.coalesce(f"a {what}", f"b {what}", f"c {what}")
        for what in ("month", "day", "hour", "minute", "second", "year")
    }
    month = (
        part["month"]
        .str.to_lowercase()
        .str.strip_chars(".")
        .replace_strict(MONTHS, default=None, return_dtype=pl.Int64)
    )
    month = pl.coalesce(month, part["month"].cast(pl.Int64, strict=False))
    number = {k: part[k].cast(pl.Int64, strict=False) for k in ("day", "hour", "minute", "second", "year")}
    text = pl.format(
        "{}-{}-{}", number["year"], month.cast(pl.String).str.zfill(2), number["day"].cast(pl.String).str.zfill(2)
    )
    day = text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32, strict=False).cast(pl.Float64)
    at = day * 86400 + number["hour"] * 3600 + number["minute"] * 60 + number["second"]
    timed = found.with_columns(t_local=pl.when(is_mark).then(at), zone=pl.coalesce("a zone", "b zone"))
    marks = timed.filter("is_mark")
    out.read(marks["line_no"])
    stamp_falls.remark(marks, out, state.setdefault("mark_falls", {}))
    timed = timed.with_columns(pl.col("t_local").forward_fill().fill_null(pl.lit(state.get("t_mark"), pl.Float64)))
    stamps = timed.filter(pl.col("t_local").is_not_null())
    if not stamps.is_empty():
        times = stamps["t_local"]
        zones = marks["zone"].drop_nulls()
        zone = zones[0] if len(zones) else state.get("zone_mark")
        state |= {"t_mark": times[-1], "zone_mark": zone, "marks": state.get("marks", 0) + len(marks)}
        spans = [(int(stamps["line_no"][0]), int(stamps["line_no"][-1]))]
        out.domain(Domain(1, "wall-local", WALL_BASE, zone, *span_s(times), spans))
    return timed.drop(*names, "zone")

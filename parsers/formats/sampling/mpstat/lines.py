"""Lines of mpstat that are not rows (banners with their dates, configuration, state changes), and the repair of pastes."""

from __future__ import annotations

import re

import polars as pl

from parsers.columns import grid
from parsers.formats.sampling.mpstat.columns import adds_up, heading_length
from parsers.formats.sampling.shared.banner_dates import read_banner_day
from parsers.tables.rows import State, Tables
from parsers.text.source import Hints

BANNER = r"^[ \t]*Linux ([0-9][^ \t]*)[ \t]+\(([^)]*)\)[ \t]+([^ \t]+)(?:[ \t]+_?([a-z0-9_]+?)_?)?(?:[ \t]+\(([0-9]+) CPU\))?$"
"""A banner of sysstat: release, host, date, machine, CPUs; old versions end after the date."""

STATE_CHANGE = r"^[ \t]*(?:<<(?:processors?|pset|State|CPU).*>>|State change)$"
TITLE = r"^[ \t]*-{5,}$"


def banners(lines: pl.DataFrame, hints: Hints, out: Tables, state: State) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read sysstat's banners; return the lines and rows of `hosts`.

    Adds `is_banner`, `day` (days since 1970 of the banner above, NULL if unknown), `dated` (number of the banner).

    A date of three numbers is read month first, as sysstat prints it in most locales, unless that is not a date; where both
    readings are possible a note states it.
    """
    found = lines.filter(pl.col("line").str.contains("Linux ", literal=True) & pl.col("line").str.contains(BANNER))
    days = []
    for line_no, text in found.select("line_no", "line").iter_rows():
        match = re.match(BANNER, text)
        assert match is not None
        midnight = read_banner_day(match[3], line_no, hints, out)
        days.append(None if midnight is None else midnight / 86400)
        out.fact("os_release", match[1])
    parts = found.select("line_no", pl.col("line").str.extract_groups(BANNER).alias("g")).unnest("g")
    ncpu = pl.col("5").cast(pl.Int64, strict=False)
    hosts = parts.select("line_no", pl.lit("linux").alias("os"), pl.col("1").alias("os_release"), ncpu.alias("ncpu"))
    known_day = state.get("day", [None, 0])
    if known_day[0] is None and hints.date:
        known_day = [float(pl.Series([hints.date]).str.to_date().cast(pl.Int32, strict=False)[0]), 0]
    if found.is_empty():
        day, dated = pl.lit(known_day[0], pl.Float64), pl.lit(known_day[1], pl.Int64)
        state["day"] = known_day
        return lines.with_columns(is_banner=pl.lit(False), dated=dated, day=day), hosts
    marks = pl.DataFrame({"row": found["row"], "day": pl.Series(days, dtype=pl.Float64)}).with_columns(is_banner=True)
    lines = lines.join(marks, on="row", how="left", maintain_order="left")
    lines = lines.with_columns(pl.col("is_banner").fill_null(False))
    lines = lines.with_columns(
        dated=pl.col("is_banner").cum_sum().cast(pl.Int64, strict=False) + known_day[1],
        day=pl.col("day").forward_fill().fill_null(pl.lit(known_day[0], pl.Float64)),
    )
    state["day"] = [lines["day"][-1], lines["dated"][-1]]
    return lines, hosts


def without_dots(frame: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Remove the `..` that an author wrote in place of columns, with a note; a line of dots alone stays a mark of elision."""
    line = pl.col("line")
    dotted = frame.filter(line.str.contains("..", literal=True) & line.str.contains("[A-Za-z0-9]"))
    if dotted.is_empty():
        return frame
    text = pl.lit("columns left out by the author (..)").alias("text")
    out.notes(dotted.filter(line.str.contains("CPU")).select("line_no", pl.lit("elided").alias("kind"), text))
    found = pl.col("line_no").is_in(dotted["line_no"].implode())
    return frame.with_columns(pl.when(found).then(line.str.replace_all(r"\.{2,}", " ")).otherwise(line).alias("line"))


def mended(frame: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Repair a small paste of Solaris whose rows were flattened or wrapped; return any other data frame unchanged.

    Only rows whose shares of CPU add up to 100 are taken out of a stream of words.
    """
    texts = list(frame.iter_rows())
    split = [x.split() for _, x in texts]
    widths = {heading_length(w) for w in split}
    whole = any(heading_length(w) == len(w) for w in split if len(w) >= 5)
    rows = [len(w) for w in split if len(w) > 2 and w[0].isdigit()]
    good = sum(1 for n in rows if n in widths or n == 16)
    if (whole or not any(widths)) and good * 2 >= len(rows):
        return frame
    found = grid.restore(texts, heading_length, adds_up)
    if not found.repaired:
        return frame
    return found.put_back(frame, out, "their shares of CPU make 100")

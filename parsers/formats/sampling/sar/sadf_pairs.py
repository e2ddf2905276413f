"""Join the lines of `sadf -p`, one value each, into the rows that `sadf -d` prints, so that one reader serves both.

    db1	600	2020-02-25 09:10:01 UTC	all	%user	2.15
    db1	600	2020-02-25 09:10:01 UTC	-	proc/s	3.66

A row is a run of lines with one stamp and one item, up to a name that begins a section or repeats.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.sample_stamps import DAY, day_number
from parsers.columns import grid
from parsers.tables.rows import State, Tables
from parsers.text.source import Source

LINE = (
    r"^([^\t ;]*[^\t ;:])[\t ]+(-?[0-9]+)[\t ]+(?:([0-9]{4})-([0-9]{2})-([0-9]{2})[\t ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?: ([A-Z]{1,5}|[+-][0-9]{4}))?"
    r"|([0-9]{9,10}))[\t ]+([^\t ]+)[\t ]+([^\t ]+)(?:[\t ]+(\S.*))?$"
)
_FIELDS = ["host", "printed", "y", "mo", "d", "sh", "sm", "ss", "zone", "sec", "item", "name", "value"]
_EVENTS = ["LINUX-RESTART", "COM"]
"""Words in the place of a value's name that mark an event."""
_FIRST = (
    "proc/s pswpin/s pgpgin/s tps kbmemfree kbswpfree kbhugfree frmpg/s dentunusd runq-sz rxpck/s rxerr/s call/s scall/s totsck irec/s ihdrerr/s"
    " imsg/s ierr/s active/s atmptf/s idgm/s tcp6sck irec6/s ihdrer6/s imsg6/s ierr6/s idgm6/s intr/s rcvin/s MHz wghMHz rpm degC inV %user %usr"
    " MBfsfree fch_rxf/s total/s %scpu-10 %sio-10 %smem-10"
).split()
"""First columns of sar's sections: where one section ends and the next begins, one item may continue without a new stamp."""
_KEYS = (
    (r"^(?:all|cpu[0-9]+)$", r"^(?:%|total/s|MHz|wghMHz)", "CPU"),
    (r".", r"^(?:tps|%util)$", "DEV"),
    (r".", r"^(?:rxpck/s|rxerr/s)$", "IFACE"),
    (r".", r"^intr/s$", "INTR"),
    (r".", r"^rcvin/s$", "TTY"),
    (r".", r"^MBfsfree$", "FILESYSTEM"),
    (r".", r"^fch_rxf/s$", "FCHOST"),
    (r".", r".", "DEVICE"),
)
"""Key column that sar prints before an item: by patterns of the item and of the row's first name."""


def looks(lines: list[str]) -> int:
    """Count the lines of sadf -p among the first ones."""
    return sum(1 for line in lines if re.match(LINE, line) and not re.search(r"[\t ][a-z]+[0-9]*:", line))


def classed(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Return rows as `lines.classed` does; the last row of a block waits in `state["pairs"]` for its continuation."""
    held = pl.DataFrame(state.pop("pairs", []), schema={"line_no": pl.Int64, "line": pl.String}, orient="row")
    lines = pl.concat([held, frame.select("line_no", "line")])
    cells = lines.with_columns(pl.col("line").str.extract_groups(LINE).struct.rename_fields(_FIELDS).alias("g")).unnest(
        "g"
    )
    cells = cells.filter(pl.col("value").is_not_null() | pl.col("name").is_in(_EVENTS))
    out.read(cells.filter(pl.col("line_no") >= source.first_line)["line_no"])
    stamp = pl.concat_str(
        [pl.col(c).fill_null("") for c in ("host", "y", "mo", "d", "sh", "sm", "ss", "sec", "item")], separator=" "
    )
    cells = cells.with_columns(stamp=stamp)
    fresh = (
        pl.col("stamp").ne_missing(pl.col("stamp").shift())
        | pl.col("name").is_in(_FIRST)
        | (pl.col("line_no") != pl.col("line_no").shift() + 1)
    ).fill_null(True)
    cells = cells.with_columns(run=fresh.cum_sum())
    if len(cells) and not grid.at_end(source):
        last = int(cells.filter(pl.col("run") == cells["run"][-1])["line_no"][0])
        state["pairs"] = [list(x) for x in lines.filter(pl.col("line_no") >= last).rows()]
        cells = cells.filter(pl.col("line_no") < last)
    by_item = pl.col("item").first()
    rows = cells.group_by("run", maintain_order=True).agg(
        pl.col("line_no").first(), line_end=pl.col("line_no").last(), line=pl.col("line").first(),
        names=pl.col("name"), values=pl.col("value").fill_null(""), item=by_item,
        **{c: pl.col(c).first() for c in ("printed", "y", "mo", "d", "sh", "sm", "ss", "zone", "sec")},
    )  # fmt: skip
    return _as_rows(rows, state)


def _as_rows(rows: pl.DataFrame, state: State) -> pl.DataFrame:
    first, item = pl.col("names").list.first(), pl.col("item")
    key = pl.coalesce(
        pl.when(item != "-").then(pl.when(item.str.contains(i) & first.str.contains(n)).then(pl.lit(k)))
        for i, n, k in _KEYS
    )
    number = pl.when(key == "CPU").then(item.str.replace("^cpu", "")).otherwise(item)
    none = pl.lit([], pl.List(pl.String))
    heading = pl.concat_list(pl.when(key.is_not_null()).then(pl.concat_list(key)).otherwise(none), "names").list.join(
        " "
    )
    listed = pl.concat_list(pl.when(key.is_not_null()).then(pl.concat_list(number)).otherwise(none), "values")
    event = first.is_in(_EVENTS)
    date = day_number(*(pl.col(c).cast(pl.Int64, strict=False) for c in ("y", "mo", "d")))
    clock = (pl.col("sh").cast(pl.Float64) * 60 + pl.col("sm").cast(pl.Float64)) * 60 + pl.col("ss").cast(pl.Float64)
    epoch = pl.col("sec").cast(pl.Float64)
    printed = pl.col("printed").cast(pl.Float64, strict=False)
    lines = rows.with_columns(heading=heading, words=listed)
    change = pl.col("heading").ne_missing(pl.col("heading").shift().fill_null(pl.lit(state.get("heading"), pl.String)))
    lines = lines.select(
        "line_no", "line_end", "line", "words", "heading",
        row=pl.col("line_no"),
        body=pl.concat_str([first, pl.col("values").list.first()], separator=" "),
        shape=pl.when(first == "COM").then(pl.lit("comment")).when(event).then(pl.lit("restart")).otherwise(pl.lit("row")),
        table=change.cum_sum().cast(pl.Int64, strict=False) + int(state.get("table", 0)),
        is_heading=pl.lit(False), banner=pl.lit(0, pl.Int64), midnight=pl.lit(0.0), page_kb=pl.lit(None, pl.Float64),
        at=pl.coalesce(date * DAY + clock, epoch),
        utc=epoch.is_not_null() | (pl.col("zone") == "UTC").fill_null(False),
        printed_s=pl.when(printed > 0).then(printed),
    )  # fmt: skip
    if len(lines):
        state["heading"], state["table"] = lines["heading"][-1], lines["table"][-1]
    return lines

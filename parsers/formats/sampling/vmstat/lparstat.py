r"""lparstat of AIX, the use of a partition: one row for each sample of the whole host.

Tool: lparstat, plain, -h, -m, with or without an interval, of dedicated, donating and shared partitions. Capture: `lparstat 5 12`.

Samples::

    System configuration: type=Shared mode=Uncapped smt=4 lcpu=4 mem=16383MB psize=16 ent=0.20

    %user  %sys  %wait  %idle physc %entc  lbusy  vcsw phint
    ----- ----- ------ ------ ----- ----- ------ ----- -----
      3.6   4.3    0.0   92.1  0.03  14.0    0.9 1684423289 38026251

Tables: vmstat (usr, sys, wa, idle, pc = physc, ec = %entc); counters (grp lparstat: lbusy, app, vcsw, phint, %nsp, %utcyc and all of -m);
hosts (configuration line). Clock: interval, or the wall clock of marks between samples. Traps: without an interval the row is since boot;
`psize` is the number of cores in the pool, not a page size; a column that does not apply is `-`. Known gaps: -H (hypervisor calls), -E (rows
of two halves), -t; the output of -i is of kind hostinfo.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.sample_stamps import STAMP, place, stamped
from parsers.columns import grid
from parsers.declarations import Claim, Counter, Format
from parsers.formats.sampling.shared import aix_configuration
from parsers.formats.sampling.shared.aix_configuration import CONFIGURATION
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

HEADING = r"^[ \t]*((?:%user[ \t]+%sys[ \t]+%wait[ \t]+%idle|physb[ \t]+hpi[ \t]+hpit)(?:[ \t]+%?[a-z]+)*)[ \t]*$"
RULE = r"^[ \t]*-{3,}(?:[ \t]+-{3,})+[ \t]*$"
ROW = r"^[ \t]*[0-9]{1,3}[.,][0-9]{1,2}(?:[ \t]+(?:[0-9][0-9.,]*|-)){3,}[ \t]*$"
PLACES = {"%user": "usr", "%sys": "sys", "%wait": "wa", "%idle": "idle", "physc": "pc", "%entc": "ec"}
UNITS = {"%entc": "%", "lbusy": "%", "app": "cores", "physb": "cores", "pmem": "GB"}
FORMAT = Format(
    kind="vmstat",
    variant="lparstat",
    version="1",
    systems=("aix",),
    tables=("vmstat", "counters", "hosts"),
    man="lparstat",
    example="lparstat 5 12",
    clocks=("interval", "wall-local", "wall-utc"),
    own=f"{HEADING}|{ROW}|{CONFIGURATION}|{STAMP}",
    counters=(Counter(("sample",), ("sample",)), Counter(("table",)), Counter(("segment", "placed.1"))),
)
_SINCE_BOOT = re.compile(r"lparstat(?: +-[a-zA-Z]+)*$")


def claim(head: Head) -> Claim | None:
    """Claim by a line of its column names."""
    text = head.text
    if "%user" not in text and "physb" not in text:
        return None
    match = re.search(rf"(?m){HEADING}", text)
    if match is None:
        return None
    return Claim(0.95, f"column names of lparstat in line {text.count(chr(10), 0, match.start(1)) + 1}", "lparstat")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state`: header, number of samples, last stamp, known clocks."""
    for frame in grid.frames(source):
        lines = _located(frame.with_row_index("row"), state)
        found = [_under(rows, heading, out, state) for heading, rows in grid.tables(lines) if heading is not None]
        line = pl.col("line")
        # The configuration line is accounted for by its row.
        out.read(lines.filter(pl.col("is_heading") | pl.col("is_stamp") | line.str.contains(RULE))["line_no"])
        out.add("hosts", aix_configuration.hosts(frame))
        full = [f for f in found if len(f)]
        if full:
            _add(pl.concat(full, how="diagonal_relaxed").sort("row"), source, out, state)
    return state


def _located(frame: pl.DataFrame, state: State) -> pl.DataFrame:
    """Add to each line the header, the run of the tool and the stamp it stands under."""
    line = pl.col("line")
    lines = grid.under(stamped(frame), line.str.extract(HEADING), state)
    is_stamp = pl.col("stamp").is_not_null()
    starts = line.str.contains(CONFIGURATION) | (pl.col("stamp_kind") == "zzz").fill_null(False)
    kind = pl.when(pl.col("stamp_kind") == "epoch").then(pl.lit("wall-utc")).when(is_stamp).then(pl.lit("wall-local"))
    lines = lines.with_columns(
        segment=starts.cum_sum().cast(pl.Int64, strict=False) + state.get("segment", 0),
        is_stamp=is_stamp,
        clock_kind=kind,
    ).with_columns(zone=pl.when(is_stamp).then(pl.col("zone").fill_null("")))
    carried = zip(("stamp", "clock_kind", "zone"), state.get("stamp", [None] * 3), strict=True)
    types = {"stamp": pl.Float64(), "clock_kind": pl.String(), "zone": pl.String()}
    lines = lines.with_columns(pl.col(n).forward_fill().fill_null(pl.lit(v, types[n])) for n, v in carried)
    if len(lines):
        state["segment"], state["stamp"] = lines["segment"][-1], list(lines.select(list(types)).row(-1))
    return lines.with_columns(pl.col("zone").replace("", None))


def _under(rows: pl.DataFrame, heading: str, out: Tables, state: State) -> pl.DataFrame:
    """Return the rows under one header as numbers under its column names."""
    names = grid.keys(heading)
    whole = grid.cut(rows.filter(pl.col("line").str.contains(ROW)), dict.fromkeys(names, grid.NUMBER_OR_NONE))
    left = whole.filter(pl.col(names[0]).is_null())
    out.account("damaged", left["line_no"])
    text = pl.concat_str(pl.lit(f"row has not the {len(names)} words of its header: "), "line")
    out.notes(left.select("line_no", pl.lit("damaged").alias("kind"), text.alias("text")))
    fit = whole.filter(pl.col(names[0]).is_not_null())
    fit, notes = grid.implausible(grid.numbers(fit, names, state), names)
    if len(notes):
        out.notes(notes)
    keys = ["row", "line_no", "segment", "stamp", "clock_kind", "zone"]
    return fit.select(*keys, shares=pl.lit(heading.startswith("%")), **{f"cell {n}": pl.col(n) for n in names})


def _add(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    """Number the samples, place them on their clock and write the rows of both tables."""
    command = source.hints.command or ""
    # Only the command at a prompt shows whether an interval was requested.
    boot = True if _SINCE_BOOT.search(command) else False if "lparstat" in command else None
    samples = rows.select(
        "row", "line_no", "segment", "clock_kind", "zone", line_end="line_no", t="stamp"
    ).with_columns(sample=pl.int_range(1, pl.len() + 1) + state.get("sample", 0))
    nth = pl.int_range(pl.len()).over("segment")
    going_on = pl.col("segment") == pl.lit(state.get("last"), pl.Int64)
    samples = samples.with_columns(first=pl.when((nth > 0) | going_on).then(False).otherwise(pl.lit(boot)))
    state["sample"], state["last"] = samples["sample"][-1], samples["segment"][-1]
    placed = place(samples, source, out, state)
    keys = ["line_no", "line_end", "sample", "first", "t_local", "interval_s"]
    cells = {c.removeprefix("cell "): c for c in rows.columns if c.startswith("cell ")}
    timed = rows.select("row", "shares", *cells.values()).join(
        placed.select("row", *keys), on="row", maintain_order="left"
    )
    whole = timed.filter("shares")
    if len(whole):
        out.add("vmstat", whole.select(*keys, **{t: pl.col(cells[n]) for n, t in PLACES.items() if n in cells}))
    here = pl.when(pl.col("shares")).then(pl.col("name").is_in(list(PLACES))).otherwise(False)
    long = timed.rename({c: n for n, c in cells.items()}).unpivot(
        list(cells), index=["row", "shares", *keys], variable_name="name"
    )
    order = {n: i for i, n in enumerate(cells)}
    long = long.drop_nulls("value").filter(~here)
    long = long.sort("row", pl.col("name").replace_strict(order, return_dtype=pl.Int64)).drop("row", "shares")
    unit = pl.col("name").replace_strict(UNITS, default=None, return_dtype=pl.String)
    percent = pl.when(pl.col("name").str.starts_with("%")).then(pl.lit("%"))
    out.add(
        "counters", long.with_columns(grp=pl.lit("lparstat"), mode=pl.lit("level"), unit=pl.coalesce(unit, percent))
    )

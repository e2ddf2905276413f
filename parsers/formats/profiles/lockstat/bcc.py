r"""klockstat of bcc and of libbpf-tools (Linux): kernel mutexes and semaphores by caller.

Manual: klockstat(8). Capture: `klockstat -d 5 -n 20` (also -s frames, -c, -p, -S).

Samples::

                                   Caller  Avg Wait    Count   Max Wait   Total Wait
                            down_read+0x5    155 ns    33052   115.5 us       5.1 ms
                 kernfs_fop_readdir+0x115
                                  Max PID 39643, COMM cadvisor, Lock kernfs_rwsem (0xffffffff89f87e00)

Tables: locks (one row for each printed row; event wait, spin or hold by the heading, caller = the first frame). Clock: none.
Traps: numbers without a unit are nanoseconds (bcc in Python). The lock is named only with the longest wait (libbpf-tools, -s); further
callers (-s) are read but not stored. One call may hold or wait for several locks.
Known gaps: -i (intervals) prints one table after the other without a time.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.stack_rows import records
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

HEADING = r"^[ \t]*Caller[ \t]+(?:Avg|Average) (Wait|Spin|Hold)[ \t]+Count[ \t]+Max (?:[Ww]ait|[Ss]pin|[Hh]old)[ \t]+Total (?:[Ww]ait|[Ss]pin|[Hh]old)$"
TIME = r"[0-9]+(?:\.[0-9]+)?(?: (?:ns|us|ms|s|m|h))?"
ROW = rf"^[ \t]*([A-Za-z_]\S*)[ \t]+([0-9]+(?:\.[0-9]+)?)(?: (ns|us|ms|s|m|h))?[ \t]+([0-9]+)[ \t]+{TIME}[ \t]+{TIME}$"
FRAME = r"^[ \t]+[A-Za-z_][\w.]*\+0x[0-9a-f]+$"
LONGEST = r"^[ \t]+Max PID [0-9]+, COMM .*, Lock (?:no-ksym|(\S+)) \(0x[0-9a-f]+\)$"
BANNER = r"^Tracing mutex/sem lock events"
NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10, "h": 3.6e12}

FORMAT = Format(
    kind="lockstat",
    variant="klockstat",
    version="1",
    systems=("linux",),
    tables=("locks",),
    man="klockstat(8)",
    example="klockstat -d 5",
    own=rf"{HEADING}|{LONGEST}|{BANNER}",
)


def claim(head: Head) -> Claim | None:
    """Claim by the heading of its tables."""
    if "Caller" in head.text and any(re.match(HEADING, line) for line in head.lines[:200]):
        return Claim(0.95, "heading of klockstat", "klockstat")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` holds the quantity of the last heading and the open row."""
    text = pl.col("line")
    heading, row = text.str.contains(HEADING), text.str.contains(ROW)
    further = text.str.contains(FRAME) | text.str.contains(LONGEST)
    for lines, _ in records(source, out, state, heading | row | (text == ""), heading | row | further):
        out.read(lines.filter(heading | text.str.contains(BANNER))["line_no"])
        shaped = lines.with_columns(
            event=text.str.extract(HEADING, 1)
            .str.to_lowercase()
            .forward_fill()
            .fill_null(pl.lit(state.get("event"), pl.String)),
            group=row.cum_sum(),
            row=row,
            further=further,
            lock=text.str.extract(LONGEST, 1),
        )
        if len(shaped):
            state["event"] = shaped["event"].item(-1)
        _rows(shaped, out)
    return state


def _rows(lines: pl.DataFrame, out: Tables) -> None:
    """Write a row for each caller; the lines right below it are its further callers and its lock."""
    # Lines after a blank line or a heading belong to no row.
    torn = (~pl.col("row") & ~pl.col("further")).cum_sum().over("group")
    below = lines.with_columns(torn=torn).filter(pl.col("further") & (pl.col("torn") == 0) & (pl.col("group") > 0))
    ends = below.group_by("group", maintain_order=True).agg(
        pl.col("line_no").last().alias("line_end"), pl.col("lock").drop_nulls().first()
    )
    names = ["caller", "mean", "unit", "n"]
    rows = lines.filter("row").drop("lock").join(ends, on="group", how="left", maintain_order="left")
    rows = rows.with_columns(pl.col("line").str.extract_groups(ROW).struct.rename_fields(names).alias("g")).unnest("g")
    factor = pl.col("unit").replace_strict(NS, default=None, return_dtype=pl.Float64).fill_null(1.0)
    out.add(
        "locks",
        rows.select(
            "line_no",
            "event",
            "lock",
            "caller",
            line_end=pl.coalesce("line_end", "line_no"),
            n=pl.col("n").cast(pl.Int64, strict=False),
            mean_ns=pl.col("mean").cast(pl.Float64) * factor,
        ),
    )

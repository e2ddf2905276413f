r"""Counters of network adapters of AIX: entstat, netstat -v.

Tool: entstat(1), also -d; netstat -v prints the same for every adapter. Capture: `entstat -d en0`, `netstat -v`.

Samples::

    ETHERNET STATISTICS (ent4) :
    Transmit Statistics:                          Receive Statistics:
    Packets: 38487896717                          Packets: 42181793906
                                                  Bad Packets: 0
    Transmit Q0 Statistics:
            Transmit Q Packets: 0
            [q-0]: rx_bytes:        0

Table: counters (grp iface, item = adapter, name as printed: after `Transmit` and `Receive` where two columns stand side by side, after
the queue's heading (`Transmit Q0`) below such a heading). Clock: none, wall-local under marks.
Traps: counters begin when the adapter was opened or reset (entstat -r); an EtherChannel is followed by the report of each of its
adapters; queue lengths, line rates and sizes are levels, all others are totals.
Known gaps: settings (states, flags, VLAN numbers), tables of buffers and of hypervisor memory are read but not stored.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import counter_rows, grid
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

HEAD = r"^[A-Z0-9 /]+STATISTICS \(([a-z0-9]+)\) ?:"
PAIR = r"((?:\[q-[0-9]+\]: )?[A-Za-z][A-Za-z0-9 /'+()._-]{0,70}?):[ \t]+([0-9]+)"
TWO = rf"^[ \t]*{PAIR}(?:[ \t]+{PAIR})?[ \t]*$"
RIGHT = rf"^[ \t]{{30,}}{PAIR}[ \t]*$"
"""A line that has only the right column."""

QUEUE = r"^[ \t]*((?:Transmit|Receive) Q[0-9]+) Statistics:[ \t]*$"
SECTION = r"^[ \t]*[A-Za-z0-9][A-Za-z0-9, ()/.-]{0,90} Statistics:"
LEVEL = r"Data Rate|Queue Length|Max Packets on|MTU|VLAN ID$|Size|Speed|^Version$|^Filters$|^RQ Length$|^Number of adapters$|Cur Packets$|Max Packets$|Maximum "
SETTING = "|".join(
    (
        r"^[ \t]*[A-Z][A-Za-z0-9 /().-]{0,70}:(?:[ \t]+[A-Za-z0-9][^:]{0,70})?$",
        r"^(?:Hardware Address|Elapsed Time): ",
        r"^ +(?:[A-Z][a-z]+: +[0-9A-Za-z]+ *){2,4}$",
        r"^\t(?:[A-Za-z0-9_]+ ?)+$",
        r"^\t[0-9]+\t[A-Z][A-Za-z, ]*$",
        r"^ {8,}[0-9]+(?: +[0-9]+)*$",
        r"^[-=]{5,}(?: +-{5,})?[ \t]*$",
        r"^[A-Za-z0-9][^:]{0,90}\([0-9a-f]{8,16}\)[ \t]*$",
        r"^(?:Hypervisor|Transmit|Receive|I/O Memory) Information[ \t]*$",
        r"^ {2,}[A-Z][A-Za-z/]+(?: [A-Za-z/()]+){0,4}(?: {2,}[A-Za-z0-9]+)*[ \t]*$",
    )
)
"""States, flags, rules, headings, tables of buffers: read but not stored."""

RULE = r"^-{20,}$"
"""A rule; it also stands above the first heading."""

FORMAT = Format(
    "netdev",
    "entstat",
    "3",
    ("aix",),
    ("counters",),
    "entstat(1)",
    "entstat -d en0",
    clocks=("none", "wall-local"),
    own=f"(?:{HEAD}|{TWO}|{RIGHT}|{QUEUE})",
)


def claim(head: Head) -> Claim | None:
    """Claim by the heading of an adapter."""
    if "STATISTICS (" not in head.text:
        return None
    for number, line in enumerate(head.lines[:300], start=1):
        if re.match(HEAD, line):
            return Claim(0.97, f"heading of entstat in line {number}", "entstat")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the adapter, the queue and the last values."""
    line = pl.col("line")
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        heads, section = line.str.extract(HEAD, 1), line.str.contains(SECTION)
        frame = frame.with_columns(
            item=_down(heads, "item", state),
            # A section of something else ends the queue above; so does another adapter.
            queue=_down(pl.when(section | heads.is_not_null()).then(line.str.extract(QUEUE, 1).fill_null("")), "queue", state),
        )  # fmt: skip
        if len(frame):
            state |= {name: frame[name][-1] for name in ("item", "queue")}
        frame = frame.with_columns(right=line.str.contains(RIGHT))
        named = frame.filter(line.str.contains(TWO) & pl.col("item").is_not_null())
        rest = frame.filter(~line.str.contains(TWO))
        ours = pl.col("item").is_not_null() & line.str.contains(rf"{HEAD}|{SETTING}|{SECTION}")
        out.read(rest.filter(ours | line.str.contains(RULE))["line_no"])
        rows = _rows(named)
        level = pl.col("name").str.contains(LEVEL)
        rows = rows.with_columns(
            grp=pl.lit("iface"), mode=pl.when(level).then(pl.lit("level")).otherwise(pl.lit("total"))
        )
        counter_rows.add(rows, out, state)
    return state


def _down(heading: pl.Expr, name: str, state: State) -> pl.Expr:
    """Carry a heading's word down to the lines below it, across the borders of runs."""
    return heading.forward_fill().fill_null(pl.lit(state.get(name), pl.String))


def _rows(named: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each counter; where a line has two columns, transmit is on the left and receive on the right."""
    groups = pl.col("line").str.extract_groups(TWO).struct.rename_fields(["left", "a", "other", "b"])
    rows = named.with_columns(groups.alias("g")).unnest("g")
    two, queue = pl.col("other").is_not_null(), pl.col("queue").fill_null("")
    left = (
        pl.when(two).then("Transmit " + pl.col("left"))
        .when("right").then("Receive " + pl.col("left"))
        .when(queue != "").then(queue + " " + pl.col("left"))
        .otherwise(pl.col("left"))
    )  # fmt: skip
    where = ("line_no", "t_local", "item")
    return pl.concat(
        [
            rows.select(*where, name=left, value=pl.col("a").cast(pl.Float64)),
            rows.filter(two).select(*where, name="Receive " + pl.col("other"), value=pl.col("b").cast(pl.Float64)),
        ]
    )

r"""Protocol counters of netstat -s on Windows.

Tool: netstat of Windows, -s, -s -p tcp. Capture: `netstat -s`.

Samples::

    IPv4 Statistics
      Packets Received                   = 9147172
    ICMPv4 Statistics
                                Received    Sent
      Destination Unreachable   3979        7199
    TCP Statistics for IPv4
      Segments Retransmitted              = 34858

Table: counters (grp = protocol: ip ip6 icmp icmp6 tcp udp; item = IPv4 or IPv6 of tcp and udp; name as printed, after
`Received` and `Sent` where the tool prints both). Clock: none; wall-local under marks. Traps: counters are since boot; the number of
connections is a level. Known gaps: Windows in other languages, -e.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import counter_rows, grid
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

HEAD = r"^[ \t]*(?:(IP|ICMP)v([46]) Statistics|(TCP|UDP) Statistics for (IPv[46]))[ \t]*$"
VALUE = r"^[ \t]+([A-Z][A-Za-z]{1,20}(?: [A-Za-z]{1,20}){0,4})[ \t]+=[ \t]+([0-9]+)[ \t]*$"
BOTH = r"^[ \t]+([A-Z][A-Za-z]{1,20}(?: [A-Za-z]{1,20}){0,4})[ \t]{2,}([0-9]+)[ \t]+([0-9]+)[ \t]*$"
COLUMNS = r"^[ \t]+Received[ \t]+Sent[ \t]*$"
FORMAT = Format(
    kind="netstat",
    variant="windows_s",
    version="1",
    systems=("windows",),
    tables=("counters",),
    man="netstat of Windows",
    example="netstat -s",
    clocks=("none", "wall-local"),
    own=f"(?:{HEAD}|{VALUE}|{BOTH}|{COLUMNS})",
)


def claim(head: Head) -> Claim | None:
    """Claim by the heading of a protocol with its counters below."""
    if " Statistics" not in head.text:
        return None
    filled = [x for x in head.lines[:200] if x.strip()]
    heads = sum(bool(re.match(HEAD, x[:200])) for x in filled)
    rows = sum(bool(re.match(VALUE, x[:200]) or re.match(BOTH, x[:200])) for x in filled)
    if heads and rows * 2 > len(filled) - heads:
        return Claim(0.95, f"{rows} counters of {heads} protocols of Windows", "windows_s")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the protocol and the last values."""
    line = pl.col("line")
    protocol = pl.coalesce(
        line.str.extract(HEAD, 1).str.to_lowercase() + line.str.extract(HEAD, 2).replace("4", ""),
        line.str.extract(HEAD, 3).str.to_lowercase() + " " + line.str.extract(HEAD, 4),
    )
    for block in grid.frames(source):
        frame = marked(block, out, state).filter(~pl.col("is_mark"))
        frame = frame.with_columns(under=protocol.forward_fill().fill_null(pl.lit(state.get("under"), pl.String)))
        if len(frame):
            state["under"] = frame["under"][-1]
        out.read(frame.filter(protocol.is_not_null() | line.str.contains(COLUMNS))["line_no"])
        frame = frame.filter(pl.col("under").is_not_null())
        one, two = frame.filter(line.str.contains(VALUE)), frame.filter(line.str.contains(BOTH))
        parts = [
            one.select("line_no", "t_local", "under", name=line.str.extract(VALUE, 1), text=line.str.extract(VALUE, 2)),
            *(
                two.select("line_no", "t_local", "under", name=side + " " + line.str.extract(BOTH, 1), text=line.str.extract(BOTH, n))
                for n, side in ((2, pl.lit("Received")), (3, pl.lit("Sent")))
            ),
        ]  # fmt: skip
        level = pl.col("name") == "Current Connections"
        rows = pl.concat(parts).with_columns(
            grp=pl.col("under").str.extract("^([a-z0-9]+)"),
            item=pl.col("under").str.extract(" (.+)$"),
            value=pl.col("text").cast(pl.Float64),
            mode=pl.when(level).then(pl.lit("level")).otherwise(pl.lit("total")),
        )
        counter_rows.add(rows.select("line_no", "t_local", "grp", "item", "name", "value", "mode"), out, state)
    return state

r"""Interface counters of ifconfig on Linux, also of `netstat -ie`.

Tools: ifconfig of net-tools 1.60 (`Link encap:`, until about 2012), net-tools 2 (`flags=4163<UP,...>`) and busybox (the
old form). Capture: `ifconfig -a`.

Samples::

    eth0      Link encap:Ethernet  HWaddr 02:42:AC:16:00:03
              RX packets:274981 errors:0 dropped:0 overruns:0 frame:0
              collisions:0 txqueuelen:0
              RX bytes:40649766 (38.7 MiB)  TX bytes:26281136 (25.0 MiB)
    ens33: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
            RX packets 8061  bytes 1514413 (1.4 MiB)
            TX errors 0  dropped 0 overruns 0  carrier 0  collisions 0

Tables: counters (grp iface, item = interface; names as in `ip -s link` after RX and TX: packets, bytes, errors, dropped,
overruns, frame, carrier; collisions belongs to TX). Clock: none; wall-local under marks. Traps: all counters are since boot;
an alias (`eth0:1`) has no separate counters; the rounded bytes in brackets are left out. Known gaps: addresses and flags;
ifconfig of Solaris, AIX and BSD prints no counters.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import counter_rows, grid
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

INTERFACE = r"^([A-Za-z][A-Za-z0-9_.:@-]*?)(?:: flags=[0-9]+<[A-Z0-9_,]*>  mtu [0-9]+| +Link encap:.*)$"
ROW = (
    r"^[ \t]*(?:[RT]X packets:[0-9]+ errors:[0-9]+ |[RT]X packets [0-9]+  bytes [0-9]+ \(|[RT]X errors [0-9]+  dropped [0-9]+ |RX bytes:[0-9]+ \("
    r"|collisions:[0-9]+ txqueuelen:)"
)
WORDS = (
    r"^(?:[ \t]+(?:inet6? |ether |loop |unspec |infiniband |tunnel |sit |ppp |device |(?:UP|DOWN|BROADCAST|POINTOPOINT|LOOPBACK|RUNNING|NOARP|MULTICAST) .*MTU:"
    r"|Interrupt:|Memory:|Base address|[0-9A-F]{2}[:-])|Kernel Interface table$)"
)

FORMAT = Format(
    kind="netdev",
    variant="ifconfig",
    version="1",
    systems=("linux",),
    tables=("counters",),
    man="ifconfig(8)",
    example="ifconfig -a",
    clocks=("none", "wall-local"),
    own=f"(?:{INTERFACE}|{ROW})",
)


def claim(head: Head) -> Claim | None:
    """Claim by at least two lines of counters, more strongly with an interface's first line."""
    if "RX packets" not in head.text:
        return None
    rows = sum(bool(re.match(ROW, x)) for x in head.lines[:200])
    first = sum(bool(re.match(INTERFACE, x)) for x in head.lines[:200])
    if rows > 1:
        return Claim(0.95 if first else 0.7, f"{rows} lines of counters of {first} interfaces", "ifconfig")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the interface and the last values."""
    line = pl.col("line")
    for block in grid.frames(source):
        frame = marked(block, out, state).filter(~pl.col("is_mark"))
        begins = line.str.contains(INTERFACE)
        out.read(frame.filter(begins | line.str.contains(WORDS))["line_no"])
        item = line.str.extract(INTERFACE, 1).forward_fill().fill_null(pl.lit(state.get("item"), pl.String))
        frame = frame.with_columns(item=item)
        if len(frame):
            state["item"] = frame["item"][-1]
        rows = frame.filter(line.str.contains(ROW))
        out.read(rows["line_no"])
        # `RX bytes:1 (1 B)  TX bytes:2 (2 B)` has both sides on one line; a line of collisions names no side.
        cells = rows.with_columns(cell=line.str.extract_all(r"[RT]X |[a-z]+[: ][0-9]+")).explode("cell")
        side = pl.when(pl.col("cell").str.contains("X ")).then(pl.col("cell").str.strip_chars()).forward_fill()
        cells = cells.with_columns(side=side.over("line_no")).filter(~pl.col("cell").str.contains("X "))
        parts = pl.col("cell").str.extract_groups(r"^([a-z]+)[: ]([0-9]+)$").struct.rename_fields(["word", "text"])
        cells = cells.with_columns(parts.alias("g")).unnest("g").filter(pl.col("word") != "txqueuelen")
        lead = pl.when(pl.col("word") == "collisions").then(pl.lit("TX")).otherwise("side")
        counters = cells.with_columns(
            grp=pl.lit("iface"),
            mode=pl.lit("total"),
            name=lead + " " + pl.col("word"),
            value=pl.col("text").cast(pl.Float64),
        )
        counter_rows.add(counters.select("line_no", "t_local", "grp", "item", "name", "value", "mode"), out, state)
    return state

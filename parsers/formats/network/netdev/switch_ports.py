r"""Interface counters of switches and routers: show interfaces of Cisco IOS, NX-OS and Arista EOS, and of Junos.

Tools: `show interfaces` (IOS, IOS XE, EOS), `show interface` (NX-OS), `show interfaces NAME extensive` (Junos). Capture: any.

Samples::

    GigabitEthernet1/0/14 is up, line protocol is up (connected)
      Input queue: 0/75/0/0 (size/max/drops/flushes); Total output drops: 17
         812233410 packets input, 701223344120 bytes, 0 no buffer
         91022 input errors, 88213 CRC, 2809 frame, 0 overrun, 0 ignored
    Physical interface: ge-0/0/5, Enabled, Physical link is Up
      Input errors:
        Errors: 4411, Drops: 0, Framing errors: 4411, Runts: 0, Policed discards: 0

Tables: counters (grp iface, item = interface; name as printed, but the totals `packets input` and `packets output`, of
which other counters are a part, are stored as `packets received` and `packets sent`; names of Junos follow `input` or
`output`). Clock: none; wall-local under marks.
Traps: counters since the device started or since somebody cleared them (`Last clearing`). Two counters of one line may be parted by
commas or by two spaces. An error that has a name of its own (CRC) is in the sum (input errors) too.
Known gaps: rates, load and reliability; queues of a policy (`show policy-map interface`); `show interfaces counters errors`.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import counter_rows, grid
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

INTERFACE = (
    r"^(?:Physical interface: ([A-Za-z][\w./:-]*), (?:Enabled|Administratively down)"
    r"|([A-Z][A-Za-z-]+ ?[0-9][\w./:]*) is (?:administratively )?(?:up|down)\b)"
)
"""First line of an interface, for Junos and for the others."""

DETAIL = r"^[ \t]+\S"
"""A line below an interface's first one."""

COUNTED = (
    r"^[ \t]+[0-9]+ (?:packets (?:input|output)|input errors?|output errors?|runts|unicast packets|jumbo packets|lost carrier"
    r"|babbles?|collisions?|unknown protocol drops)\b"
)
CELL = r"[0-9]+ [A-Za-z][A-Za-z/-]*(?: [A-Za-z][A-Za-z/-]*){0,3}"
"""A number and what it counts, as IOS and NX-OS print them."""

DROPS = r"\bTotal output drops: ([0-9]+)"
SIDE = r"^[ \t]+(Input|Output) errors:$"
NAMED = r"^[ \t]+(?:[A-Z][A-Za-z0-9]*(?: [A-Za-z0-9]+){0,3}: [0-9]+(?:, |,?$))+"
NAMED_CELL = r"[A-Z][A-Za-z0-9]*(?: [A-Za-z0-9]+){0,3}: [0-9]+"
"""A counter of Junos."""

NAMES = {"packets input": "packets received", "packets output": "packets sent", "bytes": None}
"""Printed name -> stored name of the totals; bytes of both directions have one name."""

TYPICAL = (
    r"^[ \t]+(?:Input queue: |Last clearing of |MTU [0-9]+ bytes, |Link-level type: |(?:Input|Output) errors:$|Device flags +: |Last flapped +: "
    r"|(?:Errors|Carrier transitions|L2 mismatch timeouts|MTU errors): [0-9]+, |Statistics last cleared: |Interface index: )"
)
"""Other lines that only these tools print."""

FORMAT = Format(
    kind="netdev",
    variant="switch",
    version="1",
    systems=("linux", "freebsd"),  # NX-OS and EOS run on Linux, Junos on FreeBSD; IOS runs on nothing else
    tables=("counters",),
    man="Cisco IOS Interface Command Reference, show interfaces",
    example="show interfaces GigabitEthernet1/0/14",
    clocks=("none", "wall-local"),
    own=f"(?:{INTERFACE}|{COUNTED}|{TYPICAL})",
)


def claim(head: Head) -> Claim | None:
    """Claim by an interface's first line with counters below it."""
    text = head.text
    if " is up" not in text and " is down" not in text and "Physical interface:" not in text:
        return None
    lines = head.lines[:400]
    first = sum(bool(re.match(INTERFACE, x)) for x in lines)
    rows = sum(bool(re.match(COUNTED, x) or re.match(NAMED, x)) for x in lines)
    if first and rows:
        return Claim(0.95, f"{rows} lines of counters of {first} interfaces", "switch")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the interface, the direction and the last values."""
    line = pl.col("line")
    for block in grid.frames(source):
        frame = marked(block, out, state).filter(~pl.col("is_mark"))
        begins = line.str.contains(INTERFACE)
        item = pl.coalesce(line.str.extract(INTERFACE, 1), line.str.extract(INTERFACE, 2))
        side = pl.when(begins).then(pl.lit("")).otherwise(line.str.extract(SIDE, 1).str.to_lowercase())
        frame = frame.with_columns(
            item=item.forward_fill().fill_null(pl.lit(state.get("item"), pl.String)),
            side=side.forward_fill().fill_null(pl.lit(state.get("side", ""), pl.String)),
        )
        if len(frame):
            state["item"], state["side"] = frame["item"][-1], frame["side"][-1]
        known = frame.filter(pl.col("item").is_not_null())
        out.read(known.filter(line.str.contains(INTERFACE) | line.str.contains(DETAIL))["line_no"])
        cells = pl.concat([_counted(known), _named(known)]).sort("line_no", maintain_order=True)
        counters = cells.with_columns(grp=pl.lit("iface"), mode=pl.lit("total")).filter(pl.col("name").is_not_null())
        counter_rows.add(counters.select("line_no", "t_local", "grp", "item", "name", "value", "mode"), out, state)
    return state


def _counted(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the counters of lines such as `17 input errors, 12 CRC`, and the drops of the output queue."""
    rows = frame.filter(pl.col("line").str.contains(COUNTED))
    cells = rows.with_columns(cell=pl.col("line").str.extract_all(CELL)).explode("cell")
    parts = pl.col("cell").str.extract_groups(r"^([0-9]+) (.+)$").struct.rename_fields(["text", "name"])
    drops = frame.filter(pl.col("line").str.contains(DROPS)).with_columns(
        text=pl.col("line").str.extract(DROPS), name=pl.lit("Total output drops")
    )
    made = pl.concat([cells.with_columns(parts.alias("g")).unnest("g").select(_CELLS), drops.select(_CELLS)])
    return made.with_columns(pl.col("name").replace(NAMES), value=pl.col("text").cast(pl.Float64)).drop("text")


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the counters of Junos below `Input errors:` and `Output errors:`."""
    rows = frame.filter((pl.col("side") != "") & pl.col("line").str.contains(NAMED))
    cells = rows.with_columns(cell=pl.col("line").str.extract_all(NAMED_CELL)).explode("cell")
    parts = pl.col("cell").str.extract_groups(r"^(.+): ([0-9]+)$").struct.rename_fields(["name", "text"])
    made = cells.with_columns(parts.alias("g")).unnest("g").select(*_CELLS, "side")
    return made.select(
        "line_no", "t_local", "item", name=pl.col("side") + " " + pl.col("name"), value=pl.col("text").cast(pl.Float64)
    )


_CELLS = ("line_no", "t_local", "item", "name", "text")

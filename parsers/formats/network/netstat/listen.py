r"""Queues of listening sockets of netstat -L on FreeBSD and macOS.

Tool: netstat(1) of FreeBSD, macOS, DragonFly, -L, -La, -Lan. Capture: `netstat -Lan`.

Sample::

    Current listen queue sizes (qlen/incqlen/maxqlen)
    Proto Listen         Local Address
    tcp4  192/0/128      *.80
    unix  0/0/30         /var/run/devd.pipe

Table: sockets, state LISTEN: recvq = connections that wait to be accepted, sendq = their maximum number (the backlog), as in ss.
Clock: none; wall-local under marks. Traps: macOS and old FreeBSD have no column of the protocol: it is TCP.
Known gaps: incqlen (half open connections), paths.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import grid
from parsers.columns.endpoints import address, port
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

TITLE = r"^[ \t]*Current listen queue sizes \(qlen/incqlen/maxqlen\)[ \t]*$"
HEAD = r"^[ \t]*(?:Proto[ \t]+)?Listen[ \t]+Local Address[ \t]*$"
ROW = r"^[ \t]*(?:((?:tcp|sctp|unix)[46]{0,2})[ \t]+)?([0-9]{1,9})/([0-9]{1,9})/([0-9]{1,9})[ \t]+([^ \t]+)[ \t]*$"
GONE = r"^Some [a-z]+ sockets may have been (?:created|deleted)"

FORMAT = Format(
    kind="netstat",
    variant="listen",
    version="1",
    systems=("freebsd", "macos"),
    tables=("sockets",),
    man="netstat(1)",
    example="netstat -Lan",
    clocks=("none", "wall-local"),
    own=f"{TITLE}|{HEAD}|{ROW}",
)


def claim(head: Head) -> Claim | None:
    """Claim by the title or the heading, and rows of three figures with slashes between them."""
    if "Listen" not in head.text and "qlen/incqlen" not in head.text:
        return None
    filled = [x for x in head.lines[:60] if x.strip()]
    titles = sum(1 for x in filled if re.match(TITLE, x) or re.match(HEAD, x))
    rows = sum(1 for x in filled if re.match(ROW, x[:300]))
    if not titles or not rows or (titles + rows) * 2 < len(filled):
        return None
    return Claim(0.96, f"queues of {rows} listeners", FORMAT.variant)


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the sample; each title begins a new one."""
    line = pl.col("line")
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        frame = frame.with_columns(sample=grid.counted(line.str.contains(TITLE), state))
        grid.carry(frame, state)
        headings = line.str.contains(TITLE) | line.str.contains(HEAD) | line.str.contains(GONE)
        out.read(frame.filter(headings)["line_no"])
        names = ["proto", "waiting", "half", "most", "local"]
        rows = frame.with_columns(line.str.extract_groups(ROW).struct.rename_fields(names).alias("g")).unnest("g")
        rows = rows.filter(pl.col("local").is_not_null())
        if rows.is_empty():
            continue
        inet = ~pl.col("local").str.starts_with("/")
        out.add("sockets", rows.select(
            "line_no", "t_local", sample=pl.max_horizontal("sample", pl.lit(1, pl.Int64)),
            proto=pl.coalesce("proto", pl.when(inet).then(pl.lit("tcp")).otherwise(pl.lit("unix"))), state=pl.lit("LISTEN"),
            local_ip=pl.when(inet).then(address(pl.col("local"))), local_port=pl.when(inet).then(port(pl.col("local"))),
            recvq=pl.col("waiting").cast(pl.Int64, strict=False), sendq=pl.col("most").cast(pl.Int64, strict=False),
        ))  # fmt: skip
    return state

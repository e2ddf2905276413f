"""Parse the fields of tracepoints, which perf script prints after the event's name.

    sleep 12348 [001] 59244.982953: syscalls:sys_enter_openat: dfd: 0xffffff9c, filename: 0x7fdfc98430b1, flags: 0x00080000
    perf 12347 [000] 59244.981975: sched:sched_switch: prev_comm=perf prev_pid=12347 ... ==> next_comm=migration/0 next_pid=18

Each tracepoint becomes a row of `logs`: `op` is the tracepoint, `text` its fields as printed. A sampled event has no fields: after its
name stands nothing, or a stack frame.
"""

from __future__ import annotations

import polars as pl

from parsers.tables.rows import Tables

NAME = r"^[a-z][a-z0-9_]*:[a-z_][A-Za-z0-9_]*$"
"""`subsystem:name`. A sampled event with modifiers (`cycles:ppp`, `cpu-clock:pppH`) matches too: they are letters of this set."""
_MODIFIERS = r":[ukhGHpPSDWIeb]+$"
_FIELD = r"^[a-z_][A-Za-z0-9_]*(?:=|: )\S"
"""The first field of a tracepoint; old versions print the name without the subsystem, then this field identifies it."""


def of(heads: pl.DataFrame) -> pl.DataFrame:
    """Return the heads of tracepoints with fields (line_no, comm, pid, time, event, rest) as rows of `logs`."""
    event, rest = pl.col("event"), pl.col("rest").str.strip_chars(" \t")
    known = event.str.contains(NAME) & ~event.str.contains(_MODIFIERS)
    some = heads.filter(rest.is_not_null() & (rest != "") & (known | rest.str.contains(_FIELD)))
    return some.select(
        "line_no",
        t_local=pl.col("time").cast(pl.Float64),
        source=pl.lit("tool"),
        op="event",
        pid=pl.col("pid").cast(pl.Int64, strict=False),
        program="comm",
        text=rest,
    )


def add(heads: pl.DataFrame, inline: pl.DataFrame, out: Tables) -> None:
    """Write the tracepoints among the sample heads; `inline`: heads that a stack frame follows on the line."""
    rows = of(heads.filter(~pl.col("line_no").is_in(inline["line_no"].implode())) if len(inline) else heads)
    if len(rows):
        out.add("logs", rows)

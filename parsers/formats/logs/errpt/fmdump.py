r"""Fault records with all members: fmdump -V and -eV of Solaris and illumos.

Tool: fmdump(1M), fmdump(8): fault log (-V), error log (-eV), informational logs (-iV, -IV). Capture: `fmdump -eV`, `fmdump -V -u UUID`.

Sample::

    TIME                           CLASS
    Nov 03 2018 19:27:06.895201000 ereport.io.scsi.cmd.disk.dev.rqs.derr
    nvlist version: 0
            class = ereport.io.scsi.cmd.disk.dev.rqs.derr
            detector = (embedded nvlist)
            nvlist version: 0
                    device-path = /pci@0/pci@9/scsi@0/sd@1,0
            (end detector)
            __ttl = 0x1
            __tod = 0x5bddf68a 0x355baee8

Table: logs, source errpt, one row for each record: code = SUNW-MSG-ID or class, secondary = classes of the suspected faults, severity as
printed, program = the first device path, resource or pool that the record names, text = class and suspected faults. Clock: wall-utc by
`__tod` (seconds and nanoseconds since 1970); where the first record lacks it, wall-local by the printed stamp. Traps: the stamp is the
time of the diagnosis; the reports that led to it stand in front of the list, without a year: they are read but not stored, because
`fmdump -eV` has them as records. Known gaps: all other members of a record (stacks of a panic, sense data, hardware names).
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import stamp_falls
from parsers.clocks.yearless import clock_seconds, day_seconds
from parsers.columns.stack_rows import records
from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.source import Head, Source
from parsers.text.times import MONTHS, WALL_BASE, span_s

HEAD = r"^[ \t]*TIME[ \t]+(?:UU?ID[ \t]+SUNW-MSG-ID|CLASS)\b"
BEGIN = (
    r"^[ \t]*([A-Z][a-z]{2})[ \t]+([0-9]{1,2})[ \t]+([0-9]{4})[ \t]+([0-9]{2}):([0-9]{2}):([0-9]{2}\.[0-9]{9})[ \t]+"
    r"(?:[0-9a-f]{8}-[0-9a-f-]{14,28}[ \t]+([A-Z0-9]+-[0-9A-Z]+-[0-9A-Z]+)|([a-z]+\.[A-Za-z0-9._@-]+)(?:[ \t]+0x[0-9a-f]+)?)$"
)
MEMBER = r"^[ \t]*(?:nvlist version: [0-9]+$|\((?:start|end) [^ ]{1,60}\)$|[A-Za-z_][A-Za-z0-9_.-]{0,60} =(?: |$))"
LED = r"^[ \t]*[A-Z][a-z]{2}[ \t]+[0-9]{1,2}[ \t]+[0-9:.]{8,18}[ \t]+[a-z]+\.[A-Za-z0-9._@-]+[ \t]+0x[0-9a-f]+$"
"""Line of a report that led to a diagnosis."""

FRAME = r"^[ \t]*[A-Za-z0-9_.$]{1,60}:[A-Za-z0-9_.$]{1,120}\+[0-9a-f]+ \(\)(?: \|)?$"
FORMAT = Format(
    kind="errpt",
    variant="fmdump_V",
    version="1",
    systems=("solaris", "illumos"),
    tables=("logs",),
    man="fmdump(1M)",
    example="fmdump -eV",
    clocks=("wall-utc", "wall-local"),
    own=f"{HEAD}|{BEGIN}|{MEMBER}|{LED}|{FRAME}",
)
_NAMES = ["mon", "day", "year", "h", "m", "s", "id", "event"]
_FIRST = {
    "class": r"^[ \t]*class = ([^ ]{1,200})$",
    "severity": r"^[ \t]*severity = ([A-Za-z]{1,20})$",
    "program": r"^[ \t]*(?:device-path|resource|asru|pool) = ([^( ][^ ]{0,300})$",
    "tod_s": r"^[ \t]*__tod = 0x([0-9a-f]{1,15}) 0x[0-9a-f]{1,8}$",
    "tod_ns": r"^[ \t]*__tod = 0x[0-9a-f]{1,15} 0x([0-9a-f]{1,8})$",
}
_SUSPECT = r"^[ \t]*class = ((?:fault|defect|upset|alert)\.[^ ]{1,200})$"


def claim(head: Head) -> Claim | None:
    """Claim by the first line of a record, and lists of members."""
    if "nvlist version:" not in head.text:
        return None
    count = sum(1 for x in head.lines if re.match(BEGIN, x[:200]))
    filled = [x for x in head.lines[:400] if x.strip()]
    fitting = sum(1 for x in filled if re.match(FORMAT.own, x[:400]))
    return Claim(0.95, f"{count} records of fmdump -V", "fmdump_V") if count and fitting * 2 > len(filled) else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open record and whether the clock is UTC."""
    line = pl.col("line")
    begins, of_record = line.str.contains(BEGIN), line.str.contains(FORMAT.own)
    heads = line.str.contains(HEAD)
    number = begins.cum_sum()
    for lines, _ in records(source, out, state, begins, heads | (of_record & (number > 0))):
        lines = lines.with_columns(record=number)
        out.read(lines.filter(heads | (of_record & (pl.col("record") > 0)))["line_no"])
        stamp = line.str.extract_groups(BEGIN).struct.rename_fields(_NAMES)
        # A heading between two records belongs to neither.
        mine = lines.filter((pl.col("record") > 0) & of_record & ~heads).with_columns(
            stamp.alias("g"), suspect=line.str.extract(_SUSPECT), **{n: line.str.extract(p) for n, p in _FIRST.items()}
        )
        by_record = mine.unnest("g").group_by("record", maintain_order=True)
        rows = by_record.agg(
            pl.col("line_no").first(),
            pl.col("line_no").last().alias("line_end"),
            *(pl.col(n).drop_nulls().first() for n in (*_NAMES, *_FIRST)),
            pl.col("suspect").drop_nulls().unique(maintain_order=True).alias("secondary"),
        )
        if len(rows):
            _write(rows, source, out, state)
    return state


def _write(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    """Write the rows of complete records."""
    month = pl.col("mon").str.to_lowercase().replace_strict(MONTHS, default=None, return_dtype=pl.Int64)
    wall = day_seconds(pl.col("year"), month, pl.col("day")) + clock_seconds()
    seconds, ns = (pl.col(n).str.to_integer(base=16, strict=False) for n in ("tod_s", "tod_ns"))
    if "utc" not in state:
        state["utc"] = rows["tod_s"][0] is not None
    at = seconds + ns / 1e9 if state["utc"] else wall
    suspects = pl.col("secondary").list.join(", ")
    first = pl.coalesce("class", "event")
    rows = rows.with_columns(
        t_local=at,
        code=pl.coalesce("id", "event"),
        secondary=pl.when(pl.col("secondary").list.len() > 0).then(pl.col("secondary")),
        text=pl.when(suspects == "").then(first).otherwise(pl.concat_str(first, suspects, separator=": ")),
    )
    stamp_falls.remark(rows, out, state.setdefault("falls", {}))
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        kind, zone = ("wall-utc", "UTC") if state["utc"] else ("wall-local", source.hints.tz)
        out.domain(Domain(1, kind, WALL_BASE, zone, begin, end, [line_span(rows)]))
    columns = ("line_no", "line_end", "t_local", "code", "secondary", "severity", "program", "text")
    out.add("logs", rows.select(*columns, source=pl.lit("errpt")), span="ends")

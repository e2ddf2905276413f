r"""Journal entries with all fields: journalctl -o verbose, and the export format.

Tool: journalctl(1) of systemd, -o verbose (with any other option), -o export. Capture: `journalctl -o verbose -u UNIT`.

Sample::

    Sat 2024-10-05 14:39:51.931842 EEST [s=0b33;i=131430c;b=8f9e;m=1ddc775173;t=623b93eed7850;x=7f7d]
        PRIORITY=6
        SYSLOG_IDENTIFIER=systemd
        _PID=242885
        MESSAGE=Removed slice User Slice of UID 1000.
        _SOURCE_REALTIME_TIMESTAMP=1728128391931748

Table: logs, source syslog, one row for each entry: program = SYSLOG_IDENTIFIER, else _COMM; pid = _PID, else SYSLOG_PID; severity = the
word of PRIORITY (err, info). Clock: wall-utc by _SOURCE_REALTIME_TIMESTAMP, else by the cursor's `t=` (microseconds since 1970, in
hexadecimal), else by __REALTIME_TIMESTAMP. Traps: an entry without MESSAGE is a row without text; further lines of a message are read but
not stored. Known gaps: all other fields; messages of several lines in an export (they are binary there).
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import stamp_falls
from parsers.columns.stack_rows import records
from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, span_s

_CURSOR = r"s=[0-9a-f]{1,32};i=[0-9a-f]{1,16};b=[0-9a-f]{1,32};m=[0-9a-f]{1,16};t=([0-9a-f]{1,16})"
BEGIN = (
    rf"^(?:__CURSOR={_CURSOR}|[ \t]*(?:[^\W\d_]{{2,4}}\.? )?[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[0-9.]*"
    rf" [A-Z0-9+-]{{2,6}} \[{_CURSOR})"
)
FIELD = r"^[ \t]*_{0,2}[A-Z][A-Z0-9_]{1,63}="
TEXT = r"^[ \t]{4,}\S"
"""A further line of a message, below the line with the field's name."""

FORMAT = Format(
    kind="syslog",
    variant="journal_verbose",
    version="1",
    systems=("linux",),
    tables=("logs",),
    man="journalctl(1)",
    example="journalctl -o verbose",
    clocks=("wall-utc",),
    own=f"{BEGIN}|{FIELD}",
)
LEVELS = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
_CODE = r"\b((?:ORA|TNS)-)0*([0-9]{1,5})\b"
_FIRST = {
    "name": r"^[ \t]*SYSLOG_IDENTIFIER=(.{1,200})$",
    "comm": r"^[ \t]*_COMM=(.{1,200})$",
    "trusted_pid": r"^[ \t]*_PID=([0-9]{1,10})$",
    "claimed_pid": r"^[ \t]*SYSLOG_PID=([0-9]{1,10})$",
    "level": r"^[ \t]*PRIORITY=([0-7])$",
    "text": r"^[ \t]*MESSAGE=(.*)$",
    "sent_us": r"^[ \t]*_SOURCE_REALTIME_TIMESTAMP=([0-9]{10,17})$",
    "received_us": r"^__REALTIME_TIMESTAMP=([0-9]{10,17})$",
}


def claim(head: Head) -> Claim | None:
    """Claim by the cursor of an entry, and fields below it."""
    if ";t=" not in head.text:
        return None
    filled = [x for x in head.lines[:400] if x.strip()]
    count = sum(1 for x in filled if re.match(BEGIN, x[:300]))
    fitting = sum(1 for x in filled if re.match(FORMAT.own, x[:300]))
    if not count or fitting * 2 < len(filled):
        return None
    return Claim(0.96, f"{count} entries of the journal with all their fields", FORMAT.variant)


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open entry."""
    line = pl.col("line")
    begins = line.str.contains(BEGIN)
    of_entry = begins | line.str.contains(FIELD) | line.str.contains(TEXT)
    number = begins.cum_sum()
    for lines, _ in records(source, out, state, begins, of_entry & (number > 0)):
        mine = lines.with_columns(record=number).filter((pl.col("record") > 0) & of_entry)
        out.read(mine["line_no"])
        cursor = line.str.extract_groups(BEGIN).struct.rename_fields(["t1", "t2"])
        mine = mine.with_columns(cursor.alias("g"), **{n: line.str.extract(p) for n, p in _FIRST.items()}).unnest("g")
        rows = mine.group_by("record", maintain_order=True).agg(
            pl.col("line_no").first(),
            pl.col("line_no").last().alias("line_end"),
            *(pl.col(n).drop_nulls().first() for n in ("t1", "t2", *_FIRST)),
        )
        if len(rows):
            _write(rows, out, state)
    return state


def _write(rows: pl.DataFrame, out: Tables, state: State) -> None:
    """Write the rows of complete entries."""
    sent, received = (pl.col(n).cast(pl.Int64, strict=False) for n in ("sent_us", "received_us"))
    cursor = pl.coalesce("t1", "t2").str.to_integer(base=16, strict=False)
    us = pl.coalesce(sent, cursor, received)
    code = pl.col("text").str.extract(_CODE, 1) + pl.col("text").str.extract(_CODE, 2)
    level = pl.col("level").cast(pl.Int64, strict=False).replace_strict(dict(enumerate(LEVELS)), return_dtype=pl.String)
    rows = rows.with_columns(
        t_local=us // 1_000_000 + (us % 1_000_000) / 1e6,
        program=pl.coalesce("name", "comm"),
        pid=pl.coalesce("trusted_pid", "claimed_pid").cast(pl.Int64, strict=False),
        severity=level,
        code=code,
    )
    stamp_falls.remark(rows, out, state.setdefault("falls", {}))
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        out.domain(Domain(1, "wall-utc", WALL_BASE, "UTC", begin, end, [line_span(rows)]))
    columns = ("line_no", "line_end", "t_local", "program", "pid", "severity", "code", "text")
    out.add("logs", rows.select(*columns, source=pl.lit("syslog")), span="ends")

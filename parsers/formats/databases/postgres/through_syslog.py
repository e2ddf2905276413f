r"""Server logs of PostgreSQL sent to syslog (log_destination = syslog): 9.0 to 18, English messages.
Source: PostgreSQL documentation, "Error Reporting and Logging" (syslog_sequence_numbers, syslog_split_messages); rsyslog's and syslogd's files.
Capture: `cat /var/log/postgresql.log`, `grep 'postgres\[' /var/log/messages`.

    Nov 21 23:27:17 db1 postgres[2154]: [7-1] 2026-11-21 23:27:17.903 UTC [2154] app@shop LOG:  process 2154 still waiting for ShareLock ...
    Nov 21 23:27:17 db1 postgres[2154]: [7-2] 2026-11-21 23:27:17.903 UTC [2154] app@shop DETAIL:  Process holding the lock: 2143. Wait queue: 2154.
    Nov 21 23:27:17 db1 postgres[2154]: [7-5] #011  set n = 2

Tables: logs, source postgres, as in the kind's other variants: a row for each line with a severity. pid is the server process.
Clock: the stamp of the server, where log_line_prefix has one in the first message, else that of syslog, in whole seconds and without a
year in most files (a question). Traps: a message is cut at each line end and every 900 bytes; further pieces have a number above 1 after
the dash, and tabs are `#011` or `^I`: read but not stored. syslog may drop lines under load, and reports it elsewhere. Known gaps:
syslog_sequence_numbers = off, and files where other programs write more than every tenth line: both are read as the kind syslog.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import stamp_falls, yearless
from parsers.columns.server_log_lines import THROUGH_SYSLOG
from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.formats.databases.postgres.lines import AT, EPOCH, LEVELS, STDERR, prefixed, said, timed
from parsers.secrets import sql
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

FORMAT = Format(
    kind="postgres",
    variant="syslog",
    version="1",
    systems=("linux", "solaris", "aix", "hpux", "macos", "freebsd"),
    tables=("logs",),
    man="PostgreSQL documentation, Error Reporting and Logging",
    example="cat /var/log/postgresql.log",
    clocks=("wall-local", "wall-utc", "none"),
    own=THROUGH_SYSLOG,
)
MOST = 0.9
"""Minimum share of lines that are from the server (from practice); below it the file is a system log."""

_LINE = re.compile(THROUGH_SYSLOG)
_NAMES = [
    "mon",
    "day",
    "h",
    "m",
    "s",
    "i_year",
    "i_mon",
    "i_day",
    "i_h",
    "i_m",
    "i_s",
    "i_zone",
    "process",
    "piece",
    "rest",
]
_DETAILS = ("DETAIL", "HINT", "STATEMENT", "CONTEXT", "QUERY", "LOCATION")


def claim(head: Head) -> Claim | None:
    """Claim by numbered pieces of messages with a severity."""
    if "-1] " not in head.text or not re.search(rf"\[[0-9]+-1\] .{{0,200}}(?:{LEVELS}):  ", head.text):
        return None
    count, fraction = share(head, _LINE)
    return Claim(0.96, f"{count} pieces of messages of PostgreSQL", "syslog") if fraction >= MOST else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps whether stamps of the server or of syslog are used, their kind, and the year."""
    for block in source.blocks():
        for line_no, first, last in sql.spans(block.frame):
            out.secret(line_no, first, last, "password")
        line = pl.col("line")
        lines = block.frame.with_columns(
            line.str.extract_groups(THROUGH_SYSLOG).struct.rename_fields(_NAMES).alias("g")
        )
        lines = lines.unnest("g").filter(pl.col("rest").is_not_null())
        lines = lines.with_columns(
            pl.col("rest").str.extract_groups(STDERR).struct.rename_fields(["before", "severity", "message"]).alias("g")
        ).unnest("g")
        before, level = pl.col("before"), pl.col("severity")
        sure = pl.col("rest").str.contains(f"(?:{LEVELS}):  ") | before.str.contains(AT) | before.str.contains(EPOCH)
        further = ~pl.col("rest").str.contains(r"^(?:#011|\^I|[ \t])") & level.is_in(_DETAILS)
        heads = (sure & ((pl.col("piece") == "1") | further)).fill_null(False)
        # A first piece without a severity is from another program and stays unknown.
        out.read(lines.filter(~heads & (pl.col("piece") != "1"))["line_no"])
        rows = lines.filter(heads)
        if not rows.is_empty():
            rows = _timed(rows, source, out, state)
            stamp_falls.remark(rows, out, state.setdefault("falls", {}))
            out.add("logs", said(rows))
    return state


def _timed(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Return the columns of `prefixed` with `t_local`, from the server's stamps if the first row has one, else from syslog's."""
    messages = prefixed(rows.select("line_no", "severity", "message", "before"))
    messages = messages.with_columns(pid=pl.coalesce("pid", rows["process"]))
    if "stamps" not in state:
        first = messages.row(0, named=True)
        kind = "dated" if rows["i_year"][0] is not None else "yearless"
        state["stamps"] = "own" if first["year"] is not None or first["epoch"] is not None else kind
    if state["stamps"] == "own":
        return timed(messages, source, out, state)
    if state["stamps"] == "dated":
        stamp_of_syslog = [rows[f"i_{n}"].alias(n) for n in ("year", "mon", "day", "h", "m", "s")]
        zone = rows["i_zone"].replace("Z", "UTC").alias("zone")
        return timed(messages.with_columns(*stamp_of_syslog, zone, epoch=pl.lit(None, pl.String)), source, out, state)
    at = yearless.seconds(rows.select("mon", "day", "h", "m", "s"), source.hints, state)
    messages = messages.with_columns(t_local=pl.when(rows["mon"].is_not_null()).then(at), line_end=pl.col("line_no"))
    yearless.report(messages, source.hints, out, state)
    return messages.drop("line_end")

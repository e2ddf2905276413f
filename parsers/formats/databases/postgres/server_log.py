r"""Server logs of PostgreSQL: stderr with any log_line_prefix, csvlog, jsonlog; 9.0 to 18.
Source: PostgreSQL documentation, "Error Reporting and Logging"; `log_connections`, `log_lock_waits`, `log_checkpoints` make the lines.

    2026-11-21 05:58:39.123 UTC [4711] LOG:  connection received: host=192.0.2.7 port=51234
    2026-11-21 05:58:39.131 UTC [4711] app@shop LOG:  connection authorized: user=app database=shop
    2026-11-21 05:58:41.200 UTC [4712] LOG:  process 4712 still waiting for ShareLock on transaction 752 after 1000.071 ms
    2026-11-21 05:58:41.200 UTC [4712] DETAIL:  Process holding the lock: 4711. Wait queue: 4712.
    2026-11-21 05:58:45.000 UTC,"app","shop",4713,"192.0.2.7:51236",...,FATAL,53300,"sorry, too many clients already",...
    {"timestamp":"2026-11-21 05:58:46.000 UTC","pid":4714,"error_severity":"LOG","message":"checkpoint starting: time"}

Tables: logs, source postgres, a row for each line with a severity (DETAIL, HINT, STATEMENT have separate rows, also those inside a csv
or JSON record): pid = server process, severity as printed, code = SQLSTATE (csvlog, jsonlog, `%e`), service = database, program =
application_name, op = received, authenticated, authorized, ready, disconnection, duration, lock_wait, lock_acquired, deadlock,
checkpoint_start, checkpoint, temp_file, autovacuum, refused (no slot left), elapsed_s = the duration that the line states.
Clock: wall-utc where the zone is UTC, GMT or an offset, else wall-local (a name such as CET already shows whether it is summer time).
A stamp is the time when the line was printed, so the end of the event it reports. Traps: `still waiting` is printed once, after
deadlock_timeout; `acquired` has the length of the wait. `received` is printed before a byte of the client is read, so the time to
`authorized` includes the client's share; a reverse look-up by log_hostname happens before `received`. Further lines of a message begin
with a tab: read but not stored, except the lines of plans (auto_explain), which are rows of the report "query plan".
Known gaps: of translated messages only the level is read (and stored in English; not in csvlog), op is
NULL; elapsed_s of autovacuum, which stands on a further line; fields of a csv record after a text of several lines (hint, program).
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import stamp_falls
from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.formats.databases.postgres.lines import (
    AT,
    ENGLISH,
    EPOCH,
    FOREIGN,
    LEVELS,
    STDERR,
    TRANSLATED,
    prefixed,
    said,
    timed,
)
from parsers.secrets import sql
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

TEXT = r"(?:\"((?:[^\"]|\"\")*)\"?)?"
CSV = rf"^{AT},{TEXT},{TEXT},([0-9]+)?,{TEXT},[0-9a-f.]*,[0-9]*,{TEXT},[^,]*,[^,]*,[0-9]*,({LEVELS}),([0-9A-Z]{{5}}),{TEXT}(?:,{TEXT})?(?:,{TEXT})?"
"""A csv record up to the hint; query, context, location and, from 9.0, application_name follow."""
CSV_END = r",\"((?:[^\"]|\"\")*)\"(?:,\"(?:[a-z0-9 ]+)\")?(?:,[0-9]*)?(?:,-?[0-9]*)?$"
JSON = r"^\{\"timestamp\":\"[^\"]*\".*\"error_severity\":\"[A-Z0-9]+\""
FURTHER = r"^(?:\t| {8})"
PLAN = "query plan"
PLAN_LINE = (
    r"\((?:cost=[0-9]|actual |never executed)|^\s+(?:Filter|Rows Removed by [A-Z][A-Za-z ]{3,20}|Sort Method|Buckets|Buffers|I/O Timings"
    r"|Heap Fetches): "
)
"""Lines of a plan in text form: its nodes, and what stands below a node."""
_SURE = (
    rf"(?:{LEVELS}):  |connection (?:received: host|authorized: user)=|database system is ready to accept"
    r"|duration: [0-9.]+ ms|checkpoint (?:starting|complete): "
)
_WORDS = (*LEVELS.replace("[1-5]?", "").split("|"), *(f"DEBUG{n}" for n in range(1, 6)))
_SAYINGS = ("connection received: host=", "connection authorized: user=", "database system is ready to accept")
_SIGNS = (*(f",{word}," for word in _WORDS), *_SAYINGS, "duration: ", "checkpoint ")
"""Texts of which every such log has at least one, unless it has a level before a colon and two blanks."""

_STAMPED = re.compile(rf"^[^\n]{{0,60}}?(?:{AT}|[0-9]{{10}}\.[0-9]{{3}})[^\n]{{0,140}}?\b(?:{LEVELS}): {{1,2}}\S")
_STAMPED_FOREIGN = re.compile(
    rf"^[^\n]{{0,60}}?(?:{AT}|[0-9]{{10}}\.[0-9]{{3}})[^\n]{{0,140}}?\b(?:{LEVELS}|{FOREIGN})[ \u00a0]?:  \S"
)
_BARE = re.compile(rf"^(?:\[[0-9]+\]:? *)?(?:{LEVELS}):  \S")
_PATTERNS = {"csvlog": re.compile(CSV), "jsonlog": re.compile(JSON)}
FORMATS = tuple(
    Format(
        kind="postgres",
        variant=variant,
        version="1",
        systems=("linux", "solaris", "aix", "hpux", "windows", "macos", "freebsd"),
        tables=("logs", "rows") if variant == "stderr" else ("logs",),
        man="PostgreSQL documentation, Error Reporting and Logging",
        example=example,
        clocks=("wall-utc", "wall-local", "none"),
        own=own,
    )
    for variant, example, own in (
        (
            "stderr",
            "cat /var/log/postgresql/postgresql-17-main.log",
            rf"^.{{0,60}}(?:{AT}|[0-9]{{10}}\.[0-9]{{3}}).{{0,140}}\b(?:{LEVELS}|{FOREIGN})[ \u00a0]?:  \S",
        ),
        ("csvlog", "cat log/postgresql.csv", CSV),
        ("jsonlog", "cat log/postgresql.json", JSON),
    )
)


def claim(head: Head) -> Claim | None:
    """Claim by stamped lines with a severity, a colon and two blanks, or by records of csvlog or jsonlog."""
    text = head.text
    if "error_severity" in text and (matches := share(head, _PATTERNS["jsonlog"]))[0]:
        return Claim(0.97, f"{matches[0]} records of jsonlog", "jsonlog") if matches[1] >= 0.5 else None
    # Test plain texts first: most heads have none of them, and a pattern of many words is slow over 64 KiB.
    pieces = text.split(":  ")[:-1]
    levelled = any(piece.endswith(_WORDS) for piece in pieces)
    if any(piece.rstrip(" \u00a0").endswith(tuple(ENGLISH)) for piece in pieces):
        matches = share(Head([x for x in head.lines if not re.match(FURTHER, x)]), _STAMPED_FOREIGN)
        if matches[0] and matches[1] >= 0.4:
            return Claim(
                min(0.96, 0.7 + 0.26 * matches[1]), f"{matches[0]} lines of PostgreSQL's log, translated", "stderr"
            )
    if not levelled and not head.any_of(_SIGNS):
        return None
    if not head.shows(_SURE) and not head.shows(rf",(?:{LEVELS}),[0-9A-Z]{{5}},"):
        return None
    records, _ = share(head, _PATTERNS["csvlog"])
    if records and _PATTERNS["csvlog"].match(next(x for x in head.lines if x.strip())):
        return Claim(0.97, f"{records} records of csvlog", "csvlog")
    messages = Head([x for x in head.lines if not re.match(FURTHER, x)])
    matches = share(messages, _STAMPED)
    if matches[0] and matches[1] >= 0.4:
        return Claim(min(0.96, 0.7 + 0.26 * matches[1]), f"{matches[0]} lines of PostgreSQL's log", "stderr")
    matches = share(messages, _BARE)
    if matches[0] > 1 and matches[1] >= 0.8:
        return Claim(0.6, f"{matches[0]} lines of PostgreSQL's log without stamps", "stderr")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps whether a csv record or a message is open, and the kind of the stamps."""
    read = {"stderr": _stderr, "csvlog": _csvlog, "jsonlog": _jsonlog}[state["variant"]]
    for block in source.blocks():
        for line_no, first, last in sql.spans(block.frame):
            out.secret(line_no, first, last, "password")
        rows = read(block.frame, out, state)
        if rows.is_empty():
            continue
        rows = timed(rows, source, out, state)
        stamp_falls.remark(rows, out, state)
        out.add("logs", said(rows))
    return state


def _stderr(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    rows = frame.with_columns(
        line.str.extract_groups(STDERR).struct.rename_fields(["before", "severity", "message"]).alias("g")
    ).unnest("g")
    # Look for translated levels only on lines without an English one; most logs have no such lines.
    foreign = pl.col("message").is_null() & line.str.contains(":  ", literal=True)
    foreign &= line.str.contains(AT) | line.str.contains(EPOCH)
    if rows.select(foreign.any()).item():
        groups = line.str.extract_groups(TRANSLATED).struct.rename_fields(["before", "severity", "message"])
        more = rows.filter(foreign).select("line_no", g=groups).unnest("g").filter(pl.col("message").is_not_null())
        rows = rows.update(more.with_columns(pl.col("severity").replace(ENGLISH)), on="line_no")
    heads = rows["message"].is_not_null()
    # Further lines of a message begin with a tab (a screen turns it into blanks); without a message above they stay unknown.
    open_ = pl.select(
        pl.when(heads).then(True).when(rows["line"].str.contains(rf"{FURTHER}|^\s*$")).then(None).otherwise(False)
    ).to_series()
    open_ = open_.forward_fill().fill_null(bool(state.get("open")))
    state["open"] = bool(open_[-1]) if len(open_) else state.get("open", False)
    further = rows.filter(open_ & ~heads & rows["line"].str.contains(FURTHER))
    out.read(further["line_no"])
    _plan_lines(further.filter(pl.col("line").str.contains(PLAN_LINE)), out)
    # Without a stamp only the two blanks distinguish a line of the server from one of another program.
    rows = rows.filter(
        heads
        & (
            pl.col("before").str.contains(AT)
            | line.str.contains(f"(?:{LEVELS}):  ")
            | pl.col("before").str.contains(EPOCH)
        )
    )
    return prefixed(rows)


def _plan_lines(lines: pl.DataFrame, out: Tables) -> None:
    """Add the lines of plans that auto_explain writes below a statement, as the rows of a report."""
    if lines.is_empty():
        return
    of_report = {"line_end": pl.col("line_no"), "table_no": pl.lit(0, pl.Int64), "row_no": pl.col("line_no")}
    cells = {"heading": pl.concat_list(pl.lit(PLAN)), "cells": pl.concat_list("line")}
    out.add("rows", lines.select("line_no", **of_report, **cells))


def _csvlog(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    # A record continues on the next line while a quote is open.
    quotes = frame["line"].str.count_matches('"').cast(pl.Int64, strict=False).cum_sum() + int(state.get("quotes", 0))
    inside = quotes.shift(1, fill_value=int(state.get("quotes", 0))) % 2 == 1
    begins = frame["line"].str.contains(CSV)
    if (inside & begins).any():
        # A stamp inside an open quote means that a record was cut: quotes are counted anew from here.
        return _csv_rows(frame.filter(begins), line)
    state["quotes"] = int(quotes[-1]) % 2 if len(quotes) else state.get("quotes", 0)
    out.read(frame.filter(inside & ~begins)["line_no"])
    return _csv_rows(frame.filter(begins), line)


def _csv_rows(rows: pl.DataFrame, line: pl.Expr) -> pl.DataFrame:
    names = [
        "year",
        "mon",
        "day",
        "h",
        "m",
        "s",
        "zone",
        "user",
        "service",
        "pid",
        "peer",
        "tag",
        "severity",
        "code",
        "message",
        "detail",
        "hint",
    ]
    rows = rows.with_columns(line.str.extract_groups(CSV).struct.rename_fields(names).alias("g")).unnest("g")
    plain = [pl.col(n).str.replace_all('""', '"', literal=True) for n in ("message", "detail", "hint")]
    return rows.with_columns(
        *plain,
        epoch=pl.lit(None, pl.String),
        program=line.str.extract(CSV_END, 1),
        from_=pl.col("peer").str.extract(r"^(.*?)(?::[0-9]+)?$"),
        port=pl.col("peer").str.extract(r":([0-9]+)$"),
    ).drop("line", "user", "peer", "tag")


def _jsonlog(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    rows = frame.filter(line.str.contains(JSON) & line.str.json_path_match("$.error_severity").is_not_null())
    keys = {
        "severity": "error_severity",
        "code": "state_code",
        "message": "message",
        "detail": "detail",
        "hint": "hint",
        "pid": "pid",
        "service": "dbname",
        "program": "application_name",
        "from_": "remote_host",
        "port": "remote_port",
    }
    rows = rows.with_columns(line.str.json_path_match(f"$.{key}").alias(name) for name, key in keys.items())
    stamp = (
        line.str.json_path_match("$.timestamp")
        .str.extract_groups(AT)
        .struct.rename_fields(["year", "mon", "day", "h", "m", "s", "zone"])
    )
    return rows.with_columns(stamp.alias("at"), epoch=pl.lit(None, pl.String)).unnest("at").drop("line")

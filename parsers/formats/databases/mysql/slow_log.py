r"""Slow query logs of MySQL, MariaDB and Percona Server: MySQL 3.23 to 9, MariaDB 5.5 to 11.
Source: MySQL Reference Manual, "The Slow Query Log"; MariaDB knowledge base, "Slow Query Log Overview"; Percona Server, "Slow Query Log".
Capture: `cat /var/lib/mysql/HOST-slow.log`, the file that `slow_query_log_file` names.

    # Time: 2026-11-21T18:13:25.698433Z
    # User@Host: app[app] @ localhost [127.0.0.1]  Id:     3
    # Query_time: 2.003464  Lock_time: 0.000324 Rows_sent: 1000  Rows_examined: 2000
    use shop;
    SET timestamp=1469038405;
    SELECT * FROM invoices LIMIT 0, 1000;

Tables: logs, source mysql, two rows for each statement: the statement (op = slow_query, elapsed_s = Query_time, text = the statement,
ok = false where `Last_errno` or `Killed` is not 0, service = the schema of `Schema:` or `use`, peer_ip, client_host), and a row of severity
DETAIL with the line that has Lock_time and rows, and one for each line about the plan (Full_scan, explain).
Clock: wall-utc where the stamp ends in Z or an offset, else wall-local. A stamp is the end
of a statement in MySQL and its beginning in MariaDB; the first lines of the log name the server. Traps: before MySQL 5.7 and in MariaDB
`# Time` is printed only where the second changed, so a statement without it has the time of the one above; `SET timestamp` may be the
beginning or the end, in whole seconds: not used. The number after `Id` or `Thread_id` is a connection, not a process. Where neither
`Schema:` nor `use` is printed, the schema is that of the connection: unknown. Passwords and keys in statements are masked.
Whether waits for row locks count in Lock_time depends on the version. Known gaps: the other figures of MariaDB and
Percona (`InnoDB_...`), reports of mysqldumpslow and pt-query-digest, the log in the form of a table.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import stamp_falls
from parsers.clocks.yearless import clock_seconds, day_seconds
from parsers.columns.stack_rows import records
from parsers.declarations import Claim, Format
from parsers.secrets import sql
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, span_s

TIME = (
    r"^# Time: ([0-9]{2}|[0-9]{4})-?([0-9]{2})-?([0-9]{2})[T ] ?([0-9]{1,2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,6})?)"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
USER = r"^(?:# Time: .{14,40})?# User@Host: "
HEADER = r"^# (?: *(?:Time|User@Host|[A-Z][A-Za-z]*_[A-Za-z_]*|Schema|Id|Filesort|Priority_queue|Stored routine|Profile)(?:: |:$)|No InnoDB |explain: )|^#$"
"""Lines with figures of a statement; other lines that begin with # are comments within the statement."""

STARTED = r"^\S.*, Version: \S.* started with:$|^Tcp port: [0-9]+ +Unix socket:|^Time[ \t]+Id Command[ \t]+Argument$"
SET = r"^(?:SET (?:last_insert_id=[0-9]+,|insert_id=[0-9]+,)*timestamp=[0-9.]+;|use [^;]{1,130};)$"
FIGURES = r"^# Query_time: ([0-9.]+)[ \t]+(Lock_time: .*)$"
PLAN = r"^# ((?:QC_[Hh]it: \S+ +)?Full_scan: .*|explain: .*)$"
"""Lines of MariaDB and Percona Server about the plan: whether tables are read whole, and the rows of EXPLAIN."""

FORMAT = Format(
    kind="mysql",
    variant="slow",
    version="2",
    systems=("linux", "solaris", "aix", "freebsd", "macos", "windows"),
    tables=("logs",),
    man="MySQL Reference Manual, The Slow Query Log",
    example="cat /var/lib/mysql/db1-slow.log",
    clocks=("wall-local", "wall-utc", "none"),
    own=f"{HEADER}|{STARTED}|{SET}|^# administrator command: ",
)
LONGEST = 4000
"""Maximum number of characters of a statement that are stored (from practice: a load of many rows is one statement)."""

_STAMP = ["year", "mon", "day", "h", "m", "s", "zone"]
_FIRST = {
    "host": r"# User@Host: .{0,200} @ +([^ \[]+) \[",
    "ip": r"# User@Host: .{0,200} @ .{0,255}\[([0-9A-Fa-f.:]+)\]",
    "schema": r"^# (?:Thread_id: [0-9]+ +)?Schema: ([^ ]+)",
    "used": r"^use `?([^;`]{1,130})`?;$",
    "errno": r"\bLast_errno: ([0-9]+)",
    "killed": r"\bKilled: ([0-9]+)",
    "taken": FIGURES,
}


def claim(head: Head) -> Claim | None:
    """Claim by the figures of a statement."""
    if "# Query_time: " not in head.text:
        return None
    count = sum(1 for x in head.lines if re.match(FIGURES, x[:200]))
    return Claim(0.95, f"{count} statements of a slow query log", "slow") if count else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open statement, the last stamp and whether stamps are UTC."""
    line = pl.col("line")
    time, user = line.str.contains(TIME), line.str.contains(USER)
    # A statement begins with its time, or with its user if no time was printed since the user above.
    kind = pl.when(user).then(2).when(time).then(1)
    begins = time | (user & (kind.forward_fill().shift().fill_null(2) == 2))
    number, started = begins.cum_sum(), line.str.contains(STARTED)
    for lines, _ in records(source, out, state, begins, (number > 0) | started):
        lines = lines.with_columns(record=number)
        versions = lines.filter(started & line.str.contains(", Version: "))["line"]
        if len(versions):
            state["stamps"] = "start" if "MariaDB" in versions[-1] else "end"
        for line_no, first, last in sql.spans(lines):
            out.secret(line_no, first, last, "password")
        out.read(lines.filter(started | ((pl.col("record") > 0) & (line != "")))["line_no"])
        mine = lines.filter((pl.col("record") > 0) & ~started & (line != ""))
        if mine.is_empty():
            continue
        statement = pl.when(~line.str.contains(HEADER) & ~line.str.contains(SET)).then(line)
        mine = mine.with_columns(
            line.str.extract_groups(TIME).struct.rename_fields(_STAMP).alias("g"),
            figures=line.str.extract(FIGURES, 2),
            statement=statement,
            **{n: line.str.extract(p) for n, p in _FIRST.items()},
        ).unnest("g")
        rows = mine.group_by("record", maintain_order=True).agg(
            pl.col("line_no").first(),
            pl.col("line_no").last().alias("line_end"),
            pl.col("line_no").filter(pl.col("figures").is_not_null()).first().alias("at"),
            *(pl.col(n).drop_nulls().first() for n in (*_STAMP, *_FIRST, "figures")),
            pl.col("statement").drop_nulls().str.join("\n").alias("text"),
        )
        timed = _timed(rows, source, out, state)
        plans = mine.with_columns(plan=line.str.extract(PLAN, 1)).filter(pl.col("plan").is_not_null())
        _write(timed, plans.join(timed.select("record", at="t_local"), on="record"), out)
    return state


def _timed(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add to each statement the time of its stamp, or of the last stamp above."""
    year = pl.col("year").cast(pl.Int32, strict=False)
    wall = (
        day_seconds(pl.when(year < 100).then(year + 2000).otherwise(year), pl.col("mon"), pl.col("day"))
        + clock_seconds()
    )
    zone = pl.col("zone")
    sign = pl.when(zone.str.starts_with("-")).then(-1.0).otherwise(1.0)
    hours, minutes = (zone.str.extract(r"([0-9]{2}):([0-9]{2})", n).cast(pl.Float64) for n in (1, 2))
    at = wall - (sign * (hours * 3600 + minutes * 60)).fill_null(0.0)
    stamped = rows.filter(pl.col("year").is_not_null())
    if "utc" not in state and len(stamped):
        state["utc"] = stamped["zone"][0] is not None
    # The first stamp decides whether times are UTC; a stamp of the other sort would be hours off and gives no time.
    known = pl.col("zone").is_not_null() == bool(state.get("utc"))
    rows = rows.with_columns(t_local=pl.when(pl.col("year").is_not_null() & known).then(at))
    if not state.get("utc"):
        rows = rows.with_columns(pl.col("t_local").forward_fill().fill_null(pl.lit(state.get("at"), pl.Float64)))
        state["at"] = rows["t_local"][-1]
    stamp_falls.remark(rows, out, state)
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        name, zone_name = ("wall-utc", "UTC") if state["utc"] else ("wall-local", source.hints.tz)
        # Only the first lines name the server; a T between date and time also shows that it is MySQL.
        marks = "end" if state["utc"] else state.get("stamps")
        out.domain(Domain(1, name, WALL_BASE, zone_name, begin, end, [line_span(rows)], stamps=marks))
    return rows


def _write(rows: pl.DataFrame, plans: pl.DataFrame, out: Tables) -> None:
    whole = pl.col("text").str.head(LONGEST)
    failed = (pl.col("errno").fill_null("0") != "0") | (pl.col("killed").fill_null("0") != "0")
    statements = rows.select(
        "line_no",
        "line_end",
        "t_local",
        source=pl.lit("mysql"),
        severity=pl.lit(None, pl.String),
        op=pl.lit("slow_query"),
        ok=pl.when(failed).then(pl.lit(False)),
        peer_ip="ip",
        client_host="host",
        service=pl.coalesce("schema", "used"),
        elapsed_s=pl.col("taken").cast(pl.Float64, strict=False),
        text=pl.when(whole != "").then(whole),
    )
    detail = rows.filter(pl.col("figures").is_not_null()).select(
        line_no="at",
        line_end="at",
        t_local="t_local",
        source=pl.lit("mysql"),
        severity=pl.lit("DETAIL"),
        text="figures",
    )
    plan = plans.select(
        "line_no",
        line_end="line_no",
        t_local="at",
        source=pl.lit("mysql"),
        severity=pl.lit("DETAIL"),
        text="plan",
    )
    out.add(
        "logs", pl.concat([statements, detail, plan], how="diagonal").sort("line_no", maintain_order=True), span="ends"
    )

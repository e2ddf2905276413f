r"""Error logs of MySQL and MariaDB: MySQL 5.1 to 9, MariaDB 5.5 to 11, English messages.
Source: MySQL Reference Manual, "The Error Log"; MariaDB knowledge base, "Error Log". Capture: `cat /var/log/mysql/error.log`.

    2026-11-21T05:58:39.123456Z 8 [Warning] [MY-010055] [Server] IP address '192.0.2.7' could not be resolved: Name or service not known
    2026-11-21  5:58:39 8 [Warning] IP address '192.0.2.7' could not be resolved: Temporary failure in name resolution
    2026-11-21T05:58:40.000001Z 9 [Note] Aborted connection 9 to db: 'shop' user: 'app' host: '192.0.2.7' (Got timeout reading communication packets)
    161121  5:58:39 [ERROR] /usr/sbin/mysqld: Too many connections

Tables: logs, source mysql, a row for each line: severity as printed, code = MY-010055 (MySQL 8), op = unresolved (the caller's address has
no name), mismatched (its name does not resolve to the address), refused (too many connections, host blocked), aborted, denied, started,
shutdown; peer_ip, client_host, service = database of an aborted connection. Clock: wall-utc where the stamp ends in Z or an offset, else
wall-local. Traps: the number in front of the level is a connection or thread of the server, not a process, and is not stored. `could not be
resolved` is printed after the look-up failed, and once for each address while the host cache has it; the log does not say how long the
look-up took. Lines of a crash report and of other programs (mysqld_safe) have another shape: unknown. Lines that begin with a tab
belong to the message above: read but not stored. Known gaps: JSON sink of MySQL 8, the general query log, translated messages.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import stamp_falls
from parsers.clocks.yearless import clock_seconds, day_seconds
from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.repair.rewrap import PASTE, rejoin
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, span_s

LINE = (
    r"^(?:[A-Za-z0-9_.-]{1,60} +\| )?([0-9]{2,4})-?([0-9]{2})-?([0-9]{2})[T ] ?([0-9]{1,2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,6})?)(Z|[+-][0-9]{2}:[0-9]{2})? "
    r"(?:[0-9]+ )?\[(Note|Warning|ERROR|Error|System)\] (?:\[([A-Z]{2}-[0-9]{6})\] )?(?:\[[A-Za-z_ ]+\] )?(.*)$"
)
FORMAT = Format(
    kind="mysql", variant="log", version="1", systems=("linux", "solaris", "aix", "freebsd", "macos", "windows"), tables=("logs",),
    man="MySQL Reference Manual, The Error Log", example="cat /var/log/mysql/error.log", clocks=("wall-utc", "wall-local"), own=LINE,
)  # fmt: skip
_LINE = re.compile(LINE)
_NAMES = ["year", "mon", "day", "h", "m", "s", "zone", "severity", "code", "text"]
_OPS = (
    ("unresolved", r"^IP address '[^']*' could not be resolved"),
    ("mismatched", r"^(?:Hostname|Host name) '[^']*' (?:does not resolve to|could not be resolved)"),
    ("refused", r"Too many connections|Host '[^']*' is blocked because of many connection errors"),
    ("aborted", r"^Aborted connection "),
    ("denied", r"^Access denied for user "),
    ("started", r"ready for connections"),
    ("shutdown", r": Normal shutdown$|: Shutdown complete(?:$|[ .])|Received SHUTDOWN"),
)  # fmt: skip
VERSION = r"^(?:[A-Za-z0-9_.-]{1,60} +\| )?Version: '[^']*'  socket: "
"""Line with the version that follows `ready for connections`."""
_HOST = r"(?:^IP address|does not resolve to|\bhost:|\bHost|^Access denied for user '[^']*'@) ?'([^']+)'"
_IP = r"^[0-9a-fA-F:.]*[0-9a-fA-F]{1,4}[:.][0-9a-fA-F:.]+$"


def claim(head: Head) -> Claim | None:
    """Claim if at least 40 % of the lines have a stamp and a level in brackets."""
    if not any(level in head.text for level in ("[Note]", "[Warning]", "[ERROR]", "[System]")):
        return None
    count, fraction = share(Head([x for x in head.lines if not x.startswith("\t")]), _LINE)
    return (
        Claim(min(0.95, 0.6 + 0.35 * fraction), f"{count} lines of an error log of MySQL", "log")
        if count and fraction >= 0.4
        else None
    )


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps whether the stamps are UTC and whether a message may continue."""
    for frame in source.frames(PASTE):
        lines = rejoin(frame, source, out, f"{LINE}|{VERSION}")
        out.read(lines.filter(pl.col("line").str.contains(VERSION))["line_no"])
        groups = pl.col("line").str.extract_groups(LINE).struct.rename_fields(_NAMES)
        every = lines.with_columns(g=groups).unnest("g")
        # Lists of Galera continue below their message, each line after a tab.
        below = pl.col("line").str.starts_with("\t")
        open_ = every.select(
            pl.when(~below).then(pl.col("text").is_not_null()).forward_fill().fill_null(bool(state.get("open")))
        ).to_series()
        state["open"] = bool(open_[-1]) if len(open_) else state.get("open", False)
        out.read(every.filter(open_ & every["line"].str.starts_with("\t"))["line_no"])
        rows = every.filter(pl.col("text").is_not_null())
        if rows.is_empty():
            continue
        state.setdefault("utc", rows["zone"][0] is not None)
        year = pl.col("year").cast(pl.Int32, strict=False)
        # Years of two digits are from 5.5 and before, whose logs are all later than 2000.
        day = day_seconds(pl.when(year < 100).then(year + 2000).otherwise(year), pl.col("mon"), pl.col("day"))
        # The first stamp decides whether times are UTC; a stamp of the other sort would be hours off and gives no time.
        same = pl.col("zone").is_not_null() == state["utc"]
        rows = rows.with_columns(t_local=pl.when(same).then(day + clock_seconds() - _offset()))
        stamp_falls.remark(rows, out, state)
        begin, end = span_s(rows["t_local"])
        if begin is not None:
            kind, zone = ("wall-utc", "UTC") if state["utc"] else ("wall-local", source.hints.tz)
            out.domain(Domain(1, kind, WALL_BASE, zone, begin, end, [line_span(rows)]))
        out.add("logs", _log_rows(rows))
    return state


def _offset() -> pl.Expr:
    zone = pl.col("zone")
    sign = pl.when(zone.str.starts_with("-")).then(-1.0).otherwise(1.0)
    hours, minutes = (zone.str.extract(r"([0-9]{2}):([0-9]{2})", n).cast(pl.Float64) for n in (1, 2))
    return (sign * (hours * 3600 + minutes * 60)).fill_null(0.0)


def _log_rows(rows: pl.DataFrame) -> pl.DataFrame:
    text, host = pl.col("text"), pl.col("text").str.extract(_HOST).replace("connecting host", None)
    op = pl.lit(None, pl.String)
    for name, pattern in reversed(_OPS):
        op = pl.when(text.str.contains(pattern)).then(pl.lit(name)).otherwise(op)
    return rows.select(
        "line_no",
        "line_end",
        "t_local",
        "severity",
        "code",
        "text",
        source=pl.lit("mysql"),
        op=op,
        ok=pl.when(op.is_in(["refused", "denied"])).then(pl.lit(False)),
        peer_ip=pl.when(host.str.contains(_IP)).then(host),
        client_host=pl.when(~host.str.contains(_IP)).then(host),
        service=text.str.extract(r"^Aborted connection [0-9]+ to db: '([^']+)'").replace("unconnected", None),
    )

r"""Listings of Oracle's dynamic views printed by SQL*Plus, sqlcl or as a grid; all versions.
Views: v$session, v$process, v$resource_limit, v$system_event, v$event_histogram, v$sys_time_model, v$osstat.
Source: Database Reference, dynamic performance views.

    RESOURCE_NAME        CURRENT_UTILIZATION MAX_UTILIZATION LIMIT_VALUE
    -------------------- ------------------- --------------- -----------
    processes                            148             300         300
     342 DIAG idle wait                      oracle@db1 (DIA0)             2817     ACTIVE   CDB$ROOT

Tables: sessions, resource_use (scope oracle), db_waits, hist, counters (grp time_model and os_stats since the instance started; grp
sessions, name count: the number of sessions with the same user, machine, event ..., which is the item). Clock: none.
Traps: the author of the query chooses the columns; linesize wraps them onto further lines; headings are repeated on each page or missing.
Rows without headings are read where their contents identify the columns (with a note). TIME_WAITED and AVERAGE_WAIT are hundredths of a
second, TIME_WAITED_MICRO is microseconds; the time model counts microseconds, unless its heading names seconds. Sessions counted by event
are not waits. Parallel slaves show a stale event while INACTIVE. UNLIMITED is not a number (NULL). Known gaps: histogram cells
of a listing without headings; columns that no table has.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.oracle.shared import sqlplus
from parsers.formats.oracle.shared.figures import figure, seconds
from parsers.tables.rows import Domain, State, Tables
from parsers.tables.schema import schema
from parsers.text.source import Head, Source

_STATES = "ACTIVE|INACTIVE|KILLED|SNIPED|CACHED"
_SESSION_ROW = rf"^\s*([0-9]+)\s+(\S.*?)\s{{2,}}(\S+@\S+(?: \([^)]*\))?)\s+([0-9]+)\s+({_STATES})\b"
_WAIT_ROW = (
    r"^\s*(?:[A-Z]\s+)?([A-Za-z][^|]*?)\s{2,}(Other|User I/O|System I/O|Idle|Concurrency|Application|Configuration|Commit|Network|Cluster"
    r"|Administrative|Scheduler|Queue\S*)\s+([0-9][0-9,]*)\s+(?:[0-9.]+%\s+)?([0-9.]+(?:us|ms|s|m|h))\s+([0-9.]+)%\s+([0-9.]+(?:us|ms|s|m|h))\b"
)
_HEADS = r"(?i)\b(?:(?:RESOURCE_NAME|TOTAL_WAITS|CURRENT_UTILIZATION|WAIT_TIME_MILLI|TIME_WAITED(?:_MICRO)?)\b|SERIAL#)"
FORMAT = Format(
    kind="awr", variant="listing", version="4", systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("sessions", "resource_use", "db_waits", "hist", "counters"), man="Oracle Database Reference, dynamic performance views",
    example="select resource_name, current_utilization, max_utilization, limit_value from v$resource_limit",
    own=(
        rf"{_SESSION_ROW}|{_WAIT_ROW}|^.*\b(?:RESOURCE_NAME|TOTAL_WAITS|CURRENT_UTILIZATION|WAIT_TIME_MILLI|TIME_WAITED|STAT_NAME)\b|\bSID\b.*\b(?:SERIAL#|EVENT\b)"
        r"|\bEVENT\b.*\bSECONDS_IN_WAIT\b"
        r"|^[^a-z]*\b(?:USERNAME|OSUSER|MACHINE)\b[^a-z]*\b(?:OSUSER|MACHINE|PROGRAM|STATUS|COUNT)\b[^a-z]*$"
        r"|^ *[-| ]{20,}$|^\+[-=][-=+]{8,}\+?$|^\|? *(?:[a-z_]{4,30}|[A-Za-z*: ]{4,60})(?:(?: *\|)? +[0-9]+){2,}"
    ),
)  # fmt: skip

_OF_AIX = re.compile(r"[ \t]*IDENTIFIER[ \t]+TIMESTAMP[ \t]+T[ \t]+C[ \t]+RESOURCE_NAME\b")
"""Heading of the summary that errpt of AIX prints, which has a column of the name of a dynamic view's."""
_HEAD_WORDS = ("RESOURCE_NAME", "TOTAL_WAITS", "CURRENT_UTILIZATION", "WAIT_TIME_MILLI", "TIME_WAITED", "SERIAL#")
_KEYS = ("ACTIVE ", "KILLED", "RESOURCE_NAME", "TOTAL_WAITS", "WAIT_TIME_MILLI", "TIME_WAITED", "SERIAL#", "SQL*Net", "db file ", "latch", "log file ",
         "PX Deq", "STAT_NAME", "USERNAME", "MACHINE", "PROGRAM", "EVENT", "v$session", "V$SESSION")  # fmt: skip
"""Texts of which every such listing has at least one; a quick test that rejects most heads."""
_SESSION = {
    "db_user": ("USERNAME", "USER", "SCHEMANAME", "SCHEMA"), "program": ("PROGRAM",), "machine": ("MACHINE", "HOST"), "state": ("STATUS", "STATE"),
    "event": ("EVENT", "WAIT_EVENT"), "logon_text": ("LOGON_TIME", "LOGON"), "wait_class": ("WAIT_CLASS",),
}  # fmt: skip
_SESSION_NUMBERS = {
    "sid": ("SID",),
    "serial": ("SERIAL#", "SERIAL"),
    "spid": ("SPID", "OSPID"),
    "last_call_s": ("LAST_CALL_ET",),
    "wait_s": ("SECONDS_IN_WAIT", "WAIT_SECS"),
    "blocked_by": ("BLOCKING_SESSION", "BLOCKING_SID", "FINAL_BLOCKING_SESSION"),
}
_EVENT = ("EVENT", "EVENT_NAME", "WAIT_EVENT", "EVENT NAME", "NAME", "WAIT EVENT", "NAM")
_COUNT = ("TOTAL_WAITS", "WAITS", "COUNT", "WAIT_COUNT", "TOTAL WAITS", "CNT", "CALLS", "N")
_WHO = (
    "USERNAME",
    "OSUSER",
    "MACHINE",
    "PROGRAM",
    "MODULE",
    "SCHEMANAME",
    "SERVICE_NAME",
    "STATUS",
    "EVENT",
    "WAIT_CLASS",
    "TYPE",
    "SERVER",
)
_COUNTED = ("COUNT(*)", "COUNT(1)", "COUNT(SID)", "COUNT", "CNT", "SESSIONS", "NUM_SESSIONS", "TOTAL", "QTY")
_OF_WAIT = frozenset((
    "P1", "P1RAW", "P1TEXT", "P2", "SEQ#", "STATE", "WAIT_TIME", "SECONDS_IN_WAIT", "WAIT_CLASS", "BLOCKING_SESSION",
    "FINAL_BLOCKING_SESSION", "SQL_ID", "SECONDS", "USERNAME",
))  # fmt: skip
"""Headings of which one beside SID and EVENT identifies a listing of session waits."""
_WAITING = frozenset(("EVENT", "STATE", "SECONDS_IN_WAIT"))
"""Headings that identify a session wait without SID, where the query selected one session."""
_VALUE = (
    ("TIME_MICRO_S", 1e-6),
    ("MICROSECONDS", 1e-6),
    ("VALUE", 1e-6),
    ("SECONDS", 1.0),
    ("TIME_SECOND", 1.0),
    ("TIME_S", 1.0),
    ("SEC", 1.0),
)
_TOTALS = (("TIME_WAITED_MICRO", 1e-6), ("TIME_WAITED", 1e-2), ("TIME(S)", 1.0), ("SECONDS", 1.0), ("TIME_S", 1.0))


_ROW = re.compile(f"{_SESSION_ROW}|{_WAIT_ROW}").match


def claim(head: Head) -> Claim | None:
    """Claim by headings of dynamic views, by rows of sessions or waits without headings, or by a grid of wait events."""
    text = head.text
    if not head.any_of(_KEYS):
        return None
    bare = any(_ROW(line) for line in head.spread)
    rows = sum(1 for line in head.lines if bare and ("@" in line or "%" in line) and _ROW(line))
    filled = sum(1 for line in head.lines if line.strip())
    if rows > 1 and rows * 2 > filled:
        return Claim(0.9, f"{rows} rows of sessions or waits without headings", "listing")
    upper = text.upper()
    headings = head.fitting(_HEADS) if any(word in upper for word in _HEAD_WORDS) else []
    headings = [line for line in headings if not _OF_AIX.match(line)]
    if headings and re.search(r"(?m)^[ |+]*-{2,}", text):
        if re.search(r"(?i)\bRESOURCE_NAME\b|TOTAL_WAITS|WAIT_TIME_MILLI|TIME_WAITED", headings[0]):
            return Claim(0.93, "headings of a dynamic view", "listing")
        if any(re.search(r"(?i)\bSID\b.*\bSERIAL#", line) for line in headings):
            return Claim(0.93, "headings of v$session", "listing")
    if reason := _headed(head):
        return Claim(0.9, reason, "listing")
    grid = [line for line in head.lines if line.startswith(("|", "+--", "+=="))]
    if (
        len(grid) > 3
        and len(grid) * 2 > filled
        and re.search(r"SQL\*Net message|db file (?:sequential|scattered) read|log file sync", text)
    ):
        return Claim(0.85, "a grid of wait events", "listing")
    return None


def _headed(head: Head) -> str | None:
    """Return the reason of a claim by headings over dashes of v$sys_time_model, v$osstat or v$session; None if there are none."""
    if not head.any_of(("STAT_NAME", "MACHINE", "PROGRAM", "OSUSER", "v$session", "V$SESSION", "EVENT")):
        return None
    for line, under in pairwise(head.lines):
        if "--" not in under or not sqlplus.DASHES.match(under):
            continue
        words = set(line.upper().replace("|", " ").split())
        if "STAT_NAME" in words and re.search(r"\bDB (?:time|CPU)\b|\bNUM_CPUS\b|\bBUSY_TIME\b", head.text):
            return "headings of v$sys_time_model or v$osstat"
        if words >= _WAITING or ({"SID", "EVENT"} <= words and words & _OF_WAIT):
            return "headings of v$session_wait"
        who = words & set(_WHO)
        if len(who) < 3 and not (who and words & set(_COUNTED)):
            continue
        if words & {"MACHINE", "PROGRAM", "OSUSER"} or head.shows(r"(?i)\bg?v\$session\b"):
            return "headings of v$session"
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open row with its headings, and whether the remark on missing headings was written."""
    reader = _Reader(out, state)
    for block in source.blocks():
        for line_no, line in block.frame.rows():
            reader.feed(line_no, line)
        reader.flush()
    if source.last:
        reader.take(reader.listing.end())
    elif reader.listing.awaits_more(*_EVENT, "RESOURCE_NAME", "SID", "SERIAL#", "STAT_NAME", *_WHO):
        reader.plain += reader.listing.open_lines
    reader.flush()
    if source.next_line > source.first_line:
        out.domain(Domain(1, "none", lines=[(source.first_line, source.next_line - 1)]))
    return state | {"listing": asdict(reader.listing), "pipes": reader.pipes, "told": reader.remarked}


class _Reader:
    """Reader of lines; it collects rows by table until `flush`."""

    def __init__(self, out: Tables, state: State) -> None:
        self.out = out
        saved = state.get("listing", {})
        above = saved.get("above")
        self.listing = sqlplus.Listing(
            [[(h, a, b) for h, a, b in line] for line in saved.get("heads", [])], [(n, t) for n, t in saved.get("held", [])],
            (above[0], above[1]) if above else None, saved.get("fresh", False),
            tuple(saved["before"]) if saved.get("before") else None,
        )  # fmt: skip
        self.pipes: list[str] = state.get("pipes", [])
        self.remarked: bool = state.get("told", False)
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.plain: list[int] = []

    def add(self, table: str, line_no: int, line_end: int, **cells: Any) -> None:
        self.rows.setdefault(table, []).append({"line_no": line_no, "line_end": line_end, **cells})

    def flush(self) -> None:
        self.out.read(self.plain)
        for table, rows in self.rows.items():
            columns = schema(table)
            names = dict.fromkeys(k for r in rows for k in r)
            # A number outside a column's range becomes unknown.
            cells = {c: [r.get(c) for r in rows] for c in names}
            self.out.add(table, pl.DataFrame(cells, schema={c: columns[c] for c in names}, strict=False))
        self.rows, self.plain = {}, []

    def feed(self, line_no: int, line: str) -> None:
        if not self.listing.heads and not self.pipes and self.bare(line_no, line):
            return
        if re.match(r"^\s*\+[-=+]{3,}$", line):
            self.plain.append(line_no)
            return
        if line.lstrip().startswith("|") and not sqlplus.DASHES.match(line):
            self.grid(line_no, line)
            return
        self.take(self.listing.feed(line_no, line))

    def bare(self, line_no: int, line: str) -> bool:
        """Read a row without headings whose contents identify its columns; return whether it is one."""
        if match := re.match(_SESSION_ROW, line):
            self.remark_once(line_no, "no headings: sid, event, program, process and state were told by their contents")
            self.add(
                "sessions",
                line_no,
                line_no,
                sid=int(match[1]),
                event=match[2],
                program=match[3],
                spid=int(match[4]),
                state=match[5],
            )
            return True
        if match := re.match(_WAIT_ROW, line):
            self.remark_once(
                line_no,
                "no headings: event, class, waits, time, share and average were told by their units; other cells are not read",
            )
            n, total, average = figure(match[3]), seconds(match[4]), seconds(match[6])
            self.add("db_waits", line_no, line_no, event=match[1], wait_class=match[2], n=None if n is None else int(n), total_s=total,
                     pct=figure(match[5]), avg_ms=None if average is None else round(average * 1000, 9))  # fmt: skip
            return True
        return False

    def remark_once(self, line_no: int, text: str) -> None:
        if not self.remarked:
            self.out.note(line_no, line_no, "remark", text)
        self.remarked = True

    def grid(self, line_no: int, line: str) -> None:
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if {c.upper() for c in cells} & {*_EVENT, "RESOURCE_NAME", "SID"}:
            self.pipes = [c.upper() for c in cells]
            self.plain.append(line_no)
        elif self.pipes and len(cells) == len(self.pipes):
            self.row(sqlplus.Cells(line_no, line_no, dict(zip(self.pipes, (c or None for c in cells), strict=True))))
        elif not self.pipes and len(cells) == 2 and (value := figure(cells[1])) is not None and cells[0]:
            self.remark_once(line_no, "no headings and no unit: the second cell is taken for microseconds")
            self.add("db_waits", line_no, line_no, event=cells[0], total_s=round(value * 1e-6, 6))

    def take(self, got: tuple[list[sqlplus.Cells], list[int]]) -> None:
        self.plain += got[1]
        for row in got[0]:
            self.row(row)

    def row(self, row: sqlplus.Cells) -> None:
        of = row.of
        if any(" " in name for name in of):
            # Headings of two lines are joined with a blank: `CURRENT` above `UTILIZATION`.
            of = {**{name.replace(" ", "_"): cell for name, cell in of.items()}, **of}

        def first(names: tuple[str, ...]) -> str | None:
            return next((of[n] for n in names if of.get(n)), None)

        span = (row.line_no, row.line_end)
        if "RESOURCE_NAME" in of:
            used, peak, limit = (
                figure(first(n))
                for n in (
                    ("CURRENT_UTILIZATION", "CURRENT_UTIL"),
                    ("MAX_UTILIZATION", "MAX_UTIL"),
                    ("LIMIT_VALUE", "LIMIT_VALU", "LIMIT"),
                )
            )
            self.add(
                "resource_use", *span, scope="oracle", name=of["RESOURCE_NAME"], used=used, peak=peak, limit_num=limit
            )
        elif "WAIT_TIME_MILLI" in of:
            hi = figure(of["WAIT_TIME_MILLI"])
            lo = None if hi is None else 0.0 if hi <= 1 else hi / 2
            self.add(
                "hist",
                *span,
                agg="wait_event",
                key1=first(_EVENT),
                lo=lo,
                hi=hi,
                unit="ms",
                n=figure(first(("WAIT_COUNT", "COUNT"))),
                cumulative=False,
            )
        elif "STAT_NAME" in of:
            self.statistic(span, of)
        elif (
            (counted := first(_COUNTED)) is not None
            and "SID" not in of
            and set(of) <= {*_WHO, *_COUNTED, "INST_ID"}
            and len(of) > 1
        ):
            item = " ".join(c for h, c in of.items() if c and h not in _COUNTED)
            number = figure(counted)
            if number is not None:
                self.add("counters", *span, grp="sessions", item=item, name="count", value=number, mode="level")
        elif any(n in of for n in ("SID", "SPID", "SERIAL#", "MACHINE", "OSUSER")) or set(of) >= _WAITING:
            numbers = {c: figure(first(names)) for c, names in _SESSION_NUMBERS.items()}
            client = first(("PROCESS", "CLIENT_PID"))
            pid = None if client is None else figure(client.split(":")[0])
            cells: dict[str, Any] = {c: first(names) for c, names in _SESSION.items()}
            cells |= {
                c: None if v is None else v if c in ("last_call_s", "wait_s") else int(v) for c, v in numbers.items()
            }
            self.add("sessions", *span, client_pid=None if pid is None else int(pid), **cells)
        elif (event := first(_EVENT)) is not None:
            self.wait(span, event, of, first)
        else:
            return

    def statistic(self, span: tuple[int, int], of: dict[str, str | None]) -> None:
        """Add a row of v$osstat, or of v$sys_time_model in microseconds or in the unit of its heading."""
        name = (of["STAT_NAME"] or "").strip()
        value, unit = next(((v, u) for n, u in _VALUE if (v := figure(of.get(n))) is not None), (None, 1.0))
        if not name or value is None:
            return
        if re.fullmatch(r"[A-Z0-9_]+", name):
            self.add("counters", *span, grp="os_stats", name=name, value=value, mode="total", first=True)
        else:
            self.add(
                "counters",
                *span,
                grp="time_model",
                name=name,
                value=round(value * unit, 6),
                unit="s",
                mode="total",
                first=True,
            )

    def wait(self, span: tuple[int, int], event: str, of: dict[str, str | None], first: Any) -> None:
        count = figure(first(_COUNT))
        total = next((value * unit for name, unit in _TOTALS if (value := figure(of.get(name))) is not None), None)
        if total is None:
            # The heading of the time has no unit: the tools for trace files that print such grids count microseconds.
            named = next(
                (
                    n
                    for n in of
                    if n
                    in (
                        "ELAPSED",
                        "TOTAL",
                        "TIME",
                        "ELA",
                        "SUM",
                        "TOTAL TIME",
                        "TOTAL_TIME",
                        "MICROSECONDS",
                        "TOTAL(US)",
                    )
                    and figure(of[n]) is not None
                ),
                None,
            )
            if named is not None:
                total = (figure(of[named]) or 0.0) * 1e-6
                self.remark_once(span[0], f"{named.lower()} has no unit: taken for microseconds")
        if count is None and total is None:
            return
        value = figure(of.get("AVERAGE_WAIT"))
        avg = total / count * 1000 if total is not None and count else None if value is None else value * 10
        self.add("db_waits", *span, event=event, wait_class=first(("WAIT_CLASS", "CLASS")), n=None if count is None else int(count),
                 total_s=None if total is None else round(total, 6), avg_ms=None if avg is None else round(avg, 6))  # fmt: skip

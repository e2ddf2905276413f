r"""Sessions of PostgreSQL: pg_stat_activity printed by psql, aligned, expanded (`\x`), unaligned or CSV; all versions since 9.0.
Source: PostgreSQL documentation, "The Cumulative Statistics System", pg_stat_activity; psql, `\pset format`.

     pid  | usename | application_name | client_addr |       state        | wait_event_type |  wait_event
    ------+---------+------------------+-------------+--------------------+-----------------+---------------
     4711 | app     | orders           | 192.0.2.7   | active             | Lock            | transactionid
    (1 row)

    -[ RECORD 1 ]----+------------------------------
    pid              | 4711
    wait_event       | transactionid

Tables: sessions: sid and spid = pid (one process for each session), db_user = usename, db_name = datname, program = application_name, machine =
client_hostname or client_addr, state, event = wait_event_type:wait_event (`Lock:transactionid`; before 9.6 `waiting` = t gives `Lock:`),
logon_text = backend_start, last_call_s = the age of the state or of the statement where the query computes it (`now() - state_change as state_age`),
xmin = backend_xmin, xact_text = xact_start, verb = the first words of the query, blocked_by = the first of pg_blocking_pids or the
blocking_pid of the lock monitoring queries; logs: messages of the server between two listings (INFO, DETAIL ... of a vacuum).
Clock: none. Traps: a listing shows one instant; an idle session waits for its client (Client:ClientRead),
background processes wait for work (Activity:...) and have no state; the author of the query chooses the columns, and others are read but
not stored; a cell that continues on the next line ends with `+`. The lock monitoring queries (`blocked_pid`, `blocking_pid`) give the
blocked session, event `Lock:`. The age of a transaction is not stored, because it is not that of the last call.
Known gaps: HTML and LaTeX output; other aliases of columns; intervals of another style than `postgres`.
"""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from parsers.columns.small_texts import Rows, by_lines, whole
from parsers.columns.statement_verbs import verb
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

NAMES = (
    "datid", "datname", "pid", "procpid", "leader_pid", "usesysid", "usename", "application_name", "client_addr", "client_hostname", "client_port",
    "backend_start", "xact_start", "query_start", "state_change", "waiting", "wait_event_type", "wait_event", "state", "backend_xid",
    "backend_xmin", "query_id", "query", "current_query", "backend_type",
)  # fmt: skip
OWN_NAMES = frozenset(NAMES) - {"pid", "query", "state", "waiting", "query_id"}
"""Names of columns that no other tool has as headings."""
RULE = r"^ *\|?-+(?:[+|]-+)+\|?$"
RECORD = r"^(?:-\[ RECORD [0-9]+ \]-*\+?-*|\* ?Record [0-9]+)$"
FOOTER = r"^ *\([0-9]+ (?:rows?|Zeilen?|lignes?|filas?|linhas?|registros?|righe|riga|行|строк[аи]?|rad(?:er)?|wiersz[ye]?|개 행|rij(?:en)?)\)$"
MESSAGE = r"^(INFO|NOTICE|WARNING|ERROR|FATAL|DETAIL|HINT|CONTEXT):  (\S.*)$"
TAG = r"^(?:VACUUM|ANALYZE|REINDEX|BEGIN|COMMIT|ROLLBACK|SET|CPU: user: .*)$"
"""Line that psql prints for a command that returns no rows, and the times below its vacuum."""

_NAME = "|".join(NAMES)
_LOCKS = r"^[| ]*block(?:ed|ing)_pid *\|.*\bblock(?:ed|ing)_pid\b"
FORMATS = tuple(
    Format(
        kind="postgres", variant=variant, version="2", systems=("linux", "solaris", "aix", "hpux", "windows", "macos", "freebsd"),
        tables=("sessions", "logs"), man="PostgreSQL documentation, pg_stat_activity", example=example, own=own,
    )
    for variant, example, own in (
        ("activity", 'psql -c "select * from pg_stat_activity"', rf"^ *(?:{_NAME}) *[|,].*\b(?:{_NAME})\b|{_LOCKS}|{RULE}|{FOOTER}|^ .* \| |{MESSAGE}"),
        ("activity_expanded", 'psql -x -c "select * from pg_stat_activity"', rf"{RECORD}|^(?:{_NAME}) *\|"),
    )
)  # fmt: skip
_BLOCKED = {
    "blocked_pid": "pid", "blocked_user": "usename", "blocked_state": "state", "blocked_application": "application_name",
    "blocked_application_name": "application_name", "blocked_app": "application_name", "blocked_statement": "query", "blocked_query": "query",
}  # fmt: skip
_BLOCKERS = ("blocking_pid", "blocked_by", "pg_blocking_pids", "blocking_pids", "blockers")
"""Names that people give to the processes for which a session waits."""

_STATE_AGES = (
    "state_age",
    "state_duration",
    "state_time",
    "idle_for",
    "idle_time",
    "idle_age",
    "idle_duration",
    "since_state_change",
)
_QUERY_AGES = (
    "query_age",
    "query_duration",
    "query_time",
    "query_runtime",
    "duration",
    "runtime",
    "run_time",
    "running_for",
    "running_since",
    "age",
    "dur",
)
"""Names that people give to `now() - state_change` and `now() - query_start`."""

_INTERVAL = re.compile(
    r"(?:(?P<years>[0-9]{1,3}) years? )?(?:(?P<mons>[0-9]{1,2}) mons? )?(?:(?P<days>[0-9]{1,5}) days? ?)?"
    r"(?P<h>[0-9]{1,6}):(?P<m>[0-5][0-9]):(?P<s>[0-5][0-9](?:\.[0-9]{1,6})?)"
)
_DAYS = {"years": 365.25, "mons": 30.0, "days": 1.0}
_PAIR = re.compile(rf"^({_NAME}) *\| ?(?![^|]*\|)")
_RECORD, _RULE, _FOOTER = re.compile(RECORD), re.compile(RULE), re.compile(FOOTER)


def claim(head: Head) -> Claim | None:
    """Claim by headings of the view: the process, and two names that only this view has."""
    text = head.text
    if "pid" not in text or not any(
        name in text
        for name in (
            "wait_event",
            "usename",
            "datname",
            "backend_start",
            "application_name",
            "client_addr",
            "blocking_pid",
        )
    ):
        return None
    pairs = [m[1] for x in head.lines if (m := _PAIR.match(x))]
    if any(_RECORD.match(x) for x in head.lines) or (
        _is_view(set(pairs)) and pairs[0] == head.lines[0].split("|")[0].strip()
    ):
        names_of_records = {m[1] for x in head.lines if (m := re.match(r"^([a-z_]+) *\|", x))}
        return Claim(0.95, "records of pg_stat_activity", "activity_expanded") if _is_view(names_of_records) else None
    for line in head.lines[:40]:
        if (names := _headings(line)) is not None:
            return Claim(0.95, f"headings of pg_stat_activity: {len(names)} columns", "activity")
    return None


def _is_view(names: set[str]) -> bool:
    return (bool(names & {"pid", "procpid"}) and len(names & OWN_NAMES) >= 2) or names >= {
        "blocked_pid",
        "blocking_pid",
    }


def _headings(line: str) -> list[str] | None:
    """Return the column names of a heading with any separator; None for any other line."""
    if "pid" not in line:
        return None
    sign = _sign(line)
    names = [x.strip().strip('"').lower() for x in line.split(sign)]
    return names if _is_view(set(names)) else None


def _sign(line: str) -> str:
    return "|" if "|" in line else "\t" if "\t" in line else ","


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the headings, their separator, and an open record."""
    return by_lines(source, out, state, _expanded if state["variant"] == "activity_expanded" else _listed, _close)


def _listed(line_no: int, line: str, rows: Rows, plain: list[int], state: State) -> None:
    """Read a line of an aligned, unaligned or CSV listing."""
    if state.get("quote") is not None:
        # A CSV cell (the query) continues until its quote is closed.
        plain.append(line_no)
        state["quote"] += line.count('"')
        state["quote"] = None if state["quote"] % 2 == 0 else state["quote"]
        return
    if _message(line_no, line, rows, plain):
        return
    if (names := _headings(line)) is not None:
        state |= {"names": names, "sign": _sign(line)}
        plain.append(line_no)
        return
    if "names" not in state:
        return
    if _RULE.match(line) or _FOOTER.match(line):
        plain.append(line_no)
        return
    cells = _cells(line, state["sign"])
    if state["sign"] == "," and line.count('"') % 2:
        state["quote"] = line.count('"')
    many = len(cells) - len(state["names"])
    if (many < 0 and state.get("quote") is None) or (many > 0 and state["names"][-1] not in ("query", "current_query")):
        return  # a separator inside a cell: only the last cell may contain it
    of = dict(zip(state["names"], cells, strict=False))
    _of_blocked(of)
    pid = whole(of.get("pid") or of.get("procpid"))
    if pid is not None:
        rows.add("sessions", line_no, line_end=line_no, **_session(pid, of))
    elif not (of.get("pid") or of.get("procpid")) and state["sign"] == "|":
        plain.append(line_no)  # a cell above continues here


def _cells(line: str, sign: str) -> list[str]:
    if sign != ",":
        return [x.strip() for x in line.split(sign)]
    return next(csv.reader(io.StringIO(line)), [])


def _message(line_no: int, line: str, rows: Rows, plain: list[int]) -> bool:
    """Read a message of the server between two listings in a psql session; return whether the line is one."""
    if found := re.match(MESSAGE, line):
        rows.add("logs", line_no, line_end=line_no, source="postgres", severity=found[1], text=found[2])
        return True
    if re.match(TAG, line):
        plain.append(line_no)
        return True
    return False


def _expanded(line_no: int, line: str, rows: Rows, plain: list[int], state: State) -> None:
    """Read a line of an expanded listing: name and value."""
    if _RECORD.match(line):
        _close(rows, state)
        state["record"] = {"lines": [line_no], "of": {}}
        return
    if _message(line_no, line, rows, plain):
        return
    record = state.get("record")
    pair = re.match(r"^([a-z_]*) *\| ?(.*)$", line)
    if pair is None:
        return
    if record is None:
        if _PAIR.match(line) is None:
            return
        record = state["record"] = {"lines": [], "of": {}}  # the line above the record was not pasted
    record["lines"].append(line_no)
    if pair[1]:
        record["of"][pair[1]] = pair[2].strip()


def _close(rows: Rows, state: State) -> None:
    record: dict[str, Any] | None = state.pop("record", None)
    if record is None:
        return
    _of_blocked(record["of"])
    pid = whole(record["of"].get("pid") or record["of"].get("procpid"))
    if pid is not None:
        rows.add("sessions", record["lines"][0], line_end=record["lines"][-1], **_session(pid, record["of"]))


def _of_blocked(of: dict[str, str]) -> None:
    """Rename columns of the wiki's lock monitoring query to those of the view; the blocked session waits for a lock."""
    if "blocked_pid" in of and "pid" not in of:
        of |= {name: of[alias] for alias, name in _BLOCKED.items() if alias in of} | {"waiting": "t"}


def _session(pid: int, of: dict[str, str]) -> dict[str, Any]:
    """Return the columns of a session; empty cells are unknown."""
    kind, event = of.get("wait_event_type") or None, of.get("wait_event") or None
    waits = f"{kind}:{event}" if kind and event else event or ("Lock:" if of.get("waiting") in ("t", "true") else None)
    state = of.get("state") or None
    return {
        "sid": pid, "spid": pid, "db_user": of.get("usename") or None, "db_name": of.get("datname") or None, "program": of.get("application_name") or None,
        "machine": of.get("client_hostname") or of.get("client_addr") or None, "state": state, "event": waits,
        "logon_text": of.get("backend_start") or None, "last_call_s": _last_call_s(of), "xmin": whole(of.get("backend_xmin") or ""),
        "blocked_by": blocker(of), "verb": verb(of.get("query") or of.get("current_query")), "xact_text": of.get("xact_start") or None,
    }  # fmt: skip


def blocker(of: dict[str, str]) -> int | None:
    """Return the number of the first process for which a session waits, None if it waits for none.

    >>> blocker({"blocked_by": "{4711,4712}"}), blocker({"blocked_by": "{}"}), blocker({"pid": "1"})
    (4711, None, None)
    """
    cell = next((of[name] for name in _BLOCKERS if of.get(name)), "")
    return whole(cell.strip("{} ").split(",")[0].strip())


def _last_call_s(of: dict[str, str]) -> float | None:
    """Return for how many seconds an active session has run its statement, or another has been in its state.

    If the query printed only the other age, return that; None without any age.
    """
    names = (*_QUERY_AGES, *_STATE_AGES) if of.get("state") == "active" else (*_STATE_AGES, *_QUERY_AGES)
    return next((age for name in names if (age := seconds_of(of.get(name) or "")) is not None), None)


def seconds_of(interval: str) -> float | None:
    """Return the seconds of an interval in the style `postgres`; None for any other text and for one below 0.

    >>> seconds_of("00:01:02.5"), seconds_of("2 days 01:00:00"), seconds_of("-00:00:01"), seconds_of("12")
    (62.5, 176400.0, None, None)
    """
    found = _INTERVAL.fullmatch(interval.strip())
    if found is None:
        return None
    days = sum(float(found[name] or 0) * of for name, of in _DAYS.items())
    return days * 86400 + float(found["h"]) * 3600 + float(found["m"]) * 60 + float(found["s"])

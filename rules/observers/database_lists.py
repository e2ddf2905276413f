"""What listings of databases and brokers say: who is blocked by whom, ungranted locks, lag, queues, limits, replicas.

A listing is known by the names of its columns, whichever client printed it, as a table or as records. Standing out: locks that
are not granted; sessions that others wait for, with how many and how long; a consumer or replica that lags; entries in a
queue, refused or dropped ones; a limit that was reached to four fifths; tables that a plan reads in full. Normal: limits far
from reached, replicas that run and have applied what they read, empty queues. Idle sessions and background waits are no waits.
Worked example: RESOURCE_NAME processes, MAX_UTILIZATION 209, LIMIT_VALUE 4000: 5.2 % at most, far from its limit.
Cost: the first 20,000 rows of each listing, one pass. Source: the views' columns in the manuals of Oracle Database, MySQL,
PostgreSQL, SQL Server, Kafka, RabbitMQ, Cassandra, Elasticsearch, PgBouncer and HAProxy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from parsers.columns.statement_verbs import verb
from parsers.text.times import wall_seconds
from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.blockers import LOCKED_S, MANY, Waiting, chains, of_tables
from rules.observers.near_limit import UNLIMITED
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen, recognise

OBSERVER = Observer(
    "database-lists",
    "Who waits for whom, and what lags, in listings of a database or broker?",
    ("rows", "resource_use"),
    {
        "*": "the sessions that wait and those that block them, with statements and start of their transactions, at one moment"
    },
)

MOST_ROWS = 20_000
"""Maximum number of rows that are looked at: a listing that people paste has fewer."""

TOLD = 3
"""Number of rows of a kind that are told, the largest first."""

CITED = 10
"""Maximum number of lines that are cited of rows that are alike."""

NEAR = 0.8
"""Part of a limit from which it is nearly used up."""

LAG_S = 1.0
"""Minimum lag of a replica in seconds: less is the resolution of its clock."""

LAG_BYTES = 1024.0
"""Minimum bytes that a replica has read and not applied: less is one transaction under way."""

LAG_MESSAGES = 1000.0
"""Minimum number of messages from which a lag is not what arrives between two commits."""

LATE_S = 60.0
"""Lag of a replica in seconds from which those who read there see old rows, whatever it is read for."""

LATE_BYTES = 2.0**30
"""Bytes that a standby has not applied from which it is late: at 100 MB/s it takes ten seconds to catch up."""

STUCK_MESSAGES = 100_000.0
"""Number of messages behind from which a partition or queue does not catch up between two looks."""

UNREAD_PART = 0.1
"""Part of all messages that a partition ever had from which its consumer is late, however few they are."""

MANY_WAIT = 10.0
"""Minimum number of sessions or samples of a count of waits: of fewer, one is much by chance."""

DEAD = 100_000.0
"""Minimum number of dead rows of a table that are worth a word: autovacuum leaves a fifth of a small one."""

LEADS = 0.6
"""Share of a queue or lag whose listing says by itself what it waits for."""

SCAN_ROWS = 1000.0
"""Minimum number of rows that a full read examines to be worth a word."""

FELT_ROWS = 1e6
"""Number of rows that a full read of a table is felt by: a server of databases examines some hundred thousand to some
million rows a second in one thread, and waits for the disk besides."""

LONGEST_S = 3650 * 86400.0

WAITS_FOR = {
    "blocking_session",
    "blocked_by",
    "blocking_pid",
    "blocking_pids",
    "blocking_session_id",
    "blkby",
    "blk_by",
    "blk_spid",
    "final_blocking_session",
    "blocking_trx_id",
    "blocking_engine_transaction_id",
    "blocker",
    "blocker_sid",
    "holding_session",
    "pg_blocking_pids",
    "blocked",
}
"""Columns that name the session that another waits for (sp_who: Blk; sysprocesses: blocked)."""

WAITS = ("event", "wait_event", "wait_type", "waittype", "lastwaittype", "event_name")
WHO = (
    "sid",
    "session_id",
    "spid",
    "pid",
    "blocked_pid",
    "waiting_pid",
    "waiting_session",
    "blocked_session",
    "requesting_trx_id",
    "id",
    "requesting_engine_transaction_id",
    "owner_thread_id",
    "holding_sid",
)
SECONDS = (
    "seconds_in_wait",
    "wait_secs",
    "blocked_duration",
    "wait_age_secs",
    "last_call_et",
    "seconds",
    "time",
    "wait_seconds",
    "duration_s",
    "waited",
    "wait_age",
    "wait_duration",
    "waiting_for",
    "blocked_for",
    "dur",
    "duration",
    "age",
    "query_age",
    "runtime",
    "run_time",
)
STATEMENTS = (
    "query",
    "statement",
    "q",
    "sql_text",
    "current_query",
    "blocked_query",
    "blocked_statement",
    "waiting_query",
    "waiting_statement",
    "info",
    "current_statement",
    "text",
    "sql",
)
"""Columns that hold a statement, whole or its beginning."""
MILLIS = ("wait_time_ms", "wait_duration_ms", "waittime", "total_elapsed_time", "wait_time")
LOCKED = (
    "relation",
    "object_name",
    "table_name",
    "locked_table",
    "lock_table",
    "resource_description",
    "waitresource",
    "locktype",
    "object",
    "relname",
    "object_type",
)
OF_DATABASES = {
    "usename",
    "loginame",
    "login_name",
    "schemaname",
    "datname",
    "dbname",
    "machine",
    "program_name",
    "wait_event",
    "last_call_et",
    "sql_id",
    "info",
    "db",
}
"""Columns that only lists of sessions of a database have; users and states are in many lists."""

QUEUES: Mapping[str, str] = {
    "cl_waiting": "clients wait for a server connection",
    "maxwait": "s is the longest wait for a server connection",
    "messages_ready": "messages wait to be delivered",
    "ready": "messages wait to be delivered",
    "messages_unacknowledged": "messages are delivered and not acknowledged",
    "unacked": "messages are delivered and not acknowledged",
    "messages": "messages are in the queue",
    "qcur": "requests are queued",
    "rejected": "tasks were rejected",
    "all_time_blocked": "tasks were blocked",
    "blocked_tasks": "tasks are blocked",
    "dropped": "messages were dropped",
    "pending": "tasks are pending",
    "queue": "tasks are queued",
}
QUEUED_IN = frozenset(
    (
        "database",
        "user",
        "pool_mode",
        "sv_active",
        "sv_idle",
        "name",
        "pool_name",
        "active",
        "completed",
        "consumers",
        "svname",
        "node_name",
        "vhost",
        "message_type",
    )
)
"""Columns that tell that a listing is one of queues or pools."""


_PARKED = re.compile(r"(?i)dead|dlq|dlx|error|fail|poison|park|retry|delay|hold|archive|quarantine")
"""Names of queues that nobody need take anything from: what could not be delivered is kept there."""


PENDING = 1000.0
PENDING_FOR_EACH = 10.0
"""Minimum number of tasks that wait in a stage of a store, altogether and for each that is worked on, for it to be behind."""


@dataclass(frozen=True)
class Listed:
    """One row of a listing: cells by column name in lower case, and the line of each cell."""

    row: Mapping[str, Any]
    of: Mapping[str, str]
    at: Mapping[str, int]
    """Line of each cell: its own in a record, the row's in a table."""
    printed: Mapping[str, str]
    """The names as they are printed."""

    def first(self, names: Iterable[str]) -> tuple[str, str] | None:
        """Return the first of the names that has a value, with it."""
        return next(((n, self.of[n]) for n in names if is_known(self.of.get(n))), None)

    def line(self, role: str, name: str | None = None) -> Lines:
        no = self.at.get(name or "", int(self.row["line_no"]))
        return Lines(int(self.row["artifact_id"]), no, no, role)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what stands out in each listing, then measures within bounds."""
    found: list[Sighting] = []
    for names, listing in listings(case):
        for reader in _READERS:
            found += reader(names, listing)
    found += _limits_of_oracle(case)
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0)))


def listings(case: CaseTables) -> Iterator[tuple[frozenset[str], list[Listed]]]:
    """Yield the rows of each listing with the names of its columns."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "line_end", "table_no", "heading", "cells"]
    rows = (
        case.scan("rows", columns).filter(pl.col("heading").list.len() > 1).head(MOST_ROWS).collect(engine="streaming")
    )
    for _, part in rows.sort("line_no").group_by("artifact_id", "part", maintain_order=True):
        groups: dict[tuple[str, ...], list[Listed]] = {}
        for row in part.iter_rows(named=True):
            if (listed := _listed(row)) is not None:
                groups.setdefault(tuple(listed.of), []).append(listed)
        for names, listing in groups.items():
            yield frozenset(names), listing


def _listed(row: Mapping[str, Any]) -> Listed | None:
    heading, cells = row["heading"] or [], row["cells"] or []
    if len(heading) != len(cells) or row["line_no"] is None:
        return None
    first, last = int(row["line_no"]), int(row["line_end"] or row["line_no"])
    record = last - first + 1 == len(cells)
    of: dict[str, str] = {}
    at: dict[str, int] = {}
    printed: dict[str, str] = {}
    for n, (name, cell) in enumerate(zip(heading, cells, strict=True)):
        key = re.sub(r"\W+", "_", str(name or "").strip().lower()).strip("_")
        if key and (key not in of or not is_known(of[key])):
            of[key], at[key], printed[key] = str(cell or ""), first + n if record else first, str(name).strip()
    return Listed(row, of, at, printed)


def is_known(value: str | None) -> bool:
    return value is not None and value.strip().lower() not in (
        "",
        "null",
        "<null>",
        "-",
        "n/a",
        "(null)",
        "none",
        "[null]",
        "{}",
        ".",
    )


def figure_of(text: str | None) -> float | None:
    """Parse a figure as listings print it, with thousands apart and units of size or time left out."""
    found = re.fullmatch(r"\s*(-?\d{1,15}(?:,\d{3})*(?:\.\d{1,9})?)\s*", text or "")
    return float(found[1].replace(",", "")) if found else None


def _seconds(text: str | None) -> float | None:
    """Parse seconds: a figure, or hours, minutes and seconds."""
    found = re.fullmatch(r"\s*(?:(\d{1,4}) days? )?(\d{1,4}):(\d\d):(\d\d(?:\.\d{1,9})?)\s*", text or "")
    if found:
        return int(found[1] or 0) * 86400 + int(found[2]) * 3600 + int(found[3]) * 60 + float(found[4])
    return figure_of(text)


# --- locks -------------------------------------------------------------------------------------------------------------


def _ungranted(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield requested locks that are not granted, the object with most of them first."""
    if not names & {"granted", "lock_status", "request_status"}:
        return

    def waits(one: Listed) -> bool:
        return one.of.get("granted", "").lower() in ("f", "false", "no") or (
            one.first(("lock_status", "request_status")) or ("", "")
        )[1].upper() in ("PENDING", "WAITING", "WAIT", "CONVERT")

    waiting = [one for one in listing if waits(one)]
    granted = [one for one in listing if not waits(one)]
    kinds: dict[tuple[str, str], list[Listed]] = {}
    for one in waiting:
        mode = (one.first(("mode", "lock_mode", "lock_type", "request_mode")) or ("", "a lock"))[1]
        kinds.setdefault((mode, (one.first(LOCKED) or ("", ""))[1]), []).append(one)
    for (mode, thing), held in sorted(kinds.items(), key=lambda x: -len(x[1]))[:TOLD]:
        one = held[0]
        who = one.first(WHO)
        holders = [g for g in granted if thing and (g.first(LOCKED) or ("", ""))[1] == thing]
        by = sorted({w[1] for g in holders if (w := g.first(WHO))})[:TOLD]
        text = f"{len(held):,} requests for {mode}" if len(held) > 1 else f"{mode}"
        text += f" on {thing}" if thing else ""
        text += f", asked for by {who[1]}" if who and len(held) == 1 else ""
        text += f" {'are' if len(held) > 1 else 'is'} not granted" + (
            f"; {', '.join(by)} hold locks on it" if by else ""
        )
        status = next((n for n in ("granted", "lock_status", "request_status") if n in one.of), "mode")
        asked = next((n for n in ("mode", "lock_mode", "lock_type", "request_mode") if n in one.of), status)
        lines = _lines(
            *(x.line(f"not granted: {mode}", asked) for x in held[:CITED]),
            one.line("not granted", status),
            *((one.line(thing, f[0]),) if (f := one.first(LOCKED)) else ()),
            *(g.line(f"holds a lock on {thing}") for g in holders[:TOLD]),
        )
        yield Sighting(
            "wait",
            f"{mode} on {thing}" if thing else mode,
            text,
            "locks_waited_count",
            float(len(held)),
            "count",
            lines,
            **place(one.row),
            against="all locks that are listed",
            against_value=float(len(listing)),
            share=max(0.6, len(held) / len(listing)),
            n=len(held),
            seen=_named_lock(one, mode) if len(waiting) >= MANY or mode == "AccessExclusiveLock" else (),
        )


def _named_lock(one: Listed, mode: str) -> tuple[Seen, ...]:
    """Return the wait event of a lock that is not granted, as the server itself calls it in its lists of sessions."""
    if is_known(kind := one.of.get("locktype", "")):
        return ({"event": f"Lock:{kind}"},)
    if "request_mode" in one.of:
        return ({"event": f"LCK_M_{mode.upper().replace('-', '_')}"},)
    if one.of.get("lock_type", "").upper() == "RECORD":
        return ({"log": "writes wait behind a session"},)
    if one.of.get("object_type", "").upper() == "TABLE":
        return ({"event": "Waiting for table metadata lock"},)
    return ()


def _blocked(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the sessions that others wait for, with the number of waiting sessions and since when."""
    columns = [n for n in (*sorted(WAITS_FOR), "blk") if n in names]
    if not columns or not names & set(WHO):
        return
    found = []
    for one in listing:
        by, who = one.first(columns), one.first(WHO)
        if who is None:
            continue
        holder = by[1].strip("{} ").split(",")[0] if by else ""
        waits = by is not None and figure_of(holder) not in (0.0, None) and who[1] != holder
        event, wait_class = one.first(WAITS), one.first(("wait_class",))
        statement = one.first((*STATEMENTS, "command", "cmd"))
        state = one.first(("state", "status", "blocking_state", "command", "program_name"))
        found.append(
            Waiting(
                who[1],
                one.row,
                one.line(f"waited for: {who[1]}"),
                holder if waits else None,
                one.line(f"waits for {holder}", by[0]) if by and waits else None,
                _waited(one) if waits else None,
                event[1] if event else None,
                wait_class[1] if wait_class else None,
                state[1] if state else None,
                verb(statement[1]) if statement else None,
                None if waits else _waited(one),
            )
        )
    yield from chains(found)


def _clock(text: str) -> float | None:
    """Return a stamp as seconds, of a day if it names none; None for any other text."""
    found = re.match(r"\s*(?:(\d{4})-(\d\d)-(\d\d)[ T])?(\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)", text)
    if found is None:
        return None
    day = wall_seconds(int(found[1]), int(found[2]), int(found[3])) if found[1] else 0.0
    return None if day is None else day + int(found[4]) * 3600 + int(found[5]) * 60 + float(found[6])


def _flagged(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield sessions that wait for a lock (column `waiting`, PostgreSQL before 9.6) and the longest waiting statement.

    PostgreSQL grants locks in the order of the requests: reads that began to wait after a statement that wants a whole
    table wait for that statement.
    """
    start = next((n for n in ("query_start", "xact_start") if n in names), None)
    if "waiting" not in names or start is None or not names & {"state", "query", "current_query", "substr", "left"}:
        return
    waiting = [one for one in listing if one.of["waiting"].strip().lower() in ("t", "true") and is_known(one.of[start])]
    running = [one for one in listing if one.of["waiting"].strip().lower() in ("f", "false")]
    if not waiting:
        return
    waiting.sort(key=lambda one: one.of[start])  # times of one server and zone: their texts sort by time
    first = waiting[0]
    verbs = {id(one): verb((one.first((*STATEMENTS, "substr", "left")) or ("", ""))[1]) for one in waiting}
    what = verbs[id(first)]
    reads = [one for one in waiting[1:] if verbs[id(one)] == "SELECT"]
    later = f"; {len(reads):,} reads (SELECT) that began later wait too" if reads and of_tables(what) else ""
    clocks = [t for one in listing if (t := _clock(one.of[start])) is not None]
    began = _clock(first.of[start])
    ago = max(clocks) - began if began is not None else None
    before = f", {figure(ago, 's')} before the newest statement of the list" if ago else ""
    text = (
        f"{len(waiting):,} of {len(listing):,} sessions wait for a lock (waiting), the longest since {first.of[start]}{before}"
        + (f": {what}" if what else "")
        + later
        + (f"; {len(running):,} wait for none" if running else "")
    )
    seen: tuple[Seen, ...] = ({"log": f"sessions wait behind {what}"},) if later else ()
    seen = () if ago is not None and ago < LOCKED_S and len(waiting) < MANY else seen
    if not seen and "SELECT" in verbs.values():
        seen = ({"log": "reads wait behind a session"},)
    yield Sighting(
        "wait",
        f"{what or 'a statement'} since {first.of[start]}",
        text,
        "waiting_sessions_count",
        float(len(waiting)),
        "count",
        _lines(
            *(one.line("waits for a lock") for one in waiting[:CITED]),
            *(one.line("does not wait") for one in running[:1]),
        ),
        **place(first.row),
        against="all sessions that are listed",
        against_value=float(len(listing)),
        share=max(0.6, len(waiting) / len(listing)),
        n=len(waiting),
        seen=seen,
    )


def _waited(one: Listed) -> float | None:
    if (found := one.first(SECONDS)) and (value := _seconds(found[1])) is not None and 0 < value < LONGEST_S:
        return value
    if (found := one.first(MILLIS)) and (value := figure_of(found[1])) is not None and 0 < value < LONGEST_S * 1e3:
        return value / 1e3
    return None


# --- waits -------------------------------------------------------------------------------------------------------------

_SHARES = (
    "pct",
    "percentage",
    "pct_db_time",
    "db_time",
    "wait_pct",
    "percent",
    "activity",
    "pct_activity",
    "total_call_time",
    "call_time",
)
_OF_TIME = ("pct_db_time", "db_time", "activity", "pct_activity", "total_call_time", "call_time")
"""Columns of shares that are parts of one whole: the time of the database, or its active sessions."""

TIMES: Mapping[str, float] = {
    "wait_s": 1.0,
    "wait_time_s": 1.0,
    "time_s": 1.0,
    "wait_time_ms": 1e-3,
    "time_waited": 1e-2,
    "total_wait_s": 1.0,
    "total_wait_time_s": 1.0,
    "resource_s": 1.0,
    "time_waited_micro": 1e-6,
    "sum_timer_wait": 1e-12,
    "sum_timer_wait_s": 1.0,
    "total_wait_time": 1.0,
    "wait_time_sec": 1.0,
    "total_wait_ms": 1e-3,
    "times": 1.0,
    "elapsed_s": 1.0,
}
COUNTED = ("count", "cnt", "sessions", "session_count", "avg_active_sessions", "aas", "samples", "num_sessions", "n")
"""Columns that count sessions or samples of a wait, where no time is listed."""

IDLE_WAITS = re.compile(
    r"(?i)(?:SQL\*Net message from client|rdbms ipc message|.*\btimer\b|.*idle.*|LAZYWRITER_SLEEP|SLEEP_\w+|WAITFOR|BROKER_\w+|CLR_\w+|XE_\w+|DIRTY_PAGE_POLL"
    r"|HADR_FILESTREAM_IOMGR_IOCOMPLETION|LOGMGR_QUEUE|CHECKPOINT_QUEUE|REQUEST_FOR_DEADLOCK_SEARCH|SQLTRACE_\w+|FT_IFTS\w*|DISPATCHER_QUEUE_SEMAPHORE"
    r"|SP_SERVER_DIAGNOSTICS_SLEEP|QDS_\w+|ONDEMAND_TASK_QUEUE|SERVER_IDLE_CHECK|PVS_PREALLOCATE|SOS_WORK_DISPATCHER|Activity:.*|Client:ClientRead)"
)


def share_of_whole(names: frozenset[str]) -> str | None:
    """Return the column that tells the part of the database's time, or of its active sessions, that a wait has."""
    if not (names & set(WAITS) or "wait_class" in names) or names & set(WHO):
        return None
    of_time = next((n for n in _OF_TIME if n in names), None)
    return of_time or next((n for n in _SHARES if n in names and names & set(COUNTED)), None)


def _waits(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the waits with most time, of a listing of totals."""
    event = next((n for n in WAITS if n in names), None)
    if share_of_whole(names) is not None:
        return  # told by `database-shares`
    times = next((n for n in TIMES if n in names), None)
    shares = next((n for n in _SHARES if n in names), None)
    counts = next((n for n in COUNTED if n in names), None) if times is None and shares is None else None
    if event is None or (times is None and shares is None and counts is None) or names & set(WHO):
        return
    if counts is not None:
        yield from _counted_waits(event, counts, listing)
        return
    timed: list[tuple[float, float | None, Listed]] = []
    for one in listing:
        name = one.of[event]
        value = figure_of(one.of.get(times or ""))
        part = figure_of((one.of.get(shares or "") or "").rstrip("% "))
        if is_known(name) and not IDLE_WAITS.fullmatch(name) and ((value or 0.0) > 0 or (part or 0.0) > 0):
            if any(s.strength == "idle" for s in recognise(event=name)[:1]):
                continue
            timed.append(((value or 0.0) * TIMES.get(times or "", 1.0), part, one))
    whole = sum(seconds for seconds, _, _ in timed)
    for seconds, part, one in sorted(timed, key=lambda x: (-(x[1] or 0.0), -x[0]))[:TOLD]:
        share = part / 100 if part is not None else seconds / whole if whole > 0 else 0.0
        of = "of the time that is listed" if part is None else "as it is listed"
        held = f", {figure(seconds, 's')}" if seconds > 0 else ""
        yield Sighting(
            "wait",
            one.of[event],
            f"{one.of[event]} has {figure(100 * share, '%')} {of}{held}",
            "wait_pct",
            100 * share,
            "%",
            (one.line(one.of[event]),),
            **place(one.row),
            against="all that is not idle",
            against_value=100.0,
            share=min(1.0, max(0.0, share)),
            seen=({"event": one.of[event]},) if len(timed) >= TOLD else (),
            normal=share < 0.1,
        )


def _counted_waits(event: str, counts: str, listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the waits with most sessions or samples; those without a wait event run on a processor."""
    counted: list[tuple[float, str, Listed]] = []
    whole = 0.0
    for one in listing:
        value = figure_of(one.of[counts])
        kind = one.of.get("wait_event_type", "")
        name = f"{kind}:{one.of[event]}" if is_known(kind) and is_known(one.of[event]) else one.of[event]
        if value is None or value <= 0 or IDLE_WAITS.fullmatch(name):
            continue
        if is_known(name) and any(s.strength == "idle" for s in recognise(event=name)[:1]):
            continue
        whole += value
        if is_known(name):
            counted.append((value, name, one))
    for value, name, one in sorted(counted, key=lambda x: -x[0])[:TOLD]:
        share = value / whole
        yield Sighting(
            "wait",
            name,
            f"{name} has {value:,.6g} of the {whole:,.6g} that are listed, {figure(100 * share, '%')} ({one.printed[counts]})",
            "wait_pct",
            100 * share,
            "%",
            (one.line(name),),
            **place(one.row),
            against="all that is not idle",
            against_value=100.0,
            share=share,
            seen=({"event": name},) if whole >= MANY_WAIT else (),
            normal=share < 0.1,
        )


# --- replicas, lag and queues ------------------------------------------------------------------------------------------

_IO = ("slave_io_running", "replica_io_running")
_SQL = ("slave_sql_running", "replica_sql_running")
_BEHIND = ("seconds_behind_master", "seconds_behind_source")
_READ = ("read_master_log_pos", "read_source_log_pos")
_DONE = ("exec_master_log_pos", "exec_source_log_pos")
_FILES = (("master_log_file", "source_log_file"), ("relay_master_log_file", "relay_source_log_file"))


def _replica(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the state of a replica: its threads, its lag in time and in bytes, its last error."""
    if not names & {*_IO, *_SQL, *_BEHIND, *_DONE}:
        return
    for one in listing[:TOLD]:
        where = place(one.row)
        threads = [f for columns in (_IO, _SQL) if (f := one.first(columns))]
        state = one.first(("slave_io_state", "replica_io_state"))
        stopped = [n for n, v in threads if v.lower() not in ("yes", "preparing")]
        if threads:
            text = ", ".join(f"{one.printed[n]}: {v}" for n, v in threads) + (f"; {state[1]}" if state else "")
            lines = _lines(
                *((one.line(state[1], state[0]),) if state else ()),
                *(one.line(f"{one.printed[n]}: {v}", n) for n, v in threads),
            )
            yield Sighting(
                "replica",
                "threads of the replica",
                f"The replica has {text}",
                "threads_stopped_count",
                float(len(stopped)),
                "count",
                lines,
                **where,
                against="threads",
                against_value=float(len(threads)),
                share=0.9 if stopped else 0.15,
            )
        files = [one.first(columns) for columns in _FILES]
        read, done = one.first(_READ), one.first(_DONE)
        same = files[0] is None or files[1] is None or files[0][1] == files[1][1]
        if read and done and (a := figure_of(read[1])) is not None and (b := figure_of(done[1])) is not None:
            lines = _lines(
                one.line(f"{one.printed[read[0]]}: what is read", read[0]),
                one.line(f"{one.printed[done[0]]}: what is applied", done[0]),
            )
            if same:
                behind = max(0.0, a - b)
                text = f"{one.printed[read[0]]} is {behind:,.0f} bytes ahead of {one.printed[done[0]]}" + (
                    f", both in {files[0][1]}" if files[0] else ""
                )
                yield Sighting(
                    "lag",
                    one.printed[done[0]],
                    text,
                    "replica_behind_bytes",
                    behind,
                    "bytes",
                    lines,
                    **where,
                    against="one transaction",
                    against_value=LAG_BYTES,
                    share=0.5 if behind >= LAG_BYTES else None,
                    normal=behind < LAG_BYTES,
                )
            elif files[0] and files[1]:
                text = f"The replica applies {files[1][1]} while it has read up to {files[0][1]}"
                lines = _lines(
                    one.line("file that is read", files[0][0]), one.line("file that is applied", files[1][0])
                )
                yield Sighting(
                    "lag", one.printed[done[0]], text, "replica_files_count", 1.0, "count", lines, **where, share=0.6
                )
        late = one.first(_BEHIND)
        if late and (seconds := _seconds(late[1])) is not None and seconds < LONGEST_S:
            text = f"{one.printed[late[0]]} is {seconds:,.0f}: the replica is {figure(seconds, 's')} behind"
            yield Sighting(
                "lag",
                one.printed[late[0]],
                text,
                "replica_behind_s",
                seconds,
                "s",
                (one.line(one.printed[late[0]], late[0]),),
                **where,
                against="the resolution of its clock",
                against_value=LAG_S,
                share=0.7 if seconds >= LAG_S else None,
                seen=({"event": "replica-late"},) if seconds >= LATE_S else (),
                normal=seconds < LAG_S,
            )
        for number in ("last_sql_errno", "last_io_errno", "last_errno"):
            error = one.first((number.replace("errno", "error"),))
            if (figure_of(one.of.get(number)) or 0.0) > 0:
                text = f"{one.printed[number]} is {one.of[number]}" + (f": {error[1][:160]}" if error else "")
                lines = _lines(
                    one.line(one.printed[number], number), *((one.line("its text", error[0]),) if error else ())
                )
                yield Sighting(
                    "failure",
                    one.printed[number],
                    text,
                    "errors_count",
                    1.0,
                    "count",
                    lines,
                    **where,
                    share=0.8,
                    failure=True,
                )
                break


def _standbys(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield how far standbys of PostgreSQL are behind: time, and bytes of the log."""
    if not names & {"replay_lag", "replay_lsn", "replay_location"}:
        return
    for one in listing[:TOLD]:
        name = (one.first(("application_name", "client_addr", "pid")) or ("", "a standby"))[1]
        for column in ("replay_lag", "flush_lag", "write_lag"):
            if (
                (seconds := _seconds(one.of.get(column))) is not None
                and 0 <= seconds < LONGEST_S
                and ":" in one.of[column]
            ):
                yield Sighting(
                    "lag",
                    f"{column} of {name}",
                    f"{column} of {name} is {figure(seconds, 's')}",
                    "standby_lag_s",
                    seconds,
                    "s",
                    (one.line(column, column),),
                    **place(one.row),
                    against="the resolution of its clock",
                    against_value=LAG_S,
                    share=LEADS if seconds >= LAG_S else None,
                    seen=({"event": "replica-late"},) if seconds >= LATE_S else (),
                    normal=seconds < LAG_S,
                )
                break
        sent, done = one.first(("sent_lsn", "sent_location")), one.first(("replay_lsn", "replay_location"))
        if sent and done and (a := _lsn(sent[1])) is not None and (b := _lsn(done[1])) is not None:
            behind = float(max(0, a - b))
            yield Sighting(
                "lag",
                f"replay of {name}",
                f"{name} has applied {done[1]}, {behind:,.0f} bytes less than was sent",
                "standby_behind_bytes",
                behind,
                "bytes",
                _lines(one.line("sent", sent[0]), one.line("applied", done[0])),
                **place(one.row),
                against="one transaction",
                against_value=LAG_BYTES,
                share=0.5 if behind >= 16 * 2**20 else None,
                seen=({"event": "replica-late"},) if behind >= LATE_BYTES else (),
                normal=behind < 16 * 2**20,
            )


_RETAINED = (
    "retained",
    "retained_wal",
    "lag",
    "replication_lag",
    "slot_lag",
    "wal_retained",
    "lag_size",
    "size",
    "behind",
)
"""Names that people give to the size of the log that a slot keeps; no view has one."""


def _lsn(text: str) -> int | None:
    found = re.fullmatch(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})", text.strip())
    return int(found[1], 16) * 2**32 + int(found[2], 16) if found else None


def _consumers(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield how far a group of consumers is behind, and on which partition most."""
    if "lag" not in names or not names & {"topic", "partition", "group", "current_offset", "log_end_offset"}:
        return
    lags = [(lag, one) for one in listing if (lag := figure_of(one.of.get("lag"))) is not None and 0 <= lag < 1e18]
    if not lags:
        return
    whole = sum(lag for lag, _ in lags)
    most, one = max(lags, key=lambda x: x[0])
    thing = "-".join(one.of[n] for n in ("topic", "partition") if is_known(one.of.get(n)))
    lines = tuple(x.line(f"lag {lag:,.0f}") for lag, x in sorted(lags, key=lambda x: -x[0])[:TOLD])
    part = figure(100 * most / whole if whole else 0.0, "%")
    unread = max((_unread(lag, x) for lag, x in lags), key=lambda x: x[0])
    text = f"{thing or 'a partition'} lags {most:,.0f} messages, {part} of the {whole:,.0f} of {len(lags):,} partitions"
    late = unread[0] >= UNREAD_PART
    if late:
        text += f"; {unread[1]} has not read {figure(100 * unread[0], '%')} of all that it ever had"
    yield Sighting(
        "lag",
        thing or "lag",
        text,
        "lag_count",
        most,
        "count",
        lines,
        **place(one.row),
        against="what arrives between two commits",
        against_value=LAG_MESSAGES,
        share=LEADS if most >= LAG_MESSAGES else None,
        seen=({"event": "consumer-late"},) if most >= STUCK_MESSAGES or late else (),
        normal=most < LAG_MESSAGES,
        n=len(lags),
    )
    nobody = [x for lag, x in lags if lag > 0 and "consumer_id" in names and not is_known(x.of["consumer_id"])]
    if nobody:
        text = f"{len(nobody):,} of {len(lags):,} partitions with a lag have no consumer"
        yield Sighting(
            "lag",
            "partitions without a consumer",
            text,
            "partitions_count",
            float(len(nobody)),
            "count",
            tuple(x.line("no consumer") for x in nobody[:CITED]),
            **place(one.row),
            against="all partitions",
            against_value=float(len(lags)),
            share=0.7,
            seen=({"event": "queue-without-consumer"},) if whole >= LAG_MESSAGES else (),
            n=len(nobody),
        )


def _unread(lag: float, one: Listed) -> tuple[float, str]:
    """Return which part of all messages that a partition ever had is not read, and its name; 0 for a short lag."""
    end = figure_of(one.of.get("log_end_offset"))
    name = "-".join(one.of[n] for n in ("topic", "partition") if is_known(one.of.get(n)))
    return (lag / end if end and lag >= LAG_MESSAGES else 0.0), name or "it"


def _queues(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the longest queue of each kind, and refused or dropped entries."""
    if len(names & QUEUED_IN) < 2 and not (names >= {"name", "messages"} or names >= {"message_type", "dropped"}):
        return
    for column, does in QUEUES.items():
        if column not in names:
            continue
        waiting = [(n, one) for one in listing if (n := figure_of(one.of[column])) is not None and 0 < n < 1e18]
        if not waiting:
            continue
        most, one = max(waiting, key=lambda x: x[0])
        name = (
            one.first(("pool_name", "name", "database", "pxname", "message_type", "queue_name")) or (column, column)
        )[1]
        text = f"{name}: {most:,.0f} {does}" + (
            f" ({column}; {len(waiting):,} of {len(listing):,} have some)" if len(listing) > 1 else f" ({column})"
        )
        yield Sighting(
            "queue",
            f"{column} of {name}",
            text,
            f"{column}_count",
            most,
            "count",
            _lines(*(x.line(f"{column} {n:,.0f}", column) for n, x in sorted(waiting, key=lambda x: -x[0])[:TOLD])),
            **place(one.row),
            against="an empty queue",
            against_value=0.0,
            share=LEADS if (event := _waits_for_whom(column, most, one)) else 0.3,
            seen=({"event": event},) if event else (),
            n=len(waiting),
        )


def _waits_for_whom(column: str, most: float, one: Listed) -> str | None:
    """Return the event that explains the longest queue, None if the listing does not show what it waits for."""

    def has(name: str) -> float | None:
        return figure_of(one.of.get(name))

    if column == "cl_waiting":
        # All connections are taken, none is idle, and somebody has waited for a second.
        waited = (has("maxwait") or 0.0) >= 1
        return "pool-clients-wait" if waited and (has("sv_active") or 0.0) > 0 and has("sv_idle") == 0 else None
    if column in ("messages", "messages_ready", "ready", "messages_unacknowledged", "unacked"):
        if has("consumers") == 0:
            kept = _PARKED.search((one.first(("name", "queue_name")) or ("", ""))[1])
            return "queue-without-consumer" if most >= LAG_MESSAGES and not kept else None
        return "consumer-late" if most >= STUCK_MESSAGES and has("consumers") else None
    if column == "pending":
        active, name = has("active"), (one.first(("pool_name", "name")) or ("", ""))[1]
        # What merges files works through its list when it can; nobody waits for each of them.
        behind = most >= PENDING and active and most >= PENDING_FOR_EACH * active and "ompact" not in name
        return "stage-behind" if behind else None
    if column == "rejected":
        queue, active = has("queue"), has("active")
        return "pool-refuses" if queue is not None and active is not None and queue > active > 0 else None
    return None


_LARGE = re.compile(r"[0-9] ?[GT]i?B\b|^[1-9][0-9]{9,}$")
"""An amount of a gigabyte or more."""


def _slots(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield replication slots that nobody reads: the server keeps its log for them without a limit."""
    if not names >= {"slot_name", "active"}:
        return
    unused = [one for one in listing if one.of["active"].strip().lower() in ("f", "false", "no")]
    for one in unused[:TOLD]:
        held = one.first(_RETAINED)
        keeps = f" and keeps {held[1]} of the log ({one.printed[held[0]]})" if held else ""
        yield Sighting(
            "lag",
            f"slot {one.of['slot_name']}",
            f"Nobody reads the replication slot {one.of['slot_name']}: it is not active{keeps}",
            "slots_count",
            float(len(unused)),
            "count",
            (one.line("not active", "active"), *((one.line("kept for it", held[0]),) if held else ())),
            **place(one.row),
            against="all slots",
            against_value=float(len(listing)),
            share=LEADS if held and _LARGE.search(held[1]) else 0.4,
            n=len(unused),
            seen=({"event": "slot-without-reader"},) if held and _LARGE.search(held[1]) else (),
        )


def _dead(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the tables of PostgreSQL with most dead rows, if they have more of them than live ones."""
    if not names >= {"relname", "n_dead_tup", "n_live_tup"}:
        return
    found = [
        (dead, live, one)
        for one in listing
        if (dead := figure_of(one.of["n_dead_tup"])) is not None
        and (live := figure_of(one.of["n_live_tup"])) is not None
    ]
    many = [x for x in found if x[0] >= DEAD and x[0] >= x[1]]
    for dead, live, one in sorted(many, key=lambda x: -x[0])[:TOLD]:
        last = one.first(("last_autovacuum", "last_vacuum"))
        never = {"last_autovacuum", "last_vacuum"} <= names and last is None
        when = "; it was never vacuumed" if never else f"; {one.printed[last[0]]} {last[1]}" if last else ""
        yield Sighting(
            "rows",
            one.of["relname"],
            f"{one.of['relname']} has {dead:,.0f} dead rows (n_dead_tup) beside {live:,.0f} live ones{when}",
            "dead_rows_count",
            dead,
            "count",
            (one.line("n_dead_tup", "n_dead_tup"),),
            **place(one.row),
            against="live rows",
            against_value=live,
            share=LEADS,
            seen=({"event": "dead-rows"},),
        )


# --- limits and plans --------------------------------------------------------------------------------------------------


def _limits(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield for each limit how much of it was used at most."""
    if not names >= {"resource_name", "limit_value"} or not names & {"max_utilization", "current_utilization"}:
        return
    for one in listing[:40]:
        used, peak, limit = (
            figure_of(one.of.get(n)) for n in ("current_utilization", "max_utilization", "limit_value")
        )
        yield from _limit(one.row, one.of["resource_name"], used, peak, limit)


def _limits_of_oracle(case: CaseTables) -> Iterator[Sighting]:
    columns = [*PLACE_COLUMNS, "line_no", "scope", "name", "used", "peak", "limit_num"]
    rows = case.scan("resource_use", columns, (pl.col("scope") == "oracle") & (pl.col("limit_num") > 0)).head(40)
    for row in rows.collect(engine="streaming").iter_rows(named=True):
        if row["name"] and row["line_no"] is not None:
            yield from _limit(row, row["name"], row["used"], row["peak"], row["limit_num"])


def _limit(
    row: Mapping[str, Any], name: str, used: float | None, peak: float | None, limit: float | None
) -> Iterator[Sighting]:
    """Yield the largest use of a limit; a use far below the limit is a normal measure."""
    known = [v for v in (used, peak) if v is not None and 0 <= v < UNLIMITED]
    if limit is None or not 0 < limit < UNLIMITED or not known or max(known) <= 0:
        return
    most = max(known)
    part = most / limit
    now = f", now {used:,.0f}" if used is not None and used != most and used == used else ""
    far = "" if part >= NEAR else ": its limit was never near"
    yield Sighting(
        "limit",
        name,
        f"At most {most:,.0f} {name} of {limit:,.0f} were in use{now}, {figure(100 * part, '%')}{far}",
        f"{name}_count",
        most,
        "count",
        (Lines(int(row["artifact_id"]), int(row["line_no"]), int(row["line_no"]), name),),
        **place(row),
        against="its limit",
        against_value=limit,
        share=min(1.0, part),
        normal=part < NEAR,
    )


def _plan(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the tables that a plan of MySQL reads in full, and its sorts without an index."""
    if not names >= {"select_type", "table", "type", "rows"}:
        return
    full = [
        (n, one) for one in listing if one.of["type"].upper() == "ALL" and (n := figure_of(one.of["rows"])) is not None
    ]
    for n, one in sorted(full, key=lambda x: -x[0])[:TOLD]:
        key = one.first(("key",))
        index = f"key {key[1]}" if key else "no key"
        text = f"{one.of['table']} is read in full (type ALL): {n:,.0f} rows by estimate, {index}"
        yield Sighting(
            "plan",
            one.of["table"],
            text,
            "rows_count",
            n,
            "count",
            (one.line("type ALL", "type"),),
            **place(one.row),
            against="a small table",
            against_value=SCAN_ROWS,
            share=0.5 if n >= SCAN_ROWS else None,
            seen=({"log": "the plan reads a table of millions of rows in full"},) if n >= FELT_ROWS else (),
            normal=n < SCAN_ROWS,
        )
    for one in listing:
        extra = one.of.get("extra", "")
        if "Using filesort" in extra or "Using temporary" in extra:
            yield Sighting(
                "plan",
                f"sort of {one.of['table']}",
                f"{one.of['table']}: {extra}",
                "sorts_count",
                1.0,
                "count",
                (one.line(extra[:80], "extra"),),
                **place(one.row),
                share=0.2,
            )
            break


def _sessions(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the number of sessions in the same state, with user and client, for a listing that no format knows."""
    state = next((n for n in ("state", "status", "command", "event", "wait_event") if n in names), None)
    if state is None or not names & {"sid", "spid", "session_id", "pid", "id"} or not names & OF_DATABASES:
        return
    states = Counter(one.of[state].strip() for one in listing if is_known(one.of[state]))
    for name, n in states.most_common(TOLD):
        held = [one for one in listing if one.of[state].strip() == name]
        text = f"{n:,} of {len(listing):,} sessions are {name}"
        yield Sighting(
            "sessions",
            name,
            text,
            "sessions_count",
            float(n),
            "count",
            tuple(x.line(name, state) for x in held[:CITED]),
            **place(held[0].row),
            against="all sessions",
            against_value=float(len(listing)),
            share=n / len(listing),
            n=n,
            normal=True,
        )


def _lines(*lines: Lines) -> tuple[Lines, ...]:
    """Return each line once, at most as many as a reader looks at."""
    return tuple({(one.line_from, one.role): one for one in lines}.values())[:15]


_READERS: tuple[Callable[[frozenset[str], Sequence[Listed]], Iterator[Sighting]], ...] = (
    _ungranted,
    _blocked,
    _flagged,
    _waits,
    _replica,
    _standbys,
    _consumers,
    _queues,
    _slots,
    _dead,
    _limits,
    _plan,
    _sessions,
)

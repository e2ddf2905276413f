"""Who waits in lists of jobs, statements and sessions, by the names of states and columns, whatever tool printed the list.

Standing out: jobs of a batch system that wait (PD, PEND, Q), told apart by whether a limit or a want of nodes is their reason; statements that
wait in the queue of a warehouse; sessions of Informix whose flags say what they wait for; a session that has been idle in its transaction
for `OPEN_S` or longer; a standby `LATE_S` or longer behind (Data Guard), or a queue of an availability group of `LATE_KB` or more; a scan of a
table that has run `LONG_S` or longer; an operation of MongoDB that reads a whole collection or waits for a lock for `LATE_S`; one statement
with two plans of which one takes `TIMES` times as long; a statement that spilled `SPILLED` bytes to remote storage.
Two sessions or more, half of those at work, that have been in one wait for `STUCK_S` or longer stand out too. Normal: less.
Worked example: three jobs PD (Resources), one R: "3 of 4 jobs wait: 2 for (Resources), 1 for (Priority)".
Cost: the first 20,000 rows of each listing. Source: Slurm, squeue(1), job state codes and reasons; IBM Spectrum LSF, bjobs; PBS, qstat(1B); Amazon
Redshift, STV_WLM_QUERY_STATE; Vertica, RESOURCE_QUEUES; Snowflake, QUERY_HISTORY; IBM Informix, onstat -u (first flag); PostgreSQL,
pg_stat_activity; Oracle, V$DATAGUARD_STATS, V$SESSION_LONGOPS, DBA_HIST_SQLSTAT; Microsoft Learn, dm_hadr_database_replica_states, Query Store.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rules.derived.derived_table import CaseTables
from rules.observers.database_lists import (
    IDLE_WAITS,
    MILLIS,
    SECONDS,
    WAITS,
    WAITS_FOR,
    WHO,
    Listed,
    figure_of,
    is_known,
    listings,
)
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import recognise

OBSERVER = Observer(
    "waiting-entries",
    "Which jobs, statements and sessions of a list wait, and for what?",
    ("rows",),
    {"*": "the same list a minute later, and the limits and free places of the queue"},
)

OPEN_S, LATE_S, LONG_S = 300.0, 60.0, 600.0
LATE_KB = 2.0**20
TIMES = 10.0
SPILLED = 1e9
HALF = 0.5
STUCK_S, SEVERAL = 10.0, 2
IN_WAIT = ("seconds_in_wait", "wait_secs", "wait_seconds")
LOCKS = ("row-lock", "table-lock", "deadlock")
CITED = 10

JOBS = frozenset(("jobid", "job_id", "jobname", "job_name"))
WAITING = re.compile(r"PD|PEND|Q|H|qw|hqw|PENDING|QUEUED|Wait Cond|Wait Host|WAIT_?\w*|Idle", re.IGNORECASE)
STATES = ("st", "stat", "state", "s", "status", "job_state")
REASONS = ("nodelist_reason", "reason", "pending_reason", "comment")
LIMITED = re.compile(r"\((?:QOS|Assoc|Max|PartitionTimeLimit|JobArrayTaskLimit|Licenses|AccountingPolicy)\w*\)")
QUEUED = re.compile(r"(?i)queued\w*|reserve|waiting in queue")
FLAGS = {
    "L": ("a lock", "session-waits-for-lock"),
    "B": ("a buffer", "session-waits-for-buffer"),
    "C": ("a checkpoint", "session-waits-for-checkpoint"),
    "G": ("the write of the logical log", "session-waits-for-log"),
}
"""First flag of onstat -u, and what the session waits for; Y (a condition) is mostly the client."""

_LAG = re.compile(r"\+?(\d{1,5})[ :](\d{1,2}):(\d{2}):(\d{2})(?:\.\d+)?")
_INTERVAL = re.compile(r"(?:(\d{1,4}) days? )?(\d{1,3}):(\d{2}):(\d{2})(?:\.\d{1,9})?")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what waits in each listing, the largest share first."""
    found = [made for names, listing in listings(case) for read in _READERS for made in read(names, listing)]
    yield from sorted(found, key=lambda s: -(s.share or 0.0))


def _jobs(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the jobs of a batch system that wait, by their reasons."""
    state = next((n for n in STATES if n in names), None)
    if not names & JOBS or state is None:
        return
    held = [one for one in listing if WAITING.fullmatch(one.of[state].strip())]
    if not held or len(held) < HALF * len(listing):
        return
    reasons = Counter(found[1] for one in held if (found := one.first(REASONS)))
    why = "; ".join(f"{n:,} for {reason}" for reason, n in reasons.most_common(3))
    limited = sum(n for reason, n in reasons.items() if LIMITED.search(reason)) > HALF * len(held)
    yield _made(
        held, "jobs", f"{len(held):,} of {len(listing):,} jobs wait{': ' + why if why else ''}", "jobs_waiting", float(len(held)), "count",
        "jobs-wait-for-limit" if limited else "jobs-wait-for-nodes", len(held) / len(listing),
    )  # fmt: skip


def _queued(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield statements that wait in the queue of a database of many users."""
    if names & JOBS:
        return
    held: list[Listed] = []
    state = next((n for n in ("state", "request_type", "status", "execution_status") if n in names), None)
    if state and names & {"service_class", "queue_time", "queue_time_s", "position_in_queue", "pool_name"}:
        held = [one for one in listing if QUEUED.fullmatch(one.of[state].strip())]
    column = next((n for n in names if n.startswith("queued_") and n.endswith("time")), None)
    whole = next((n for n in names if n in ("total_elapsed_time", "elapsed_time")), None)
    if column and whole:
        held = [
            one for one in listing
            if (queued := figure_of(one.of[column])) and (took := figure_of(one.of[whole])) and queued >= HALF * took and took >= 10_000
        ]  # fmt: skip
    if held and len(held) >= HALF * len(listing):
        words = f"{len(held):,} of {len(listing):,} statements wait in the queue of their pool or spent most of their time there"
        yield _made(held, "statements", words, "statements_queued", float(len(held)), "count", "statements-queued", 0.7)


def _flagged(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield sessions of Informix that wait for a lock, buffer, checkpoint or the log."""
    if not {"flags", "sessid"} <= names:
        return
    for flag, (what, event) in FLAGS.items():
        held = [one for one in listing if re.fullmatch(rf"{flag}[A-Z-]{{6}}", one.of["flags"].strip())]
        if held:
            words = f"{len(held):,} of {len(listing):,} sessions wait for {what} (flag {flag})"
            yield _made(
                held,
                f"flag {flag}",
                words,
                "sessions_waiting",
                float(len(held)),
                "count",
                event,
                max(0.6, len(held) / len(listing)),
            )


def _idle(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the session that has been idle in its transaction longest."""
    if "state" not in names or names & {"blocking_pid", "blocked_by"}:
        return
    ages = [
        n
        for n in ("age", "xact_age", "duration", "idle_for", "xact_duration", "tx_age", "transaction_age")
        if n in names
    ]
    idle = [
        (seconds, one) for one in listing if one.of["state"].startswith("idle in transaction")
        for n in ages if (seconds := _seconds(one.of[n])) is not None and seconds >= OPEN_S
    ]  # fmt: skip
    if idle:
        seconds, one = max(idle, key=lambda x: x[0])
        words = f"A session has been idle in its transaction for {figure(seconds, 's')}"
        yield _made([one], "idle in transaction", words, "transaction_s", seconds, "s", "transaction-left-open", 0.6)


def _late(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield standbys that are far behind, of Data Guard and availability groups."""
    for one in listing:
        if {"name", "value"} <= names and one.of["name"].strip().lower() in ("apply lag", "transport lag"):
            found = _LAG.fullmatch(one.of["value"].strip())
            seconds = sum(int(x) * f for x, f in zip(found.groups(), (86400, 3600, 60, 1), strict=True)) if found else 0
            if seconds >= LATE_S:
                words = f"{one.of['name'].strip()} is {figure(float(seconds), 's')}"
                yield _made([one], one.of["name"].strip(), words, "lag_s", float(seconds), "s", "replica-late", 0.6)
        for column in {"redo_queue_size", "log_send_queue_size"} & names:
            size = figure_of(one.of[column])
            if size is not None and size >= LATE_KB:
                whose = (one.first(("replica_server_name", "database_name", "name")) or ("", "a replica"))[1]
                words = f"{column} of {whose} is {figure(size, 'kB')}"
                yield _made([one], column, words, "lag_kb", size, "kB", "replica-late", 0.6)


def _long(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield scans of whole tables that have run for long."""
    if not {"opname", "elapsed_seconds"} <= names:
        return
    for one in listing:
        took = figure_of(one.of["elapsed_seconds"])
        if (
            took is not None
            and took >= LONG_S
            and re.match(r"(?i)(?:table|index fast full|sort|hash)\b", one.of["opname"].strip())
        ):
            target = (one.first(("target", "target_desc")) or ("", "its table"))[1]
            words = f"{one.of['opname'].strip()} of {target} has run {figure(took, 's')}"
            scan = one.of["opname"].strip().lower().startswith(("table", "index"))
            yield _made([one], target, words, "elapsed_s", took, "s", "long-scan" if scan else "long-sort", 0.6)


def _operations(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield operations of MongoDB that have read a whole collection for a minute, or wait for a lock."""
    if not {"opid", "secs_running"} <= names:
        return
    old = [one for one in listing if (figure_of(one.of["secs_running"]) or 0.0) >= LATE_S]
    scans = [one for one in old if one.of.get("plansummary", "").startswith("COLLSCAN")]
    locked = [one for one in old if one.of.get("waitingforlock", "") == "true"]
    for held, event, what in (
        (locked, "session-waits-for-lock", "wait for a lock"),
        (scans, "long-scan", "read a whole collection"),
    ):
        if held:
            most = max(figure_of(one.of["secs_running"]) or 0.0 for one in held)
            words = f"{len(held):,} of {len(listing):,} operations {what}, the oldest for {figure(most, 's')}"
            yield _made(held, what, words, "operation_s", most, "s", event, max(0.6, len(held) / len(listing)))
            return


def _waits(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield the wait in which most sessions of a list have been for ten seconds or longer.

    Columns of other lists say since when a session is in its state or statement. They count for waits that signatures name as
    locks, whose time is nearly all of that of the statement; so does a lock that stands in a column of states (MySQL).
    """
    if not names & set(WHO) or any(one.first(WAITS_FOR) for one in listing):
        return
    millis, seconds = next((n for n in MILLIS if n in names), None), next((n for n in IN_WAIT if n in names), None)
    since = next((n for n in SECONDS if n in names), None)
    held: dict[str, list[tuple[float, Listed]]] = {}
    busy = 0
    for one in listing:
        event = _wait_of(names, one)
        if event is None:
            continue
        name = one.of[event].strip()
        busy += 1
        lock = any(s.mechanism in LOCKS and s.strength == "mechanism" for s in recognise(event=name)[:1])
        if event in WAITS and (seconds or millis):
            took = (figure_of(one.of[seconds]) or 0.0) if seconds else (figure_of(one.of[millis or ""]) or 0.0) / 1000
        else:
            took = (figure_of(one.of[since]) or 0.0) if since and lock else 0.0
        if took >= STUCK_S:
            held.setdefault(name, []).append((took, one))
    for name, stuck in held.items():
        if len(stuck) >= SEVERAL and len(stuck) >= HALF * busy:
            most = max(took for took, _ in stuck)
            words = f"{len(stuck):,} of {busy:,} sessions at work wait in {name}, the longest for {figure(most, 's')}"
            made = _made([one for _, one in stuck], name, words, "wait_s", most, "s", name, max(0.6, len(stuck) / busy))
            yield made


def _wait_of(names: frozenset[str], one: Listed) -> str | None:
    """Return the column that names the wait of a session at work: one of waits, or that of states if it names a lock."""
    event = next((n for n in WAITS if n in names), None)
    if event is not None:
        name = one.of[event].strip()
        idle = IDLE_WAITS.fullmatch(name) or any(s.strength == "idle" for s in recognise(event=name)[:1])
        return event if is_known(name) and not idle else None
    if "state" not in names or not is_known(one.of["state"]):
        return None
    name = one.of["state"].strip()
    return "state" if any(s.mechanism in LOCKS for s in recognise(event=name)[:1]) or _works(one) else None


def _works(one: Listed) -> bool:
    """Return whether a session of a list of states runs a statement.

    >>> [_works(Listed({}, {"command": command, "state": "updating"}, {}, {})) for command in ("Query", "Sleep")]
    [True, False]
    """
    return one.of.get("command", "").strip().lower() in ("query", "execute")


def _plans(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield a statement of which one plan takes far longer than another one."""
    key = next((n for n in ("query_id", "sql_id", "queryid") if n in names), None)
    plan = next((n for n in ("plan_id", "plan_hash_value", "plan_hash") if n in names), None)
    took = next(
        (
            n
            for n in (
                "avg_duration_us",
                "avg_duration",
                "avg_duration_ms",
                "avg_etime",
                "avg_elapsed",
                "avg_elapsed_s",
                "avg_ela_ms",
            )
            if n in names
        ),
        None,
    )
    if key is None or plan is None or took is None:
        return
    of_statement: dict[str, list[tuple[float, Listed]]] = {}
    for one in listing:
        if (value := figure_of(one.of[took])) is not None and value > 0:
            of_statement.setdefault(one.of[key], []).append((value, one))
    for name, held in of_statement.items():
        slow, quick = max(held, key=lambda x: x[0]), min(held, key=lambda x: x[0])
        if slow[1].of[plan] != quick[1].of[plan] and slow[0] >= TIMES * quick[0]:
            words = f"The statement {name} takes {slow[0] / quick[0]:,.0f} times as long by plan {slow[1].of[plan]} as by plan {quick[1].of[plan]} ({took})"
            yield _made(
                [slow[1], quick[1]],
                f"statement {name}",
                words,
                "times",
                slow[0] / quick[0],
                "",
                "plan-slower-than-other",
                0.7,
            )


def _spilled(names: frozenset[str], listing: Sequence[Listed]) -> Iterator[Sighting]:
    """Yield statements that wrote what did not fit into memory to remote storage."""
    column = next((n for n in names if n.startswith("bytes_spilled_to_remote")), None)
    if column is None:
        return
    held = [(size, one) for one in listing if (size := figure_of(one.of[column])) is not None and size >= SPILLED]
    if held:
        size = max(x[0] for x in held)
        words = (
            f"{len(held):,} of {len(listing):,} statements spilled to remote storage, at most {figure(size, 'bytes')}"
        )
        yield _made([x for _, x in held], "spilled", words, "spilled_bytes", size, "bytes", "spilled-to-remote", 0.6)


def _seconds(text: str) -> float | None:
    found = _INTERVAL.fullmatch(text.strip())
    return int(found[1] or 0) * 86400.0 + int(found[2]) * 3600 + int(found[3]) * 60 + int(found[4]) if found else None


_READERS = (_jobs, _queued, _flagged, _idle, _late, _long, _operations, _waits, _plans, _spilled)


def _made(
    held: Sequence[Listed], subject: str, words: str, name: str, value: float, unit: str, event: str, share: float
) -> Sighting:
    lines = []
    for one in held[:CITED]:
        no = int(one.row["line_no"])
        lines.append(Lines(int(one.row["artifact_id"]), no, no, subject))
    return Sighting(
        "wait", subject, words, name, value, unit, tuple(lines), **place(held[0].row), against="none that waits", against_value=0.0,
        share=min(1.0, share), n=len(held), seen=({"event": event},),
    )  # fmt: skip

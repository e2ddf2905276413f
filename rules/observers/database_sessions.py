"""What sessions of a database do: how many the same, since when the longest, who waits for a lock, who was left behind.

Standing out: sessions that wait for a lock of a row or table for a second or longer, or three of them at once; five sessions
or more of one state that were left at a fixed distance in time, as by a job that never gives them back. Normal: idle sessions,
background processes and other waits, which are told as measures with the longest of each state. Where the list names blockers,
it is told for whom sessions wait (`blockers.py`). Of sessions that keep an old
view of the rows (`xmin`), the oldest is told beside: a vacuum removes nothing that it may still see.
Worked example: `| 9 | app | web1 | shop | Query | 140 | Waiting for table metadata lock | ...`, the only one that is not
asleep: 1 listed session of 60, 100 % of those that have something to do.
Cost: one aggregation over the listed sessions. Source: MySQL Reference Manual, SHOW PROCESSLIST; PostgreSQL documentation,
pg_stat_activity; Oracle Database Reference, V$SESSION.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.blockers import Waiting, chains
from rules.observers.observer import MOST_LINES, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen, recognise

OBSERVER = Observer(
    "database-sessions",
    "What do the sessions of a database do?",
    ("sessions",),
    {
        "*": "the whole list three times, 10 s apart: mysqladmin --verbose processlist, psql -c 'select * from pg_stat_activity' or v$session;"
        " the log of the application with the size of its pool"
    },
)

TOP = 3
"""Number of states of a listing that are told, the most frequent first."""

MOST_TIMES = 1000
"""Maximum number of sessions of one state whose times are compared."""

ONE_BY_ONE = 5
"""Minimum number of sessions at a fixed distance in time: three or four may be so by chance."""

LEAST_STEP_S = 10.0
"""Minimum distance of sessions left one by one: those of a pool that starts are nearer."""

LOG_IN = "authentication-wait"
LOCKED_S = 1.0
"""Minimum time in seconds that one session waits for a lock to be told: shorter waits are how locks work."""

LOCKS = ("row-lock", "table-lock")
"""Mechanisms of locks that one session holds and others wait for."""

HOLDING = "idle in transaction"
"""State of sessions that do nothing and keep their locks and their view of old rows."""

RESTING = r"idle|sleep(?:ing)?|inactive|daemon|binlog dump(?: gtid)?|background|dormant"
"""States of sessions that have nothing to do. One that is idle in a transaction may hold locks."""

AT_WORK = r"(?:Extension|Activity|Timeout)(?::.*)?"
"""Events of background workers of PostgreSQL that wait for their next work."""

COMMANDS = r"Sleep|Query|Connect|Daemon|Execute|Binlog Dump(?: GTID)?|Killed|Prepare|Field List|Init DB|Quit|Close stmt|Fetch|Slave_(?:IO|SQL|worker)"
"""Commands of MySQL (the column state): beside them the event is the thread's state, which may be work."""

MOST_SESSIONS = 20_000
"""Maximum number of sessions of listings with blockers that are looked at."""

LONGEST_S = 3650 * 86400.0
"""Maximum believable time in seconds since the last call of a session."""

LISTED = 10
"""Maximum number of lines of sessions that are cited."""

BEHIND = 10_000
"""Minimum distance in transactions from which the view of a working session is old: those of a report differ by less."""

CHANGES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
CHANGING = r"(?i)update|updating|searching rows for update|deleting from \S+ table|write row"
"""States of threads of MySQL in which a change waits for the lock of a row: the list does not say that it waits."""

STUCK_S = 10.0
"""Minimum time in seconds of a change from which it hardly works: one row is changed in a moment."""

TOGETHER_S, TOGETHER = 2.0, 0.05
"""Distance in seconds, and as a part, of the times of a change and of a session that fell asleep as it began."""

AROUND = 2**31
"""Distance from which numbers of transactions have come round, so that the smaller one is no older."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield groups of sessions with the same state and wait event, blockers, and sessions left at regular intervals."""
    key = [*PLACE_COLUMNS, "state", "event"]
    columns = [*key, "line_no", "line_end", "sid", "db_user", "db_name", "program", "machine", "last_call_s", "xmin"]
    columns += ["blocked_by", "wait_class", "wait_s", "verb", "xact_text"]
    rows = case.scan("sessions", columns).with_columns(pl.col("xmin").max().over("artifact_id").alias("newest"))
    since = pl.col("last_call_s").filter(pl.col("last_call_s").is_between(0, LONGEST_S))
    groups = (
        rows.filter(pl.col("state").is_not_null() | pl.col("event").is_not_null())
        .group_by(key)
        .agg(
            pl.len().alias("n"),
            pl.col("db_user").drop_nulls().mode().sort().first(),
            pl.col("db_name").drop_nulls().mode().sort().first(),
            pl.col("db_name").drop_nulls().n_unique().alias("db_names"),
            pl.col("machine").drop_nulls().mode().sort().first(),
            pl.col("machine").drop_nulls().n_unique().alias("machines"),
            pl.struct("line_no", pl.coalesce("line_end", "line_no").alias("line_end"))
            .sort_by("line_no")
            .head(LISTED)
            .alias("lines"),
            pl.struct("xmin", "newest", "sid", "program").sort_by("xmin", nulls_last=True).first().alias("oldest"),
            since.max(),
            pl.col("blocked_by").is_not_null().sum().alias("waiting"),
            pl.col("line_no", "line_end", "sid")
            .filter(pl.col("last_call_s") == since.max())
            .first()
            .name.prefix("longest_"),
            since.sort().head(MOST_TIMES).alias("times"),
        )
        .with_columns(pl.col("n").sum().over("artifact_id").alias("all"))
        # Groups come in no order: without the key, of states with like numbers another one came first each time.
        .sort("n", *key, descending=[True, *[False] * len(key)], nulls_last=True)
        .collect(engine="streaming")
    )
    found = list(groups.iter_rows(named=True))
    busy: dict[int, int] = {}
    for row in found:
        busy[row["artifact_id"]] = busy.get(row["artifact_id"], 0) + (0 if _rests(row) else row["n"])
    waits = [row for row in found if _waits_outright(row)]
    waits += [r for r in found if _holds(r) and r not in waits][:TOP]
    yield from _chains(rows)
    yield from _oldest_transaction(rows)
    yield from _behind_sleepers(rows)
    for row in [*waits, *(r for r in found[:TOP] if r not in waits)]:
        yield _alike(row, busy[row["artifact_id"]], waits=_waits_outright(row))
    for row in found[:TOP]:
        if row["last_call_s"] and row["longest_line_no"] is not None:
            yield _longest(row)
        if (step := _step(row["times"])) is not None:
            yield _one_by_one(row, step)


def _chains(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield the blockers of each listing that names for each session which one it waits for."""
    listed = rows.filter((pl.col("blocked_by").is_not_null().any()).over("artifact_id") & pl.col("sid").is_not_null())
    for _, part in (
        listed.head(MOST_SESSIONS)
        .collect(engine="streaming")
        .sort("line_no")
        .group_by("artifact_id", maintain_order=True)
    ):
        yield from chains([_waiting(row) for row in part.iter_rows(named=True)])


def _behind_sleepers(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield changes of MySQL that have run since a session of the same database fell asleep: it may hold their rows."""
    listed = rows.filter(pl.col("last_call_s").is_between(STUCK_S, LONGEST_S) & pl.col("db_name").is_not_null())
    asleep = pl.col("state").str.to_lowercase() == "sleep"
    changes = pl.col("verb").str.to_uppercase().is_in(CHANGES) & pl.col("event").str.contains(rf"^(?:{CHANGING})$")
    made = listed.filter(asleep | changes).head(MOST_SESSIONS).collect(engine="streaming").sort("line_no")
    for _, part in made.group_by("artifact_id", "db_name", maintain_order=True):
        sessions = list(part.iter_rows(named=True))
        sleepers = [row for row in sessions if row["state"].lower() == "sleep"]
        found = []
        for row in (r for r in sessions if r["state"].lower() != "sleep"):
            near = max(TOGETHER_S, TOGETHER * row["last_call_s"])
            if since := [s for s in sleepers if abs(s["last_call_s"] - row["last_call_s"]) <= near]:
                found.append((row, since[:TOP]))
        for row, since in sorted(found, key=lambda x: -x[0]["last_call_s"])[:1]:
            who = " and ".join(str(s["sid"]) for s in since)
            slept = f"session {who} of the same database has slept" if len(since) == 1 else f"sessions {who} have slept"
            more = f"; {len(found) - 1:,} more such changes are listed" if len(found) > 1 else ""
            yield Sighting(
                "sessions",
                f"{row['verb']} of session {row['sid']}",
                f"Session {row['sid']} has been in one {row['verb']} for {row['last_call_s']:,.0f} s ({row['event']}), and {slept} as"
                f" long: {'it' if len(since) == 1 else 'one of them'} may hold the rows{more}",
                "change_s",
                row["last_call_s"],
                "s",
                tuple(
                    Lines(r["artifact_id"], r["line_no"], min(r["line_end"] or r["line_no"], r["line_no"] + 3), role)
                    for r, role in ((row, "a change"), *((s, "asleep as long") for s in since))
                ),
                **place(row),
                against="a change of a row",
                against_value=STUCK_S,
                share=1.0,
                n=len(found),
                seen=({"event": "change-behind-a-sleeper"},),
            )


def _oldest_transaction(rows: pl.LazyFrame) -> Iterator[Sighting]:
    """Yield the listed session with the oldest transaction. Its age is unknown without the time of the listing."""
    open_ = rows.filter(pl.col("xact_text").str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2} "))
    made = (
        open_.group_by(PLACE_COLUMNS)
        .agg(
            pl.len().alias("n"),
            pl.struct("line_no", "line_end", "sid", "program", "state", "verb", "xact_text")
            .sort_by("xact_text")
            .first()
            .alias("of"),
        )
        .collect(engine="streaming")
    )
    for row in made.iter_rows(named=True):
        of = row["of"]
        last = min(of["line_end"] or of["line_no"], of["line_no"] + MOST_LINES - 1)
        oldest = (
            f"The oldest of the {row['n']:,} listed transactions" if row["n"] > 1 else "The only listed transaction"
        )
        who = ", ".join(str(x) for x in (of["program"], of["state"], of["verb"]) if x)
        yield Sighting(
            "sessions",
            f"transaction of session {of['sid']}",
            f"{oldest} began at {of['xact_text']}: session {of['sid']}"
            + (f" ({who})" if who else "")
            + "; it may still see rows as they were then",
            "transactions_count",
            float(row["n"]),
            "count",
            (Lines(row["artifact_id"], of["line_no"], last, "oldest transaction"),),
            **place(row),
            against="all listed transactions",
            against_value=float(row["n"]),
            n=row["n"],
            normal=True,
        )


def _waiting(row: Mapping[str, Any]) -> Waiting:
    sid, by = str(row["sid"]), None if row["blocked_by"] is None else str(row["blocked_by"])
    last = min(row["line_end"] or row["line_no"], row["line_no"] + MOST_LINES - 1)
    line = Lines(row["artifact_id"], row["line_no"], last, f"waits for {by}" if by else f"waited for: {sid}")
    since = row["last_call_s"] if row["last_call_s"] and 0 < row["last_call_s"] < LONGEST_S else None
    wait_s = row["wait_s"] if row["wait_s"] and 0 < row["wait_s"] < LONGEST_S else since
    return Waiting(
        sid, row, line, by, line if by else None, wait_s if by else None, row["event"] if by else None,
        row["wait_class"] if by else None, row["state"], row["verb"], None if by else since,
    )  # fmt: skip


def _rests(row: Mapping[str, Any]) -> bool:
    """Return whether sessions in this state or wait event are idle."""
    if re.fullmatch(RESTING, row["state"] or "", re.IGNORECASE) or _background(row):
        return True
    return any(one.strength == "idle" for one in recognise(event=row["event"])[:1]) if row["event"] else False


def _background(row: Mapping[str, Any]) -> bool:
    """Return whether sessions are idle background workers of PostgreSQL: no state, and a wait for their own work."""
    return not row["state"] and re.fullmatch(AT_WORK, row["event"] or "") is not None


def _waits_outright(row: Mapping[str, Any]) -> bool:
    """Return whether sessions wait long, or many of them wait, for an event that signatures name outright as a lock.

    For another event that is named outright (a write of the log, a latch), many sessions must wait long: on a busy
    server some always wait for it. A log-in takes milliseconds, so that many at once which are half of the sessions wait.
    """
    if not row["event"] or _rests(row):
        return False
    if _log_ins_wait(row):
        return True
    many, long = row["n"] >= TOP, (row["last_call_s"] or 0.0) >= LOCKED_S
    named = {one.mechanism for one in recognise(event=row["event"]) if one.strength == "mechanism"}
    return ((many or long) and not named.isdisjoint(LOCKS)) or (many and long and bool(named))


def _log_ins_wait(row: Mapping[str, Any]) -> bool:
    """Return whether many sessions, and half of all, are at their log-in."""
    many = row["n"] >= TOP and 2 * row["n"] >= row["all"]
    return many and any(one.mechanism == LOG_IN for one in recognise(event=row["event"]))


def _alike(row: Mapping[str, Any], busy: int, *, waits: bool) -> Sighting:
    one = row["n"] == 1
    what = _doing(row)
    whose = f", {'' if one else 'most '}of {row['db_user']}" if row["db_user"] else ""
    where = f"{'' if one else ', all'} in {row['db_name']}" if row["db_name"] and row["db_names"] == 1 else ""
    whence = f"{'' if one else ', all'} from {row['machine']}" if row["machine"] and row["machines"] == 1 else ""
    since = figure(row["last_call_s"], "s") if row["last_call_s"] else ""
    since = (
        f"{row['last_call_s']:,.0f} s ({since})" if (row["last_call_s"] or 0.0) >= 60 else since
    )  # as it is listed, too
    last = f"; {'' if one else 'one of them '}for {since}" if since else ""
    held_up = (
        f"; {'it waits' if one else 'all of them wait' if row['waiting'] == row['n'] else format(row['waiting'], ',') + ' of them wait'}"
        " for another session"
        if row["waiting"]
        else ""
    )
    subject = (
        "The only session of the listing is"
        if row["all"] == 1
        else f"{row['n']:,} of {row['all']:,} listed sessions {'is' if one else 'are'}"
    )
    held = _holds(row)
    return Sighting(
        "sessions",
        row["event"] or row["state"],
        f"{subject} {what}{whose}{where}{whence}{last}{held_up}",
        f"{row['event'] or row['state']} sessions_count",
        float(row["n"]),
        "count",
        _cited(row, first=row["longest_line_no"] if waits else None),
        **place(row),
        against="all sessions",
        against_value=float(row["all"]),
        share=min(1.0, row["n"] / busy) if waits and busy else row["n"] / row["all"],
        n=row["n"],
        seen=_seen(row) if waits else (),
        normal=not (waits or held),
        beside=_old_view(row),
    )


def _seen(row: Mapping[str, Any]) -> tuple[Seen, ...]:
    event: Seen = {"event": row["event"]}
    return ({"event": "log-ins-wait"}, event) if _log_ins_wait(row) else (event,)


def _doing(row: Mapping[str, Any]) -> str:
    """Describe what sessions do. The event of MySQL is a thread's state, which is work unless it says `Waiting for`."""
    if _background(row):
        return f"at rest in {row['event']}, as background workers are"
    event = row["event"]
    if event and not re.fullmatch(COMMANDS, row["state"] or "", re.IGNORECASE) and not event.startswith("Waiting for"):
        event = f"waiting for {event}"
    return ", ".join(x for x in (row["state"], event) if x)


def _holds(row: Mapping[str, Any]) -> bool:
    return (row["state"] or "").lower().startswith(HOLDING)


def _cited(row: Mapping[str, Any], first: int | None) -> tuple[Lines, ...]:
    """Return the lines of a group of sessions, at most `MOST_LINES` in all, beginning with line `first`."""
    found: list[Lines] = []
    for of in sorted(row["lines"], key=lambda line: line["line_no"] != first):
        room = MOST_LINES - sum(x.line_to - x.line_from + 1 for x in found)
        if room > 0:
            last = min(of["line_end"], of["line_no"] + room - 1)
            found.append(Lines(row["artifact_id"], of["line_no"], last, "session"))
    return tuple(found)


def _old_view(row: Mapping[str, Any]) -> str | None:
    """Describe the session with the oldest view of the rows (`xmin`); None if its age is usual."""
    of = row["oldest"]
    behind = of["newest"] - of["xmin"] if of["xmin"] is not None else 0
    if not 0 < behind < AROUND or (behind < BEHIND and not _holds(row)):
        return None
    program = f" of {of['program']}" if of["program"] else ""
    return (
        f"session {of['sid']}{program} may still see rows as of transaction {of['xmin']} (backend_xmin),"
        f" {behind:,} before the newest view of the list"
    )


def _longest(row: Mapping[str, Any]) -> Sighting:
    """Return the sighting of the session that is longest in its state; what is normal depends on the state."""
    who = f"Session {row['longest_sid']}" if row["longest_sid"] is not None else "A session"
    state = row["state"] if _holds(row) else row["event"] or row["state"]
    line = row["longest_line_no"]
    last = min(row["longest_line_end"] or line, line + MOST_LINES - 1)
    return Sighting(
        "sessions",
        state,
        f"{who} has been {state} for {row['last_call_s']:,.0f} s ({figure(row['last_call_s'], 's')}), the longest of {row['n']:,}",
        "longest_state_s",
        row["last_call_s"],
        "s",
        (Lines(row["artifact_id"], line, last, f"{state} {row['last_call_s']:.0f}"),),
        **place(row),
        against="the usual time of a statement",
        against_value=60.0,
        n=row["n"],
        normal=True,
    )


def _step(times: list[float] | None) -> float | None:
    """Return the interval in seconds at which sessions were left one after the other; None if it is not regular.

    >>> _step([40.0, 100.0, 160.1, 220.0, 340.0, 400.0]), _step([1.0, 2.0, 3.0, 4.0, 5.0])
    (60.0, None)
    """
    if not times or len(times) < ONE_BY_ONE:
        return None
    steps = [b - a for a, b in itertools.pairwise(times)]
    middle = sorted(steps)[len(steps) // 2]
    alike = sum(abs(step - middle) <= 0.01 * middle for step in steps)
    return float(round(middle, 3)) if middle >= LEAST_STEP_S and alike >= 0.6 * len(steps) else None


def _one_by_one(row: Mapping[str, Any], step: float) -> Sighting:
    first, last = row["times"][0], row["times"][-1]
    state = row["event"] or row["state"]
    return Sighting(
        "sessions",
        f"{state} since {first:.0f} s to {last:.0f} s",
        f"{row['n']:,} sessions that are {state} were left one by one, {step:,.0f} s apart, the oldest {figure(last, 's')} ago",
        "step_s",
        step,
        "s",
        tuple(Lines(row["artifact_id"], x["line_no"], x["line_no"], "left at a fixed interval") for x in row["lines"]),
        **place(row),
        share=0.5,
        n=row["n"],
    )

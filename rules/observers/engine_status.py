"""What InnoDB's monitor and workers of PostgreSQL say: deadlocks, transactions that wait for or hold locks, the oldest, semaphores, history.

Standing out: a deadlock, each transaction in LOCK WAIT, the lock that it waits for or holds, the oldest transaction from a
minute on, a thread that waited for a semaphore, a history list of 100,000 or more, statements in the queue. Normal: younger
transactions, short history, buffer hit rates of 95 % or more. The deadlock of a whole monitor output may be old (the
server keeps the latest one since its start): there it is a remark.
Worked example: `TRANSACTION 8, ACTIVE 51 sec`, `LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)` and
`TRX HAS BEEN WAITING 50 SEC`: it waits since 50 of its 51 s.
Cost: the rows of the report, one pass. Source: MySQL Reference Manual, InnoDB Standard Monitor and Lock Monitor Output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "engine-status",
    "What does the storage engine say about its locks?",
    ("rows",),
    {
        "*": r"mysql -e 'SHOW ENGINE INNODB STATUS\G; SHOW FULL PROCESSLIST', or"
        " psql -c 'select pid, pg_blocking_pids(pid), state, query from pg_stat_activity'"
    },
)

REPORT, PROCESS = "InnoDB status", "server process"
MOST_ROWS = 50_000
"""Maximum number of lines of a report that are looked at; those of the first transactions say what there is."""

LONGEST = 500
"""Maximum number of characters of a line that are looked at: what stands behind is a statement's rest."""

TOLD = 3
"""Maximum number of transactions that are told of one kind."""

OLD_S = 60.0
"""Minimum age of a transaction that is worth a word: statements of applications end within seconds."""

HISTORY = 100_000
"""Minimum length of the history list: a purge that keeps up leaves some thousands."""

FAR_BEHIND = 1_000_000
"""Length of the history list that no purge leaves which can go on: each read of a changed row looks through its versions."""

HIT_PER_MILLE = 950
"""Buffer pool hit rate below which reads go to disk noticeably."""

ACTIVE_S = 10.0
"""Minimum age in seconds of a transaction whose wait for a lock is felt, where the time of the wait is not printed."""

_TRX = re.compile(
    r"(?:---)?TRANSACTION (?P<id>[0-9A-Fa-f]+(?: [0-9]+)?), (?:ACTIVE (?:\(\w+\) )?(?P<s>\d{1,9}) sec ?(?P<doing>.*)|.*)"
)
_LOCKS = re.compile(r"(?P<wait>LOCK WAIT )?(?P<structs>\d{1,12}) lock struct.*?(?:, (?P<rows>\d{1,12}) row lock.*)?")
_WHO = re.compile(r"(?:MySQL|MariaDB) thread id (?P<id>\d{1,18}), .*?query id \d+ ?(?P<who>.*)")
_LOCK = re.compile(
    r"(?:RECORD|TABLE) LOCKS?.*?(?:index (?P<index>\S{1,130}) of )?table (?P<table>\S{1,260}) .*?trx id (?P<id>\S+)"
    r" lock[_ ]mode (?P<mode>.*)"
)
_DEADLOCK, _PART = "LATEST DETECTED DEADLOCK", re.compile(r"\*\*\* \((\d+)\) (TRANSACTION|WAITING FOR|HOLDS).*")
_BACK = re.compile(r"\*\*\* WE ROLL BACK TRANSACTION \((\d+)\).*")
_WAITED = re.compile(r"-{3,} ?TRX HAS BEEN WAITING (\d{1,15}) (SEC|us).*")
_SEMAPHORE = re.compile(r"--Thread (\d+) has waited at (.{1,200}?) for ([\d.]{1,15}) seconds the semaphore.*")
_HISTORY = re.compile(r"History list length (\d{1,15}).*")
_QUEUE = re.compile(r"(\d{1,9}) queries inside InnoDB, (\d{1,9}) queries in queue.*")
_HIT = re.compile(r"Buffer pool hit rate (\d{1,4}) / 1000.*")
_VACUUM = re.compile(
    r"autovacuum: (?:VACUUM ANALYZE|VACUUM|ANALYZE) (?P<table>[^\s|]{1,130})(?: \(to prevent wraparound\))?"
)
_PENDING = re.compile(r"(?<![\w.])[0-9]{1,6}(?![\w.])")
HELD_S, AIO = 10.0, 64.0
"""Seconds that a thread waits for a latch of the engine, which is held for microseconds, from which it is not in passing (InnoDB itself complains
after 240 s), and number of requests that wait for the disk: a queue longer than that of any single disk (nr_requests is 64 or more)."""

_STATEMENT = re.compile(
    r"(?i)(?:select|insert|update|delete|replace|alter|create|drop|call|load|truncate|optimize)\b.*"
)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what the monitor says, locks and deadlocks first."""
    is_report = pl.col("heading").list.first().is_in([REPORT, PROCESS])
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    rows = case.scan("rows", columns).filter(is_report).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.sort("line_no").group_by("artifact_id", "part", maintain_order=True):
        yield from _vacuums([r for r in part.iter_rows(named=True) if r["cells"] and r["heading"][0] == PROCESS])
        part = part.filter(pl.col("heading").list.first() == REPORT)
        yield from _Report([r for r in part.iter_rows(named=True) if r["cells"] and r["cells"][0]]).sightings()


def _vacuums(rows: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield running autovacuums; one that prevents wraparound does not give way to a session that wants the table."""
    known = [(row, found) for row in rows if (found := _VACUUM.search(row["cells"][0] or ""))]
    for row, found in sorted(known, key=lambda x: "wraparound" not in x[1][0])[:TOLD]:
        firm = "wraparound" in found[0]
        stays = "; such a one does not give way by itself" if firm else ""
        yield Sighting(
            "process", found["table"], f"{found[0]} is running{stays}", "workers_count", float(len(known)), "count",
            (_line(row, found[0][:120]),), **place(row), share=0.3 if firm else None, n=len(known), normal=not firm,
        )  # fmt: skip


class _Report:
    """The transactions, deadlock and measures of one report."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows = rows
        self.trx: list[dict[str, Any]] = []
        self.head: dict[str, Any] | None = None
        self.back: dict[str, Any] | None = None
        self.numbers: set[str] = set()
        self.measures: list[Sighting] = []
        self.whole = False
        self._read()

    def _read(self) -> None:
        now: dict[str, Any] | None = None
        dead = False
        known: dict[str, dict[str, Any]] = {}
        for row in self.rows:
            text = row["cells"][0].strip()[:LONGEST]
            if text == _DEADLOCK:
                self.head, dead = self.head or row, True
            elif part := _PART.fullmatch(text):
                self.numbers.add(part[1])
                dead = True
                self.head = self.head or row
            elif back := _BACK.fullmatch(text):
                self.back = {**row, "number": back[1]}
            elif found := _TRX.fullmatch(text):
                dead = dead and not text.startswith("---")
                now = {**found.groupdict(), "row": row, "dead": dead, "locks": []}
                if found["s"] is not None:
                    self.trx.append(now)
                    known.setdefault(found["id"], now)
            elif now is not None and (found := _LOCKS.fullmatch(text)):
                now["held"] = {**found.groupdict(), "row": row}
            elif now is not None and (found := _WHO.fullmatch(text)):
                now["who"] = {**found.groupdict(), "row": row}
            elif found := _WAITED.fullmatch(text):
                waited = {"s": int(found[1]) / (1 if found[2] == "SEC" else 1e6), "row": row}
                if now is None:  # the report begins below the transaction that waits
                    now = {"id": None, "s": waited["s"], "doing": None, "row": row, "dead": dead, "locks": []}
                    self.trx.append(now)
                now["waited"] = waited
            elif found := _LOCK.fullmatch(text):
                one = known.get(found["id"], now)
                if one is not None and len(one["locks"]) < TOLD:
                    one["locks"].append({**found.groupdict(), "row": row})
            elif now is not None and "sql" not in now and _STATEMENT.fullmatch(text):
                now["sql"] = {"text": " ".join(text.split()[:4])[:80], "row": row}
            else:
                self.measures += _measured(row, text)
                self.whole |= text.startswith("History list")

    def sightings(self) -> Iterator[Sighting]:
        """Yield what stands out, the deadlock first."""
        if self.head is not None:
            yield self._deadlock(self.head)
        waiting = [t for t in self.trx if t.get("held", {}).get("wait") or t.get("waited")]
        for one in sorted(waiting, key=lambda t: -float(t["s"]))[:TOLD]:
            yield self._waiting(one)
        told = 0
        for one in self.trx:
            for lock in one["locks"][:TOLD]:
                told += 1
                if told <= 2 * TOLD:
                    yield _lock(one, lock)
        listed = sorted((t for t in self.trx if t["id"]), key=lambda t: -float(t["s"]))
        for n, one in enumerate(listed[:TOLD]):
            yield self._age(one, first=n == 0, several=len(listed))
        yield from self.measures

    def _deadlock(self, head: dict[str, Any]) -> Sighting:
        n = max(len(self.numbers), 1)
        back = f"; transaction ({self.back['number']}) was rolled back" if self.back else ""
        lines = [_line(head, _DEADLOCK if head["cells"][0].strip() == _DEADLOCK else "deadlock")]
        lines += [_line(self.back, "rolled back")] if self.back else []
        seen: tuple[Seen, ...] = () if self.whole else ({"log": _DEADLOCK},)
        named = _DEADLOCK if head["cells"][0].strip() == _DEADLOCK else "A deadlock"
        text = f"{named}: {n} of its transactions {'is' if n == 1 else 'are'} listed{back}"
        return Sighting(
            "failure",
            _DEADLOCK,
            text,
            "deadlock_transactions_count",
            float(n),
            "count",
            tuple(lines),
            **place(head),
            share=0.2 if self.whole else 0.6,
            n=1,
            seen=seen,
            failure=not self.whole,
        )

    def _waiting(self, one: dict[str, Any]) -> Sighting:
        held, waited = one.get("held") or {}, one.get("waited")
        rows = float(held.get("rows") or 0)
        table = next((lock["table"] for lock in one["locks"] if "waiting" in lock["mode"]), None)
        where = f" on {table}" if table else ""
        since = f" since {figure(waited['s'], 's')}" if waited else ""
        who = f"Transaction {one['id']}" if one["id"] else "A transaction"
        text = f"{who} is in LOCK WAIT{where}{since}" + (f" and holds {rows:,.0f} row locks" if held else "")
        lines = [_line(held["row"], "LOCK WAIT")] if held else []
        lines += [_line(waited["row"], "time of the wait")] if waited else []
        seen: tuple[Seen, ...] = () if one["dead"] else ({"log": "TRX HAS BEEN WAITING"},)
        # The monitor of MySQL 5.0 and 5.1 does not tell since when: one that has been active for long waits long enough.
        felt = waited["s"] >= 1 if waited else float(one["s"] or 0) >= ACTIVE_S
        return Sighting(
            "wait",
            "LOCK WAIT",
            text,
            "row_locks_count" if held else "waited_s",
            rows if held or not waited else waited["s"],
            "count" if held or not waited else "s",
            tuple(lines),
            **place(one["row"]),
            seconds=waited["s"] if waited and not one["dead"] else None,
            of_s=max(float(one["s"]), waited["s"]) if waited and not one["dead"] else None,
            share=None if waited and not one["dead"] else 0.5,
            seen=seen if felt else (),
        )

    def _age(self, one: dict[str, Any], *, first: bool, several: int) -> Sighting:
        age, doing, sql, who = float(one["s"]), one["doing"] or "", one.get("sql"), one.get("who")
        what = f" with {sql['text']}" if sql else ""
        whose = f", {who['who'].strip()[:60]}" if who and who["who"].strip() else ""
        rank = f", the oldest of {several:,} active ones" if first and several > 1 else ""
        text = f"Transaction {one['id']} was ACTIVE {age:,.0f} sec {doing}".rstrip() + f"{what}{whose}{rank}"
        lines = [_line(one["row"], f"ACTIVE {age:.0f} sec")]
        lines += [_line(sql["row"], f"statement: {sql['text']}")] if sql else []
        return Sighting(
            "wait",
            f"transaction {one['id']}",
            text,
            "transaction_age_s",
            age,
            "s",
            tuple(lines),
            **place(one["row"]),
            against="a transaction of an application",
            against_value=OLD_S,
            normal=age < OLD_S and not one["dead"],
            share=min(0.4, age / 1e4) if age >= OLD_S else 0.25,
        )


def _lock(one: dict[str, Any], lock: dict[str, Any]) -> Sighting:
    waits = "waiting" in lock["mode"]
    mode = lock["mode"].replace(" waiting", "").replace("Record lock", "").strip()
    of = f"index {lock['index']} of " if lock["index"] else ""
    role = f"{'waits for' if waits else 'holds'} {mode}"
    return Sighting(
        "lock",
        mode,
        f"{'Transaction ' + one['id'] if one['id'] else 'A transaction'} {'waits for' if waits else 'holds'} lock mode {mode} on {of}table {lock['table']}",
        "locks_count",
        1.0,
        "count",
        (_line(lock["row"], role),),
        **place(lock["row"]),
        share=0.35,
    )


def _measured(row: dict[str, Any], text: str) -> Iterator[Sighting]:
    """Yield the measures on a line that belongs to no transaction."""
    if found := _SEMAPHORE.fullmatch(text):
        seconds = _number(found[3])
        said = f"Thread {found[1]} has waited {figure(seconds, 's')} for a semaphore at {found[2]}"
        made = _one(row, found[2], said, "semaphore_wait_s", seconds, "s", 1.0, seconds >= 1, seconds)
        yield (
            replace(made, share=0.6, seconds=None, seen=({"event": "engine-latch-held"},))
            if seconds >= HELD_S
            else made
        )
    elif found := _HISTORY.fullmatch(text):
        n = float(found[1])
        said = f"History list length is {n:,.0f}: that many old versions of rows wait for the purge"
        made = _one(row, "History list length", said, "history_list_count", n, "count", HISTORY, n >= HISTORY)
        yield replace(made, share=0.6, seen=({"event": "purge-late"},)) if n >= FAR_BEHIND else made
    elif text.startswith("Pending normal aio reads:") and (n := float(sum(map(int, _PENDING.findall(text))))) >= AIO:
        said = f"{n:,.0f} reads and writes of the engine wait for the disk (pending aio)"
        made = _one(row, "Pending normal aio", said, "requests_pending_count", n, "count", AIO, True)
        yield replace(made, share=0.6, seen=({"event": "engine-waits-for-disk"},))
    elif (found := _QUEUE.fullmatch(text)) and int(found[1]) + int(found[2]):
        n = float(found[2])
        said = f"{int(found[1]):,} queries are inside InnoDB, {int(found[2]):,} wait in its queue"
        yield _one(row, "queries in queue", said, "queries_queued_count", n, "count", 1.0, n >= 1)
    elif found := _HIT.fullmatch(text):
        n = float(found[1])
        said = f"Buffer pool hit rate is {n:.0f} / 1000"
        yield _one(row, "Buffer pool hit rate", said, "hit_per_mille", n, "", HIT_PER_MILLE, n < HIT_PER_MILLE)


def _one(
    row: dict[str, Any],
    subject: str,
    said: str,
    name: str,
    value: float,
    unit: str,
    bound: float,
    stands: bool,
    seconds: float | None = None,
) -> Sighting:
    return Sighting(
        "measure",
        subject,
        said,
        name,
        value,
        unit,
        (_line(row, subject),),
        **place(row),
        against="the usual bound",
        against_value=float(bound),
        seconds=seconds,
        normal=not stands,
    )


def _number(text: str) -> float:
    return float(text) if re.fullmatch(r"\d{1,12}(?:\.\d{0,6})?", text) else 0.0


def _line(row: dict[str, Any], role: str) -> Lines:
    return Lines(int(row["artifact_id"]), int(row["line_no"]), int(row["line_no"]), role)

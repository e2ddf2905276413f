"""Run a person's SQL query on the evidence tables of a room: wait for a turn, run it in a child process, return rows.

Turns are file locks, so they hold across all web processes of this server and end with a process that dies. One query
per person runs at a time, and `AT_ONCE` in all; others wait in a short queue, and a full queue refuses more.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet

from incidents import access
from incidents.access import Right, Room
from incidents.errors import Refused
from incidents.models.judging.query import SavedQuery
from incidents.storage import store
from incidents.work import analysis
from rules.engine.ask import Answer, Asker, Limits, Used, unique
from rules.engine.shelf import Shelf, columns_words
from rules.model import CaseSpec
from rules.writing.from_query import NO_ROW, CannotBeRule, Query, Span, Wish, write

#: Maximum number of queries that run at once on this server, and of queries that wait for their turn.
AT_ONCE, WAITING = 2, 10
WAIT_S = 20.0  # maximum wait for a turn
LIMITS = Limits()
#: Limits of a download.
DOWNLOAD = replace(LIMITS, max_rows=20_000, max_bytes=16_000_000)
#: Maximum number of rows of one table in the tests of a rule.
MOST_TEST_ROWS = 200
_LOOK_S = 0.05  # interval between two tries to get a turn

STILL_RUNS = "Your last question still runs. Wait for its answer or stop it; what you typed is kept."
FULL = "Many people ask at this moment and the queue is full. Try again in a few seconds; what you typed is kept."
WAITED = "Others' questions took all the time: yours waited {s:g} s for its turn and was not run. Try again; what you typed is kept."
OFF = "An administrator has switched questions to the evidence tables off on this server."


class Busy(Refused):
    """No turn was free; nothing was run."""

    status = 429


@dataclass(frozen=True)
class Asked:
    """An answer with its caveats: tables cut at their row limit, tables without rows, derived tables not built."""

    answer: Answer
    cut: tuple[str, ...] = ()
    without_rows: tuple[str, ...] = ()
    not_built: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, made unique."""
        return unique(self.answer.columns)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.answer.rows]


def switched_on() -> None:
    """Raise `Refused` if an administrator has switched queries off."""
    if not settings.EXHIBIT_ASK:
        raise Refused(OFF, 403)


@cache
def fences() -> Mapping[str, bool]:
    """Return which sandbox restrictions work for queries on this server; tested once in each process."""
    with Asker(LIMITS) as asker:
        return asker.fences()


def run(
    spec: CaseSpec, cache: Path | None, clocks: Sequence[Mapping[str, Any]], sql: str, user_id: int, limits: Limits
) -> Asked:
    """Run a query in a child process when it is this person's turn. Raises `Busy` or `NotAnswered` with a message.

    The HTTP request closes its database connection first: people who wait for an answer must not block the pages of
    others.
    """
    if not connection.in_atomic_block:
        connection.close()
    with turn(user_id) as stopped, Asker(limits, stopped) as asker:
        return answer(asker, Shelf(spec, cache, clocks), sql)


def ask(room: Room, sql: str, limits: Limits) -> Asked:
    """Run a member's query, and check again that they may still see the room before any of the answer is shown."""
    spec, clocks = case_of(room)
    asked = run(spec, store.cache_dir(room.incident.pk), clocks, sql, int(room.user.pk), limits)
    access.again(room).require(Right.ASK)
    return asked


def case_of(room: Room) -> tuple[CaseSpec, list[dict[str, Any]]]:
    """Return the case with the clocks of the newest report."""
    newest = (
        room.incident.evaluations.filter(accepted=True).order_by("-number").values_list("report__clocks", flat=True)
    )
    return analysis.case_of(room.incident, judged=False), newest.first() or []


def answer(asker: Asker, shelf: Shelf, sql: str) -> Asked:
    """Check a query, load its tables and run it."""
    used = asker.check(sql, shelf.names)
    with tempfile.TemporaryDirectory(prefix="exhibit-ask-") as scratch:
        loaded = asker.load(shelf.views(used.tables, Path(scratch)), used)
    names = {column.name for table in used.tables for column in columns_words(table)}
    made = asker.ask(sql, names)
    cut = sorted(name for name, rows in loaded.items() if rows >= asker.limits.table_rows)
    missing = shelf.not_built(used.tables)
    without = sorted(name for name, rows in loaded.items() if not rows and name not in missing)
    return Asked(made, tuple(cut), tuple(without), tuple(missing), used.tables)


@contextmanager
def turn(user_id: int) -> Iterator[Callable[[], bool]]:
    """Wait for a turn and hold it; yield a function that tells whether this person has stopped the query."""
    folder = _folder()
    stop = folder / f"stop-{user_id}"
    with ExitStack() as held:
        if not held.enter_context(_lock(folder / f"person-{user_id}")):
            raise Busy(STILL_RUNS)
        stop.unlink(missing_ok=True)
        if not any(held.enter_context(_lock(folder / f"queue-{n}")) for n in range(AT_ONCE + WAITING)):
            raise Busy(FULL)
        until = time.monotonic() + WAIT_S
        while not any(held.enter_context(_lock(folder / f"child-{n}")) for n in range(AT_ONCE)):
            if time.monotonic() > until:
                raise Busy(WAITED.format(s=WAIT_S))
            if stop.exists():
                raise Busy("You stopped this question before its turn came.")
            time.sleep(_LOOK_S)
        yield stop.exists


def stop(user_id: int) -> bool:
    """Stop a person's query that runs or waits on this server; return whether there is one."""
    folder = _folder()
    with _lock(folder / f"person-{user_id}") as free:
        if free:
            return False
    (folder / f"stop-{user_id}").touch()
    return True


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Hold a file lock while the context lasts; yield False at once if another process holds it."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _folder() -> Path:
    """Return the folder of the lock files. It holds no evidence and may be deleted."""
    folder = Path(settings.FILE_UPLOAD_TEMP_DIR) / "questions"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def saved(room: Room) -> QuerySet[SavedQuery]:
    """Return the saved queries that this person may see: their own and the shared ones."""
    return room.incident.queries.filter(Q(shared=True) | Q(author=room.user))


def rule_file(
    spec: CaseSpec,
    cache: Path | None,
    clocks: Sequence[Mapping[str, Any]],
    sql: str,
    spans: Sequence[Span],
    wish: Wish,
    user_id: int,
) -> str:
    """Return a rule file made from a query and chosen lines.

    Raises `CannotBeRule`, `NotAnswered` or `Busy`, each with a message to show.
    """
    if not spans:
        raise CannotBeRule(NO_ROW)
    if not connection.in_atomic_block:
        connection.close()
    with turn(user_id) as stopped, Asker(LIMITS, stopped) as asker:
        shelf = Shelf(spec, cache, clocks)
        used = asker.check(sql, shelf.names)
        with tempfile.TemporaryDirectory(prefix="exhibit-ask-") as scratch:
            views = shelf.views(used.tables, Path(scratch))
            asker.load(views, used)
            columns = asker.ask(sql, max_rows=1)
            loaded = asker.load(_on_lines(views, spans), Used(used.tables, None))
            if empty := [name for name, rows in loaded.items() if not rows]:
                # A table of other lines, such as a memory map beside a trace: take its first rows.
                whole = {name: f"select * from ({views[name]}) limit {MOST_TEST_ROWS}" for name in empty}
                asker.load(_on_lines(views, spans) | whole, Used(used.tables, None))

        def rows_of(tables: Sequence[str], _: Sequence[Span]) -> Mapping[str, list[dict[str, Any]]]:
            return {name: _dicts(asker.ask(f'select * from "{name}"')) for name in tables}

        def asked(statement: str, _: Mapping[str, object]) -> list[dict[str, Any]]:
            return _dicts(asker.ask(statement))

        query = Query(sql, used.tables, used.columns, columns.columns, columns.types)
        return write(query, wish, spans, rows_of, asked)


def _on_lines(views: Mapping[str, str], spans: Sequence[Span]) -> dict[str, str]:
    """Restrict views to rows of these lines, or of these artifacts if their rows have no lines."""
    made = {}
    for name, select in views.items():
        have = {column.name for column in columns_words(name)}
        if {"artifact_id", "line_no"} <= have:
            where = " or ".join(
                f"artifact_id = {s.artifact:d} and line_no between {s.line_from:d} and {s.line_to:d}" for s in spans
            )
        elif "artifact_id" in have:
            where = f"artifact_id in ({', '.join(f'{s.artifact:d}' for s in spans)})"
        else:
            where = "true"
        made[name] = f"select * from ({select}) where {where} limit {MOST_TEST_ROWS}"
    return made


def _dicts(answer: Answer) -> list[dict[str, Any]]:
    return [dict(zip(unique(answer.columns), row, strict=True)) for row in answer.rows]

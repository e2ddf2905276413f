"""A person's question to the evidence tables of a room: its turn on this server, its child, what came of it.

Turns are locks on files, so they hold over all web processes of this server and end with a process that dies. One question of a
person runs at a time, a few of everybody's; the others wait in a short queue, and whoever finds it full is told so.
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

from incidents.access import Room
from incidents.errors import Refused
from incidents.models.judging.query import SavedQuery
from rules.engine.ask import Answer, Asker, Limits, Used, unique
from rules.engine.shelf import Shelf, columns_words
from rules.model import CaseSpec
from rules.writing.from_query import NO_ROW, CannotBeRule, Query, Span, Wish, write

#: Questions that run at once on this server, and questions that may wait for their turn.
AT_ONCE, WAITING = 2, 10
WAIT_S = 20.0
LIMITS = Limits()
#: What a download may hold.
DOWNLOAD = replace(LIMITS, max_rows=20_000, max_bytes=16_000_000)
#: Rows of one table that the tests of a rule hold.
MOST_TEST_ROWS = 200
_LOOK_S = 0.05

STILL_RUNS = "Your last question still runs. Wait for its answer or stop it; what you typed is kept."
FULL = "Many people ask at this moment and the queue is full. Try again in a few seconds; what you typed is kept."
WAITED = "Others' questions took all the time: yours waited {s:g} s for its turn and was not run. Try again; what you typed is kept."
OFF = "An administrator has switched questions to the evidence tables off on this server."


class Busy(Refused):
    """No turn just now; nothing was run."""

    status = 429


@dataclass(frozen=True)
class Asked:
    """An answer with what a reader must know beside it: tables cut at their row limit, tables without rows, derived ones not built."""

    answer: Answer
    cut: tuple[str, ...] = ()
    without_rows: tuple[str, ...] = ()
    not_built: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, each once."""
        return unique(self.answer.columns)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.answer.rows]


def switched_on() -> None:
    """Raise `Refused` where an administrator does not want questions."""
    if not settings.EXHIBIT_ASK:
        raise Refused(OFF, 403)


@cache
def fences() -> Mapping[str, bool]:
    """Return which fences hold around questions on this server; found out once in each process."""
    with Asker(LIMITS) as asker:
        return asker.fences()


def run(
    spec: CaseSpec, cache: Path | None, clocks: Sequence[Mapping[str, Any]], sql: str, user_id: int, limits: Limits
) -> Asked:
    """Ask in a child of its own when it is this person's turn. `Busy`, or `NotAnswered` in words for the page.

    The request gives its connection to the database back first: people who wait for an answer must not keep others from
    their pages.
    """
    if not connection.in_atomic_block:
        connection.close()
    with turn(user_id) as stopped, Asker(limits, stopped) as asker:
        return answer(asker, Shelf(spec, cache, clocks), sql)


def answer(asker: Asker, shelf: Shelf, sql: str) -> Asked:
    """Check, load and ask."""
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
    """Wait for a turn and hold it; gives what tells whether this person has stopped the question."""
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
    """Stop the question that a person has running or waiting on this server; tells whether there is one."""
    folder = _folder()
    with _lock(folder / f"person-{user_id}") as free:
        if free:
            return False
    (folder / f"stop-{user_id}").touch()
    return True


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Hold a lock as long as the context lasts; gives False at once where somebody else holds it."""
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
    """Where turns are kept: no evidence, and nothing is lost with it."""
    folder = Path(settings.FILE_UPLOAD_TEMP_DIR) / "questions"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def saved(room: Room) -> QuerySet[SavedQuery]:
    """Return the saved queries that this person may know of: their own, and those that the room shares."""
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
    """Return a rule file made of a query and chosen lines; `CannotBeRule`, `NotAnswered` or `Busy` in words for the page."""
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
                # A table of another place, such as a memory map beside a trace: its first rows.
                whole = {name: f"select * from ({views[name]}) limit {MOST_TEST_ROWS}" for name in empty}
                asker.load(_on_lines(views, spans) | whole, Used(used.tables, None))

        def rows_of(tables: Sequence[str], _: Sequence[Span]) -> Mapping[str, list[dict[str, Any]]]:
            return {name: _dicts(asker.ask(f'select * from "{name}"')) for name in tables}

        def asked(statement: str, _: Mapping[str, object]) -> list[dict[str, Any]]:
            return _dicts(asker.ask(statement))

        query = Query(sql, used.tables, used.columns, columns.columns, columns.types)
        return write(query, wish, spans, rows_of, asked)


def _on_lines(views: Mapping[str, str], spans: Sequence[Span]) -> dict[str, str]:
    """Narrow views to rows on these lines, or of these artifacts where rows have no lines."""
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

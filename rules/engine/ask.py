"""The parent's side of a person's question: start a child process, send requests, wait with a limit, kill it. Imports
neither DuckDB nor Polars.

Each question has its own child, which has only the tables and columns that the checked statement names, in memory and
locked (`rules.engine.asked`). Errors are raised as `NotAnswered`, in words for the person who asked.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

from rules.engine.ask_words import complaint, place_of
from rules.engine.sandbox import DRAFT, MAX_DRAFT_ROWS, ROOT, START_S

Kind = Literal["refused", "slow", "large", "failed", "stopped"]
PARSER = "the parser says: "
LOOK_S = 0.1
"""Interval in seconds at which a waiting parent checks whether the question was stopped."""


@dataclass(frozen=True)
class Limits:
    """Limits of one question. `load_s` is for reading the tables, `limit_s` for the query itself; the kill comes a
    second later.
    """

    memory_mb: int = DRAFT.memory_mb
    address_mb: int = DRAFT.address_mb
    cpu_s: int = DRAFT.cpu_s
    limit_s: float = DRAFT.limit_s
    load_s: float = 10.0
    max_rows: int = DRAFT.max_rows
    table_rows: int = MAX_DRAFT_ROWS
    max_bytes: int = 4_000_000


class NotAnswered(Exception):
    """Raised when a question has no answer.

    `words` and `hint` are for the page; `line` and `column` of the text count from 1, or are None.
    """

    def __init__(
        self, kind: Kind, words: str, line: int | None = None, column: int | None = None, hint: str = ""
    ) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words
        self.line = line
        self.column = column
        self.hint = hint

    @property
    def where(self) -> str:
        """Return the place in the text, as far as known."""
        if self.line is None:
            return ""
        return f"line {self.line}" + (f", column {self.column}" if self.column else "")


@dataclass(frozen=True)
class Used:
    """Tables and columns that a statement names; `columns` is None if it names all of them through a star."""

    tables: tuple[str, ...]
    columns: tuple[str, ...] | None


@dataclass(frozen=True)
class Answer:
    """Columns in order (a name may occur twice), their types, and rows as lists.

    `more` rows were not fetched, counted up to a million; `full` is true if the size of the rows was the limit, not
    their number.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: int = 0
    full: bool = False
    seconds: float = 0.0


class Asker:
    """A child process for one question. Use as a context manager. `stop` is called while waiting; if it returns true,
    the question is stopped.
    """

    def __init__(self, limits: Limits | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        self.limits = limits or Limits()
        self._stop = stop
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Asker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the child; a second call does nothing."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def fences(self) -> dict[str, bool]:
        """Return which fences hold around such a child on this machine."""
        held: dict[str, bool] = self._request({"op": "fences"}, START_S)["fences"]
        return held

    def check(self, sql: str, tables: Collection[str]) -> Used:
        """Return what a statement names, or raise NotAnswered if it is not allowed.

        The text is parsed in the child too, because a parser may crash.
        """
        request = {"op": "check", "sql": sql, "tables": sorted(tables)}
        made = self._request(request, START_S, sql, tables)
        if made["params"]:
            raise NotAnswered("refused", f"“${made['params'][0]}” has no value here: write the value itself.")
        # The engine ignores case in column names; files of tables have lower case only.
        named = None if made["columns"] is None else tuple(sorted({name.lower() for name in made["columns"]}))
        return Used(tuple(made["tables"]), named)

    def load(self, views: Mapping[str, str], used: Used) -> dict[str, int]:
        """Load the named columns of the named tables into the child's memory and lock it; return rows by table."""
        load = {name: list(used.columns) if used.columns is not None else None for name in used.tables}
        request = {
            "op": "load",
            "views": dict(views),
            "load": load,
            "rows": self.limits.table_rows,
            "memory_mb": self.limits.memory_mb,
        }
        try:
            rows: dict[str, int] = self._request(request, self.limits.load_s)["rows"]
        except NotAnswered as error:
            raise _while_loading(error, self.limits) from None
        return rows

    def ask(
        self, sql: str, names: Collection[str] = (), max_rows: int | None = None, max_bytes: int | None = None
    ) -> Answer:
        """Run the statement. `names` holds the existing columns, for "did you mean"."""
        request = {
            "op": "ask",
            "sql": sql,
            "limit_s": self.limits.limit_s,
            "max_rows": max_rows or self.limits.max_rows,
            "max_bytes": max_bytes or self.limits.max_bytes,
        }
        began = time.monotonic()
        made = self._request(request, self.limits.limit_s + 1.0, sql, names)
        took = time.monotonic() - began
        rows = tuple(tuple(row) for row in made["rows"])
        return Answer(tuple(made["columns"]), tuple(made["types"]), rows, made["more"], made["full"], took)

    def _request(
        self, request: Mapping[str, Any], wait_s: float, sql: str = "", names: Iterable[str] = ()
    ) -> dict[str, Any]:
        if self._process is None:
            self._process = self._start()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request, allow_nan=False).encode() + b"\n")
            process.stdin.flush()
            line = self._line(process.stdout.fileno(), time.monotonic() + wait_s)
        except TimeoutError:
            self.close()
            raise NotAnswered("slow", _slow(self.limits)) from None
        except OSError:
            line = b""
        if not line:
            self.close()
            raise NotAnswered("large", _large(self.limits))
        made: dict[str, Any] = json.loads(line)
        if "error" in made:
            raise self._error(made["error"], sql, frozenset(names))
        return made

    def _line(self, descriptor: int, until: float) -> bytes:
        """Read one line until time `until`; return b"" if the child has ended.

        Raises TimeoutError, or NotAnswered if the question was stopped.
        """
        pieces: list[bytes] = []
        with selectors.DefaultSelector() as ready:
            ready.register(descriptor, selectors.EVENT_READ)
            while not (pieces and pieces[-1].endswith(b"\n")):
                left = until - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                if self._stop():
                    self.close()
                    raise NotAnswered("stopped", "You stopped this question. Nothing of it runs any more.")
                if not ready.select(min(left, LOOK_S)):
                    continue
                part = os.read(descriptor, 1 << 16)
                if not part:
                    return b""
                pieces.append(part)
        return b"".join(pieces)

    def _error(self, error: Mapping[str, Any], sql: str, names: frozenset[str]) -> NotAnswered:
        kind, text = error["kind"], error["text"]
        if kind == "slow":
            return NotAnswered("slow", _slow(self.limits))
        if kind == "large":
            return NotAnswered("large", _large(self.limits))
        reworded = complaint(text, names)
        if kind == "failed":
            return NotAnswered("failed", reworded.words, reworded.line, reworded.column, reworded.hint)
        if text.startswith(PARSER):
            line, column = place_of(sql, error["at"] or 0)
            return NotAnswered("refused", reworded.words, line, column)
        return NotAnswered("refused", text[:1].upper() + text[1:].rstrip(".") + ".", hint=_near(text, names))

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "rules.engine.asked", str(self.limits.address_mb), str(self.limits.cpu_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "MALLOC_ARENA_MAX": "2"},
            start_new_session=True,
        )


def _slow(limits: Limits) -> str:
    return (
        f"This took longer than {limits.limit_s:g} s and was stopped. Narrow it: fewer rows by WHERE, a join on equal columns, "
        "an aggregate instead of every row."
    )


def _large(limits: Limits) -> str:
    return (
        f"This needed more than the {limits.memory_mb} MB that a question may use and was stopped. Name fewer columns, narrow "
        "the rows, or aggregate."
    )


def _while_loading(error: NotAnswered, limits: Limits) -> NotAnswered:
    if error.kind == "slow":
        return NotAnswered(
            "slow", f"The tables could not be read within {limits.load_s:g} s. Name fewer columns instead of a star."
        )
    if error.kind == "large":
        return NotAnswered(
            "large",
            f"The columns you name do not fit into {limits.memory_mb} MB. Name fewer of them instead of a star.",
        )
    if error.kind == "stopped":
        return error
    return NotAnswered(
        "failed",
        "The tables of this room could not be read just now. Try again; if it stays so, a reading may be damaged.",
    )


def _near(text: str, names: Collection[str]) -> str:
    import difflib

    if not text.startswith("there is no table"):
        return ""
    near = difflib.get_close_matches(text.split("'")[1].lower() if "'" in text else "", sorted(names), 1)
    return f"Did you mean {near[0]}?" if near else ""


def unique(columns: Sequence[str]) -> tuple[str, ...]:
    """Return distinct column names, as files and charts need them.

    >>> unique(["pid", "n", "pid"])
    ('pid', 'n', 'pid_2')
    """
    made: list[str] = []
    for name in columns:
        number, one = 1, name
        while one in made:
            number += 1
            one = f"{name}_{number}"
        made.append(one)
    return tuple(made)

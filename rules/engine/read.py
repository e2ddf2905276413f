"""Fixed queries of our own pages over the evidence tables of a case, run in the web process. Never for SQL that people
write.

Views name files, so only what a query touches is loaded. One object serves one HTTP request. However many requests a
process serves, `AT_ONCE` of their queries run at a time, so that their memory has a bound together.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from parsers.tables import schema
from rules import registry
from rules.case.case import FROM_CASE, Case
from rules.engine import views
from rules.errors import TablesBusy, TablesTooLarge
from rules.model import CaseSpec

MEMORY_MB = 512
THREADS = 2

AT_ONCE = 2
"""Maximum number of queries of one process that run at a time; each may take `MEMORY_MB`."""

WAIT_S = 20.0
"""Maximum wait for a turn in seconds: a page that takes longer is given up by who asked for it."""

_WORD = re.compile(r"\w+")
_turns = threading.BoundedSemaphore(AT_ONCE)
_own = threading.local()


@contextmanager
def _turn() -> Iterator[None]:
    """Wait for a turn to query; a thread that has one keeps it. Raises `TablesBusy`, and `TablesTooLarge` for a query that
    runs out of memory."""
    if getattr(_own, "held", False):
        yield
        return
    if not _turns.acquire(timeout=WAIT_S):
        raise TablesBusy(f"no turn within {WAIT_S:g} s")
    _own.held = True
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise TablesTooLarge(str(error).splitlines()[0]) from error
    finally:
        _own.held = False
        _turns.release()


class ReadOnly:
    """The named tables of a case as views. Use as a context manager; KeyError for a name that is not a table stored in
    files.

    Derived tables are taken from `cache` as the last judgement left them; nothing is computed here, so a missing one
    has no rows. `with_text`: what the general reader took from text is shown too, for pages that only draw evidence.
    """

    def __init__(
        self, spec: CaseSpec, tables: Iterable[str], cache: Path | None = None, *, with_text: bool = False
    ) -> None:
        self._case = Case(spec, cache).with_text() if with_text else Case(spec, cache)
        named = tuple(tables)
        derived = [name for name in named if name in registry.derived()]
        wanted = tuple(name for name in named if name not in derived)
        if unknown := [name for name in wanted if name not in schema.TABLES or name in FROM_CASE]:
            raise KeyError(f"no evidence table: {', '.join(unknown)}")
        self._tables = views.filled_tables(self._case)
        self._filled = frozenset().union(*self._tables.values()) & set(wanted)
        self._connection = duckdb.connect(config={"python_enable_replacements": "false"})
        self._connection.execute(
            f"set memory_limit = '{MEMORY_MB}MB'; set threads = {THREADS}; set temp_directory = '';"
            "set autoinstall_known_extensions = false; set autoload_known_extensions = false"
        )
        self._evidence = frozenset(wanted)
        self._wanted = set(wanted)
        """Evidence tables whose view was not needed so far: naming the files of a full room takes seconds."""
        self._shown: Mapping[int, frozenset[str]] = {}
        self._only: set[str] | None = None
        """Inside `over`: evidence tables whose view there was not needed so far."""
        for name in derived:
            if (cached := self._case.kept(name)) is not None:
                files = ", ".join(views.text(str(file)) for file in cached)
                select = f"select * from read_parquet([{files}])" if cached else views.empty(name)
                self._connection.execute(f'create view "{name}" as {select}')
                self._filled |= {name} if cached else frozenset()

    @property
    def case(self) -> Case:
        """Return the case behind the views: its stretches, clocks and manifests."""
        return self._case

    def __enter__(self) -> ReadOnly:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    @contextmanager
    def over(self, artifacts: Collection[int]) -> Iterator[None]:
        """Let queries inside the context see rows of these artifacts alone in evidence tables, and open only their files.

        A page that draws one clock after the other would open every file of the room for each. Not nested.
        """
        self._shown = {number: self._tables[number] for number in sorted(artifacts) if number in self._tables}
        self._only = set(self._evidence)
        self._connection.execute("create schema part; set search_path = 'part,main'")
        try:
            yield
        finally:
            self._only = None
            self._connection.execute("set search_path = 'main'; drop schema part cascade")

    def _prepare(self, sql: str) -> None:
        """Create the views of the evidence tables that a query names."""
        words = set(_WORD.findall(sql))
        if self._only is None:
            names, schema_name = words & self._wanted, "main"
            filled: Mapping[int, frozenset[str]] = self._tables
            self._wanted -= names
        else:
            names, schema_name, filled = words & self._only, "part", self._shown
            self._only -= names
        # No table here comes from the case description or is computed, so nothing is written to the scratch folder.
        for name, select in views.build(self._case, sorted(names), Path(), filled).items():
            self._connection.execute(f'create view {schema_name}."{name}" as {select}')

    def has(self, table: str) -> bool:
        """Return whether any artifact has rows of a table; False for a table that was not named."""
        return table in self._filled

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run one of our own SELECTs and return its rows as dicts, in the query's order.

        `$name` in it stands for `params["name"]`.
        """
        self._prepare(sql)
        with _turn():
            cursor = self._connection.execute(sql, dict(params) if params else None)
            names = [column[0] for column in cursor.description or []]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def copy(self, sql: str, file: Path, group_rows: int = 120_000, params: Mapping[str, Any] | None = None) -> None:
        """Write the rows of one of our own SELECTs as a Parquet file, in the query's order."""
        options = f"format parquet, compression zstd, row_group_size {int(group_rows)}"
        self._prepare(sql)
        with _turn():
            self._connection.execute(
                f"copy ({sql}) to {views.text(str(file))} ({options})", dict(params) if params else None
            )

    def rows(self, sql: str, size: int = 10_000) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """Run one of our own SELECTs and yield its rows in pieces, each with the column names."""
        self._prepare(sql)
        with _turn():
            cursor = self._connection.execute(sql)
            names = [column[0] for column in cursor.description or []]
            piece = cursor.fetchmany(size)
        while piece:
            yield names, piece
            with _turn():
                piece = cursor.fetchmany(size)

"""Fixed queries of our own pages over the evidence tables of a case, run in the web process. Never for SQL that people
write.

Views name files, so only what a query touches is loaded. One object serves one HTTP request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from parsers.tables import parquet, schema
from rules import registry
from rules.case.case import FROM_CASE, Case
from rules.engine import views
from rules.model import CaseSpec

MEMORY_MB = 512
THREADS = 2


class ReadOnly:
    """The named tables of a case as views. Use as a context manager; KeyError for a name that is not a table stored in
    files.

    Derived tables are taken from `cache` as the last judgement left them; nothing is computed here, so a missing one
    has no rows.
    """

    def __init__(self, spec: CaseSpec, tables: Iterable[str], cache: Path | None = None) -> None:
        self._case = Case(spec, cache)
        named = tuple(tables)
        derived = [name for name in named if name in registry.derived()]
        wanted = tuple(name for name in named if name not in derived)
        if unknown := [name for name in wanted if name not in schema.TABLES or name in FROM_CASE]:
            raise KeyError(f"no evidence table: {', '.join(unknown)}")
        self._filled = {
            name
            for name in wanted
            if any(
                name in parquet.tables(Path(artifact.reading or ""))
                for artifact in spec.artifacts
                if artifact.id in self._case.manifests
            )
        }
        self._connection = duckdb.connect(config={"python_enable_replacements": "false"})
        self._connection.execute(
            f"set memory_limit = '{MEMORY_MB}MB'; set threads = {THREADS}; set temp_directory = '';"
            "set autoinstall_known_extensions = false; set autoload_known_extensions = false"
        )
        # No table here comes from the case description or is computed, so nothing is written to the scratch folder.
        for name, select in views.build(self._case, wanted, Path()).items():
            self._connection.execute(f'create view "{name}" as {select}')
        for name in derived:
            if (cached := self._case.kept(name)) is not None:
                files = ", ".join(views.text(str(file)) for file in cached)
                select = f"select * from read_parquet([{files}])" if cached else views.empty(name)
                self._connection.execute(f'create view "{name}" as {select}')
                self._filled |= {name} if cached else set()

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

    def has(self, table: str) -> bool:
        """Return whether any artifact has rows of a table; False for a table that was not named."""
        return table in self._filled

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run one of our own SELECTs and return its rows as dicts, in the query's order.

        `$name` in it stands for `params["name"]`.
        """
        cursor = self._connection.execute(sql, dict(params) if params else None)
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def copy(self, sql: str, file: Path, group_rows: int = 120_000, params: Mapping[str, Any] | None = None) -> None:
        """Write the rows of one of our own SELECTs as a Parquet file, in the query's order."""
        options = f"format parquet, compression zstd, row_group_size {int(group_rows)}"
        self._connection.execute(
            f"copy ({sql}) to {views.text(str(file))} ({options})", dict(params) if params else None
        )

    def rows(self, sql: str, size: int = 10_000) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """Run one of our own SELECTs and yield its rows in pieces, each with the column names."""
        cursor = self._connection.execute(sql)
        names = [column[0] for column in cursor.description or []]
        while piece := cursor.fetchmany(size):
            yield names, piece

"""Fixed queries of our own pages over the evidence tables of a case, in the web process. Never for SQL that people wrote.

Views name files, so nothing is loaded that a query does not touch. One object serves one request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from parsers import parquet, schema
from rules.case import FROM_CASE, Case
from rules.engine import views
from rules.model import CaseSpec

MEMORY_MB = 512
THREADS = 2


class ReadOnly:
    """The named evidence tables of a case as views. Use as a context manager; KeyError for a name that is no table of files."""

    def __init__(self, spec: CaseSpec, tables: Iterable[str]) -> None:
        self._case = Case(spec)
        wanted = tuple(tables)
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
        # None of these tables is made of the case description or derived, so nothing is ever written to a scratch folder.
        for name, select in views.build(self._case, wanted, Path()).items():
            self._connection.execute(f'create view "{name}" as {select}')

    def __enter__(self) -> ReadOnly:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def has(self, table: str) -> bool:
        """Tell whether any reading has rows of a table; one that was not named has none."""
        return table in self._filled

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run one SELECT of ours; `$name` in it stands for `params["name"]`. Rows as dicts, in the query's order."""
        cursor = self._connection.execute(sql, dict(params) if params else None)
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

"""The tables of a case that people can query: which have rows, what they mean, and the SELECTs that fill a question's
child process.

Derived tables are taken from the cache as the last judgement left them; nothing is computed for a question, so a table
that is not built yet is empty. This is cheap: only manifests and file footers are read, no rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from parsers.reference import glossary
from parsers.tables import parquet, schema
from rules import registry
from rules.case.case import FROM_CASE, Alignment, Case, columns_of
from rules.engine import views
from rules.model import CaseSpec

PLACES = {
    "artifact_id": "number of the artifact in this room",
    "host": "machine, NULL if unknown",
    "phase": "before, after-1 ...",
    "clock": "clock domain",
    "t": "on the common axis, NULL if the clock stands alone",
    "t_err": "half-width of the doubt about t",
}
"""Meaning of the columns that the case puts in front of every table."""

UNITS = {"s": "s", "ms": "ms", "ns": "ns", "kb": "kB", "kbps": "kB/s", "ps": "per s", "pct": "%", "hz": "Hz"}


@dataclass(frozen=True)
class ColumnWords:
    name: str
    type: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class TableWords:
    """A table as the browser of tables shows it. `rows` is None for a derived table that is not built yet."""

    name: str
    meaning: str
    derived: bool
    columns: tuple[ColumnWords, ...]
    rows: int | None = 0


class Shelf:
    """The tables of one case for questions. `clocks` are those of the newest report: they put `t` on the common axis."""

    def __init__(self, spec: CaseSpec, cache: Path | None, clocks: Iterable[Mapping[str, object]] = ()) -> None:
        self._case = Case(spec, cache)
        self._cached = {
            name: self._case.kept(name) for name in registry.derived()
        }  # before `align`: file names do not depend on the clocks
        self._case.align(alignments(clocks))
        self._case = self._case.with_text()  # people name the tables, so these rows mislead nobody

    @property
    def case(self) -> Case:
        return self._case

    @property
    def names(self) -> frozenset[str]:
        """Return every name that a question may read; tables without rows are empty."""
        return views.names()

    def rows(self, name: str) -> int | None:
        """Return the number of rows of a table, None for a derived table that is not built yet."""
        if name in views.WITHOUT_FIRST:
            return self.rows(views.WITHOUT_FIRST[name])
        if name in self._cached:
            files = self._cached[name]
            return None if files is None else sum(parquet.rows(file) for file in files)
        if name in FROM_CASE:
            return self._case.table(name).height
        batches = (batch for manifest in self._case.manifests.values() for batch in manifest.get("batches", []))
        return sum(int(batch.get("tables", {}).get(name, 0)) for batch in batches)

    def described(self) -> list[TableWords]:
        """Return all tables with their columns, those with rows first, then by name."""
        found = [
            TableWords(name, meaning_of(name), name in self._cached, columns_words(name), self.rows(name))
            for name in sorted(self.names - set(views.WITHOUT_FIRST))
        ]
        return sorted(found, key=lambda table: not table.rows)

    def views(self, wanted: Iterable[str], scratch: Path) -> dict[str, str]:
        """Return name -> SELECT for the child.

        Rows of the case itself are written to `scratch`, which must exist until they are loaded.
        """
        made: dict[str, str] = {}
        for name in wanted:
            if name in self._cached:
                files = ", ".join(views.text(str(file)) for file in self._cached[name] or ())
                made[name] = f"select * from read_parquet([{files}])" if files else views.empty(name)
            else:
                made |= views.build(self._case, [name], scratch)
        return made

    def not_built(self, wanted: Iterable[str]) -> list[str]:
        """Return the derived tables that are empty only because no judgement has built them since."""
        return sorted(name for name in wanted if name in self._cached and self._cached[name] is None)


def alignments(clocks: Iterable[Mapping[str, object]]) -> dict[str, Alignment]:
    """Return the positions of the clocks on the common axis, which is that of the report's frame with the most clocks."""
    rows = [c for c in clocks if c.get("frame") is not None]
    frames = [str(c["frame"]) for c in rows]
    if not frames:
        return {}
    main = max(sorted(set(frames)), key=frames.count)
    return {
        str(c["clock"]): Alignment(main, _number(c.get("add")), _number(c.get("err")))
        for c in rows
        if c["frame"] == main
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


@cache
def columns_words(name: str) -> tuple[ColumnWords, ...]:
    """Return the columns of a table for questions, with type, unit and meaning. KeyError if there is no such table."""
    whole = views.WITHOUT_FIRST.get(name, name)
    known = {c.name: c for c in schema.TABLES[whole].columns} if whole in schema.TABLES else {}
    common = {c.name: c for c in schema.COMMON}
    made = []
    for column, kind in columns_of(whole).items():
        declared = known.get(column) or common.get(column)
        meaning = declared.meaning if declared else PLACES.get(column, "")
        if not meaning and (entry := glossary.column(whole, column)):
            meaning = entry.text
        unit = declared.unit if declared else UNITS.get(column.rpartition("_")[2], "") if "_" in column else ""
        if column in ("t", "t_err"):
            unit = "s"
        made.append(ColumnWords(column, views.sql_type(kind), unit, meaning))
    return tuple(made)


@cache
def meaning_of(name: str) -> str:
    """Return one sentence about a table; for a derived table the first paragraph of its module."""
    if name in views.WITHOUT_FIRST:
        return f"{views.WITHOUT_FIRST[name]} without rows since boot"
    if name in schema.TABLES:
        return schema.TABLES[name].meaning
    summary = (registry.derived()[name].__doc__ or "").strip().split("\n\n")[0]
    return re.sub(r"\s+", " ", summary)


@cache
def story_of(name: str) -> str:
    """Return how a derived table is made (inputs, columns, a worked example); empty for an evidence table."""
    if name in schema.TABLES or name in views.WITHOUT_FIRST:
        return ""
    return (registry.derived()[name].__doc__ or "").strip().partition("\n\n")[2]

"""Evidence and derived tables of a case as texts of SELECTs, from which the child process makes its views. Imports no
DuckDB.

Rows get host, phase and clock from the same stretches as in `Case.table`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from parsers.tables import parquet, schema
from rules import registry
from rules.case.case import FROM_CASE, GENERAL_KIND, Case, Stretch, columns_of
from rules.judging import findings_table

WITHOUT_FIRST = {"vmstat_i": "vmstat", "mpstat_i": "mpstat", "iostat_i": "iostat", "counters_i": "counters"}
NOTHING = " where false"
_SQL: dict[object, str] = {
    pl.Int64(): "BIGINT",
    pl.Int32(): "INTEGER",
    pl.UInt64(): "UBIGINT",
    pl.UInt32(): "UINTEGER",
    pl.Float64(): "DOUBLE",
    pl.String(): "VARCHAR",
    pl.Boolean(): "BOOLEAN",
}


def sql_type(kind: pl.DataType) -> str:
    """Return DuckDB's name of a Polars type; KeyError for a type that no table uses."""
    if kind == findings_table.FACTS:
        return "MAP(VARCHAR, DOUBLE)"
    if kind == findings_table.EVIDENCE:
        return "STRUCT(artifact_id BIGINT, line_from BIGINT, line_to BIGINT, role VARCHAR)[]"
    return f"{_SQL[kind.inner]}[]" if isinstance(kind, pl.List) else _SQL[kind]


def text(value: str | float | None) -> str:
    """Return a value as a SQL literal."""
    if value is None:
        return "null"
    return repr(value) if isinstance(value, (int, float)) else "'" + value.replace("'", "''") + "'"


def names(stage: int = 1) -> frozenset[str]:
    """Return every name a query may read: evidence and derived tables, views without since-boot rows, and in stage 2
    `findings`.
    """
    known = frozenset(schema.TABLES) | frozenset(registry.derived()) | frozenset(WITHOUT_FIRST)
    return known | {findings_table.TABLE.name} if stage == 2 else known


def build(
    case: Case, wanted: Iterable[str], scratch: Path, filled: Mapping[int, frozenset[str]] | None = None
) -> dict[str, str]:
    """Return name -> SELECT for the wanted tables.

    Derived tables and rows of the case itself are written to `scratch` as Parquet. `filled` maps artifacts to the names
    of their tables that have rows; evidence tables show only these artifacts, by default all.
    """
    made: dict[str, str] = {}
    filled = filled_tables(case) if filled is None else filled
    for name in wanted:
        if name in WITHOUT_FIRST:
            whole = _select(case, WITHOUT_FIRST[name], scratch, filled)
            made[name] = whole if is_empty(whole) else f"select * from ({whole}) where coalesce(not first, true)"
        else:
            made[name] = _select(case, name, scratch, filled)
    return made


def filled_tables(case: Case) -> dict[int, frozenset[str]]:
    """Return the names of the tables that have rows, of each artifact that was read."""
    readings = {a.id: Path(a.reading or "") for a in case.spec.artifacts if a.id in case.manifests}
    return {artifact: frozenset(parquet.tables(reading)) for artifact, reading in readings.items()}


def _select(case: Case, name: str, scratch: Path, filled: Mapping[int, frozenset[str]]) -> str:
    columns = columns_of(name)
    if name == findings_table.TABLE.name:
        return _findings(case, scratch) or _empty(columns)
    if name not in schema.TABLES and not case.in_memory:
        files = ", ".join(text(str(file)) for file in case.files(name))
        return f"select * from read_parquet([{files}])" if files else _empty(columns)
    if name not in schema.TABLES or name in FROM_CASE or case.in_memory:
        frame = case.table(name) if name in schema.TABLES else case.derived(name)
        if frame.is_empty():
            return _empty(columns)
        file = scratch / f"{name}.parquet"
        if not file.exists():
            frame.write_parquet(file)
        return f"select * from read_parquet({text(str(file))})"
    alike: dict[tuple[str, ...], list[_Files]] = {}
    for number, names in filled.items():
        if name not in names and name not in parquet.OWN_FOLDERS:
            continue
        own = case.stretches_of.get(number, ())
        if made := _artifact(case, number, case.readings[number], name, own):
            alike.setdefault(made.have, []).append(made)
    hidden = case.hides(name)
    return " union all ".join(_together(held, columns, hidden) for held in alike.values()) or _empty(columns)


PLACED = ("host", "phase", "clock", "t", "t_err")
"""Columns that rows get from the stretch they stand in; a line may stand in none."""

ALL = (-1, 2**31 - 1, -1, 2**62)
"""First and last part, first and last line: every row of a file."""


@dataclass(frozen=True)
class _Files:
    """An artifact with its files as SQL texts, their columns, and the stretches of their rows: bounds as in `ALL` and a value
    for each of `PLACED`.

    `hides`: rows that the general reader took from text are not shown.
    """

    artifact: int
    files: tuple[str, ...]
    have: tuple[str, ...]
    stretches: tuple[tuple[tuple[int, int, int, int], tuple[str | float | None, ...]], ...]
    hides: bool


def _together(held: Sequence[_Files], columns: Mapping[str, pl.DataType], hidden: str | None) -> str:
    """Return one SELECT over the files of many artifacts.

    A scan per artifact would cost as much time as reading its rows if they are few, and memory as well: with some
    hundred artifacts, the pages of a room ran out of memory.
    """
    rows = ", ".join(
        f"({file}, {h.artifact}, {', '.join(map(str, bounds))}, {', '.join(map(text, values))})"
        for h in held
        for file in h.files
        for bounds, values in h.stretches
    )
    have = held[0].have
    listed = ", ".join(f'({_of_row(c, have)})::{sql_type(kind)} as "{c}"' for c, kind in columns.items())
    whose = ", ".join(f"({file}, {h.artifact})" for h in held for file in h.files)
    files = ", ".join(dict.fromkeys(file for h in held for file in h.files))
    hiding = [file for h in held if h.hides for file in h.files]
    shown = ""
    if hiding and hidden in have:
        elsewhere = f"r._file not in ({', '.join(hiding)})"
        shown = f' where (r."{hidden}" is distinct from {text(GENERAL_KIND)} or {elsewhere})'
    return (
        f"select {listed} from read_parquet([{files}], filename='_file') r"
        f" join (values {whose}) f(_file, _artifact_id) on r._file = f._file left join (values {rows})"
        f" p(_file, _artifact_id, _part_from, _part_to, _line_from, _line_to, {', '.join(f'_{n}' for n in PLACED)})"
        " on r._file = p._file and f._artifact_id = p._artifact_id and r.part >= p._part_from and r.part <= p._part_to"
        f" and r.line_no >= p._line_from and r.line_no <= p._line_to{shown}"
    )


def _of_row(column: str, have: Sequence[str]) -> str:
    if column == "t":
        return "r.t_local + p._t"
    if column == "artifact_id":
        return "f._artifact_id"
    return f"p._{column}" if column in PLACED else f'r."{column}"' if column in have else "null"


def _findings(case: Case, scratch: Path) -> str | None:
    """Return a SELECT of the stage-1 findings, or None if there are none.

    The file is named after its content, because stage 1 may run again.
    """
    if case.findings.is_empty():
        return None
    file = scratch / f"{findings_table.TABLE.name}-{case.hash_of(findings_table.TABLE.name)}.parquet"
    if not file.exists():
        case.findings.write_parquet(file)
    return f"select * replace (map_from_entries(facts) as facts) from read_parquet({text(str(file))})"


def is_empty(select: str) -> bool:
    """Return whether a SELECT made by `build` is that of a table without files; one over a file without rows does not
    count.
    """
    return select.endswith(NOTHING)


def empty(name: str) -> str:
    """Return the SELECT of a table without rows."""
    return _empty(columns_of(name))


def _empty(columns: dict[str, pl.DataType]) -> str:
    listed = ", ".join(f'null::{sql_type(kind)} as "{name}"' for name, kind in columns.items())
    return f"select {listed}{NOTHING}"


def _artifact(case: Case, artifact: int, reading: Path, name: str, own: Sequence[Stretch]) -> _Files | None:
    """Return the files of one artifact with the stretches of their rows; one if all have the same place."""
    files = parquet.files(reading, name) if artifact in case.manifests else []
    if not files:
        return None
    stretches = []
    for s in own:
        at = case.alignments.get(s.clock or "")
        values = (s.host, s.phase, s.clock, at.add if at else None, at.err if at else None)
        stretches.append(((s.part, s.part, s.line_from, s.line_to), values))
    if len({values for _, values in stretches}) <= 1:
        values = stretches[0][1] if stretches else (None, None, None, None, None)
        stretches = [(ALL, values)]
    hides = case.hides(name, artifact) is not None
    return _Files(
        artifact, tuple(text(str(f)) for f in files), tuple(pl.read_parquet_schema(files[0])), tuple(stretches), hides
    )

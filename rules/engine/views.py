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
from rules.case.case import FROM_CASE, GENERAL_KIND, Case, columns_of
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


def build(case: Case, wanted: Iterable[str], scratch: Path) -> dict[str, str]:
    """Return name -> SELECT for the wanted tables.

    Derived tables and rows of the case itself are written to `scratch` as Parquet.
    """
    made: dict[str, str] = {}
    for name in wanted:
        if name in WITHOUT_FIRST:
            whole = _select(case, WITHOUT_FIRST[name], scratch)
            made[name] = whole if is_empty(whole) else f"select * from ({whole}) where coalesce(not first, true)"
        else:
            made[name] = _select(case, name, scratch)
    return made


def _select(case: Case, name: str, scratch: Path) -> str:
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
    parts: list[str] = []
    for artifact in case.spec.artifacts:
        made = _artifact(case, artifact.id, Path(artifact.reading or ""), name, columns)
        if isinstance(made, _Files):
            alike.setdefault(made.have, []).append(made)
        elif made:
            parts.append(made)
    parts += [_together(held, columns) for held in alike.values()]
    return " union all ".join(parts) or _empty(columns)


@dataclass(frozen=True)
class _Files:
    """The files of an artifact whose rows all have the same host, phase, clock and place on the axis, as SQL texts by
    column.
    """

    files: tuple[str, ...]
    have: tuple[str, ...]
    placed: Mapping[str, str]


def _together(held: Sequence[_Files], columns: Mapping[str, pl.DataType]) -> str:
    """Return one SELECT over the files of many artifacts.

    A scan for each would cost as much as reading its rows if they are few.
    """
    places = [(file, h.placed) for h in held for file in h.files]
    names = list(held[0].placed)
    rows = ", ".join(f"({file}, {', '.join(placed[n] for n in names)})" for file, placed in places)
    listed = ", ".join(f'({_of_row(c, names, held[0].have)})::{sql_type(kind)} as "{c}"' for c, kind in columns.items())
    files = ", ".join(dict.fromkeys(file for file, _ in places))
    return (
        f"select {listed} from read_parquet([{files}], filename='_file') r "
        f"join (values {rows}) p(_file, {', '.join(f'_{n}' for n in names)}) on p._file = r._file"
    )


def _of_row(column: str, placed: Sequence[str], have: Sequence[str]) -> str:
    if column == "t":
        return "r.t_local + p._t"
    return f"p._{column}" if column in placed else f'r."{column}"' if column in have else "null"


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


def _artifact(
    case: Case, artifact: int, reading: Path, name: str, columns: Mapping[str, pl.DataType]
) -> _Files | str | None:
    """Return the files of one artifact, or a SELECT over them joined by stretch if host, phase, clock or time differ
    within it.
    """
    files = parquet.files(reading, name) if artifact in case.manifests else []
    if not files:
        return None
    have = tuple(pl.read_parquet_schema(files[0]))
    own = [s for s in case.stretches if s.artifact == artifact]
    places = [case.alignments.get(s.clock or "") for s in own]
    values: dict[str, list[str | float | None]] = {
        "host": [s.host for s in own], "phase": [s.phase for s in own], "clock": [s.clock for s in own],
        "t": [a.add if a else None for a in places], "t_err": [a.err if a else None for a in places],
    }  # fmt: skip
    paths = tuple(text(str(f)) for f in files)
    hidden = case.hides(name, artifact)
    shown = f" where {hidden} is distinct from {text(GENERAL_KIND)}" if hidden in have else ""
    if not shown and all(len(set(v)) <= 1 for v in values.values()):
        return _Files(
            paths, have, {"artifact_id": str(artifact), **{n: text(v[0] if v else None) for n, v in values.items()}}
        )
    placed = {
        n: _cases([(s.part, s.line_from, s.line_to, v) for s, v in zip(own, vs, strict=True)])
        for n, vs in values.items()
    }
    placed |= {"artifact_id": str(artifact), "t": f"t_local + {placed['t']}"}
    listed = [
        f'({placed[c] if c in placed else (chr(34) + c + chr(34) if c in have else "null")})::{sql_type(kind)} as "{c}"'
        for c, kind in columns.items()
    ]
    return f"select {', '.join(listed)} from read_parquet([{', '.join(paths)}]){shown}"


def _cases(values: list[tuple[int, int, int, str | float | None]]) -> str:
    """Return a SQL expression for the value at (part, line_no); a plain literal if it is the same everywhere."""
    kinds = {v for *_, v in values}
    if len(kinds) <= 1:
        return text(next(iter(kinds), None))
    whens = " ".join(
        f"when part = {part} and line_no between {first} and {last} then {text(v)}" for part, first, last, v in values
    )
    return f"case {whens} end"

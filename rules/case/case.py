"""One incident's tables, hosts and markers, read only: the input of derived tables.

Facts are in the Parquet files of each artifact. What a person may correct (host, phase, clock) is joined to them here
from the CaseSpec, by *stretches*: runs of lines of a part that share all of these. The engine makes its SQL views from
the same stretches, so that both agree.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from parsers.tables import parquet, schema
from rules import registry
from rules.case.case_yaml import dump_case_yaml, load_case_yaml
from rules.case.statements import usable
from rules.clocks.days import with_days
from rules.clocks.readings import WALL
from rules.clocks.shared import shared
from rules.errors import CaseInvalid
from rules.judging import findings_table
from rules.model import CaseSpec, Clock, Marker, PartSpec

__all__ = ["COMMON", "Case", "Stretch", "dump_case_yaml", "load_case_yaml"]

COMMON: Mapping[str, pl.DataType] = {
    "artifact_id": pl.Int64(),
    "host": pl.String(),
    "phase": pl.String(),
    "clock": pl.String(),
    "part": pl.Int64(),
    "line_no": pl.Int64(),
    "line_end": pl.Int64(),
    "t_local": pl.Float64(),
    "t": pl.Float64(),
    "t_err": pl.Float64(),
}
"""Columns that come first in every evidence table."""

STORED = ("part", "line_no", "line_end", "t_local")
"""The common columns that the Parquet files themselves hold."""

ORDER = ("artifact_id", "part", "line_no", "line_end")
"""Sort order of the rows of a table."""

FROM_CASE = ("artifacts", "hosts", "statements", "markers")
"""Tables made from the case description (`hosts` also from what parsers saw)."""

FROM_PEOPLE = ("statements", "markers", "hosts")
"""The tables of `FROM_CASE` that hold what people state about the whole case."""

MARKED_TEXT: Mapping[str, str] = {"logs": "source", "params": "scope", "counters": "grp", "profile_stacks": "source"}
"""Tables that the general reader of text shares with other formats, each with the column that says `text` in its rows.

Nobody knows what such a text means: rules and derived tables do not see these rows, so that a mail which quotes a
setting convicts nobody. `Case.with_text` shows them, to observers and to people's questions.
"""

GENERAL_KIND = "text"

RESTART = re.compile(
    r"memory_(max_)?target|sga_max_size|\bsga\b|processes|use_large_pages|_enable_numa|_db_block_numa|cluster_database"
    r"|kernel\.(sem|shm)|\bsem(msl|mns|mni)\b|\bshm(max|all|mni)\b|max-(shm|sem)-|nr_hugepages|huge ?pages|\boradism\b",
    re.I,
)
"""Changes that take effect only at the next start: of an instance, or of what it requests from the kernel at start."""


@dataclass(frozen=True)
class Stretch:
    """Lines of a part that share host, phase, role and clock. A row belongs to the stretch that holds its `line_no`."""

    artifact: int
    part: int
    line_from: int
    line_to: int
    host: str | None
    phase: str | None
    role: str | None
    clock: str | None


@dataclass(frozen=True)
class Alignment:
    """Position of a clock on the time axis of its frame: t = t_local + add, with an error of at most `err` seconds."""

    frame: str
    add: float
    err: float


class Case:
    """The tables of one case. Data frames are new objects over shared columns, so no caller can change another's.

    `table` returns an evidence table with the common columns first and rows ordered by artifact, part and line; a table
    without rows is an empty data frame with its schema. `derived` builds a derived table once. `t` and `t_err` are NULL
    until `align` is called, because the clock map is itself derived from these tables: derived tables work on `t_local`
    and `clock`.
    """

    def __init__(
        self, spec: CaseSpec, cache: Path | None = None, *, frames: Mapping[str, pl.DataFrame] | None = None
    ) -> None:
        self.spec = spec
        self.cache = cache
        self.alignments: dict[str, Alignment] = {}
        self._frames = dict(frames) if frames is not None else None
        self._tables: dict[str, pl.DataFrame] = {}
        self._derived: dict[str, pl.DataFrame] = {}
        self._lazy: dict[tuple[int, str], pl.LazyFrame] = {}
        self._files: dict[str, list[Path]] = {}
        self._parts: dict[int, Case] = {}
        self._findings = findings_table.TABLE.rows(())
        self._without_text: Case | None = None
        """The case that this one shows with the rows of the general reader; None if they are hidden."""

    def with_text(self) -> Case:
        """Return the same case in which `scan` and `table` also show what the general reader took from text.

        Derived tables are still built without these rows.
        """
        if self._without_text is not None:
            return self
        shown = copy.copy(self)
        shown._without_text = self
        shown._tables, shown._lazy, shown._parts = {}, {}, {}
        return shown

    def hides(self, name: str, artifact: int | None = None) -> str | None:
        """Return the column that marks hidden rows of a table, None if no row is hidden (in `artifact`, if given)."""
        column = MARKED_TEXT.get(name)
        if column is None or self._without_text is not None:
            return None
        parts = self.manifests.get(artifact, {}).get("parts", []) if artifact is not None else None
        return column if parts is None or any(p["kind"] == GENERAL_KIND for p in parts) else None

    @classmethod
    def of_tables(
        cls, tables: Mapping[str, Iterable[Mapping[str, Any]] | pl.DataFrame], spec: CaseSpec | None = None
    ) -> Case:
        """Make a case from rows in memory, for tests.

        Rows may have any subset of the columns, the common ones too; `artifact_id` and `part` default to 1. A derived
        table given here is used as it is and not built. Raises KeyError for a table or column that does not exist.
        """
        frames = {}
        for name, rows in tables.items():
            columns = columns_of(name)
            given = rows.to_dicts() if isinstance(rows, pl.DataFrame) else [dict(r) for r in rows]
            unknown = {c for row in given for c in row} - set(columns)
            if unknown:
                raise KeyError(f"{name} has no column {', '.join(sorted(unknown))}")
            if "line_end" in columns:
                given = [{"artifact_id": 1, "part": 1, "line_end": row.get("line_no"), **row} for row in given]
            if name == findings_table.TABLE.name:
                given = [findings_table.plain(row) for row in given]
            frames[name] = pl.DataFrame(
                {c: [row.get(c) for row in given] for c in columns}, schema=columns, strict=False
            )
        return cls(spec or CaseSpec(), frames=frames)

    # --- what the readings hold --------------------------------------------------------------------------------------

    @cached_property
    def manifests(self) -> Mapping[int, dict[str, Any]]:
        """Return the manifest of each artifact that was read, by artifact number."""
        found = {}
        for artifact in self.spec.artifacts:
            path = Path(artifact.reading) / "manifest.json" if artifact.reading else None
            if path and path.exists():
                found[artifact.id] = json.loads(path.read_text("utf-8"))
        return found

    @property
    def in_memory(self) -> bool:
        return self._frames is not None

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """Return all stretches, by artifact, part and line; together they cover every part exactly once."""
        found: list[Stretch] = []
        for artifact in self.spec.artifacts:
            manifest = self.manifests.get(artifact.id, {})
            domains = {p["part"]: p.get("domains") or [] for p in manifest.get("parts", [])}
            for part in artifact.parts:
                found += self._cut(artifact.id, part, domains.get(part.part, []))
        return tuple(found)

    @cached_property
    def stretches_of(self) -> Mapping[int, Sequence[Stretch]]:
        """Return the stretches by artifact."""
        found: dict[int, list[Stretch]] = {}
        for one in self.stretches:
            found.setdefault(one.artifact, []).append(one)
        return found

    @cached_property
    def readings(self) -> Mapping[int, Path]:
        """Return the folder of each artifact's reading."""
        return {artifact.id: Path(artifact.reading or "") for artifact in self.spec.artifacts}

    def _cut(self, artifact: int, part: PartSpec, domains: Sequence[Mapping[str, Any]]) -> list[Stretch]:
        phases = [
            p
            for p in self.spec.phases
            if p.artifact == artifact and p.line_from <= part.line_to and p.line_to >= part.line_from
        ]
        ranges = [
            (first, last, part.clock or self._clock(artifact, part.part, d["domain"]))
            for d in domains
            for first, last in d["lines"]
        ]
        borders = {part.line_from}
        for first, last in [*((a, b) for a, b, _ in ranges), *((p.line_from, p.line_to) for p in phases)]:
            borders |= {b for b in (first, last + 1) if part.line_from < b <= part.line_to}
        starts = sorted(borders)
        made: list[Stretch] = []
        for first, last in zip(starts, [*(s - 1 for s in starts[1:]), part.line_to], strict=True):
            phase = next((p.phase for p in reversed(phases) if p.line_from <= first <= p.line_to), part.phase)
            clock = next((c for a, b, c in ranges if a <= first <= b), None)
            piece = Stretch(artifact, part.part, first, last, part.host, phase, part.role, clock)
            if made and replace(made[-1], line_from=first, line_to=last) == piece:
                made[-1] = replace(made[-1], line_to=last)
            else:
                made.append(piece)
        return made

    @cached_property
    def clocks(self) -> tuple[Clock, ...]:
        """Return all clock domains of all parts.

        A part without a clock domain contributes none. `frame` is the clock itself until `align` is called. Stamps
        without a date have the day of the other evidence where only one fits (`rules/clocks/days.py`).
        """
        found = []
        for artifact in self.spec.artifacts:
            for part in self.manifests.get(artifact.id, {}).get("parts", []):
                of_spec = next((p for p in artifact.parts if p.part == part["part"]), None)
                asked = {question["ask"] for question in (part.get("facts") or {}).get("questions", ())}
                for d in part.get("domains") or []:
                    name = (of_spec.clock if of_spec else None) or self._clock(artifact.id, part["part"], d["domain"])
                    host = of_spec.host if of_spec else None
                    zone = d.get("zone") or self._zone(of_spec)
                    lines = tuple((a, b) for a, b in d["lines"])
                    ends = d.get("t_begin"), d.get("t_end")
                    read = Clock(
                        name, artifact.id, part["part"], d["kind"], d.get("base"), zone, host, lines, *ends, name
                    )
                    if read.kind in WALL and read.base is None and read.t_begin is not None:
                        read = replace(read, lacks="year" if "year" in asked else "day")
                    found.append(read)
        return with_days(found)

    @cached_property
    def server_clocks(self) -> Mapping[tuple[int, int], tuple[str, float, float]]:
        """Return (artifact, part) -> (server, least, most) for parts that a collector wrote.

        The host's clock is between `least` and `most` seconds ahead of the server's clock.
        """
        found = {}
        for artifact in self.spec.artifacts:
            for part in self.manifests.get(artifact.id, {}).get("parts", []):
                if compared := (part.get("facts") or {}).get("server_clock"):
                    server, least, most = compared.split(" ")
                    found[artifact.id, part["part"]] = (server, float(least), float(most))
        return found

    def _clock(self, artifact: int, part: int, domain: int) -> str:
        """Return the id of a clock domain: its own, or that of an earlier part which shows the same trace."""
        name = f"{artifact}.{part}:{domain}"
        return self._shared.get(name, name)

    @cached_property
    def _shared(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for artifact in self.spec.artifacts:
            parts = self.manifests.get(artifact.id, {}).get("parts", [])
            names = {
                (p["part"], d["domain"]): f"{artifact.id}.{p['part']}:{d['domain']}"
                for p in parts
                for d in p.get("domains") or []
            }
            if artifact.reading and len(parts) > 1:
                found |= shared(names, parts, Path(artifact.reading))
        return found

    def _zone(self, part: PartSpec | None) -> str | None:
        host = self.spec.hosts.get(part.host) if part and part.host else None
        return host.tz if host else None

    def at(self, artifact: int, line_no: int) -> Stretch | None:
        """Return the stretch that holds a line, or None for a line outside every part."""
        return next((s for s in self.stretches if s.artifact == artifact and s.line_from <= line_no <= s.line_to), None)

    def align(self, alignments: Mapping[str, Alignment]) -> None:
        """Set the positions of the clocks.

        Tables returned from now on have `t` and `t_err`; derived tables keep the values they were built from.
        """
        self.alignments = dict(alignments)
        self._tables.clear()
        self._lazy.clear()
        self._input_hashes.clear()

    @property
    def findings(self) -> pl.DataFrame:
        """Return the findings of stage-1 rules; empty until `take_findings`, unless rows were passed to `of_tables`."""
        return (self._frames or {}).get(findings_table.TABLE.name, self._findings)

    def take_findings(self, frame: pl.DataFrame) -> None:
        """Set the findings of stage 1; rows passed to `of_tables` take precedence."""
        self._findings = frame
        for placed in (True, False):
            self._input_hashes.pop((findings_table.TABLE.name, placed), None)

    # --- tables ------------------------------------------------------------------------------------------------------

    def scan(self, name: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None) -> pl.LazyFrame:
        """Open an evidence or derived table lazily: some columns (default: all) of the rows for which `where` holds.

        Rows come by artifact in file order, which equals the order of `table` except for lines that a format moved back
        into place. `where` may use columns that are not selected. Raises KeyError for a name that is not a table.
        Collect with `collect(engine="streaming")`: then only those columns are read, and memory holds only the rows
        that pass.
        """
        types = columns_of(name)
        if name in schema.TABLES:
            rows = self._open(name, types)
        elif self.in_memory or not self.files(name):
            rows = self.derived(name).lazy()
        else:
            rows = pl.scan_parquet(self.files(name))
        filtered = rows if where is None else rows.filter(where)
        return filtered.select(list(types) if columns is None else list(dict.fromkeys(columns)))

    def table(self, name: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None) -> pl.DataFrame:
        """Return an evidence table, or some columns of some of its rows.

        See the class for order, empty tables and `t`. Raises KeyError for a name that is not an evidence table. A trace
        may have ten million rows, so name the columns and rows that are needed; only whole tables are cached for the
        next caller.
        """
        if columns is None and where is None:
            if name not in self._tables:
                self._tables[name] = self._load(name, None, None)
            return self._tables[name]
        return self._load(name, columns, where)

    def has(self, name: str) -> bool:
        """Return whether an evidence or derived table has any row."""
        if name in schema.TABLES:
            return not self.scan(name, ["line_no"]).head(1).collect().is_empty()
        return not self.derived(name).is_empty() if self.in_memory else bool(self.files(name))

    def may_have(self, name: str) -> bool:
        """Return whether a table may have rows, as far as can be decided without reading or building anything."""
        if name not in schema.TABLES:
            made_from = _base(name) if name in registry.derived() and separable(name) and not self.in_memory else ()
            return not made_from or any(self._counted(a.id, n) for a in self.spec.artifacts for n in made_from)
        if self._frames is not None:
            given = self._frames.get(name)
            return name in FROM_CASE or (given is not None and not given.is_empty())
        return name in FROM_CASE or any(self._counted(a.id, name) for a in self.spec.artifacts)

    def derived(self, name: str) -> pl.DataFrame:
        """Return a whole derived table, built once.

        Raises KeyError for a name that is not a derived table. Use `scan` for a table that may have millions of rows.
        """
        if self._without_text is not None:
            return self._without_text.derived(name)
        if name not in self._derived:
            if self._frames is not None and name in self._frames:
                self._derived[name] = self._frames[name]
            elif self.in_memory:
                self._derived[name] = registry.derived()[name].build(self)
            else:
                files = self.files(name)
                self._derived[name] = pl.read_parquet(files) if files else registry.derived()[name].TABLE.rows(())
        return self._derived[name]

    def files(self, name: str) -> list[Path]:
        """Return the files that hold the rows of a derived table of a case on disk, in order; build those that do not
        exist.

        File names contain the hash of all inputs. They are in the cache folder or, if there is none, in a folder that
        is removed together with this object. A table of scope `artifact` has one file per artifact, so that adding an
        artifact costs only its own.
        """
        if self._without_text is not None:
            return self._without_text.files(name)
        if name not in self._files:
            module = registry.derived()[name]
            if self._by_artifact(name):
                self._files[name] = [f for part in self._parts_with(name) for f in part.files(name)]
            else:
                file = self._file(name)
                if not file.exists():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    beside = file.with_suffix(f".{os.getpid()}.new")
                    stream = getattr(module, "stream", None)
                    if stream is None:
                        module.build(self).write_parquet(beside)
                    else:
                        module.TABLE.write(beside, stream(self))
                    beside.rename(file)
                self._files[name] = [file] if parquet.rows(file) else []
        return self._files[name]

    def kept(self, name: str) -> list[Path] | None:
        """Return the files in which the cache holds the current version of a derived table, or None if it is not built
        yet.
        """
        if self.cache is None or self.in_memory:
            return None
        if not self._by_artifact(name):
            file = self._file(name)
            return ([file] if parquet.rows(file) else []) if file.exists() else None
        found: list[Path] = []
        for part in self._parts_with(name):
            held = part.kept(name)
            if held is None:
                return None
            found += held
        return found

    @cached_property
    def _store(self) -> Path:
        """Return the folder of the derived tables."""
        if self.cache is not None:
            return self.cache / "derived"
        folder = tempfile.mkdtemp(prefix="exhibit-derived-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _file(self, name: str) -> Path:
        return self._store / f"{name}-{self.hash_of(name)}.parquet"

    def _by_artifact(self, name: str) -> bool:
        """Return whether a derived table is built per artifact, so that a new artifact costs only its own part.

        An artifact without rows in its input tables gets no table.
        """
        return not self.in_memory and separable(name) and (len(self.spec.artifacts) > 1 or not self.may_have(name))

    def _parts_with(self, name: str) -> Iterator[Case]:
        """Yield the case reduced to one artifact, for each artifact that has rows the table is made from."""
        return iter(self.apart([name]).values())

    def apart(self, names: Iterable[str]) -> dict[int, Case]:
        """Return the case reduced to one artifact, for each artifact that has rows these tables are made from.

        Clocks of the reduced cases are not aligned.
        """
        base = frozenset().union(*(_base(name) for name in names))
        found: dict[int, Case] = {}
        for artifact in self.spec.artifacts:
            if artifact.id in self.manifests and any(self._counted(artifact.id, n) for n in base):
                if artifact.id not in self._parts:
                    self._parts[artifact.id] = self.only([artifact.id])
                found[artifact.id] = self._parts[artifact.id]
        return found

    def rows_of(self, artifact: int, names: Iterable[str]) -> int:
        """Return the number of evidence rows of an artifact that these tables are made from."""
        base = frozenset().union(*(_base(name) for name in names))
        return sum(rows for name in base for _, rows in self._counted(artifact, name))

    def only(self, artifacts: Collection[int]) -> Case:
        """Return the same case with some of its artifacts; its clocks are not aligned."""
        if self._without_text is not None:
            return self._without_text.only(artifacts).with_text()
        if self._frames is not None:
            of_them = pl.col("artifact_id").is_in(list(artifacts))
            frames = {n: f.filter(of_them) if "artifact_id" in f.columns else f for n, f in self._frames.items()}
            return Case(self.spec, frames=frames)
        held = tuple(a for a in self.spec.artifacts if a.id in artifacts)
        phases = tuple(p for p in self.spec.phases if p.artifact in artifacts)
        part = Case(replace(self.spec, artifacts=held, phases=phases), self.cache)
        part.manifests = {a.id: self.manifests[a.id] for a in held if a.id in self.manifests}
        part._store = self._store
        return part

    def _counted(self, artifact: int, name: str) -> list[tuple[Any, int]]:
        """Return the batches of an artifact that have rows of an evidence table, each with its number of rows."""
        batches = self.manifests.get(artifact, {}).get("batches", [])
        return [(b["batch"], b["tables"][name]) for b in batches if b["tables"].get(name)]

    def _load(self, name: str, columns: Sequence[str] | None, where: pl.Expr | None) -> pl.DataFrame:
        if self.in_memory:
            return self.scan(name, columns, where).collect()
        wanted = list(dict.fromkeys(columns_of(name) if columns is None else columns))
        rows = self.scan(name, [*wanted, *ORDER], where).collect(engine="streaming")
        if not in_order(rows):
            rows = rows.sort(*ORDER, maintain_order=True, nulls_last=True)
        return rows.select(wanted)

    def _open(self, name: str, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Open all rows of an evidence table, common columns first."""
        frames: list[pl.LazyFrame] = []
        if self._frames is not None:
            frames = [_shown(self._frames[name].lazy(), self.hides(name))] if name in self._frames else []
        elif name != "artifacts":
            for artifact in self.spec.artifacts:
                reading = Path(artifact.reading or "")
                if artifact.id in self.manifests and name in parquet.tables(reading):
                    if (artifact.id, name) not in self._lazy:
                        rows = _shown(parquet.scan(reading, name), self.hides(name, artifact.id))
                        self._lazy[artifact.id, name] = self._placed(artifact.id, rows, types)
                    frames.append(self._lazy[artifact.id, name])
        if name in FROM_CASE:
            frames.append(pl.LazyFrame(self._rows(name), schema=dict(types), orient="row"))
        return pl.concat(frames) if frames else pl.LazyFrame(schema=dict(types))

    def _placed(self, artifact: int, rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> pl.LazyFrame:
        """Put the common columns in front of the rows of one artifact."""
        own = [s for s in self.stretches if s.artifact == artifact]
        aligned = [self.alignments.get(s.clock or "") for s in own]
        stored = rows.collect_schema()
        placed = {
            "artifact_id": pl.lit(artifact),
            "host": _by_stretch(own, [s.host for s in own], pl.String()),
            "phase": _by_stretch(own, [s.phase for s in own], pl.String()),
            "clock": _by_stretch(own, [s.clock for s in own], pl.String()),
            "t": pl.col("t_local") + _by_stretch(own, [a.add if a else None for a in aligned], pl.Float64()),
            "t_err": _by_stretch(own, [a.err if a else None for a in aligned], pl.Float64()),
        }
        absent = {c: pl.lit(None) for c in types if c not in stored}
        return rows.select({**absent, **placed}.get(c, pl.col(c)).cast(t).alias(c) for c, t in types.items())

    def _rows(self, name: str) -> list[dict[str, Any]]:
        rows: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "artifacts": self._artifact_rows, "hosts": self._host_rows, "statements": self._statement_rows, "markers": self._marker_rows,
        }  # fmt: skip
        blank = dict.fromkeys(columns_of(name))
        return [{**blank, **row} for row in rows[name]()]

    def _artifact_rows(self) -> list[dict[str, Any]]:
        rows = []
        for artifact in self.spec.artifacts:
            manifest = self.manifests.get(artifact.id, {})
            read = {p["part"]: p for p in manifest.get("parts", [])}
            for part in artifact.parts:
                seen = read.get(part.part, {})
                facts, account = seen.get("facts") or {}, seen.get("account") or {}
                domain: Mapping[str, Any] = next(iter(seen.get("domains") or []), {})
                host = self.spec.hosts.get(part.host) if part.host else None
                rows.append({
                    "artifact_id": artifact.id, "host": part.host, "phase": part.phase, "part": part.part, "line_no": part.line_from, "line_end": part.line_to,
                    "kind": seen.get("kind"), "variant": seen.get("variant"), "tool_opts": facts.get("tool_opts"),
                    "role": part.role, "label": facts.get("label"),
                    "os": (host.os if host else None) or facts.get("os") or seen.get("system"), "os_release": facts.get("os_release"),
                    "n_lines": part.line_to - part.line_from + 1, **{f"n_{k}": v for k, v in account.items()},
                    "clock_kind": domain.get("kind"), "stamp": facts.get("stamp"), "t_begin": domain.get("t_begin"), "t_end": domain.get("t_end"),
                    "interval_s": facts.get("interval_s"), "tz": facts.get("tz") or self._zone(part), "sha256": artifact.sha256,
                })  # fmt: skip
        return rows

    def _host_rows(self) -> list[dict[str, Any]]:
        return [
            {"host": name, "os": h.os, "os_release": h.os_release, "model": h.model, "role": h.role, "ncpu": h.ncpu,
             "mem_kb": None if h.mem_gib is None else h.mem_gib * 1024 * 1024}
            for name, h in self.spec.hosts.items()
        ]  # fmt: skip

    def _statement_rows(self) -> list[dict[str, Any]]:
        """Return one row per statement. A subject that is a host or phase of the case is also put into that column, for
        joins.

        A symptom in seconds is a statement by people too: `symptom_bad` and `symptom_normal`.
        """
        symptom = self.spec.symptom
        felt = (
            (("symptom_bad", symptom.bad), ("symptom_normal", symptom.normal))
            if symptom and symptom.unit == "s"
            else ()
        )
        stated = [
            {"name": name, "num": num, "unit": "s", "text": symptom.text if symptom else None}
            for name, num in felt
            if num is not None
        ]
        phases = {p for a in self.spec.artifacts for part in a.parts if (p := part.phase)}
        phases |= {p.phase for p in self.spec.phases} | {p for m in self.spec.markers for p in m.between or ()}
        return stated + [
            {"author": s.author, "name": s.name, "subject": s.subject, "num": s.num, "unit": s.unit, "text": s.text,
             "host": s.subject if s.subject in self.spec.hosts else None, "phase": s.subject if s.subject in phases else None}
            for s in usable(self.spec.statements)
        ]  # fmt: skip

    def _marker_rows(self) -> list[dict[str, Any]]:
        return [
            {"t": self._since_zero(m.at), "kind": m.kind, "label": m.label, "hypothesis": m.hypothesis, "changed": with_restart(m),
             "from_phase": m.between[0] if m.between else None, "to_phase": m.between[1] if m.between else None}
            for m in self.spec.markers
        ]  # fmt: skip

    def _since_zero(self, at: str | None) -> float | None:
        if at is None or self.spec.t_zero is None:
            return None
        return instant(at, "markers").timestamp() - instant(self.spec.t_zero, "t_zero").timestamp()

    # --- identity ----------------------------------------------------------------------------------------------------

    @cached_property
    def _input_hashes(self) -> dict[tuple[str, bool], str]:
        return {}

    def hash_of(self, name: str, placed: bool = True) -> str:
        """Return a hash of everything a table's rows depend on.

        That is files and the joined hosts, phases and clocks; for a derived table, its inputs. With `placed` false, the
        positions of the clocks on the common axis are left out: they affect only readers of `t` and `t_err`, and
        derived tables never read these.
        """
        if (name, placed) not in self._input_hashes:
            self._input_hashes[name, placed] = self._hash(name, placed)
        return self._input_hashes[name, placed]

    def _hash(self, name: str, placed: bool) -> str:
        made = hashlib.sha256(name.encode())
        if name == findings_table.TABLE.name:
            made.update(self.findings.write_json().encode())
            return made.hexdigest()[:32]
        if name not in schema.TABLES:
            module = registry.derived()[name]
            needs = sorted(self.hash_of(n, placed=False) for n in module.NEEDS)
            base = _base(name)
            concerned = {a.id for a in self.spec.artifacts if any(self._counted(a.id, n) for n in base)}
            stated: tuple[object, ...] = tuple(
                replace(c, frame="", add=0, err=0, base_why=None) for c in self.clocks if c.artifact in concerned
            )
            if module.SCOPE != "artifact" or any(n in FROM_PEOPLE for n in base):
                stated += (self.spec.statements, self.spec.symptom, self.spec.markers, self.spec.offsets)
                stated += (sorted(self.spec.hosts.items()),)
            made.update(repr((module.VERSION, needs, stated)).encode())
            return made.hexdigest()[:32]
        if self._frames is not None:
            made.update(self.table(name).write_json().encode())
            return made.hexdigest()[:32]
        for artifact in self.spec.artifacts:
            manifest = self.manifests.get(artifact.id)
            counted = self._counted(artifact.id, name)
            if counted and manifest:
                own = [s for s in self.stretches if s.artifact == artifact.id]
                made.update(
                    repr(
                        (artifact.id, artifact.sha256, manifest.get("version"), manifest.get("hints"), counted, own)
                    ).encode()
                )
                if placed:
                    made.update(repr([self.alignments.get(s.clock or "") for s in own]).encode())
        if name in FROM_CASE:
            made.update(repr(self._rows(name)).encode())
        return made.hexdigest()[:32]


def in_order(rows: pl.DataFrame) -> bool:
    """Return whether rows are in `ORDER` already, as nearly all formats write them: a look costs far less than a sort.

    Where one of these columns has a NULL, the answer is no.

    >>> rows = pl.DataFrame({"artifact_id": [1, 1], "part": [1, 1], "line_no": [2, 2], "line_end": [3, 2]})
    >>> in_order(rows), in_order(rows.reverse())
    (False, True)
    """
    columns = [rows[name] for name in ORDER]
    if any(column.null_count() for column in columns):
        return False
    tied = pl.repeat(True, max(rows.height - 1, 0), eager=True)
    for column in columns:
        above, below = column.slice(0, len(tied)), column.slice(1)
        if (tied & (above > below)).any():
            return False
        tied &= above == below
        if not tied.any():
            break
    return True


def _shown(rows: pl.LazyFrame, hidden: str | None) -> pl.LazyFrame:
    """Leave out the rows of the general reader, by the column that marks them."""
    if hidden is None or hidden not in rows.collect_schema():
        return rows
    return rows.filter(pl.col(hidden).ne_missing(GENERAL_KIND))


def _by_stretch(stretches: Sequence[Stretch], values: Sequence[str | float | None], kind: pl.DataType) -> pl.Expr:
    """Return the expression for the value that holds at a row's part and line.

    It is a literal where the value is the same everywhere, so that filters on it cost nothing.
    """
    if len(set(values)) <= 1:
        return pl.lit(values[0] if values else None, kind)
    found: pl.Expr = pl.lit(None, kind)
    for s, value in zip(stretches, values, strict=True):
        here = (pl.col("part") == s.part) & pl.col("line_no").is_between(s.line_from, s.line_to)
        found = pl.when(here).then(pl.lit(value, kind)).otherwise(found)
    return found


def separable(name: str) -> bool:
    """Return whether a table depends, for each artifact, on that artifact alone. KeyError if there is no such table."""
    if name in schema.TABLES or name == findings_table.TABLE.name:
        return name in schema.TABLES and name not in FROM_CASE
    return registry.derived()[name].SCOPE == "artifact" and not any(n in FROM_PEOPLE for n in _base(name))


@functools.cache
def _base(name: str) -> frozenset[str]:
    """Return all evidence tables that a derived table is made from, directly or through other derived tables."""
    if name in schema.TABLES:
        return frozenset({name})
    return frozenset(b for n in registry.derived()[name].NEEDS for b in _base(n))


def columns_of(name: str) -> dict[str, pl.DataType]:
    """Return the columns of an evidence table, a derived table or `findings` with their types; KeyError for an unknown
    name.
    """
    if name in schema.TABLES:
        return {**COMMON, **{c.name: c.dtype for c in schema.TABLES[name].columns}}
    if name == findings_table.TABLE.name:
        return dict(findings_table.TABLE.columns)
    return dict(registry.derived()[name].TABLE.columns)


def with_restart(marker: Marker) -> list[str]:
    """Return everything that changed at a marker, plus `restart` if a change needs a restart and none is listed."""
    changed = list(marker.changed)
    if any(RESTART.search(c) for c in changed) and not any("restart" in c.lower() for c in changed):
        changed.append("restart")
    return changed


def instant(text: str, where: str) -> datetime:
    """Parse an ISO time into an aware datetime, UTC if it has no zone; raise CaseInvalid if it is not a time."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise CaseInvalid(where, f"is no time: {text!r}") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)

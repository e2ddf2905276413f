"""Overview tables: the rows of a lane over a large artifact, merged once for drawing and kept with the derived tables.

An overview has levels. At each level, rows narrower than two buckets are merged per strip and bucket (first begin, last
end, number, sum, the longest with its line); wider rows stay single. A window is drawn from the coarsest level whose
bucket is no wider than a pixel, so no spike is lost; below the finest level it is drawn from the rows themselves. Cost:
one pass over the rows, a slice at a time.

Overviews are kept at <cache>/overview/<hash of all that the rows depend on>/, with `meta.json` written last. A child of the
worker that judges a room makes the missing ones (`overviews_child`), so that the timeline is ready as soon as the room is
judged.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incidents.drawing.lane import Lane
from incidents.drawing.registry import lanes
from parsers.tables.schema import TABLES
from rules import registry
from rules.case.case import Case
from rules.engine.read import ReadOnly
from rules.model import CaseSpec

VERSION = 2
#: Minimum number of rows for an overview; fewer are drawn from the rows just as fast.
LEAST_ROWS = 150_000
#: Numbers of buckets over the length of the artifact's clocks, finest first. A level that saves less than the factor
#: SAVES is not kept.
BUCKETS = (65_536, 16_384, 4_096)
SAVES = 4
#: Maximum number of rows merged at once: memory holds the buckets of one slice.
SLICE_ROWS = 1_000_000
GROUP_ROWS = 16_384


@dataclass(frozen=True)
class Level:
    """Files of one level; `width` is its bucket in seconds, 0 for single rows that are expensive to compute."""

    width: float
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Overview:
    """The overview of one lane and artifact. None of its rows is longer than `longest` seconds."""

    artifact: int
    levels: tuple[Level, ...]
    longest: float

    def level(self, pixel: float) -> Level | None:
        """Return the coarsest level that fits a pixel of this many seconds; None if only the rows themselves fit."""
        fit = [level for level in self.levels if level.width <= pixel]
        return max(fit, key=lambda level: level.width, default=None)


def merged(lane: Lane, relation: str, bucket: str) -> str:
    """Return a SELECT that merges weighted rows narrower than two buckets, per strip and bucket of their end.

    Weighted rows have `n`, `total_s`, `worst_s` and `top` (fields and lines of the longest); those of a counter also
    `low` and stacked means.
    """
    keys = "".join(f"{key}, " for key in lane.keys)
    low = ", min(low) as low" if lane.kind == "counter" else ""
    stacked = "".join(f", sum(s{k} * n) / sum(n) as s{k}" for k in range(len(lane.stack)))
    return (
        f"select clock, host, artifact_id, {keys}min(t0) as t0, max(t1) as t1, sum(n)::bigint as n, sum(total_s) as total_s,"
        f" max(worst_s) as worst_s, arg_max(top, worst_s) as top{low}{stacked} from {relation}"
        f" group by clock, host, artifact_id, {keys}case when n = 1 and t1 - t0 >= 2 * {bucket}"
        f" then -top.line_to else floor(t1 / {bucket})::bigint end"
    )


def weighted(lane: Lane, rows: str) -> str:
    """Return a SELECT of a lane's rows with weights, as `merged` expects them; times in the artifact's own clock."""
    keys = "".join(f"{key}, " for key in lane.keys)
    names = (*lane.fields, "line_from", "line_to")
    top = "{" + ", ".join(f"'{name}': {name}" for name in names) + "} as top"
    if lane.kind == "counter":
        stacked = "".join(f", s{k}::double as s{k}" for k in range(len(lane.stack)))
        sizes = f"value::double as total_s, high::double as worst_s, {top}, low::double as low{stacked}"
    else:
        sizes = f"greatest(t1 - t0, 0)::double as total_s, greatest(t1 - t0, 0)::double as worst_s, {top}"
    return f"select clock, host, artifact_id, {keys}t0::double as t0, t1::double as t1, 1::bigint as n, {sizes} from ({rows}) where t1 is not null"


def rows_of(lane: Lane, here: str, clock: str = "true", end: str = "null", *, ordered: bool = False) -> str:
    """Fill the placeholders of a lane's SELECT: the window's condition, the stamp, and the end of the clock."""
    known = lane.table in TABLES and any(column.name == "interval_s" for column in TABLES[lane.table].columns)
    length = "1.0" if ordered else "coalesce(s.interval_s, 0)" if known else "0"
    stamp = f"{lane.order}::double" if ordered else lane.time
    text = lane.rows.replace("{here}", here).replace("{clock}", clock).replace("{t}", stamp).replace("{dt}", length)
    return text.replace("{end}", end)


def wanted(case: Case) -> Iterator[tuple[str, Lane, int]]:
    """Yield the lanes and artifacts that need an overview: those of large tables, without optional counters."""
    for name, (lane, _) in lanes().items():
        if lane.timed and (lane.shown or lane.kind != "counter") and lane.table not in registry.derived():
            for artifact in case.manifests:
                if count(case, artifact, lane.table) >= LEAST_ROWS:
                    yield name, lane, artifact


def count(case: Case, artifact: int, table: str) -> int:
    return sum(batch["tables"].get(table, 0) for batch in case.manifests[artifact]["batches"])


def overviews(case: Case, cache: Path, lane: Lane) -> list[Overview]:
    """Return the stored overviews of a lane, one for each artifact that has one."""
    found = []
    for artifact in case.manifests:
        if count(case, artifact, lane.table) >= LEAST_ROWS:
            folder = _folder(case, cache, lane, artifact)
            try:
                meta = json.loads((folder / "meta.json").read_text("utf-8"))
            except FileNotFoundError:
                continue
            levels = tuple(
                Level(level["width"], tuple(folder / file for file in level["files"])) for level in meta["levels"]
            )
            found.append(Overview(artifact, levels, meta["longest"]))
    return found


def _folder(case: Case, cache: Path, lane: Lane, artifact: int) -> Path:
    spec = next(a for a in case.spec.artifacts if a.id == artifact)
    own = [s for s in case.stretches if s.artifact == artifact]
    counted = [b["tables"].get(lane.table) for b in case.manifests[artifact]["batches"]]
    reading = Path(spec.reading).name if spec.reading else None  # its number: each host may have a folder of its own
    depends = (VERSION, lane.rows, lane.keys, lane.fields, artifact, spec.sha256, reading, counted, own)
    return cache / "overview" / hashlib.sha256(repr(depends).encode()).hexdigest()[:32]


def make_all(spec: CaseSpec, cache: Path) -> int:
    """Make missing overviews and the derived tables that lanes draw; return the number of overviews made."""
    case = Case(spec, cache)
    for name in sorted({lane.table for lane, _ in lanes().values()} | {"wait_edges"}):
        if name in registry.derived():
            case.derived(name)
    made = 0
    for _, lane, artifact in wanted(case):
        folder = _folder(case, cache, lane, artifact)
        if not (folder / "meta.json").exists():
            _make(spec, case, lane, artifact, folder)
            made += 1
    return made


def _make(spec: CaseSpec, case: Case, lane: Lane, artifact: int, folder: Path) -> None:
    ends = [(c.t_begin, c.t_end) for c in case.clocks if c.artifact == artifact and c.t_begin is not None and c.t_end is not None]  # fmt: skip
    begin, end = min((b for b, _ in ends), default=0.0), max((e for _, e in ends), default=0.0)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        with ReadOnly(spec, [lane.table], with_text=True) as source:
            meta = _write(source, case, lane, artifact, fresh, max(end - begin, 1e-6))
        with (fresh / "meta.json").open("w", encoding="utf-8") as file:
            json.dump(meta, file)
            file.flush()
            os.fsync(file.fileno())
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write(source: ReadOnly, case: Case, lane: Lane, artifact: int, folder: Path, length: float) -> dict[str, Any]:
    own = f"s.artifact_id = {artifact}"
    if "{clock}" in lane.rows:  # rows that depend on their neighbours are computed once and kept single
        file = folder / "rows.parquet"
        source.copy(f"{weighted(lane, rows_of(lane, 'true', own))} order by t1", file, GROUP_ROWS)
        longest = source.query(f"select max(t1 - t0) as s from read_parquet('{file}')")[0]["s"] or 0.0
        return {"longest": longest, "levels": [{"width": 0, "files": [file.name]}]}
    width = length / BUCKETS[0]
    finest: list[str] = []
    for first, last in _slices(case, artifact, lane.table):
        name = f"0-{len(finest)}.parquet"
        rows = weighted(lane, rows_of(lane, f"{own} and s.line_no between {first} and {last}"))
        source.copy(f"select * from ({merged(lane, f'({rows})', repr(width))}) order by t1", folder / name, GROUP_ROWS)
        finest.append(name)
    levels = [{"width": width, "files": finest}]
    for depth, buckets in enumerate(BUCKETS[1:], start=1):
        width = length / buckets
        name = f"{depth}.parquet"
        relation = _files(folder, levels[-1]["files"])
        source.copy(f"select * from ({merged(lane, relation, repr(width))}) order by t1", folder / name, GROUP_ROWS)
        levels.append({"width": width, "files": [name]})
    total = count(case, artifact, lane.table)
    kept = []
    for level in levels:
        have = source.query(f"select count(*) as n, max(t1 - t0) as s from {_files(folder, level['files'])}")[0]
        if have["n"] * SAVES <= total or level is levels[-1]:
            kept.append(level)
        longest = have["s"] or 0.0
    return {"longest": longest, "levels": kept}


def _files(folder: Path, names: Any) -> str:
    listed = ", ".join("'" + str(folder / name).replace("'", "''") + "'" for name in names)
    return f"read_parquet([{listed}])"


def _slices(case: Case, artifact: int, table: str) -> Iterator[tuple[int, int]]:
    """Cut an artifact's lines into ranges of about SLICE_ROWS rows of a table, at the borders of its batches."""
    first, rows = 0, 0
    for batch in case.manifests[artifact]["batches"]:
        rows += batch["tables"].get(table, 0)
        if rows >= SLICE_ROWS:
            yield first, batch["line_next"] - 1
            first, rows = batch["line_next"], 0
    yield first, 2**62

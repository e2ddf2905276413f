"""Results of statements cached per artifact, so that one more upload costs only its own rows, not those of the whole
room.

A *slice* is the result of a statement for one artifact. For each artifact the statement must depend on that artifact
alone (no join across artifacts, `artifact_id` in its result), so that running it over many artifacts at once gives the
slices of all of them: new ones are computed together, the others come from the cache, by a hash of everything their
rows depend on. Without a cache, and for rows in memory, everything is computed each time. A statement is run over `LOT`
rows at once, so that its time and memory limits suffice for a room of any size, and finished lots stay cached when a
later one fails.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rules.case.case import Case, separable
from rules.engine import views
from rules.engine.sandbox import Sandbox

MOST_COUNTS = 1_000_000
LOT = 10_000_000
"""Maximum rows of evidence per run of a statement, unless one artifact has more; the whole library is measured with
this many.
"""


class Slices:
    """Slices of one case. `cache` is where they are stored, `scratch` where they go without a cache. `version` is part
    of every key.
    """

    def __init__(self, case: Case, sandbox: Sandbox, scratch: Path, cache: Path | None, version: str) -> None:
        self.case = case
        self.sandbox = sandbox
        self.scratch = scratch
        self.cache = None if case.in_memory else cache
        self.version = version

    def select(self, name: str, sql: str, params: Mapping[str, Any], tables: Iterable[str]) -> tuple[str, str]:
        """Return a SELECT over the slices of all artifacts, and a hash of what it depends on. RuleFailed carries
        `name`.

        `tables` are all tables that the statement reads; each must be `separable`.
        """
        if not self.sandbox.is_open:
            self.sandbox.open({}, self.scratch)
        read = sorted(tables)
        asked = self._hash(sql, sorted(params.items()))
        if self.cache is None:
            made: list[str] = []
            for case in self._all(read):
                file = self.scratch / f"{name}-{asked}-{len(made)}.parquet"
                self._write(name, case, read, sql, params, file)
                made.append(views.text(str(file)))
            return f"select * from read_parquet([{', '.join(made)}])", asked
        owners = self._owners(read)
        index = self.cache / "slices" / f"{name}-{asked}.json"
        held = {key: file for key, file in _read(index).items() if index.with_name(file).exists()}
        missing = [artifact for artifact, key in owners.items() if key not in held]
        if missing or "" not in held:
            index.parent.mkdir(parents=True, exist_ok=True)
            old = {*held.values()}
            for lot in self._lots(missing, read) if missing else [[]]:
                file = index.with_name(f"{name}-{asked}-{uuid.uuid4().hex[:12]}.parquet")
                self._write(name, self.case.only(lot), read, sql, params, file)
                held = {"": file.name} | held | {owners[artifact]: file.name for artifact in lot}
                _write(index, held)
            held = {key: held[key] for key in ("", *owners.values())}
            _write(index, held)
            for unused in old - {*held.values()}:
                index.with_name(unused).unlink(missing_ok=True)
        places: dict[str, list[int]] = {str(index.with_name(held[key])): [] for key in ("", *owners.values())}
        for artifact, key in owners.items():
            places[str(index.with_name(held[key]))].append(artifact)
        files = ", ".join(views.text(f) for f in places)
        pairs = ", ".join(f"({views.text(f)}, {a})" for f, artifacts in places.items() for a in artifacts)
        chosen = f"(_file, artifact_id) in ({pairs})" if pairs else "false"
        whole = f"select * exclude (_file) from read_parquet([{files}], filename='_file') where {chosen}"
        return whole, self._hash(asked, sorted(owners.items()))

    def counts(self, name: str, sql: str, table: str) -> list[list[Any]]:
        """Return rows `[host, n, ...]` with sums over all artifacts.

        `sql` counts rows of one table with the columns artifact_id and host, then any number of counts.
        """
        assert self.cache is not None
        owners = self._owners([table])
        index = self.cache / "counts" / f"slices-{self._hash(sql)}.json"
        held = _read(index)
        missing = [artifact for artifact, key in owners.items() if key not in held]
        if missing:
            found: dict[int, list[list[Any]]] = {artifact: [] for artifact in missing}
            if not self.sandbox.is_open:
                self.sandbox.open({}, self.scratch)
            for lot in self._lots(missing, [table]):
                made = views.build(self.case.only(lot), [table], self.scratch)
                for row in self.sandbox.apart(name, made, sql, max_rows=MOST_COUNTS).rows:
                    artifact, *counted = row.values()
                    found[artifact].append(counted)
            held = {key: found[a] if a in found else held[key] for a, key in owners.items()}
            _write(index, held)
        summed: dict[str | None, list[int]] = {}
        for host, *counts in (row for key in owners.values() for row in held[key]):
            summed[host] = [a + b for a, b in zip(summed[host], counts, strict=True)] if host in summed else counts
        return [[host, *counts] for host, counts in summed.items()]

    def keeps(self, table: str) -> bool:
        """Return whether slices of a table are cached."""
        return self.cache is not None and separable(views.WITHOUT_FIRST.get(table, table))

    def _owners(self, tables: Iterable[str]) -> dict[int, str]:
        """Return the artifacts that have rows of the tables, each with a hash of what its slice depends on."""
        read = [views.WITHOUT_FIRST.get(t, t) for t in tables]
        return {
            artifact: self._hash(artifact, [part.hash_of(t, placed=False) for t in read])
            for artifact, part in self._parts(tables).items()
        }

    def _all(self, tables: Sequence[str]) -> list[Case]:
        """Return the case divided into lots; rows in memory are a single lot."""
        if self.case.in_memory:
            return [self.case]
        lots = list(self._lots(self._parts(tables), tables))
        return [self.case.only(lot) for lot in lots] if len(lots) > 1 else [self.case]

    def _lots(self, artifacts: Iterable[int], tables: Sequence[str]) -> Iterator[list[int]]:
        """Yield the artifacts that are computed together, in their order."""
        lot: list[int] = []
        rows = 0
        for artifact in artifacts:
            more = self.case.rows_of(artifact, (views.WITHOUT_FIRST.get(t, t) for t in tables))
            if lot and rows + more > LOT:
                yield lot
                lot, rows = [], 0
            lot.append(artifact)
            rows += more
        if lot:
            yield lot

    def _parts(self, tables: Iterable[str]) -> dict[int, Case]:
        return self.case.apart(views.WITHOUT_FIRST.get(t, t) for t in tables)

    def _write(
        self, name: str, case: Case, tables: Iterable[str], sql: str, params: Mapping[str, Any], file: Path
    ) -> None:
        self.sandbox.apart(name, views.build(case, tables, self.scratch), sql, params, file)

    def _hash(self, *whole: object) -> str:
        return hashlib.sha256(repr((self.version, *whole)).encode()).hexdigest()[:32]


def _read(index: Path) -> dict[str, Any]:
    try:
        held: dict[str, Any] = json.loads(index.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return held


def _write(index: Path, held: Mapping[str, Any]) -> None:
    index.parent.mkdir(parents=True, exist_ok=True)
    beside = index.with_suffix(f".{uuid.uuid4().hex[:12]}.new")
    beside.write_text(json.dumps(held), "utf-8")
    beside.rename(index)

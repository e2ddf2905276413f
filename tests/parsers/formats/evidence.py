"""Read texts and samples in tests; compare readings."""

from __future__ import annotations

import importlib
import io
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pyarrow as pa

from parsers.errors import NotText, ParserError
from parsers.reading import Account, read
from parsers.registry import all_formats
from parsers.tables import parquet
from parsers.tables.rows import Batch, Tables
from parsers.text.source import Hints, Limits, Position, Source, TextFile


@dataclass(frozen=True)
class Reading:
    """An account with the tables that were read."""

    account: Account
    tables: dict[str, pl.DataFrame]
    error: ParserError | None = None

    def table(self, name: str) -> pl.DataFrame:
        return self.tables[name]


def facts_of(kind: str) -> ModuleType | None:
    """Import the `facts_<kind>.py` of a kind's family; None if the kind has none."""
    for path in Path(__file__).parent.glob(f"*/facts_{kind}.py"):
        return importlib.import_module(f"tests.parsers.formats.{path.parent.name}.{path.stem}")
    return None


def read_bytes(
    content: bytes, hints: Hints | None = None, limits: Limits | None = None, name: str = "a.txt"
) -> Reading:
    """Read bytes as a file; a ParserError is stored in the result, not raised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "original"
        path.write_bytes(content)
        return read_path(path, hints, limits, name)


@cache
def read_sample(path: Path) -> Reading:
    """Read a sample of the corpus like an upload; all tests of a process share the result, so do not modify it."""
    return read_path(path)


def read_path(path: Path, hints: Hints | None = None, limits: Limits | None = None, name: str | None = None) -> Reading:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "reading"
        error = None
        try:
            account: Account | None = read(path, hints or Hints(), out, limits=limits, name=name)
        except ParserError as caught:
            error = caught
        account = error.account if error else account
        assert account is not None
        return Reading(account, all_tables(out), error)


class Memory:
    """A sink that stores its rows in memory."""

    def __init__(self) -> None:
        self.parts: dict[str, list[pa.Table]] = {}

    def write(self, table: str, rows: pa.Table) -> None:
        self.parts.setdefault(table, []).append(rows)

    def frame(self, table: str) -> pl.DataFrame:
        frame = pl.from_arrow(pa.concat_tables(self.parts[table]))
        assert isinstance(frame, pl.DataFrame)
        return frame


@dataclass(frozen=True)
class Run:
    """One block run, parsed in memory."""

    batch: Batch
    tables: dict[str, pl.DataFrame]
    lines: int
    asks: list[str]
    """Names of the questions to a person."""


def parse_bytes(content: bytes, kind: str, variant: str, *, dress: tuple[str, ...] = (), **limits: int) -> Run | None:
    """Parse bytes as one run of a format, in memory; None if they are not text."""
    chosen = next((form, module) for form, module in all_formats() if (form.kind, form.variant) == (kind, variant))
    try:
        text = TextFile(io.BufferedReader(io.BytesIO(content)), "a.txt", Limits(**limits))
    except NotText:
        return None
    hints = Hints(kind=kind, variant=variant)
    source = Source(text, Position(1, text.start), text.size, part=1, hints=hints, last=True, whole=True, dress=dress)
    sink = Memory()
    out = Tables(source, sink)
    state = chosen[1].parse(source, out, {"variant": variant})
    for _ in source.blocks():
        pass
    batch, _ = out.finish(state)
    names = [n for n in sink.parts if n not in parquet.OWN_FOLDERS]
    asked: Any = out.facts.get("questions") or []
    return Run(batch, {n: sink.frame(n) for n in names}, source.next_line - 1, [question["ask"] for question in asked])


def all_tables(reading: Path) -> dict[str, pl.DataFrame]:
    return {name: parquet.scan(reading, name).collect() for name in parquet.tables(reading)}


def same_tables(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> bool:
    return one.keys() == other.keys() and all(one[name].equals(other[name]) for name in one)


def without_notes(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return {name: rows for name, rows in tables.items() if name != "notes"}

"""Read texts and samples in tests; compare readings."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from parsers import parquet
from parsers.errors import ParserError
from parsers.reading import Account, read
from parsers.source import Hints, Limits


@dataclass(frozen=True)
class Reading:
    """An account with the tables that were read."""

    account: Account
    tables: dict[str, pl.DataFrame]
    error: ParserError | None = None

    def table(self, name: str) -> pl.DataFrame:
        return self.tables[name]


def read_bytes(
    content: bytes, hints: Hints | None = None, limits: Limits | None = None, name: str = "a.txt"
) -> Reading:
    """Read bytes as a file would be; a ParserError is kept, not raised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "original"
        path.write_bytes(content)
        return read_path(path, hints, limits, name)


def read_path(path: Path, hints: Hints | None = None, limits: Limits | None = None, name: str | None = None) -> Reading:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "reading"
        error = None
        try:
            account = read(path, hints or Hints(), out, limits=limits, name=name)
        except ParserError as caught:
            error = caught
            assert caught.account is not None
            account = caught.account
        return Reading(account, all_tables(out), error)


def all_tables(reading: Path) -> dict[str, pl.DataFrame]:
    return {name: parquet.scan(reading, name).collect() for name in parquet.tables(reading)}


def same_tables(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> bool:
    return one.keys() == other.keys() and all(one[name].equals(other[name]) for name in one)


def without_notes(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return {name: rows for name, rows in tables.items() if name != "notes"}

"""What every derived table declares, and how it reads a case.

A module in `rules/derived/` holds `TABLE` (a `DerivedTable`), `NEEDS` (names of tables, derived ones included),
`SCOPE`, `VERSION` and `build(case)`. Nothing is registered: the folder is scanned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import polars as pl

from rules.model import Clock

Scope = Literal["artifact", "host", "room"]

FAULTS = (Exception, pl.exceptions.PanicException)
"""Exceptions that count as the failure of a single step. A Polars panic is not an Exception, so it is listed too."""

PLACE: Mapping[str, pl.DataType] = {
    "artifact_id": pl.Int64(),
    "host": pl.String(),
    "phase": pl.String(),
    "clock": pl.String(),
}
PLACE_COLUMNS = list(PLACE)


class CaseTables(Protocol):
    """The part of `rules.case.case.Case` that a derived table uses.

    Data frames are in line order; missing tables are empty. A trace may have ten million rows: `columns` and `where`
    say which of it is needed, and nothing else is read.
    """

    def scan(self, name: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None) -> pl.LazyFrame: ...

    def table(self, name: str, columns: Sequence[str] | None = None, where: pl.Expr | None = None) -> pl.DataFrame: ...

    def derived(self, name: str) -> pl.DataFrame: ...

    def only(self, artifacts: Collection[int]) -> CaseTables: ...

    def may_have(self, name: str) -> bool: ...

    def with_text(self) -> CaseTables: ...

    @property
    def clocks(self) -> tuple[Clock, ...]: ...


@dataclass(frozen=True)
class DerivedTable:
    """Name and ordered columns of a derived table; the types are those that `build` returns."""

    name: str
    columns: Mapping[str, pl.DataType]

    def shape(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return exactly the declared columns in their order and types; columns that the data frame lacks are NULL."""
        return frame.select(
            (pl.col(column) if column in frame.columns else pl.lit(None)).cast(kind).alias(column)
            for column, kind in self.columns.items()
        )

    def write(self, file: Path, frames: Iterable[pl.DataFrame]) -> None:
        """Write data frames of this table one after the other into one Parquet file, with one at a time in memory."""
        import pyarrow.parquet as pq  # only the largest tables are written this way

        nothing = self.rows(())
        with pq.ParquetWriter(file, nothing.to_arrow().schema, compression="zstd", compression_level=1) as out:
            for frame in frames:
                if frame.height:
                    out.write_table(frame.to_arrow().cast(out.schema))

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
        """Return a data frame of the declared columns from row mappings; missing keys become NULL."""
        found = [{column: row.get(column) for column in self.columns} for row in rows]
        return pl.DataFrame(found, schema=dict(self.columns), orient="row")


def number(frame: pl.DataFrame, keys: list[str], name: str) -> pl.DataFrame:
    """Add a dense UInt32 number per combination of `keys` (NULL counts as a value), so that later joins need one
    column.
    """
    groups = frame.select(keys).unique(maintain_order=True).with_row_index(name)
    return frame.join(groups, on=keys, how="left", nulls_equal=True, maintain_order="left")


def seconds(ns: pl.Expr) -> pl.Expr:
    """Convert whole nanoseconds to seconds, rounded so that they print exactly (a division alone may be off in the last
    bit).
    """
    return (ns.cast(pl.Float64) / 1e9).round(9)


def nanoseconds(s: pl.Expr) -> pl.Expr:
    """Convert seconds to whole nanoseconds, in which sums and differences are exact; NULL for no time (NaN, 300 years)."""
    return (s * 1e9).round().cast(pl.Int64, strict=False)

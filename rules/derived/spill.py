"""Data frames written to disk, for tables whose rows should not all be in memory at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import polars as pl

SORTED_ROWS = 400_000
"""Approximate number of rows sorted at a time."""


class Spill:
    """Data frames of one schema, stored in a folder of their own until the `with` block ends.

    `empty` supplies the columns if no data frame is added.
    """

    def __init__(self, empty: pl.DataFrame) -> None:
        self._empty = empty
        self._folder = tempfile.TemporaryDirectory(prefix="exhibit-spill-")
        self._files: list[Path] = []

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def add(self, frame: pl.DataFrame) -> None:
        """Store a data frame; columns it lacks are NULL."""
        if frame.height:
            file = Path(self._folder.name) / f"{len(self._files):06}.parquet"
            pl.concat([self._empty, frame], how="diagonal_relaxed").select(self._empty.columns).write_parquet(
                file, compression="lz4"
            )
            self._files.append(file)

    def scan(self) -> pl.LazyFrame:
        """Open all data frames together, in the order in which they were added."""
        return pl.scan_parquet(self._files) if self._files else self._empty.lazy()

    def sorted(self, groups: Sequence[str], number: str, ties: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield all rows in data frames, sorted by `groups` (NULL last), then `number` (whole, never NULL), then
        `ties`.

        Meant for few groups: each is scanned once, then once more for each SORTED_ROWS of its rows.
        """
        for group in self.scan().select(groups).unique().collect(engine="streaming").sort(groups, nulls_last=True).iter_rows():  # fmt: skip
            here = pl.all_horizontal(
                pl.lit(value=True), *(pl.col(c).eq_missing(pl.lit(v)) for c, v in zip(groups, group, strict=True))
            )
            numbers = self.scan().filter(here).select(number).collect(engine="streaming")[number].sort()
            borders = numbers.gather_every(SORTED_ROWS, SORTED_ROWS).unique().sort().to_list()
            for first, last in zip([None, *borders], [*borders, None], strict=True):
                within = here if first is None else here & (pl.col(number) >= first)
                within = within if last is None else within & (pl.col(number) < last)
                rows = self.scan().filter(within).collect(engine="streaming")
                yield rows.sort(number, *ties, nulls_last=True, maintain_order=True)

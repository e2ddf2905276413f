"""Frames put aside on the disk, for tables whose rows memory should not hold at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import polars as pl

SORTED_ROWS = 400_000
"""About so many rows are sorted at a time."""


class Spill:
    """Frames of one schema, kept in a folder of its own until the `with` block ends. `empty` has the columns where no frame is added."""

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
        """Put a frame aside; columns it lacks are NULL."""
        if frame.height:
            file = Path(self._folder.name) / f"{len(self._files):06}.parquet"
            pl.concat([self._empty, frame], how="diagonal_relaxed").select(self._empty.columns).write_parquet(
                file, compression="lz4"
            )
            self._files.append(file)

    def scan(self) -> pl.LazyFrame:
        """Open all frames together, in the order in which they came."""
        return pl.scan_parquet(self._files) if self._files else self._empty.lazy()

    def sorted(self, groups: Sequence[str], number: str, ties: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield all rows in frames, sorted by `groups` (NULL last), within a group by the whole number `number` (never NULL), then `ties`.

        Few groups: each is looked through once, then once for each SORTED_ROWS of its rows.
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

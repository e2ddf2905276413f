"""What observers of samplers share: series of samples, their worst row, and the sighting that says how full one was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import KEPT, Lines, Sighting, figure, lines_of, place
from rules.signatures.signatures import Seen

KEYS = [*PLACE_COLUMNS, "part"]
SERIES = [key for key in KEYS if key != "clock"]
"""What rows of one series share; of several rows with one stamp only the first may have a clock."""

ROW = [*KEYS, "line_no", "line_end", "t_local", "first"]


@dataclass(frozen=True)
class Beside:
    """A column whose value is added to the sighting of a measure if it is above 0: `says` is a sentence with {value}.

    The value is the median (`most`: the maximum; `least`: the minimum).
    """

    column: str
    unit: str
    says: str
    most: bool = False
    least: bool = False

    @property
    def value(self) -> pl.Expr:
        """Return the figure of a series."""
        known = pl.col(self.column).filter(pl.col(self.column).is_finite())
        return known.max() if self.most else known.min() if self.least else known.median()


@dataclass(frozen=True)
class Measure:
    """A measure of a sampled table and its bound.

    `value` is computed per sample; it stands out where it is at least `bound` (`low`: at most). `kind` is the kind of the
    sighting, `says` a sentence with {value}, {worst}, {n}, {of}, {who}. `share_of` turns the value into a share (100 for
    percent), `of` by what it is a part of in each sample; without them the share is that of the samples in which the value
    is at least `felt` (None: no share), each of which counts `weight` (None: 1). One that is not `shown` never stands out.
    One that is `told` beside another fills no line where it is within its bound. `least_beyond` samples must be beyond the
    bound, where there are so many.
    """

    name: str
    value: pl.Expr
    unit: str
    bound: float
    says: str
    subject: str
    share_of: float | None = None
    of: pl.Expr | None = None
    felt: float | None = None
    weight: pl.Expr | None = None
    low: bool = False
    kind: str = "saturation"
    seen: tuple[Seen, ...] = ()
    least_samples: int = 1
    least_beyond: int = 1
    shown: bool = True
    told: bool = False
    beside: tuple[Beside, ...] = ()


HELD = 0.25
"""Minimum part of the samples in which a measure is beyond its bound before it stands out; one bad second is a moment."""


def sampled(case: CaseTables, table: str, columns: Iterable[str], by: Sequence[str] = ()) -> pl.LazyFrame:
    """Return the samples of a table; those since boot only for series that have no other."""
    rows = case.scan(table, [*ROW, *by, *columns])
    since_boot = pl.col("first").fill_null(False)
    return rows.filter(~since_boot | since_boot.all().over([*SERIES, *by]))


def worst(
    rows: pl.LazyFrame, measures: Sequence[Measure], by: Sequence[str] = ()
) -> Iterator[tuple[Measure, dict[str, Any]]]:
    """Yield for each measure and series the numbers for its sighting: n, of, median, worst, and the worst row.

    The measures are computed in one call of Polars: of small tables, its calls cost more than the rows.
    """
    every = pl.collect_all([_worst_of(rows, m, by) for m in measures], engine="streaming")
    for m, made in zip(measures, every, strict=True):
        for row in made.iter_rows(named=True):
            yield m, row


def _worst_of(rows: pl.LazyFrame, m: Measure, by: Sequence[str]) -> pl.LazyFrame:
    keys = [*SERIES, *by]
    v = pl.col("v")
    beyond = v <= m.bound if m.low else v >= m.bound
    at = v.arg_min() if m.low else v.arg_max()
    return (
        rows.with_columns(m.value.cast(pl.Float64).alias("v"))
        .filter(v.is_not_null() & v.is_finite())
        .group_by(keys)
        .agg(
            pl.len().alias("of"),
            beyond.sum().alias("n"),
            _felt(m).mean().alias("felt"),
            v.median().alias("median"),
            (v / m.of if m.of is not None else pl.lit(None, pl.Float64)).median().alias("of_part"),
            v.get(at).alias("worst"),
            pl.col("clock").drop_nulls().first(),
            pl.col("line_no").get(at),
            pl.col("line_end").get(at),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
            pl.col("first").fill_null(False).all().alias("since_boot"),
            *(one.value.cast(pl.Float64).alias(f"beside {n}") for n, one in enumerate(m.beside)),
        )
        .sort(*keys, nulls_last=True)
    )


def _felt(m: Measure) -> pl.Expr:
    """Return what each sample adds to the share of a measure that people feel; null if nobody does."""
    if m.felt is None:
        return pl.lit(None, pl.Float64)
    return (pl.col("v") >= m.felt) * (pl.lit(1.0) if m.weight is None else m.weight)


def sightings(rows: pl.LazyFrame, measures: Sequence[Measure], by: Sequence[str] = ()) -> Iterator[Sighting]:
    """Yield one sighting per measure and series: first those that stand out, by size, then the normal measures."""
    found = [(m, row, _stands(m, row)) for m, row in worst(rows, measures, by)]
    found.sort(key=lambda x: (not x[2], -_size(x[0], x[1])))
    for m, row, stands in found:
        yield made_of(m, row, stands, " ".join(str(row[k]) for k in by if row[k] is not None))


def _stands(m: Measure, row: Mapping[str, Any]) -> bool:
    enough = max(min(m.least_beyond, row["of"]), HELD * row["of"])
    return bool(m.shown and row["n"] >= enough and row["of"] >= m.least_samples)


def _size(m: Measure, row: Mapping[str, Any]) -> float:
    value = float(row["median"])
    if m.share_of:
        return value / m.share_of
    return 1 - min(1.0, m.bound / value if value > 0 and not m.low else 1.0)


def made_of(m: Measure, row: Mapping[str, Any], stands: bool, who: str) -> Sighting:
    """Return the sighting of a measure from the numbers of `worst`; its value is the median of the samples."""
    subject = f"{who} {m.subject}".strip()
    boot = ", counted since boot" if row["since_boot"] else ""
    text = m.says.format(
        who=who, value=figure(row["median"], m.unit), worst=figure(row["worst"], m.unit), n=row["n"], of=row["of"]
    )
    return Sighting(
        kind=KEPT if m.told and not stands else m.kind,
        subject=subject,
        headline=text + boot,
        name=m.name,
        value=row["median"],
        unit=m.unit,
        lines=lines_of(row, "worst sample")
        if stands
        else (Lines(row["artifact_id"], row["line_no"], row["line_no"], "sample"),),
        **place(row),
        t_from=row["t_from"],
        t_to=row["t_to"],
        against="its bound",
        against_value=m.bound,
        share=_share(m, row),
        n=row["n"],
        seen=m.seen if stands else (),
        normal=not stands,
        beside=_beside(m, row),
    )


def _share(m: Measure, row: Mapping[str, Any]) -> float | None:
    if not m.share_of:
        return float(row["felt"]) if row["felt"] is not None else None
    part = float(row["of_part"] if row["of_part"] is not None else row["median"] / m.share_of)
    return min(1.0, max(0.0, part))


def _beside(m: Measure, row: Mapping[str, Any]) -> str | None:
    told = [
        one.says.format(value=figure(value, one.unit))
        for n, one in enumerate(m.beside)
        if (value := row[f"beside {n}"]) is not None and value > 0
    ]
    return f"meanwhile {', '.join(told)}" if told else None

"""One row per distribution of times: how many values lie beyond its first gap, and their mean and sum with bounds from
the bucket edges.

Inputs: `hist`, `statements` (`hist_unit_s`: seconds per unit of the values, for tools that print no unit; the
statement's subject, if any, is the aggregation, or a key as printed: `tnslsnr 15697`).
Columns: agg, key1, key2, `pid` (the key that is a number); `tick_s` (s, NULL if unknown), `unit_s` and `said` (true:
unit_s comes from a person's statement); n_all; n_busy, mean_lo_s, mean_s, mean_hi_s, sum_lo_s, sum_s, sum_hi_s of the
buckets beyond the first empty one (of all buckets if none is empty between two filled ones): a loop that mostly finds
nothing to do fills the first bucket, and the work lies beyond; `gap` (true: there was an empty bucket); complete;
line_no, line_end. mean_s and sum_s use the middle of each bucket, the bounds its edges. NULL where the unit is unknown
or an edge is open.
Worked example: 206 at 0 to 1, none to 8, then 1, 10, 67, 90, 41, 3, 1 at 8 to 15, unit 10 ms: 213 loops, mean 0.1131 s
(0.1081 to 0.1181), sum 24.095 s (23.03 to 25.16).
Cost: n log n in the buckets. Source: arithmetic of grouped data.
"""

from __future__ import annotations

import polars as pl

from rules.derived.derived_table import PLACE, CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "hist_modes",
    {
        **PLACE,
        "agg": pl.String(),
        "key1": pl.String(),
        "key2": pl.String(),
        "pid": pl.Int64(),
        "tick_s": pl.Float64(),
        "unit_s": pl.Float64(),
        "said": pl.Boolean(),
        "n_all": pl.Float64(),
        "n_busy": pl.Float64(),
        "gap": pl.Boolean(),
        "mean_lo_s": pl.Float64(),
        "mean_s": pl.Float64(),
        "mean_hi_s": pl.Float64(),
        "sum_lo_s": pl.Float64(),
        "sum_s": pl.Float64(),
        "sum_hi_s": pl.Float64(),
        "complete": pl.Boolean(),
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
    },
)
NEEDS = ("hist", "statements")
SCOPE: Scope = "artifact"
VERSION = "1"

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
KEYS = ["artifact_id", "part", "host", "phase", "clock", "agg", "key1", "key2", "t_local"]
STATEMENT = "hist_unit_s"


def modes(hist: pl.DataFrame, statements: pl.DataFrame) -> pl.DataFrame:
    """Return `hist_modes` for rows of `hist`; cumulative distributions are left out because their buckets hold no
    counts.
    """
    rows = hist.filter(
        ~pl.col("cumulative").fill_null(False)
        & pl.col("n").is_not_null()
        & (pl.col("lo").is_not_null() | pl.col("hi").is_not_null())
    ).sort(*KEYS, pl.col("lo").fill_null(float("-inf")), nulls_last=True)
    filled = pl.col("n") > 0
    # An empty bucket with filled ones on both sides divides the distribution.
    before = filled.cast(pl.Int64).cum_sum().over(KEYS) > 0
    after = filled.cast(pl.Int64).cum_sum(reverse=True).over(KEYS) > 0
    rows = rows.with_columns(
        # DTrace prints every bucket between; tools that print only filled ones show the gap by their edges.
        ((~filled & before & after) | (pl.col("lo") > pl.col("hi").shift(1).over(KEYS)).fill_null(False)).alias("parts")
    )
    rows = rows.with_columns((pl.col("parts").cast(pl.Int64).cum_sum().over(KEYS) > 0).alias("beyond"))
    rows = rows.with_columns(pl.col("beyond").any().over(KEYS).alias("gap"))
    busy = filled & (pl.col("beyond") | ~pl.col("gap"))
    open_end = (busy & (pl.col("lo").is_null() | pl.col("hi").is_null())).any()
    n_busy = pl.col("n").filter(busy).sum()

    def total(value: pl.Expr) -> pl.Expr:
        return pl.when(~open_end).then((pl.col("n") * value).filter(busy).sum())

    number = r"^-?[0-9]+$"
    made = rows.group_by(KEYS, maintain_order=True).agg(
        pl.col("unit").first(),
        pl.col("tick_s").first(),
        pl.col("gap").first(),
        pl.col("n").sum().alias("n_all"),
        n_busy.alias("n_busy"),
        total(pl.col("lo")).alias("low"),
        total((pl.col("lo") + pl.col("hi")) / 2).alias("middle"),
        total(pl.col("hi")).alias("high"),
        pl.col("complete").fill_null(True).all(),
        pl.col("line_no").min(),
        pl.col("line_end").max(),
    )
    stated_units = _stated_units(statements)
    by_unit = pl.col("unit").replace_strict(UNITS, default=None, return_dtype=pl.Float64)
    key = pl.concat_str("key1", "key2", separator=" ", ignore_nulls=True)
    stated = pl.coalesce(
        key.replace_strict(stated_units, default=None, return_dtype=pl.Float64),
        pl.col("agg").replace_strict(stated_units, default=None, return_dtype=pl.Float64),
        pl.lit(stated_units.get(None), pl.Float64),
    )
    made = made.with_columns(
        pl.coalesce(by_unit, stated).alias("unit_s"), (by_unit.is_null() & stated.is_not_null()).alias("said")
    )
    n = pl.when(pl.col("n_busy") > 0).then(pl.col("n_busy"))
    return TABLE.shape(
        made.with_columns(
            *(
                column
                for name, source in (("lo", "low"), ("", "middle"), ("hi", "high"))
                for column in (
                    (pl.col(source) * pl.col("unit_s")).round(9).alias(f"sum_{name}_s" if name else "sum_s"),
                    (pl.col(source) * pl.col("unit_s") / n).round(9).alias(f"mean_{name}_s" if name else "mean_s"),
                )
            ),
            pl.coalesce(
                pl.when(pl.col("key2").str.contains(number)).then(pl.col("key2")),
                pl.when(pl.col("key1").str.contains(number)).then(pl.col("key1")),
            )
            .cast(pl.Int64, strict=False)
            .alias("pid"),
        )
    )


def _stated_units(statements: pl.DataFrame) -> dict[str | None, float]:
    """Return seconds per unit by subject; the key None applies to all. Contradictory statements were removed before."""
    units = statements.filter((pl.col("name") == STATEMENT) & (pl.col("num") > 0))
    return dict(units.select("subject", "num").iter_rows())


def build(case: CaseTables) -> pl.DataFrame:
    """Return `hist_modes` of all distributions of the case."""
    return modes(case.table("hist"), case.table("statements"))

"""Trend of a process's size over the samples of one listing: a straight line that is robust against outliers.

Inputs: `ps` (samples of one part), `artifacts` (the interval if samples carry no time). One row per metric and
process that was sampled at least three times: `metric` is ps.rss_kb, ps.vsz_kb or ps.nlwp, `subject` is `pid 4711`.
Columns: comm; n (samples used); slope_ps (units of the metric per second, Theil-Sen) with ci_lo, ci_hi (95 %, from
Kendall's rank correlation) and p (Kendall, two-sided, for "no trend"); late_slope_ps (Theil-Sen of the second half
of the samples: a cache that fills flattens, a leak does not); span_s (first sample to last); first_value, last_value
(medians of the first and last quarter); growth_pct (of first_value, over the span, as the line gives it); doubling_s
(first_value over the slope; NULL unless growing); line_no, line_end (first and last sample).
A pid that returns with another program or an earlier start time is another process; threads are left out (their size is
the process's). Times: `t_local`, else sample number times the part's interval; without either there is no row.
Worked example: 100, 110, 120 ... 200 MB every hour: slope 10 MB/h = 2.844 kB/s, late slope the same, first_value 105
MB, growth 95 %, doubling 37,800 s; a cache that fills to 150 MB and stays has a late slope of 0.
Cost: n log n in the rows; n squared per process in its samples, of which at most 200 at equal distances are used; of
listings above a million rows every n-th sample is used. Source: Theil
(1950), Sen (1968) by `scipy.stats.theilslopes`, Kendall (1938) by `scipy.stats.kendalltau`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope
from rules.writing.process_words import pid_words

_NUMBERS = ["slope_ps", "ci_lo", "ci_hi", "p", "late_slope_ps", "span_s", "first_value", "last_value"]
_NUMBERS += ["growth_pct", "doubling_s"]
TABLE = DerivedTable(
    "trends",
    {
        **PLACE,
        "metric": pl.String(),
        "subject": pl.String(),
        "comm": pl.String(),
        "n": pl.Int64(),
        **{name: pl.Float64() for name in _NUMBERS},
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
    },
)
NEEDS = ("ps", "artifacts")
SCOPE: Scope = "artifact"
VERSION = "1"

METRICS = ("rss_kb", "vsz_kb", "nlwp")
LEAST = 3
MOST = 200
MOST_ROWS = 1_000_000  # of longer listings every n-th sample is used
SERIES = [*PLACE_COLUMNS, "part", "pid", "comm", "start_text"]

Array = npt.NDArray[np.float64]


def line(t: Array, y: Array) -> dict[str, float | None]:
    """Return the robust line through at least three points at distinct times, with `t` ascending in seconds.

    >>> made = line(np.array([0.0, 1, 2, 3, 4, 5, 6, 7]), np.array([10.0, 20, 30, 40, 50, 60, 70, 80]))
    >>> made["slope_ps"], made["late_slope_ps"], made["first_value"], made["doubling_s"]
    (10.0, 10.0, 15.0, 1.5)
    """
    if t.size > MOST:
        keep = np.linspace(0, t.size - 1, MOST).round().astype(np.int64)
        t, y = t[keep], y[keep]
    still = bool(y.min() == y.max())  # most processes of a listing: nothing to compute
    half, quarter = t.size // 2, max(1, t.size // 4)
    slope, low, high, late, p = 0.0, 0.0, 0.0, 0.0, 1.0
    if not still:
        from scipy import stats  # takes most of a second to import, so only where needed

        p = float(stats.kendalltau(t, y).pvalue)
        slope, _, low, high = (float(v) for v in stats.theilslopes(y, t, alpha=0.95, method="separate"))
        late = float(stats.theilslopes(y[half:], t[half:])[0])
    first, span = float(np.median(y[:quarter])), float(t[-1] - t[0])
    return {
        "slope_ps": slope,
        "ci_lo": low,
        "ci_hi": high,
        "p": p,
        "late_slope_ps": late,
        "span_s": span,
        "first_value": first,
        "last_value": float(np.median(y[-quarter:])),
        "growth_pct": 100 * slope * span / first if first > 0 else None,
        "doubling_s": first / slope if slope > 0 and first > 0 else None,
    }


def timed(ps: pl.DataFrame, artifacts: pl.DataFrame) -> pl.DataFrame:
    """Return samples of processes with their time `x` in seconds; rows without a time are left out."""
    intervals = artifacts.select("artifact_id", "part", "interval_s").unique(["artifact_id", "part"])
    return (
        ps.filter(~pl.col("first").fill_null(False) & pl.col("lwp").is_null() & pl.col("pid").is_not_null())
        .join(intervals, on=["artifact_id", "part"], how="left", maintain_order="left")
        .with_columns(pl.coalesce("t_local", pl.col("sample") * pl.col("interval_s")).alias("x"))
        .filter(pl.col("x").is_not_null())
    )


def series(samples: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return one row per process with enough samples of the metric, with its times and values in order."""
    known = samples.filter(pl.col(metric).is_not_null())
    return (
        known.sort(*SERIES, "x", "line_no", nulls_last=True)
        .unique([*SERIES, "x"], keep="first", maintain_order=True)
        .group_by(SERIES, maintain_order=True)
        .agg(
            pl.col("x"),
            pl.col(metric).cast(pl.Float64).alias("y"),
            pl.col("line_no").min(),
            pl.col("line_end").max(),
            pl.len().alias("n"),
        )
        .filter(pl.col("n") >= LEAST)
    )


def build(case: CaseTables) -> pl.DataFrame:
    """Return the trends of all sampled processes."""
    columns = [*SERIES, "lwp", "first", "sample", "t_local", "line_no", "line_end", *METRICS]
    rows = case.scan("ps", ["line_no"]).select(pl.len()).collect(engine="streaming").item()
    every = -(-rows // MOST_ROWS)
    where = pl.col("sample").fill_null(0) % every == 0 if every > 1 else None
    samples = timed(case.table("ps", columns, where), case.table("artifacts"))
    found: list[dict[str, Any]] = []
    for metric in METRICS:
        for row in series(samples, metric).iter_rows(named=True):
            made = line(np.array(row["x"]), np.array(row["y"]))
            found.append({**row, **made, "metric": f"ps.{metric}", "subject": pid_words(row["pid"])})
    return TABLE.rows(found)

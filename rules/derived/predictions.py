"""Throughput that the shorter connect time alone should have gained, compared with what people state was gained.

Inputs: `conn_times`, `statements` (work_rate in items per minute, one per phase by `subject`; workers and
connects_per_item, 1 each unless stated), `markers` (order of phases). One row per later phase with a stated rate,
against the baseline: the earliest phase with connect times and a rate. A rate without `subject` belongs to the
baseline.
An item takes T = 60 * workers / rate seconds; if only its connects got shorter, T falls by connects_per_item times the
difference of the *means* (throughput follows means, the tail included), and the predicted rate is 60 * workers / T.
Columns: metric (work_rate, per minute); from_phase, to_phase; predicted, and lo, hi from the 95 % bootstrap interval of
difference of means (fixed seed; hi is NULL if the interval would take all of T: no bound);
observed (the stated rate of the later phase); rest_s (T as observed minus T as predicted: negative where more was gained
than the connects explain); item_s (T of the baseline), before_mean, after_mean (s), n1, n2, workers, per_item; n_said
(how many of workers and connects_per_item were stated); basis.
Worked example: 40 a minute with one worker and one connect: T 1.5 s; means 0.6438 and 0.1385 s: predicted 60.3 [44.7,
124]; with 0.0444 s 66.6 [48, 155], where almost 100 were seen: 0.30 s an item are explained by something else.
Cost: 100,000 resamples of up to 200 values a phase (with fewer the third digit of a bound still moves), else 10,000 of
at most 2,000 order statistics. Source: utilisation law (Lazowska and others, 1984), Efron's bootstrap (1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rules.derived.changes import by_phase, measured, phase_order
from rules.derived.derived_table import PLACE, CaseTables, DerivedTable, Scope
from rules.statistics import robust as statistics

_NUMBERS = ["predicted", "lo", "hi", "observed", "rest_s", "item_s", "before_mean", "after_mean", "workers", "per_item"]
TABLE = DerivedTable(
    "predictions",
    {
        **PLACE,
        "metric": pl.String(),
        "series": pl.String(),
        "from_phase": pl.String(),
        "to_phase": pl.String(),
        **{name: pl.Float64() for name in _NUMBERS},
        "n1": pl.Int64(),
        "n2": pl.Int64(),
        "n_said": pl.Int64(),
        "basis": pl.String(),
    },
)
NEEDS = ("conn_times", "statements", "markers")
SCOPE: Scope = "room"
VERSION = "1"

METRIC = "work_rate"
MINUTE = 60.0
SMALL, MOST = 200, 2_000


def stated_values(statements: pl.DataFrame, name: str) -> dict[str | None, float]:
    """Return the stated values of a name by subject (None: stated without a subject)."""
    rows = statements.filter((pl.col("name") == name) & pl.col("num").is_not_null() & (pl.col("num") > 0))
    return dict(rows.select("subject", "num").iter_rows())


def rate_after(item_s: float, gain_s: float, workers: float) -> float | None:
    """Return items per minute once an item takes `gain_s` less, or None if no time is left.

    >>> round(rate_after(1.5, 0.5053, 1), 1)
    60.3
    """
    left = item_s - gain_s
    return MINUTE * workers / left if left > 0 else None


def predicted(
    before: Sequence[float], after: Sequence[float], item_s: float, per_item: float, workers: float
) -> Mapping[str, float | None]:
    """Return the predicted rate with its interval; a larger drop of the mean gives a higher rate."""
    x, y = np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)
    resamples = 100_000 if max(x.size, y.size) <= SMALL else 10_000
    of_x, of_y = (values if values.size <= MOST else statistics.spread(values, MOST) for values in (x, y))
    fall = statistics.bootstrap(of_x, of_y, np.mean, resamples)
    return {
        "predicted": rate_after(item_s, per_item * float(x.mean() - y.mean()), workers),
        "lo": rate_after(item_s, -per_item * fall.hi, workers),
        "hi": rate_after(item_s, -per_item * fall.lo, workers),
    }


def against_baseline(
    values: Mapping[str, list[float]],
    ordered: Sequence[str],
    rates: Mapping[str | None, float],
    workers: float,
    per_item: float,
) -> list[dict[str, Any]]:
    """Return a row for each later phase with a stated rate; `values` holds connect times by phase."""
    of = dict(rates)
    if ordered and None in of:
        of.setdefault(ordered[0], of[None])
    known = [phase for phase in ordered if phase in of]
    rows: list[dict[str, Any]] = []
    for phase in known[1:]:
        item_s = MINUTE * workers / of[known[0]]
        before, after = values[known[0]], values[phase]
        made = predicted(before, after, item_s, per_item, workers)
        left = made["predicted"]
        rows.append(
            {
                "metric": METRIC,
                "from_phase": known[0],
                "to_phase": phase,
                **made,
                "observed": of[phase],
                "rest_s": None if left is None else MINUTE * workers * (1 / of[phase] - 1 / left),
                "item_s": item_s,
                "before_mean": float(np.mean(before)),
                "after_mean": float(np.mean(after)),
                "n1": len(before),
                "n2": len(after),
                "workers": workers,
                "per_item": per_item,
            }
        )
    return rows


def build(case: CaseTables) -> pl.DataFrame:
    """Return predictions for every host and series of connect times."""
    statements, markers = case.table("statements"), case.table("markers")
    rates = stated_values(statements, "work_rate")
    workers, per_item = (stated_values(statements, name).get(None) for name in ("workers", "connects_per_item"))
    basis_columns = {"n_said": sum(v is not None for v in (workers, per_item)), "basis": "means of the connect times"}
    found: list[dict[str, Any]] = []
    if rates:
        for (host, series), rows in measured(case.table("conn_times")).group_by("host", "series", maintain_order=True):
            values = by_phase(rows, "elapsed_s")
            ordered = phase_order(list(values), markers)
            made = against_baseline(values, ordered, rates, workers or 1.0, per_item or 1.0)
            found += [{**r, **basis_columns, "host": host, "series": series} for r in made]
    return TABLE.rows(found)

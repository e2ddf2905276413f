"""Where the level of a metric changes, proposed; and how two phases that people named compare.

Inputs: `conn_times` (successful ones), `markers`. Two kinds of rows:
`proposed` TRUE: a boundary found in the series in file order (`at_seq` counts the values before it, over all
artifacts of a host and series); phases and numbers are NULL; a proposal for people, never a verdict. Method:
`rules.statistics.change_points`.
`proposed` FALSE: one row per metric and ordered pair of phases. `n_changes` counts all that the markers between the
two phases name, the restart that a change needs included; NULL if no marker says what changed. n1, n2 values;
medians, means, `shift` (Hodges-Lehmann, second minus first) with `ci_lo`, `ci_hi` (95 %) in the metric's unit;
`ratio` second over first; `cliff` -1 to 1; `p` Mann-Whitney; `tail1`, `tail2` values above Q3 + 3 IQR of the first
phase; `wilson_lo`, `wilson_hi` (0 to 1) of the first phase's tail rate and `wilson2_lo`, `wilson2_hi` of the
second's; `p_zero` chance of no tail value in n2 at the old rate; `fisher_p`; `n_needed` values without a tail that
would prove it gone (95 %). `hypothesis` is the markers', when they agree on one.
Worked example (21 and 20 connects): medians 0.31 and 0.13 s, means 0.6438 and 0.1385, shift -0.17 [-0.19, -0.15],
ratio 0.433, cliff -1, p 4.0e-8; tail 2 of 21 (0.027 to 0.289), 0 of 20: p_zero 0.135, fisher_p 0.488, n_needed 30.
Fewer than 8 values in a phase prove nothing: the numbers stand, the rules judge by n1 and n2.
Cost: n log n a metric; quadratic up to 5,000 values for boundaries. Source: see `rules.statistics`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from rules import statistics
from rules.derived_table import PLACE, CaseTables, DerivedTable, Scope

_NUMBERS = [
    "before_med",
    "after_med",
    "before_mean",
    "after_mean",
    "shift",
    "ci_lo",
    "ci_hi",
    "ratio",
    "cliff",
    "p",
    "wilson_lo",
    "wilson_hi",
    "wilson2_lo",
    "wilson2_hi",
    "p_zero",
    "fisher_p",
]
TABLE = DerivedTable(
    "changes",
    {
        **PLACE,
        "metric": pl.String(),
        "series": pl.String(),
        "at_seq": pl.Int64(),
        "at_t": pl.Float64(),
        "proposed": pl.Boolean(),
        "from_phase": pl.String(),
        "to_phase": pl.String(),
        "hypothesis": pl.String(),
        "n_changes": pl.Int64(),
        "n1": pl.Int64(),
        "n2": pl.Int64(),
        **{name: pl.Float64() for name in _NUMBERS},
        "tail1": pl.Int64(),
        "tail2": pl.Int64(),
        "n_needed": pl.Int64(),
    },
)
NEEDS = ("conn_times", "markers")
SCOPE: Scope = "room"
VERSION = "1"

METRIC = "conn_times.elapsed_s"
DIGITS = 9


def phase_order(phases: Sequence[str], markers: pl.DataFrame) -> list[str]:
    """Sort phases in time: `before`, then `after-1`, `after-2` ...; others as their markers lead from one to the
    next, else as given."""
    place = {phase: i for i, phase in enumerate(phases)}

    def key(phase: str) -> tuple[int, int, int]:
        numbered = re.fullmatch(r"after(?:-(\d+))?", phase)
        if phase == "before":
            return 0, 0, 0
        return (1, int(numbered[1] or 1), 0) if numbered else (2, 0, place[phase])

    ordered = sorted(phases, key=key)
    for first, second in markers.select("from_phase", "to_phase").drop_nulls().iter_rows():
        if first in place and second in place and ordered.index(first) > ordered.index(second):
            ordered.remove(first)
            ordered.insert(ordered.index(second), first)
    return ordered


def made_between(
    ordered: Sequence[str], first: str, second: str, markers: pl.DataFrame
) -> tuple[int | None, str | None]:
    """Count what the markers between two phases changed, and name the hypothesis they test if it is one."""
    span = range(ordered.index(first), ordered.index(second) + 1)
    count: int | None = None
    hypotheses: set[str] = set()
    for marker in markers.filter(pl.col("kind") == "change").iter_rows(named=True):
        ends = marker["from_phase"], marker["to_phase"]
        if None in ends and len(ordered) > 2:
            continue  # a bare instant says which phases it parts only where there are two
        if None not in ends and not all(e in ordered and ordered.index(e) in span for e in ends):
            continue
        count = (count or 0) + (len(marker["changed"] or []) or 1)
        if marker["hypothesis"]:
            hypotheses.add(marker["hypothesis"])
    return count, hypotheses.pop() if len(hypotheses) == 1 else None


def compared(
    values: dict[str, list[float]], series: str | None, host: str | None, markers: pl.DataFrame
) -> list[dict[str, Any]]:
    """Compare every earlier phase with every later one; `values` by phase in order of appearance."""
    ordered = phase_order(list(values), markers)
    rows = []
    for i, first in enumerate(ordered):
        for second in ordered[i + 1 :]:
            c, t = statistics.compare(values[first], values[second]), statistics.tail(values[first], values[second])
            count, hypothesis = made_between(ordered, first, second, markers)
            numbers = {
                "before_med": c.before_med,
                "after_med": c.after_med,
                "before_mean": c.before_mean,
                "after_mean": c.after_mean,
                "shift": c.shift.value,
                "ci_lo": c.shift.lo,
                "ci_hi": c.shift.hi,
                "ratio": c.ratio,
                "cliff": c.cliff,
                "wilson_lo": t.wilson1.lo,
                "wilson_hi": t.wilson1.hi,
                "wilson2_lo": t.wilson2.lo,
                "wilson2_hi": t.wilson2.hi,
                "p_zero": t.p_zero,
                "fisher_p": t.fisher_p,
            }
            rows.append(
                {
                    "host": host,
                    "metric": METRIC,
                    "series": series,
                    "proposed": False,
                    "from_phase": first,
                    "to_phase": second,
                    "hypothesis": hypothesis,
                    "n_changes": count,
                    "n1": c.n1,
                    "n2": c.n2,
                    "p": c.p,
                    "tail1": t.tail1,
                    "tail2": t.tail2,
                    "n_needed": t.n_needed,
                    **{name: None if value is None else round(value, DIGITS) for name, value in numbers.items()},
                }
            )
    return rows


def proposals(rows: pl.DataFrame, series: str | None, host: str | None) -> list[dict[str, Any]]:
    """Propose boundaries in one series of measured values in file order."""
    found = []
    for at in statistics.change_points(rows["elapsed_s"].to_numpy()):
        after = rows.row(at, named=True)
        found.append(
            {
                "artifact_id": after["artifact_id"],
                "phase": after["phase"],
                "clock": after["clock"],
                "host": host,
                "metric": METRIC,
                "series": series,
                "at_seq": at,
                "at_t": after["t"],
                "proposed": True,
            }
        )
    return found


def measured(conn_times: pl.DataFrame) -> pl.DataFrame:
    """Keep what succeeded, in file order. A series name counts only where it returns in another phase; else values
    are pooled."""
    rows = conn_times.filter(pl.col("elapsed_s").is_not_null() & pl.col("ok").fill_null(True)).sort(
        "artifact_id", "part", "line_no", "seq", nulls_last=True
    )
    phases = pl.col("phase").drop_nulls().n_unique()
    names = pl.col("series").n_unique()
    several = rows.group_by("host").agg(names.alias("names"))
    shared = (
        rows.group_by("host", "series")
        .agg(phases.alias("phases"))
        .filter((pl.col("phases") > 1) & pl.col("series").is_not_null())
    )
    kept = shared.join(several, on="host", nulls_equal=True).select("host", "series", pl.lit(True).alias("kept"))
    return rows.join(kept, on=["host", "series"], how="left", nulls_equal=True, maintain_order="left").with_columns(
        pl.when(pl.col("kept")).then(pl.col("series")).alias("series")
    )


def build(case: CaseTables) -> pl.DataFrame:
    """Return proposals and comparisons for every host and series of connection times."""
    markers = case.table("markers")
    found: list[dict[str, Any]] = []
    for (host, series), rows in measured(case.table("conn_times")).group_by("host", "series", maintain_order=True):
        name = None if series is None else str(series)
        of = None if host is None else str(host)
        found += proposals(rows, name, of)
        values: dict[str, list[float]] = {}
        for phase, value in rows.select("phase", "elapsed_s").drop_nulls().iter_rows():
            values.setdefault(phase, []).append(value)
        found += compared(values, name, of, markers)
    return TABLE.rows(found)

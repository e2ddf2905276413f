"""Proposed level changes of a metric, and comparisons between phases that people named.

Inputs: `conn_times` (successful ones), `vmstat`, `counters`, `markers`. There are two kinds of rows.
`proposed` TRUE: a boundary found in a series in file order; phases and numbers are NULL; a proposal for people, never a
verdict. Method: `rules.statistics.robust.change_points`. `at_seq` counts the values before it: for connect times over
all artifacts of a host and series, else within the artifact's part; `part`, `line_no`: where the new level begins.
`proposed` FALSE: one row per metric and ordered pair of phases, of connect times and of columns of vmstat.
`metric` is conn_times.elapsed_s, vmstat.<column> or counters.<group>.<name> (with the item as `series`); totals count
by their growth, since-boot rows not at all. Of counters, the 40 series of an artifact whose level moves most are used.
`n_changes` counts everything that the markers between the two phases name, including a restart that a change needs;
NULL if no marker says what changed. `reversal` TRUE: a later marker reverts what the one between these phases changed
(it says so, or names the same settings) and the metric reverts with it (the interval of the shift back excludes zero,
and it covers at least half of the way): an A-B-A pattern that no drift over the day explains.
n1, n2 values; medians, means, `shift` (Hodges-Lehmann, second minus first) with `ci_lo`, `ci_hi` (95 %) in the
metric's unit; `ratio` second over first; `cliff` -1 to 1; `p` Mann-Whitney; `tail1`, `tail2` values above Q3 + 3 IQR of
the first phase; `wilson_lo`, `wilson_hi` (0 to 1) of the first phase's tail rate and `wilson2_lo`, `wilson2_hi` of the
second's; `p_zero` chance of no tail value in n2 at the old rate; `fisher_p`; `n_needed` values without a tail that
would prove it gone (95 %). `hypothesis` is that of the markers if they agree on one.
Worked example (21 and 20 connects): medians 0.31 and 0.13 s, means 0.6438 and 0.1385, shift -0.17 [-0.19, -0.15],
ratio 0.433, cliff -1, p 4.0e-8; tail 2 of 21 (0.027 to 0.289), 0 of 20: p_zero 0.135, fisher_p 0.488, n_needed 30.
Fewer than 8 values in a phase prove nothing: the numbers are given, and rules check n1 and n2.
Of tables above 500,000 rows every n-th sample is used, and `at_seq` counts those.
Cost: n log n per metric; quadratic up to 5,000 values for boundaries; of a column of vmstat at most 300 values per
phase, taken at equal distances, are compared (n1 and n2 still count all, the interval is that of the 300). Source: see
`rules.statistics.robust`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope
from rules.statistics import robust as statistics

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
        "part": pl.Int64(),
        "line_no": pl.Int64(),
        "proposed": pl.Boolean(),
        "from_phase": pl.String(),
        "to_phase": pl.String(),
        "hypothesis": pl.String(),
        "n_changes": pl.Int64(),
        "reversal": pl.Boolean(),
        "n1": pl.Int64(),
        "n2": pl.Int64(),
        **{name: pl.Float64() for name in _NUMBERS},
        "tail1": pl.Int64(),
        "tail2": pl.Int64(),
        "n_needed": pl.Int64(),
    },
)
NEEDS = ("conn_times", "vmstat", "counters", "markers")
SCOPE: Scope = "room"
VERSION = "3"

METRIC = "conn_times.elapsed_s"
VMSTAT = ["r", "b", "load1", "cs", "scall", "intr", "usr", "sys", "idle", "wa", "st", "pc", "ec", "sr", "free_kb"]
VMSTAT += ["si_kbps", "so_kbps", "pi_kbps", "po_kbps", "api_kbps", "apo_kbps"]
MOST_COMPARED = 300
MOST_COUNTERS = 40
MOST_ROWS = 500_000  # of a longer table every n-th sample is used: all columns and a sort are in memory at once
MIN_N = 8
DIGITS = 9

UNDONE = re.compile(
    r"\b(undo|undone|revert\w*|reversed|roll(ed)?[ -]?back|(put|set|taken?|went|switched|changed|moved) back|back to|restored|withdrawn)\b",
    re.I,
)
SETTING = re.compile(r"[a-z_][a-z0-9_.]{3,}", re.I)
SWITCHED = frozenset({"enabled", "disabled", "true", "false", "restart", "unset", "instead", "from", "with", "again"})


def phase_order(phases: Sequence[str], markers: pl.DataFrame) -> list[str]:
    """Sort phases by time: `before`, then `after-1`, `after-2` ...; others by the order of their markers, else as
    passed.
    """
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
    """Count what the markers between two phases changed, and return the hypothesis they test if there is only one."""
    count: int | None = None
    hypotheses: set[str] = set()
    rows = list(markers.iter_rows(named=True))
    for place in lying_between(ordered, first, second, rows):
        count = (count or 0) + (len(rows[place]["changed"] or []) or 1)
        if rows[place]["hypothesis"]:
            hypotheses.add(rows[place]["hypothesis"])
    return count, hypotheses.pop() if len(hypotheses) == 1 else None


def lying_between(
    ordered: Sequence[str], first: str, second: str, markers: Sequence[Mapping[str, Any]]
) -> Iterator[int]:
    """Yield the indices of the change markers between two phases; a marker with only a time counts if there are just
    two phases.
    """
    span = range(ordered.index(first), ordered.index(second) + 1)
    for place, marker in enumerate(markers):
        ends = marker["from_phase"], marker["to_phase"]
        if marker["kind"] != "change" or (None in ends and len(ordered) > 2):
            continue
        if None in ends or all(e in ordered and ordered.index(e) in span for e in ends):
            yield place


def takes_back(made: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Return whether a later change marker reverts an earlier one: its words say so, or it sets the same things again."""
    words = " ".join([later["label"] or "", *(later["changed"] or [])])
    if UNDONE.search(words):
        return True
    named = [
        {w.lower() for text in m["changed"] or [] for w in SETTING.findall(text)} - SWITCHED for m in (made, later)
    ]
    return bool(named[0]) and named[0] == named[1]


def went_back(first: Sequence[float], second: Sequence[float], third: Sequence[float]) -> bool:
    """Return whether a level that moved from `first` to `second` moved back in `third`.

    It must move back at least half of the way, and the interval of that shift must exclude zero. Fewer than 8 values
    prove nothing.
    """
    if min(len(first), len(second), len(third)) < MIN_N:
        return False
    there, back = (
        statistics.hodges_lehmann(np.array(x, dtype=np.float64), np.array(y, dtype=np.float64))
        for x, y in ((first, second), (second, third))
    )
    if min(abs(there.lo), abs(there.hi)) == 0 or there.lo < 0 < there.hi or back.lo <= 0 <= back.hi:
        return False
    return -back.value / there.value >= 0.5


def reversed_after(
    ordered: Sequence[str], first: str, second: str, values: Mapping[str, Sequence[float]], markers: pl.DataFrame
) -> bool:
    """Return whether the change between two neighbouring phases was reverted in the next one, and the metric with it."""
    at = ordered.index(second)
    if ordered.index(first) != at - 1 or at + 1 >= len(ordered):
        return False
    third = ordered[at + 1]
    pairs = {
        (m["from_phase"], m["to_phase"]): m
        for m in markers.filter(pl.col("kind") == "change").iter_rows(named=True)
        if m["from_phase"] is not None
    }
    made, later = pairs.get((first, second)), pairs.get((second, third))
    return bool(made and later and takes_back(made, later)) and went_back(values[first], values[second], values[third])


def compared(
    values: dict[str, list[float]],
    series: str | None,
    host: str | None,
    markers: pl.DataFrame,
    metric: str = METRIC,
    most: int | None = None,
) -> list[dict[str, Any]]:
    """Compare every earlier phase with every later one.

    `values` are by phase in order of appearance; at most `most` of each are compared.
    """
    ordered = phase_order(list(values), markers)
    counts = {phase: len(v) for phase, v in values.items()}
    if most:
        values = {phase: thinned(v, most) for phase, v in values.items()}
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
                    "metric": metric,
                    "series": series,
                    "proposed": False,
                    "from_phase": first,
                    "to_phase": second,
                    "hypothesis": hypothesis,
                    "n_changes": count,
                    "reversal": reversed_after(ordered, first, second, values, markers),
                    "n1": counts[first],
                    "n2": counts[second],
                    "p": c.p,
                    "tail1": t.tail1,
                    "tail2": t.tail2,
                    "n_needed": t.n_needed,
                    **{name: None if value is None else round(value, DIGITS) for name, value in numbers.items()},
                }
            )
    return rows


def thinned(values: list[float], most: int) -> list[float]:
    """Return at most `most` values at equal distances, in order.

    >>> thinned([1.0, 2.0, 3.0, 4.0, 5.0], 3)
    [1.0, 3.0, 5.0]
    """
    if len(values) <= most:
        return values
    return [values[i] for i in np.linspace(0, len(values) - 1, most).round().astype(int)]


def proposals(
    rows: pl.DataFrame, series: str | None, host: str | None, column: str = "elapsed_s", metric: str = METRIC
) -> list[dict[str, Any]]:
    """Return proposed boundaries in one series of measured values in file order."""
    found = []
    for at in statistics.change_points(rows[column].to_numpy()):
        after = rows.row(at, named=True)
        found.append(
            {
                "artifact_id": after["artifact_id"],
                "phase": after["phase"],
                "clock": after["clock"],
                "host": host,
                "metric": metric,
                "series": series,
                "at_seq": at,
                "at_t": after["t"],
                "part": after["part"],
                "line_no": after["line_no"],
                "proposed": True,
            }
        )
    return found


def measured(conn_times: pl.DataFrame) -> pl.DataFrame:
    """Return the successful connects in file order.

    A series name is kept only if the series occurs in several phases; otherwise values are pooled.
    """
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
    recurring = shared.join(several, on="host", nulls_equal=True).select("host", "series", pl.lit(True).alias("kept"))
    return rows.join(
        recurring, on=["host", "series"], how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(pl.when(pl.col("kept")).then(pl.col("series")).alias("series"))


def by_phase(rows: pl.DataFrame, column: str) -> dict[str, list[float]]:
    """Return the known values of each named phase, phases in order of appearance."""
    known = rows.select("phase", column).drop_nulls().group_by("phase", maintain_order=True).agg(pl.col(column))
    return {str(phase): list(values) for phase, values in known.iter_rows()}


def of_connects(conn_times: pl.DataFrame, markers: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield proposals and comparisons for every host and series of connect times."""
    for (host, series), rows in measured(conn_times).group_by("host", "series", maintain_order=True):
        name, of = (None if v is None else str(v) for v in (series, host))
        yield from proposals(rows, name, of)
        yield from compared(by_phase(rows, "elapsed_s"), name, of, markers)


def of_host(vmstat: pl.DataFrame, markers: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield proposals for each column of vmstat within a part, and comparisons of a host's phases across its parts."""
    rows = vmstat.filter(~pl.col("first").fill_null(False)).sort("artifact_id", "part", "line_no", maintain_order=True)
    for (host,), of_one in rows.group_by("host", maintain_order=True):
        of = None if host is None else str(host)
        for column in VMSTAT:
            known = of_one.filter(pl.col(column).is_not_null())
            metric = f"vmstat.{column}"
            for _, part in known.group_by("artifact_id", "part", maintain_order=True):
                yield from proposals(part, None, of, column, metric)
            yield from compared(by_phase(known, column), None, of, markers, metric, MOST_COMPARED)


def of_counters(counters: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield proposals for the counters of each part whose level moves most."""
    value = pl.when(pl.col("mode") == "total").then(pl.col("delta")).otherwise(pl.col("value"))
    key = ["artifact_id", "part", "host", "grp", "item", "name"]
    rows = (
        counters.filter(~pl.col("first").fill_null(False))
        .with_columns(value.alias("y"))
        .filter(pl.col("y").is_not_null())
        .sort(*key, "line_no", nulls_last=True, maintain_order=True)
    )
    place = pl.int_range(pl.len()).over(key) * 8 // pl.len().over(key)
    levels = (
        rows.filter(pl.len().over(key) >= 2 * statistics.MIN_SEGMENT)
        .with_columns(place.alias("eighth"))
        .group_by(*key, "eighth")
        .agg(pl.col("y").median())
        .group_by(key)
        .agg((pl.col("y").max() - pl.col("y").min()).alias("moves"), pl.col("y").abs().max().alias("size"))
        .filter(pl.col("moves") > 0)
        .with_columns((pl.col("moves") / pl.col("size")).alias("moves"))
        .sort("moves", *key, descending=[True, *[False] * len(key)], nulls_last=True)
    )
    chosen = levels.group_by("artifact_id", "part", maintain_order=True).head(MOST_COUNTERS).select(key)
    chosen_rows = rows.join(chosen, on=key, how="semi", nulls_equal=True, maintain_order="left")
    for (_, _, host, group, item, name), series in chosen_rows.group_by(key, maintain_order=True):
        of = None if host is None else str(host)
        yield from proposals(series, None if item is None else str(item), of, "y", f"counters.{group}.{name}")


def sampled(case: CaseTables, name: str, columns: list[str]) -> pl.DataFrame:
    """Return some columns of a sampled table; of a very long one only every n-th sample."""
    rows = case.scan(name, ["line_no"]).select(pl.len()).collect(engine="streaming").item()
    every = -(-rows // MOST_ROWS)
    where = pl.col("sample").fill_null(0) % every == 0 if every > 1 else None
    return case.table(name, [*PLACE_COLUMNS, "t", "part", "line_no", "first", *columns], where)


def build(case: CaseTables) -> pl.DataFrame:
    """Return the proposals and comparisons of all series of the case."""
    markers = case.table("markers")
    found = [
        *of_connects(case.table("conn_times"), markers),
        *of_host(sampled(case, "vmstat", VMSTAT), markers),
        *of_counters(sampled(case, "counters", ["grp", "item", "name", "mode", "value", "delta"])),
    ]
    return TABLE.rows(found)

"""What differs most between the phases, or the hosts, of one artifact: the same measure here and there.

Standing out: a measure of a sampler, a counter's growth for each second, or a series of connect times whose median is at
least half as large again in one phase as in another, and whose middle halves do not overlap. Phases of one host are
compared first; hosts only where each has one phase. Normal: everything else, moves below what a person would look at,
and groups of fewer than three values. Samples since boot do not count.
Worked example: `sda` answers in 4 ms in the median of phase good (3 to 5) and in 40 ms in phase bad (30 to 50):
"sda resp_ms: 40 ms in the median of phase bad, 4 ms in phase good", ten times as much.
Cost: one aggregation per table, and only if an artifact has two phases or hosts. Source: Gregg, Systems Performance
2.5.5 (baseline statistics); Tukey, Exploratory Data Analysis (middle halves, the hinges of a box plot).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "difference", "What differs between the phases?", ("vmstat", "mpstat", "iostat", "counters", "conn_times")
)

TIMES = 1.5
"""Minimum ratio of two medians that differ: half as much again is more than what load does from minute to minute."""

LEAST = 3
"""Minimum number of values on each side: of fewer there is no middle half."""

FLOOR: Mapping[str, float] = {
    "%": 5.0,
    "s": 0.01,
    "ms": 1.0,
    "threads": 1.0,
    "requests": 1.0,
    "per s": 1.0,
    "kB/s": 100.0,
    "kB": 10_240.0,
}
"""Minimum distance of two medians by unit: what is smaller changes nothing for anybody."""

NEW_SHARE = 0.5
"""Share of what was zero on one side: as much as the largest ratio weighs."""

MEASURES: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "vmstat": (
        (),
        {
            "r": "threads",
            "b": "threads",
            "usr": "%",
            "sys": "%",
            "idle": "%",
            "wa": "%",
            "st": "%",
            "cs": "per s",
            "scall": "per s",
            "intr": "per s",
            "sr": "per s",
            "mf": "per s",
            "si_kbps": "kB/s",
            "so_kbps": "kB/s",
            "bi_kbps": "kB/s",
            "bo_kbps": "kB/s",
            "free_kb": "kB",
        },
    ),
    "mpstat": (
        ("cpu",),
        {
            "usr": "%",
            "sys": "%",
            "idle": "%",
            "soft": "%",
            "st": "%",
            "smtx": "per s",
            "xcal": "per s",
            "icsw": "per s",
            "migr": "per s",
        },
    ),
    "iostat": (
        ("device",),
        {
            "busy_pct": "%",
            "resp_ms": "ms",
            "r_resp_ms": "ms",
            "w_resp_ms": "ms",
            "asvc_ms": "ms",
            "queue": "requests",
            "r_ps": "per s",
            "w_ps": "per s",
            "r_kbps": "kB/s",
            "w_kbps": "kB/s",
        },
    ),
    "conn_times": (("series",), {"elapsed_s": "s"}),
}
"""Measures by table: the columns that tell whose they are, and columns with their unit."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the measures that differ, the largest ratio first."""
    found: list[tuple[float, Sighting]] = []
    for table, (by, columns) in MEASURES.items():
        found += _differing(_long(case, table, by, columns))
    found += _differing(_counters(case))
    found.sort(key=lambda x: (-x[0], x[1].lines[0].line_from, x[1].subject))
    return [sighting for _, sighting in found]


def _several(case: CaseTables, table: str) -> bool:
    """Return whether an artifact has rows of this table of two phases or hosts."""
    places = case.scan(table, ["artifact_id", "host", "phase"]).unique().collect(engine="streaming")
    return bool(places["artifact_id"].is_duplicated().any())


def _long(case: CaseTables, table: str, by: Sequence[str], columns: Mapping[str, str]) -> pl.DataFrame | None:
    """Return the quartiles of each measure, owner and place, or None if there is one place."""
    if not _several(case, table):
        return None
    sampler = table != "conn_times"
    rows = case.scan(table, [*PLACE_COLUMNS, *by, "line_no", *(["first"] if sampler else []), *columns])
    if sampler:
        rows = rows.filter(~pl.col("first").fill_null(False))
    frames = [_quartiles(rows.with_columns(pl.col(name).alias("v")), by, name, unit) for name, unit in columns.items()]
    return pl.concat(pl.collect_all(frames, engine="streaming"))


def _counters(case: CaseTables) -> pl.DataFrame | None:
    """Return the quartiles of the growth of counters for each second, and of rates."""
    if not _several(case, "counters"):
        return None
    by = ["grp", "item", "name"]
    mode = pl.col("mode").fill_null("total")
    growth = (
        pl.when(mode == "rate")
        .then("value")
        .when(pl.col("interval_s") > 0)
        .then(pl.col("delta") / pl.col("interval_s"))
    )
    rows = case.scan("counters", [*PLACE_COLUMNS, *by, "line_no", "first", "value", "delta", "interval_s", "mode"])
    moving = rows.filter(~pl.col("first").fill_null(False) & (mode != "level")).with_columns(growth.alias("v"))
    return _quartiles(moving, by, None, "per s").collect(engine="streaming")


def _quartiles(rows: pl.LazyFrame, by: Sequence[str], measure: str | None, unit: str) -> pl.LazyFrame:
    v = pl.col("v").cast(pl.Float64)
    who = pl.concat_str([pl.col(c).cast(pl.String) for c in by], separator=" ", ignore_nulls=True) if by else pl.lit("")
    keys = [*PLACE_COLUMNS, "who"]
    return (
        rows.with_columns(who.alias("who"), v.alias("v"))
        .filter(pl.col("v").is_finite() & (pl.col("v") >= 0))
        .group_by(keys)
        .agg(
            pl.len().alias("n"),
            *(pl.col("v").quantile(q, "linear").alias(f"q{q:.2f}") for q in (0.25, 0.5, 0.75)),
            pl.col("line_no").get(pl.col("v").arg_max()).alias("top_line"),
            pl.col("line_no").get(pl.col("v").arg_min()).alias("low_line"),
            pl.col("line_no").min().alias("line_no"),
        )
        .filter(pl.col("n") >= LEAST)
        .with_columns(pl.lit(measure, pl.String).alias("measure"), pl.lit(unit).alias("unit"))
    )


def _differing(made: pl.DataFrame | None) -> Iterator[tuple[float, Sighting]]:
    """Yield ratio and sighting of the two most different places of each measure."""
    if made is None or not made.height:
        return
    made = made.sort("artifact_id", "host", "line_no", nulls_last=True)
    phases = made.filter((pl.col("phase").n_unique() > 1).over("artifact_id", "host"))
    hosts = made.join(phases.select("artifact_id").unique(), on="artifact_id", how="anti")
    for rows, keys, what in ((phases, ["artifact_id", "host"], "phase"), (hosts, ["artifact_id"], "host")):
        named = rows.filter(pl.col(what).is_not_null())
        for _, held in named.group_by([*keys, "measure", "who"], maintain_order=True):
            places = held.sort("q0.50", maintain_order=True).to_dicts()
            low, high = places[0], places[-1]
            ratio = high["q0.50"] / low["q0.50"] if low["q0.50"] > 0 else float("inf")
            apart = high["q0.25"] > low["q0.75"]
            if low[what] == high[what] or not apart or ratio < TIMES:
                continue
            if high["q0.50"] - low["q0.50"] < FLOOR[high["unit"]]:
                continue
            yield ratio, _sighting(low, high, what, ratio)


def _sighting(low: Mapping[str, Any], high: Mapping[str, Any], what: str, ratio: float) -> Sighting:
    name, unit = high["measure"] or high["who"].rsplit(" ", 1)[-1], high["unit"]
    subject = f"{high['who']} {high['measure'] or ''}".strip()
    seen: tuple[Seen, ...] = () if high["measure"] else ({"counter": name},)
    return Sighting(
        kind="difference",
        subject=subject,
        headline=(
            f"{subject}: {figure(high['q0.50'], unit)} in the median of {what} {high[what]}, "
            f"{figure(low['q0.50'], unit)} in {what} {low[what]}"
        ),
        name=name,
        value=high["q0.50"],
        unit=unit,
        lines=tuple(
            Lines(one["artifact_id"], one[line], one[line], f"{role} of {what} {one[what]}")
            for one, line, role in ((high, "top_line", "highest"), (low, "low_line", "lowest"))
        ),
        host=high["host"],
        phase=high["phase"],
        clock=high["clock"],
        against=f"{what} {low[what]}",
        against_value=low["q0.50"],
        share=NEW_SHARE if ratio == float("inf") else None,
        n=high["n"],
        seen=seen,
    )

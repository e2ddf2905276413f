"""What differs most between the phases of a host, or the hosts of one artifact: the same measure here and there.

Standing out: a measure of a sampler, a counter's growth for each second, or a series of connect times whose median is at
least half as large again in one phase as in another, and whose middle halves do not overlap. Phases of one host are
compared, whatever artifacts they stand in (only within one artifact if the host is unknown); hosts only within one
artifact where each has one phase, because two hosts of a case have different work. Normal: everything else, moves below what a person would look at,
and groups of fewer than three values. Samples since boot do not count.
Worked example: `sda` answers in 4 ms in the median of phase good (3 to 5) and in 40 ms in phase bad (30 to 50):
"sda resp_ms: 40 ms in the median of phase bad, 4 ms in phase good", ten times as much.
Cost: one aggregation per table, and only if a host has two phases or an artifact two hosts. Source: Gregg, Systems Performance
2.5.5 (baseline statistics); Tukey, Exploratory Data Analysis (middle halves, the hinges of a box plot).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "difference",
    "What differs between the phases?",
    ("vmstat", "mpstat", "iostat", "counters", "conn_times"),
    across=True,
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
    for table in (*MEASURES, "counters"):
        for what, keys, chosen in _comparable(case, table):
            by, columns = MEASURES.get(table, (("grp", "item", "name"), {}))
            values = _rates(case) if table == "counters" else _samples(case, table, by, columns)
            made = [_quartiles(chosen(rows), keys, what, by, measure, unit) for measure, unit, rows in values]
            for frame in pl.collect_all(made, engine="streaming"):
                found += _differing(frame, keys, what)
    found.sort(key=lambda x: (-x[0], x[1].lines[0].artifact, x[1].lines[0].line_from, x[1].subject))
    return [sighting for _, sighting in found]


OWNER = pl.when(pl.col("host").is_null()).then("artifact_id").alias("owner")
"""The artifact of rows whose host is unknown: two of these may be of two hosts."""


def _comparable(
    case: CaseTables, table: str
) -> Iterator[tuple[str, list[str], Callable[[pl.LazyFrame], pl.LazyFrame]]]:
    """Yield (column to compare, phase or host; keys within which it is compared; filter of the rows) for a table."""
    places = case.scan(table, ["artifact_id", "host", "phase"]).unique().collect(engine="streaming").with_columns(OWNER)
    phases = places.filter(pl.col("phase").is_not_null())
    several = phases.group_by("host", "owner").agg(pl.col("phase").n_unique().alias("n")).filter(pl.col("n") > 1)
    if several.height:
        keys = ["host", "owner"]
        yield "phase", keys, lambda rows: rows.join(several.lazy().select(keys), on=keys, how="semi", nulls_equal=True)
    each = (
        places.filter(pl.col("host").is_not_null())
        .group_by("artifact_id")
        .agg(pl.col("host").n_unique().alias("n"), pl.len().alias("places"))
    )
    alone = each.filter((pl.col("n") > 1) & (pl.col("n") == pl.col("places")))
    if alone.height:
        yield (
            "host",
            ["artifact_id"],
            lambda rows: rows.join(alone.lazy().select("artifact_id"), on="artifact_id", how="semi"),
        )


def _samples(
    case: CaseTables, table: str, by: Sequence[str], columns: Mapping[str, str]
) -> Iterator[tuple[str | None, str, pl.LazyFrame]]:
    """Yield each measure of a table with its unit and its rows, the value as `v`."""
    sampler = table != "conn_times"
    for name, unit in columns.items():
        rows = case.scan(table, [*PLACE_COLUMNS, *by, "line_no", *(["first"] if sampler else []), name])
        if sampler:
            rows = rows.filter(~pl.col("first").fill_null(False))
        yield name, unit, rows.with_columns(OWNER, pl.col(name).alias("v"))


def _rates(case: CaseTables) -> Iterator[tuple[str | None, str, pl.LazyFrame]]:
    """Yield the growth of counters for each second, and rates."""
    by = ["grp", "item", "name"]
    mode = pl.col("mode").fill_null("total")
    growth = (
        pl.when(mode == "rate")
        .then("value")
        .when(pl.col("interval_s") > 0)
        .then(pl.col("delta") / pl.col("interval_s"))
    )
    rows = case.scan("counters", [*PLACE_COLUMNS, *by, "line_no", "first", "value", "delta", "interval_s", "mode"])
    yield (
        None,
        "per s",
        rows.filter(~pl.col("first").fill_null(False) & (mode != "level")).with_columns(OWNER, growth.alias("v")),
    )


def _quartiles(
    rows: pl.LazyFrame, keys: Sequence[str], what: str, by: Sequence[str], measure: str | None, unit: str
) -> pl.LazyFrame:
    """Return the quartiles of `v` of each owner and place, with the lines of its highest and lowest value."""
    v = pl.col("v").cast(pl.Float64)
    who = pl.concat_str([pl.col(c).cast(pl.String) for c in by], separator=" ", ignore_nulls=True) if by else pl.lit("")
    place = dict.fromkeys([*keys, what])
    return (
        rows.with_columns(who.alias("who"), v.alias("v"))
        .filter(pl.col("v").is_finite() & (pl.col("v") >= 0) & pl.col(what).is_not_null())
        .group_by(*place, "who")
        .agg(
            pl.len().alias("n"),
            *(pl.col("v").quantile(q, "linear").alias(f"q{q:.2f}") for q in (0.25, 0.5, 0.75)),
            *(pl.col(c).get(pl.col("v").arg_max()).alias(f"top_{c}") for c in (*PLACE_COLUMNS, "line_no")),
            *(pl.col(c).get(pl.col("v").arg_min()).alias(f"low_{c}") for c in ("artifact_id", "line_no")),
        )
        .filter(pl.col("n") >= LEAST)
        .with_columns(pl.lit(measure, pl.String).alias("measure"), pl.lit(unit).alias("unit"))
    )


def _differing(made: pl.DataFrame, keys: Sequence[str], what: str) -> Iterator[tuple[float, Sighting]]:
    """Yield ratio and sighting of the lowest and the highest phase or host of each measure, if they clearly differ."""
    made = made.sort(*keys, "top_line_no", nulls_last=True)
    for _, held in made.group_by([*keys, "measure", "who"], maintain_order=True):
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
    words = (high["who"] or "elapsed time") if name == "elapsed_s" else subject  # the series says what its times are
    return Sighting(
        kind="difference",
        subject=subject,
        headline=(
            f"{words}: {figure(high['q0.50'], unit)} in the median of {what} {high[what]}, "
            f"{figure(low['q0.50'], unit)} in {what} {low[what]}"
        ),
        name=name,
        value=high["q0.50"],
        unit=unit,
        lines=tuple(
            Lines(
                one[f"{end}_artifact_id"], one[f"{end}_line_no"], one[f"{end}_line_no"], f"{role} of {what} {one[what]}"
            )
            for one, end, role in ((high, "top", "highest"), (low, "low", "lowest"))
        ),
        host=high["top_host"],
        phase=high["top_phase"],
        clock=high["top_clock"],
        against=f"{what} {low[what]}",
        against_value=low["q0.50"],
        share=NEW_SHARE if ratio == float("inf") else None,
        n=high["n"],
        seen=seen,
    )

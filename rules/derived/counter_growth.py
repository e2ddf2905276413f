"""Growth of each counter: between two samples of one file, and between two files of one host.

Inputs: `counters` (totals, and numbers of nstat, which prints no mode), clock domains. One row per counter and later
sample.
Columns: artifact_id, line_no, line_end and sample of the later sample; grp, item, name, mode as printed; value (of the
later sample); `delta` (growth, at least 0); `span_s` (s between the two; NULL if their times are unknown); t_from, t_to
(in the later sample's clock; t_from only within one file); before_artifact, before_line (of the earlier sample);
`across` (true: the two samples are in two files or two parts of one document).
Two files are compared if both are of the same known host and phase. They are ordered by their clocks if both have
absolute times, else by their order in the case. If any counter that both hold fell, then the host was restarted, a
counter wrapped or the order is wrong; the lines do not show which, so the whole pair gives no rows. Numbers of unknown
mode (nstat) count as totals only if none fell and some that are not zero stayed equal: the growth since an earlier call
hardly ever does.
Worked example: file 1 has tcpListenDrop 11 and tcpInErrs 5, file 2 of the same host 14 and 5: delta 3 and 0, across.
With 2 instead of 5
in file 2 there is no row.
Cost: reading the cumulative counters, and a sort. Source: practice; netstat(1), nstat(8) on what is since boot.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rules.clocks.readings import absolute, base_of
from rules.derived.derived_table import PLACE, CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "counter_growth",
    {
        **PLACE,
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
        "sample": pl.Int64(),
        "grp": pl.String(),
        "item": pl.String(),
        "name": pl.String(),
        "mode": pl.String(),
        "value": pl.Float64(),
        "delta": pl.Float64(),
        "span_s": pl.Float64(),
        "t_from": pl.Float64(),
        "t_to": pl.Float64(),
        "before_artifact": pl.Int64(),
        "before_line": pl.Int64(),
        "across": pl.Boolean(),
    },
)
NEEDS = ("counters",)
SCOPE: Scope = "host"
VERSION = "1"

MODE_UNKNOWN = ("tcp", "udp", "udp6", "udplite", "udplite6", "ip", "ip6", "icmp", "icmp6", "mptcp", "nstat", "iface")
"""Groups whose numbers may be totals although the tool prints no mode."""

COLUMNS = [
    "artifact_id",
    "host",
    "phase",
    "clock",
    "part",
    "line_no",
    "line_end",
    "t_local",
    "sample",
    "first",
    "interval_s",
]
COLUMNS += ["grp", "item", "name", "mode", "value", "delta"]
COUNTER = ["grp", "item", "name", "nth"]
FILE = ["artifact_id", "part"]


def build(case: CaseTables) -> pl.DataFrame:
    """Return `counter_growth` for all counters of the case, by artifact and line."""
    mode_unknown = pl.col("mode").is_null() & pl.col("grp").is_in(MODE_UNKNOWN)
    counting = (pl.col("mode") == "total") | pl.col("delta").is_not_null() | mode_unknown
    rows = case.table("counters", COLUMNS, counting & ~pl.col("first").fill_null(False))
    if rows.is_empty():
        return TABLE.rows([])
    at = {clock.clock: base_of(clock) for clock in case.clocks if absolute(clock)}
    rows = rows.with_columns(
        nth=pl.int_range(pl.len()).over([*FILE, "sample", "grp", "item", "name"]), instant=_instants(at)
    ).sort(*FILE, "sample", "line_no", nulls_last=True)
    made = pl.concat([_within(rows), _between(rows)], how="diagonal_relaxed")
    return TABLE.shape(made.sort("artifact_id", "line_no", "across", "before_line", nulls_last=True))


def _instants(bases: Mapping[str, float]) -> pl.Expr:
    """Return the time of a row in seconds since 1970 UTC, NULL if the row's clock is not absolute."""
    base = (
        pl.col("clock").replace_strict(bases, default=None, return_dtype=pl.Float64)
        if bases
        else pl.lit(None, pl.Float64)
    )
    return base + pl.col("t_local")


def _within(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the growth since the previous sample of the same file: as the format computed it, else the difference."""
    before = {name: pl.col(name).shift().over([*FILE, *COUNTER]) for name in ("value", "line_no", "t_local")}
    rows = rows.with_columns(
        grown=pl.coalesce("delta", pl.when(pl.col("mode").is_null()).then(pl.col("value") - before["value"])),
        before_line=before["line_no"],
        t_from=before["t_local"],
    )
    return rows.filter(pl.col("grown") >= 0).with_columns(
        delta="grown",
        span_s=pl.coalesce("interval_s", pl.col("t_local") - pl.col("t_from")),
        t_to="t_local",
        before_artifact="artifact_id",
        across=pl.lit(False),
    )


def _between(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the growth from a file's last sample to the next file's first one."""
    rows = rows.filter(pl.col("host").is_not_null() & pl.col("value").is_not_null())
    counter = [*FILE, *COUNTER]
    ends = rows.unique(counter, keep="last", maintain_order=True).select(
        *counter, last_value="value", last_line="line_no", last_instant="instant"
    )
    heads = rows.unique(counter, keep="first", maintain_order=True).join(
        ends, on=counter, how="left", nulls_equal=True, maintain_order="left"
    )
    place = ["host", "phase"]
    # Times order the files only if every file of a host and phase has one.
    known = pl.col("instant").is_not_null().all().over(place)
    order = pl.when(known).then(pl.col("instant").min().over([*place, *FILE])).otherwise(0.0)
    heads = heads.with_columns(order=order).sort("order", *FILE, "line_no", maintain_order=True)
    series = [*place, *COUNTER]
    pairs = heads.with_columns(
        before_artifact=pl.col("artifact_id").shift().over(series), before_part=pl.col("part").shift().over(series),
        before_value=pl.col("last_value").shift().over(series), before_line=pl.col("last_line").shift().over(series),
        before_instant=pl.col("last_instant").shift().over(series),
    ).filter(pl.col("before_value").is_not_null())  # fmt: skip
    pairs = pairs.with_columns(grown=pl.col("value") - pl.col("before_value"))
    pair = [*place, *FILE, "before_artifact", "before_part"]
    stands = ((pl.col("grown") == 0) & (pl.col("value") != 0)).any().over(pair)
    totals = pl.col("mode").eq_missing(pl.lit("total")).all().over(pair)
    whole = (pl.col("grown") >= 0).all().over(pair) & (totals | stands)
    return pairs.filter(whole).with_columns(
        delta="grown",
        span_s=pl.col("instant") - pl.col("before_instant"),
        t_from=pl.lit(None, pl.Float64),
        t_to="t_local",
        across=pl.lit(True),
    )

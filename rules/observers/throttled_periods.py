"""How often a control group was held back at its processor quota: of how many periods, for how long, at which quota.

Standing out: at least a tenth of the periods in which the group ran, between two samples or since the group began.
Normal: less; it is told because the totals alone (`nr_throttled 40`) look like much.
Worked example: nr_periods 4000, nr_throttled 40 and throttled_time 8000000 (ns): 1 % of the periods, 8 ms in all.
Cost: one aggregation over the counters of the groups. Source: Linux Documentation/scheduler/sched-bwc.rst; a tenth of the
periods is also the bound of the rule throttled-by-quota.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "throttled-periods",
    "How often was a group held back at its quota?",
    ("counters",),
    {"linux": "cat cpu.stat cpu.max of the group, twice, 10 s apart"},
    like="still-counters",
    wordless=True,
)

FELT_PCT = 10.0
"""Share of the periods in percent from which people feel it (the default of the rule throttled-by-quota)."""

DECIDES_PCT, DECIDES = 25.0, 0.5
"""Share of the periods in percent from which the quota is what a group waits for, and the weight that it then has: who is stopped in
every fourth period of 0.1 s meets that in most requests longer than 0.3 s."""

LEAST_PERIODS = 10.0
"""Minimum number of periods: ten of the usual length are a second, and fewer are one burst."""

NS = {"ns": 1e-9, "us": 1e-6}
"""Seconds of one unit of throttled_time (v1) and throttled_usec (v2)."""

NAMES = ("nr_periods", "nr_throttled", "throttled_time", "throttled_usec")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield one sighting for each group whose periods and throttled periods are printed."""
    keys = [*PLACE_COLUMNS[:3], "item"]
    rows = (
        case.scan("counters", [*keys, "clock", "line_no", "t_local", "grp", "name", "value", "delta", "unit"])
        .filter((pl.col("grp") == "cgroup") & pl.col("name").is_in(NAMES) & pl.col("value").is_finite())
        .sort("artifact_id", "line_no")
        .group_by(*keys, "name", maintain_order=True)
        .agg(
            pl.col("delta").drop_nulls().len().alias("n_deltas"),
            pl.col("delta").drop_nulls().sum().alias("moved"),
            pl.col("value").last(),
            pl.col("line_no").last(),
            pl.col("unit").last(),
            pl.col("clock").drop_nulls().first(),
            pl.col("t_local").min().alias("t_from"),
            pl.col("t_local").max().alias("t_to"),
        )
        .collect(engine="streaming")
    )
    for _, group in rows.group_by(keys, maintain_order=True):
        held = {row["name"]: row for row in group.iter_rows(named=True)}
        if "nr_periods" in held and "nr_throttled" in held:
            yield from _told(case, held)


def _told(case: CaseTables, held: dict[str, dict[str, Any]]) -> Iterable[Sighting]:
    row, between = held["nr_throttled"], held["nr_throttled"]["n_deltas"] > 0 and held["nr_periods"]["n_deltas"] > 0
    column = "moved" if between else "value"
    periods, stopped = held["nr_periods"][column], row[column]
    if periods < LEAST_PERIODS or not 0 <= stopped <= periods:
        return
    share = stopped / periods
    time = next((held[name] for name in NAMES[2:] if name in held), None)
    lasted = time[column] * NS.get(time["unit"] or "", 1e-6) if time else None
    who = f"The group {row['item']}" if row["item"] else "The group"
    text = f"{who} was held back in {stopped:,.0f} of {periods:,.0f} periods, {figure(100 * share, '%')}"
    text += " between the samples" if between else " since it began"
    if lasted:
        text += f", {figure(lasted, 's')} of its threads' time in all"
    quota, lines = _quota(case, row)
    cited = [Lines(row["artifact_id"], row["line_no"], row["line_no"], "throttled periods")]
    cited.append(Lines(row["artifact_id"], held["nr_periods"]["line_no"], held["nr_periods"]["line_no"], "periods"))
    if time:
        cited.append(Lines(row["artifact_id"], time["line_no"], time["line_no"], "time"))
    stands = share * 100 >= FELT_PCT
    yield Sighting(
        "throttled",
        f"{row['item'] or 'group'} throttled",
        text,
        "throttled_periods_pct",
        100 * share,
        "%",
        (*cited, *lines),
        **place(row),
        t_from=row["t_from"],
        t_to=row["t_to"],
        against="periods that people feel",
        against_value=FELT_PCT,
        share=max(share, DECIDES) if share * 100 >= DECIDES_PCT else share,
        seen=({"counter": "nr_throttled", "group": "cgroup"},) if stands else (),
        normal=not stands,
        beside=quota,
    )


def _quota(case: CaseTables, row: dict[str, Any]) -> tuple[str | None, list[Lines]]:
    """Return the quota of the group by the settings in the same artifact, in words, and the lines of these settings."""
    wanted = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuset.cpus", "cpuset.cpus.effective")
    same = (pl.col("artifact_id") == row["artifact_id"]) & pl.col("entity").eq_missing(pl.lit(row["item"], pl.String))
    params = (
        case.scan("params", ["artifact_id", "line_no", "scope", "entity", "name", "value", "num"])
        .filter(same & (pl.col("scope") == "cgroup") & pl.col("name").is_in(wanted))
        .sort("line_no")
        .collect(engine="streaming")
    )
    found = {r["name"]: r for r in params.iter_rows(named=True)}
    parts, used = [], []
    quota, period = found.get("cpu.cfs_quota_us"), found.get("cpu.cfs_period_us")
    cores = None
    if (one := found.get("cpu.max")) and one["num"]:
        cores, used = one["num"], [one]
    elif quota and period and quota["num"] and period["num"]:
        cores, used = quota["num"] / period["num"], [quota, period]
    if cores:
        parts.append(f"its quota is the time of {cores:,.4g} processor{'' if cores == 1 else 's'}")
    if listed := next((found[n] for n in wanted[3:] if n in found), None):
        several = "s" if listed["num"] and listed["num"] > 1 else ""
        parts.append(f"it may run on processor{several} {listed['value'][:60]} only")
        used.append(listed)
    lines = [Lines(row["artifact_id"], r["line_no"], r["line_no"], r["name"]) for r in used]
    return (", ".join(parts) or None), lines

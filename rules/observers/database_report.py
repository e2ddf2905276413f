"""What a report of Oracle (AWR, Statspack) says of the load between its snapshots: sessions, processors, parses, shared pool.

Standing out: more sessions in the database on average than the host has processors (DB time by elapsed time); processors
that had nothing to do but wait for I/O for `WAITING_PCT` or more; parses of which less than half the time was processor
time; a shared pool filled to `FULL_PCT` or by `ROSE` points more than before. Normal: less, which is told as measures, and
the other percentages of efficiency (target 100 %), which are low by design in many applications.
Worked example: DB time 480 min in 60 min: 8 sessions on average, on 4 processors.
Cost: a filter by name over the counters of a report. Source: Oracle Database Performance Tuning Guide, Measuring Database
Performance; Oracle Database 2 Day + Performance Tuning Guide; notes of Statspack (spdoc.txt).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "database-report",
    "How loaded was a database between two snapshots?",
    ("counters",),
    {"*": "an AWR or Statspack report of an hour in which all was well, and ASH of the bad minutes"},
)

WAITING_PCT = 20.0
"""Minimum part of the time in which processors waited for I/O: a database that reads waits a little all the time."""

FULL_PCT = 90.0
"""Use of the shared pool from which there is little room for what is parsed next."""

ROSE = 20.0
"""Minimum rise of the use of the shared pool in points between the snapshots."""

PARSE_CPU_PCT = 50.0
"""Part of the time of parses that is processor time below which they mostly waited."""

EXECUTE_PCT = 90.0
"""Part of the executions that did without a parse below which it is told beside the time of parses."""

GROUPS = "^(?:snapshot|load_profile|host_cpu|os_stats|instance efficiency.*|shared pool statistics)$"
MOST = 500

Figures = Mapping[str, Mapping[str, Any]]
"""Rows of counters by group, name and, where there is one, item."""


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the sightings of each report, those that stand out first."""
    columns = [*PLACE_COLUMNS, "line_no", "grp", "item", "name", "value"]
    rows = case.scan("counters", columns, pl.col("grp").str.contains(GROUPS) & pl.col("value").is_finite()).head(MOST)
    cpus = dict(case.scan("hosts", ["artifact_id", "ncpu"], pl.col("ncpu") > 0).collect().iter_rows())
    found: list[Sighting] = []
    for (artifact, *_), held in (
        rows.sort("line_no").collect(engine="streaming").group_by("artifact_id", maintain_order=True)
    ):
        of = {_key(row): row for row in held.iter_rows(named=True)}
        found += _sessions(of, cpus.get(artifact))
        found += _waiting(of)
        found += _parses(of)
        found += _shared_pool(of)
    return sorted(found, key=lambda s: (s.normal, -(s.share or 0.0)))


def _key(row: Mapping[str, Any]) -> str:
    group = row["grp"].split(" percent")[0]
    name = re.sub(r"\s+", " ", row["name"]).lower().replace("elapsd", "elapsed")
    return " ".join(x for x in (group, name, row["item"]) if x)


def _sessions(of: Figures, ncpu: int | None) -> Iterator[Sighting]:
    """Yield how many sessions were in the database on average."""
    elapsed, db_time = of.get("snapshot elapsed"), of.get("snapshot db_time")
    if elapsed is None or db_time is None or elapsed["value"] <= 0 or db_time["value"] <= 0:
        return
    processors = of.get("os_stats num_cpus")
    cpus = float(ncpu or (processors["value"] if processors else 0))
    active = db_time["value"] / elapsed["value"]
    stands = 0 < cpus < active
    text = (
        f"{db_time['value'] / 60:,.2f} min of database time fall into {elapsed['value'] / 60:,.2f} min:"
        f" {active:,.1f} sessions were active on average" + (f", on {cpus:,.0f} processors" if cpus else "")
    )
    yield _sighting(
        (db_time, elapsed), "active sessions", text, "active_sessions_count", active, "count",
        against=("processors", cpus) if cpus else None, share=1 - cpus / active if stands else None, normal=not stands,
    )  # fmt: skip


def _waiting(of: Figures) -> Iterator[Sighting]:
    """Yield how long processors waited for I/O."""
    waited = of.get("host_cpu %wio")
    if waited is None or not 0 < waited["value"] <= 100:
        return
    worked = sum(of[name]["value"] for name in ("host_cpu %user", "host_cpu %system") if name in of)
    pct = waited["value"]
    yield _sighting(
        (waited,), "%WIO", f"The processors waited for input and output {figure(pct, '%')} of the time (%WIO)"
        f" and worked {figure(worked, '%')}", "wio_pct", pct, "%", against=("the usual bound", WAITING_PCT),
        share=pct / 100, normal=pct < WAITING_PCT,
    )  # fmt: skip


def _parses(of: Figures) -> Iterator[Sighting]:
    """Yield how much of the parse time was processor time, and how many executions needed a parse."""
    cpu = of.get("instance efficiency parse cpu to parse elapsed %")
    if cpu is None or not 0 < cpu["value"] <= 100:
        return
    runs = of.get("instance efficiency execute to parse %")
    runs = runs if runs is not None and runs["value"] < EXECUTE_PCT else None
    rate = of.get("load_profile parses per second") or of.get("load_profile parses (sql) per second")
    beside = [f"{rate['value']:,.1f} statements were parsed per second"] if rate else []
    beside += [f"{figure(runs['value'], '%')} of the executions did without a parse"] if runs else []
    yield _sighting(
        tuple(row for row in (cpu, runs, rate) if row is not None), str(cpu["name"]),
        f"Of the elapsed time of parses {figure(cpu['value'], '%')} was processor time, the rest was waiting"
        f" ({re.sub(r' +', ' ', cpu['name'])})", "parse_cpu_pct", cpu["value"], "%", against=("mostly working", PARSE_CPU_PCT),
        share=0.4, normal=cpu["value"] >= PARSE_CPU_PCT, beside="; ".join(beside) or None,
    )  # fmt: skip


def _shared_pool(of: Figures) -> Iterator[Sighting]:
    """Yield how full the shared pool was at both snapshots."""
    begin, end = (of.get(f"shared pool statistics memory usage % {at}") for at in ("begin", "end"))
    if begin is None or end is None or not (0 < end["value"] <= 100 and 0 < begin["value"] <= 100):
        return
    rose = end["value"] - begin["value"]
    went = "rose" if rose > 0 else "went"
    yield _sighting(
        (end,), "shared pool", f"The use of the shared pool {went} from {figure(begin['value'], '%')} to {figure(end['value'], '%')}"
        " between the snapshots", "shared_pool_pct", end["value"], "%", against=("little room", FULL_PCT), share=0.35,
        normal=end["value"] < FULL_PCT and rose < ROSE,
    )  # fmt: skip


def _sighting(
    rows: tuple[Mapping[str, Any], ...],
    subject: str,
    text: str,
    name: str,
    value: float,
    unit: str,
    *,
    against: tuple[str, float] | None,
    share: float | None,
    normal: bool,
    beside: str | None = None,
) -> Sighting:
    first = rows[0]
    return Sighting(
        "report", subject, text, name, value, unit,
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], str(r["name"])) for r in rows), **place(first),
        against=against[0] if against else None, against_value=against[1] if against else None, share=share,
        normal=normal, beside=beside,
    )  # fmt: skip

"""How long threads that are ready wait for a processor, as perf sched latency and timehist count it by task.

Standing out: tasks that together waited for a processor a fifth as long as they ran, or longer, each wait a millisecond at least on
average: told with the task that waited most, and the worst single wait. Normal: shorter waits; the longest is kept as a measure.
Worked example: a task ran 41 s in 80,000 turns and waited 38 ms before each: 3,078 s of waiting for 41 s of work, share 0.99.
Cost: one filter over the counters of perf sched. Source: perf-sched(1), latency (delay is the time from being ready to run until
running); Linux, Documentation/scheduler/sched-stats.rst (run_delay).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "scheduling-delays",
    "Do threads that are ready wait for a processor?",
    ("counters",),
    {"linux": "vmstat 1 30; nproc; mpstat -P ALL 5 6; grep . /sys/fs/cgroup/PATH/cpu.stat (nr_throttled)"},
    alone=True,
)

PART = 0.2
"""Minimum part of running and waiting together that is waiting: a fifth of a resource is felt."""

LATE_MS = 1.0
"""Minimum mean wait: a thread that is alone on its processor waits for some microseconds."""

LONG_MS, HALF = 10.0, 0.5
"""Mean wait and part of the time from which nothing else explains it: a whole turn of other threads comes before each."""

MOST_ROWS = 20_000
NAMES = ("run_ms", "switches", "delay_avg_ms", "delay_max_ms")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what the tasks of each artifact waited together."""
    columns = [*PLACE_COLUMNS, "line_no", "item", "name", "value"]
    rows = (
        case.scan("counters", [*columns, "grp"], (pl.col("grp") == "perf_sched") & pl.col("name").is_in(NAMES))
        .filter(pl.col("value").is_between(0, 1e12))
        .head(MOST_ROWS)
        .collect(engine="streaming")
        .sort("artifact_id", "line_no", "item", nulls_last=False)
    )
    for _, of in groupby(rows.iter_rows(named=True), key=lambda r: r["artifact_id"]):
        tasks: dict[str, dict[str, Any]] = {}
        for row in of:
            task = tasks.setdefault(row["item"] or "?", {"row": row})
            task[row["name"]] = row["value"]
        yield from _waits([t for t in tasks.values() if {"switches", "delay_avg_ms"} <= t.keys()])


def _waited(task: dict[str, Any]) -> float:
    """Return the milliseconds that a task waited in all its turns."""
    return float(task["delay_avg_ms"] * task["switches"])


def _waits(tasks: list[dict[str, Any]]) -> Iterator[Sighting]:
    if not tasks:
        return
    turns = sum(t["switches"] for t in tasks)
    waited, ran = sum(map(_waited, tasks)), sum(t.get("run_ms", 0.0) for t in tasks)
    first = max(tasks, key=_waited)
    worst = max(tasks, key=lambda t: float(t.get("delay_max_ms", 0.0)))
    if not turns or waited + ran <= 0:
        return
    mean, share = waited / turns, waited / (waited + ran)
    stands = mean >= LATE_MS and share >= PART and waited / 1e3 >= FELT_S
    row, most = first["row"], float(worst.get("delay_max_ms", 0.0))
    cited = {worst["row"]["line_no"]: "worst wait", row["line_no"]: "waited most"}
    beside = f"{worst['row']['item']} waited {figure(most / 1e3, 's')} once" if most else None
    yield Sighting(
        "run-queue",
        f"task {row['item']}",
        f"Ready threads waited {figure(waited / 1e3, 's')} for a processor and ran {figure(ran / 1e3, 's')}: most of all {row['item']},"
        f" {figure(first['delay_avg_ms'] / 1e3, 's')} before each of {first['switches']:,.0f} turns",
        "delay_avg_ms",
        float(first["delay_avg_ms"]),
        "ms",
        tuple(Lines(row["artifact_id"], no, no, role) for no, role in cited.items()),
        **place(row),
        against="a thread that is alone on its processor",
        against_value=LATE_MS,
        share=share if stands else None,
        n=int(turns),
        seen=({"event": "ready-threads-wait-long" if mean >= LONG_MS and share >= HALF else "ready-threads-wait"},),
        normal=not stands,
        beside=beside,
    )

"""What levels of one sample tell by themselves: swap that is used up, an interface at its speed, engines of a database that never rest.

Standing out: used swap of `FULL` of all swap (vmstat -s); an interface that was busy `BUSY_PCT` of its speed in the median of its samples
(%ifutil, %Util of nicstat); engines of a database of which all together were busy that much; a program that gave up its processor
`SWITCHES` times a second (pidstat -w). Normal: less, which is kept as a measure.
Worked example: `K used swap` 8,000,000 beside `K total swap` 8,100,000: 98.8 % of the swap is used.
Cost: filters by name; one pass over what is left. Source: vmstat(8), -s; sar(1), -n DEV; pidstat(1), -w; SAP ASE documentation, sp_sysmon,
Engine Busy Utilization.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.database_lists import figure_of, listings
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "levels-of-one-sample",
    "What does one sample tell by itself?",
    ("counters", "microstates", "rows"),
    {"*": "the same three times, 10 s apart"},
)

FULL, BUSY_PCT = 0.98, 90.0
SWITCHES = 50_000.0
"""Switches per second of one program from which they take much of a processor: each costs some microseconds in the kernel."""

MOST_ROWS, TOLD = 5_000, 3
LEAST_KB = 102_400.0
"""Minimum size of swap in kB: a few MB are full on any host that has them."""

USED, ALL = "used swap", "total swap"
BUSY = ("%ifutil",)
_ENGINE = re.compile(r"(?i)engine \d{1,4}|average|threadpool : \S{1,60}|total")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what stands out of each kind of level."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "item", "name", "value", "unit"]
    ours = pl.col("name").is_in([USED, ALL, *BUSY]) & pl.col("value").is_finite()
    rows = case.scan("counters", columns, ours).head(MOST_ROWS).collect(engine="streaming").sort("line_no")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        held = part.to_dicts()
        yield from _swap({r["name"]: r for r in held})
        yield from _interfaces([r for r in held if r["name"] in BUSY])
    yield from _switches(case)
    for _, listing in listings(case):
        yield from _engines([(one.row, one.of, one.printed) for one in listing])


def _one(
    row: dict[str, Any],
    subject: str,
    words: str,
    name: str,
    value: float,
    unit: str,
    bound: float,
    seen: Seen,
    share: float,
    n: int = 1,
) -> Sighting:
    out = value >= bound
    return Sighting(
        "level",
        subject,
        words,
        name,
        value,
        unit,
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], subject),),
        **place(row),
        against="its bound",
        against_value=bound,
        share=share if out else None,
        n=n,
        seen=(seen,) if out else (),
        normal=not out,
    )


def _swap(of: dict[str, dict[str, Any]]) -> Iterator[Sighting]:
    used, whole = of.get(USED), of.get(ALL)
    if used is None or whole is None or whole["value"] < LEAST_KB or used["value"] > whole["value"]:
        return
    pct = 100 * used["value"] / whole["value"]
    words = f"{figure(pct, '%')} of the swap is used, {used['value']:,.0f} of {whole['value']:,.0f} kB"
    yield _one(used, USED, words, "swap_used_pct", pct, "%", 100 * FULL, {"event": "swap-used-up"}, 0.6)


def _interfaces(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    by_item: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_item.setdefault(str(row["item"]), []).append(row)
    middle = {item: median(r["value"] for r in held) for item, held in by_item.items()}
    for item, pct in sorted(middle.items(), key=lambda x: -x[1])[:TOLD]:
        row = max(by_item[item], key=lambda r: r["value"])
        words = f"{item} was busy {figure(pct, '%')} of its speed ({row['name']}; {figure(row['value'], '%')} at most)"
        seen: Seen = {"event": "interface-at-its-speed"}
        yield _one(row, item, words, "interface_busy_pct", pct, "%", BUSY_PCT, seen, pct / 100, len(by_item[item]))


def _switches(case: CaseTables) -> Iterator[Sighting]:
    """Yield the program that switched most, in samples of rates: they have no shares of time."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "pid", "comm", "usr", "vcx", "icx"]
    rates = pl.col("usr").is_null() & pl.col("vcx").is_not_null()
    rows = case.scan("microstates", columns, rates).head(MOST_ROWS).collect(engine="streaming").sort("line_no")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        by_pid: dict[int, list[dict[str, Any]]] = {}
        for row in part.iter_rows(named=True):
            by_pid.setdefault(row["pid"], []).append(row)
        middle = {pid: median((r["vcx"] or 0.0) + (r["icx"] or 0.0) for r in held) for pid, held in by_pid.items()}
        pid = max(middle, key=lambda p: middle[p])
        row, rate = by_pid[pid][0], middle[pid]
        words = f"{row['comm']} ({pid}) switched {rate:,.0f} times a second"
        seen: Seen = {"event": "program-switches-always"}
        yield _one(row, str(row["comm"]), words, "switches_ps", rate, "per s", SWITCHES, seen, 0.6, len(by_pid[pid]))


def _engines(listing: list[tuple[Any, Any, Any]]) -> Iterator[Sighting]:
    """Yield the engines of Adaptive Server (sp_sysmon), all together."""
    for row, of, printed in listing:
        label = next(iter(of.values()), "")
        if "cpu_busy" not in of or "idle" not in of or not _ENGINE.fullmatch(label.strip()):
            continue
        pct = figure_of(of["cpu_busy"].rstrip("% "))
        if pct is None or label.strip().lower().startswith("engine "):
            continue
        words = f"The engines of the database were busy {figure(pct, '%')} of the time ({printed['cpu_busy']}, {label.strip()})"
        yield _one(
            row, "engines", words, "engines_busy_pct", pct, "%", BUSY_PCT, {"event": "engines-never-rest"}, pct / 100
        )
        return

"""What the events that `perf stat` counted say of a program: changes between threads, page faults, memory that is waited for.

Standing out: `SWITCHES_PS` changes between threads and more for each second on a processor; `FAULTS_PS` page faults and more, if the
kernel has the larger part of the time where that is told; `MAJOR_PS` page faults and more for which a page had to be read; caches
that miss `MISSED_PCT` of what they are asked for, `MISSES_EACH` times in 1,000 instructions, while hardly an instruction per cycle is done;
translations of addresses that miss `TLB_PCT` likewise. Normal: less of each; a program that hardly ran says nothing.
Worked example: 2,911,203 context-switches in 9.8 s of task-clock: 296,686 changes between threads for each second on a processor.
Cost: one pass over the counters of perf stat. Source: perf-stat(1); Li, Ding and Shen, Quantifying the Cost of Context Switch (2007); Gregg,
Systems Performance 6.6.13 (IPC), 7.3 (TLB).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "processor-events",
    "What do counted events of the processors and the scheduler say of a program?",
    ("counters",),
    {"linux": "perf record -g -p PID -- sleep 10; perf trace -s -p PID -- sleep 10"},
    alone=True,
)

RAN_S = 0.5
"""Minimum seconds on processors: a start changes threads and touches pages more often than the work after it."""

SWITCHES_PS, SWITCH_S = 50_000.0, 5e-6
"""Minimum changes between threads for each second on a processor, and what one costs with the caches that it empties (1.5 us and more)."""

FAULTS_PS, MAJOR_PS = 100_000.0, 100.0
"""Minimum page faults for each second on a processor (about 1 us each with the page that is cleared), and of those that read for each
second of time: as many as a disk answers."""

MISSED_PCT, MISSES_EACH, TLB_PCT, IPC = 30.0, 10.0, 10.0, 0.5
"""Minimum part in % of references that missed the caches, misses in 1,000 instructions, part in % of translations that missed; maximum
instructions per cycle: most programs do one and more, and stand below a half where they wait for memory."""

HALF = 0.5

PER_CYCLE = "insn per cycle"
"""Name of the ratio that the tool prints itself; the two counters may have been counted at different times."""

Held = Mapping[str, dict[str, Any]]


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what the events of each artifact say."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "grp", "item", "sample", "interval_s", "name", "value", "unit"]
    per_cycle = (pl.col("grp") == "perf_stat_metric") & pl.col("unit").fill_null("").str.starts_with("insn per cycle")
    ours = ((pl.col("grp") == "perf_stat") | per_cycle) & pl.col("value").is_finite()
    rows = case.scan("counters", columns, ours)
    name = pl.col("name").str.replace(r":[a-zA-Z]{1,4}$", "").str.replace(r"^cpu_core/([\w-]+)/.*$", "$1")
    made = (
        rows.with_columns(pl.when(per_cycle).then(pl.lit(PER_CYCLE)).otherwise(name).alias("name"))
        .group_by([*PLACE_COLUMNS, "part", "name"], maintain_order=True)
        .agg(
            pl.when(pl.col("name").first() == PER_CYCLE).then(pl.col("value").mean()).otherwise(pl.col("value").sum()),
            pl.col("line_no").get(pl.col("value").arg_max()),
            pl.col("unit").drop_nulls().first(),
            pl.struct("sample", "interval_s").unique().struct.field("interval_s").sum().alias("spans_s"),
        )
        .collect(engine="streaming")
    )
    for _, of in made.group_by(["artifact_id", "part"], maintain_order=True):
        held = {row["name"]: row for row in of.iter_rows(named=True)}
        found = [*_scheduled(held), *_memory(held)]
        yield from found
        yield from _within(held, {s.subject for s in found})


def _scheduled(held: Held) -> Iterator[Sighting]:
    """Yield changes between threads and page faults for each second on a processor."""
    ran, elapsed = _ran(held), _elapsed(held)
    if ran is None or ran < RAN_S:
        return
    if (row := held.get("context-switches") or held.get("cs")) and row["value"] >= SWITCHES_PS * ran:
        each = row["value"] / ran
        text = f"{row['value']:,.0f} changes between threads (context-switches) were counted, {figure(each, 'count')} for each second on a processor"
        yield _sighting(row, "switches", text, each, SWITCHES_PS, min(1.0, each * SWITCH_S), "thread-changes-many")
    user, system = (held[c]["value"] if c in held else None for c in ("user", "sys"))
    if (row := held.get("page-faults") or held.get("faults") or held.get("minor-faults")) and row[
        "value"
    ] >= FAULTS_PS * ran:
        each = row["value"] / ran
        share = HALF if user is None or system is None or user + system <= 0 else system / (user + system)
        text = f"{row['value']:,.0f} page faults were counted, {figure(each, 'count')} for each second on a processor"
        if share >= HALF:
            yield _sighting(row, "faults", text, each, FAULTS_PS, share, "page-faults-many")
    if (row := held.get("major-faults")) and elapsed and row["value"] >= MAJOR_PS * elapsed:
        each = row["value"] / elapsed
        text = f"{row['value']:,.0f} page faults had to read a page, {figure(each, 'per s')}"
        yield _sighting(row, "major-faults", text, each, MAJOR_PS, HALF, "page-reads-many")


def _memory(held: Held) -> Iterator[Sighting]:
    """Yield caches and translations that miss while the processor does little."""
    each = _per_cycle(held)
    if each is None or each > IPC:
        return
    done, little = held["instructions"]["value"], f"while {each:.2f} instructions per cycle were done"
    for misses, of, least, says, event in (
        ("cache-misses", "cache-references", MISSED_PCT, "references missed the caches", "caches-missed"),
        ("LLC-load-misses", "LLC-loads", MISSED_PCT, "loads missed the last cache", "caches-missed"),
        (
            "dTLB-load-misses",
            "dTLB-loads",
            TLB_PCT,
            "loads found no translation of their address",
            "translations-missed",
        ),
    ):
        row, whole = held.get(misses), held[of]["value"] if of in held else 0.0
        if row is None or whole <= 0 or row["value"] < MISSES_EACH * done / 1e3:
            continue
        pct = min(100.0, 100 * row["value"] / whole)
        if pct >= least:
            text = f"{figure(pct, '%')} of the {says} ({misses}), {little}"
            # What the processor does not do for want of memory: as against one instruction per cycle.
            yield _sighting(row, misses, text, pct, least, max(HALF, 1 - each), event)


def _within(held: Held, told: set[str]) -> Iterator[Sighting]:
    """Yield what was counted and stands within its bounds."""
    if (each := _per_cycle(held)) is not None:
        text = f"{each:.2f} instructions per cycle were done"
        yield replace(
            _sighting(held["instructions"], "ipc", text, each, IPC, 0.0, ""), share=None, seen=(), normal=True
        )
    for name in ("context-switches", "page-faults", "cache-misses"):
        if (row := held.get(name)) and name not in told:
            text = f"{row['value']:,.0f} {name} were counted"
            yield replace(
                _sighting(row, name, text, row["value"], row["value"], 0.0, ""), share=None, seen=(), normal=True
            )


def _per_cycle(held: Held) -> float | None:
    """Return the instructions per cycle, as the tool printed them if it did."""
    done, cycles = (held[c]["value"] if c in held else 0.0 for c in ("instructions", "cycles"))
    if done <= 0:
        return None
    return float(held[PER_CYCLE]["value"]) if PER_CYCLE in held else done / cycles if cycles > 0 else None


def _ran(held: Held) -> float | None:
    """Return the seconds on processors; those of the whole machine count idle processors too."""
    row = held.get("task-clock") or held.get("cpu-clock")
    if row is not None:
        return float(row["value"]) * {"s": 1.0, "sec": 1.0}.get(row["unit"] or "msec", 1e-3)
    return None


def _elapsed(held: Held) -> float | None:
    row = held.get("time elapsed")
    return float(row["value"]) if row else next((r["spans_s"] for r in held.values() if r["spans_s"]), None)


def _sighting(
    row: dict[str, Any], kind: str, text: str, value: float, bound: float, share: float, event: str
) -> Sighting:
    return Sighting(
        kind,
        row["name"],
        text,
        f"{kind}_rate" if not event.endswith("missed") else "missed_pct",
        value,
        "%" if event.endswith("missed") else "count",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], row["name"]),),
        **place(row),
        against="what is felt",
        against_value=bound,
        share=share,
        n=max(1, min(int(row["value"]), 2**62)),
        seen=(Seen(event=event),),
    )

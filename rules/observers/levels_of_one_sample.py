"""What levels of one sample tell by themselves: swap that is used up, an interface at its speed, engines of a database that never rest.

Standing out: used swap of `FULL` of all swap (vmstat -s, swap -l); an interface that was busy `BUSY_PCT` of its speed in the median of its
samples (%ifutil, %Util of nicstat, counters of Windows), works at half duplex (dladm) or below what its card is called after
(Get-NetAdapter); engines of a database of which all together were busy that much; a program that gave up its processor `SWITCHES` times a
second (pidstat -w). Normal: less, which is kept as a measure.
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

MOST_ROWS, TOLD, LARGEST = 5_000, 3, 1e15
LEAST_KB = 102_400.0
"""Minimum size of swap in kB: a few MB are full on any host that has them."""

USED, ALL = "used swap", "total swap"
BUSY = ("%ifutil",)
_MBPS = re.compile(r"(10|100) ?Mbps")
_FASTER = re.compile(r"(?i)gigabit|\bGbE\b|\b(?:2\.5|5|10|25|40|100) ?G(?:bE|igabit|b)\b|\bI2[12]\d\b|\bX[57]\d\d\b")
"""Speeds of a link below that of the cards whose descriptions name a gigabit or more."""

_ENGINE = re.compile(r"(?i)engine \d{1,4}|average|threadpool : \S{1,60}|total")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what stands out of each kind of level."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "item", "name", "value", "unit"]
    of_swap = (pl.col("grp") == "swap") & pl.col("name").is_in(["size", "free"])
    ours = (pl.col("name").is_in([USED, ALL, *BUSY]) | of_swap) & pl.col("value").is_between(0, LARGEST)
    rows = case.scan("counters", columns, ours).head(MOST_ROWS).collect(engine="streaming").sort("line_no")
    for _, part in rows.group_by("artifact_id", "part", maintain_order=True):
        held = part.to_dicts()
        yield from _swap({r["name"]: r for r in held})
        yield from _areas([r for r in held if r["name"] in ("size", "free")])
        yield from _interfaces([r for r in held if r["name"] in BUSY])
    yield from _switches(case)
    yield from _bandwidth(case)
    for names, listing in listings(case):
        listed = [(one.row, one.of, one.printed) for one in listing]
        yield from _engines(listed)
        yield from _links(names, listed)


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
        share=min(1.0, share) if out else None,
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


def _areas(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield how much of all swap areas of Solaris is used (swap -l)."""
    sizes, free = [r for r in rows if r["name"] == "size"], [r for r in rows if r["name"] == "free"]
    whole, left = sum(r["value"] for r in sizes), sum(r["value"] for r in free)
    if len(sizes) != len(free) or whole < LEAST_KB or left > whole:
        return
    pct = 100 * (whole - left) / whole
    words = f"{figure(pct, '%')} of the swap is used, {left:,.0f} of {whole:,.0f} kB are free"
    yield _one(free[0], USED, words, "swap_used_pct", pct, "%", 100 * FULL, {"event": "swap-used-up"}, 0.6)


def _bandwidth(case: CaseTables) -> Iterator[Sighting]:
    """Yield how busy interfaces of Windows were: bytes per second against the bits that they carry."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "name", "value"]
    ours = (
        pl.col("name")
        .str.to_lowercase()
        .str.contains(r"network (?:interface|adapter)\(.{1,120}\)\\(?:bytes total/sec|current bandwidth)$")
    )
    rows = (
        case.scan("counters", columns, ours & pl.col("value").is_between(0, LARGEST))
        .head(MOST_ROWS)
        .collect(engine="streaming")
    )
    for _, part in rows.sort("line_no").group_by("artifact_id", "part", maintain_order=True):
        by_item: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for row in part.iter_rows(named=True):
            item, _, what = row["name"].rpartition("\\")
            by_item.setdefault(item.rpartition("(")[2].rstrip(")"), {}).setdefault(what.lower(), []).append(row)
        for item, held in by_item.items():
            sent, can = held.get("bytes total/sec", []), [r["value"] for r in held.get("current bandwidth", [])]
            if not sent or not can or median(can) < 1e6:
                continue
            pct = 100 * 8 * median(r["value"] for r in sent) / median(can)
            words = f"{item} carried {figure(pct, '%')} of its {median(can) / 1e6:,.0f} Mbit/s"
            row = max(sent, key=lambda r: r["value"])
            seen: Seen = {"event": "interface-at-its-speed"}
            yield _one(row, item, words, "interface_busy_pct", pct, "%", BUSY_PCT, seen, min(1.0, pct / 100), len(sent))


def _links(names: frozenset[str], listing: list[tuple[Any, Any, Any]]) -> Iterator[Sighting]:
    """Yield links of a listing that are busy (nicstat), at half duplex (dladm), or below what their card is called after."""
    if {"int", "util", "sat"} <= names:
        busy = [
            {**row, "item": of["int"], "name": "%Util", "value": v}
            for row, of, _ in listing
            if (v := figure_of(of["util"])) is not None
        ]
        yield from _interfaces(busy)
    if {"link", "duplex", "state"} <= names or {"link", "duplex", "speed"} <= names:
        for row, of, _ in listing:
            if of["duplex"].strip().lower() == "half" and of.get("state", "up").strip().lower() == "up":
                words = f"{of['link']} works at half duplex" + (f" with {of['speed']} Mbit/s" if "speed" in of else "")
                yield _one(
                    row,
                    of["link"],
                    words,
                    "half_duplex_count",
                    1.0,
                    "count",
                    1.0,
                    {"event": "link-at-half-duplex"},
                    0.6,
                )
    if {"interfacedescription", "linkspeed"} <= names:
        for row, of, _ in listing:
            speed = _MBPS.fullmatch(of["linkspeed"].strip())
            if speed and _FASTER.search(of["interfacedescription"]) and of.get("status", "up").strip().lower() == "up":
                words = f"{of.get('name') or of['interfacedescription']} works with {of['linkspeed']}, a card for a gigabit or more"
                yield _one(
                    row,
                    "a link below its speed",
                    words,
                    "link_mbit",
                    float(speed[1]),
                    "Mbit/s",
                    0.0,
                    {"event": "link-below-its-speed"},
                    0.6,
                )


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
    rates = (
        pl.col("usr").is_null()
        & pl.col("vcx").is_between(0, LARGEST)
        & pl.col("icx").fill_null(0).is_between(0, LARGEST)
    )
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

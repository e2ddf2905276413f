"""Which step of the start of a system, or of the requests of a load test, holds its time.

Standing out: a unit of systemd whose own start takes 5 s and at least half of the way to the target (of all that is listed,
where no target is); a start of the system of a minute or longer, firmware and loader left out, with the stage that holds half
of it; times of units that cannot be, because several are equal and longer than a day; the part of a load test's requests that
holds at least half of them: connecting, the first byte of the answer, or what comes after it. Normal: starts in which no unit
holds half, shorter starts of the system, requests shorter than a tenth of a second.
Worked example: `NetworkManager.service @3.291s +1min 1.609s` on the way to `graphical.target @1min 11.852s`: 61.6 of 71.9 s.
Cost: one pass over the lines that the general reader timed. Source: systemd-analyze(1); ab(1), Connection Times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, MOST_LINES, Lines, Observer, Sighting, figure, place
from rules.observers.split import HALF, Part, holder

OBSERVER = Observer(
    "timed-steps",
    "Which step of a start or of a request holds its time?",
    ("logs", "counters"),
    {
        "linux": "journalctl -b -u UNIT -o short-monotonic; systemctl list-jobs, while it starts",
        "*": "the log of the step that takes longest",
    },
)

DEVICE = ".device"
START, WAY = "the start of ", "the way to "
"""Words with which the general reader names what systemd-analyze timed."""

STARTUP = "the system's start"
"""What was timed by the line of systemd about the whole start."""

STAGE = re.compile(r"(?:in|\+) ((?:[0-9.]+[a-z]+ ?)+) \(([a-z]+)\)")
PIECE = re.compile(r"([0-9.]+)(us|ms|min|s|h|d)")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BEFORE = ("firmware", "loader")
"""Stages before the system: those of servers take minutes."""

SLOW_S = 60.0
"""Minimum start of a system in seconds that somebody asks about: single units have 90 s by default."""

IMPOSSIBLE_S, ALIKE, EQUAL = 86_400.0, 3, 0.99
"""Times of a start that cannot be: longer than a day, of so many units, the shortest of which is nearly the longest."""

LEAST_S = 5.0
"""Minimum start of a unit in seconds that somebody asks about."""

STEPS = ("Connect", "Waiting", "Processing", "Total")
"""Times of ab: until connected, from there to the first byte and to the last, and all of it."""

REQUESTS, KEPT = "Complete requests", "Keep-Alive requests"
"""Totals of ab; it prints the second one only where it asked for connections to be kept (-k)."""

SAME = 0.01
"""Maximum spread of the upper half of the requests, relative to the median, at which all of them take the same time."""

MOST_ROWS = 10_000


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the unit that holds a start, then the part that holds a load test's requests."""
    op = pl.col("op").fill_null("")
    timed = (
        op.str.starts_with(START)
        | op.str.starts_with(WAY)
        | (op == STARTUP)
        | op.str.contains(r" of a request$|^a request of the load test$")
    )
    columns = [*PLACE_COLUMNS, "line_no", "op", "elapsed_s", "text"]
    found = case.scan("logs", columns, timed & pl.col("elapsed_s").is_finite()).sort("artifact_id", "line_no")
    kept = _kept_alive(case)
    for _, rows in found.head(MOST_ROWS).collect(engine="streaming").group_by("artifact_id", maintain_order=True):
        yield from _system(rows.to_dicts())
        yield from _unit(rows.to_dicts())
        yield from _load_test(rows.to_dicts(), kept.get(rows["artifact_id"][0], {}))


def _kept_alive(case: CaseTables) -> Mapping[int, Mapping[str, dict[str, Any]]]:
    """Return artifact -> the numbers of requests and of kept connections, for load tests that keep connections."""
    named = pl.col("name").is_in([REQUESTS, KEPT]) & (pl.col("value") >= 0)
    rows = case.scan("counters", ["artifact_id", "line_no", "name", "value"], named).head(MOST_ROWS)
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for row in rows.collect(engine="streaming").iter_rows(named=True):
        found.setdefault(row["artifact_id"], {})[row["name"]] = row
    return found


def stages(text: str) -> dict[str, float]:
    """Return the seconds of the stages of a start.

    >>> stages("Startup finished in 4.2s (firmware) + 900ms (kernel) + 1min 2s (userspace) = 1min 7.1s")
    {'firmware': 4.2, 'kernel': 0.9, 'userspace': 62.0}
    """
    return {m[2]: sum(float(n) * UNITS[u] for n, u in PIECE.findall(m[1])) for m in STAGE.finditer(text)}


def _system(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield the last start of the system, normal or not."""
    row = next((r for r in reversed(rows) if r["op"] == STARTUP), None)
    if row is None:
        return
    parts = {name: s for name, s in stages(row["text"]).items() if name not in BEFORE}
    whole = sum(parts.values())
    if not parts or whole <= 0:
        return
    name, most = max(parts.items(), key=lambda p: p[1])
    held = f", {figure(most, 's')} of it in the stage {name}" if most >= HALF * whole and len(parts) > 1 else ""
    yield Sighting(
        "split",
        STARTUP,
        f"The start of the system took {figure(whole, 's')}{held}",
        "start_s",
        whole,
        "s",
        (Lines(row["artifact_id"], row["line_no"], row["line_no"], "the stages of the start"),),
        **place(row),
        against="a start that nobody asks about",
        against_value=SLOW_S,
        seconds=most if whole >= SLOW_S else None,
        of_s=whole if whole >= SLOW_S else None,
        normal=whole < SLOW_S,
    )


def _impossible(starts: list[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield impossible times: several units with the same time, which is longer than a day."""
    long = sorted((r for r in starts if r["elapsed_s"] > IMPOSSIBLE_S), key=lambda r: r["line_no"])
    if len(long) < ALIKE or min(r["elapsed_s"] for r in long) < EQUAL * max(r["elapsed_s"] for r in long):
        return
    row = long[0]
    yield Sighting(
        "measurement",
        "times of units",
        f"{len(long):,} units are said to have taken the same time to start, {figure(row['elapsed_s'] / 86_400, 'days')}: that cannot be,"
        " so these times are wrong",
        "start_days",
        row["elapsed_s"] / 86_400,
        "days",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], "a time that cannot be") for r in long[:MOST_LINES]),
        **place(row),
        against="a day",
        against_value=1.0,
        n=len(long),
        seen=({"event": "unit-times-impossible"},),
    )


def _unit(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    starts = [r for r in rows if r["op"].startswith(START)]
    ways = [r for r in rows if r["op"].startswith(WAY)]
    if found := list(_impossible(starts)):
        yield from found
        return
    if not starts:
        return
    longest = max(starts, key=lambda r: r["elapsed_s"])
    way = max(ways, key=lambda r: r["elapsed_s"], default=None)
    each = {r["op"]: r["elapsed_s"] for r in sorted(starts, key=lambda r: r["elapsed_s"])}
    # A disk is a unit under each of its names, with the same time: all devices together count as the slowest of them.
    devices = max((took for op, took in each.items() if op.endswith(DEVICE)), default=0.0)
    apart = sum(took for op, took in each.items() if not op.endswith(DEVICE))
    whole = max(way["elapsed_s"], longest["elapsed_s"]) if way else apart + devices
    took, name = longest["elapsed_s"], longest["op"].removeprefix(START)
    if took < LEAST_S or took < HALF * whole or len(rows) < 2:
        return
    until = f"on the way to {way['op'].removeprefix(WAY)}" if way else f"of {len(each):,} units that are listed"
    cited = [longest, *([way] if way else [])]
    yield Sighting(
        "split",
        name,
        f"{name} itself took {figure(took, 's')} of the {figure(whole, 's')} {until}",
        "start_s",
        took,
        "s",
        tuple(Lines(r["artifact_id"], r["line_no"], r["line_no"], r["op"]) for r in cited),
        **place(longest),
        against="the whole start",
        against_value=whole,
        seconds=took,
        share=took / whole,
        of_s=whole,
        seen=({"event": "unit-starts-slowly", "process": name}, {"event": "unit-starts-slowly"}),
    )


def _load_test(rows: list[dict[str, Any]], kept: Mapping[str, dict[str, Any]]) -> Iterator[Sighting]:
    of = {step: next((r for r in rows if r["op"] == f"{step} of a request"), None) for step in STEPS}
    connect, first, last, total = (of[step] for step in STEPS)
    if not (connect and first and last and total) or total["elapsed_s"] < FELT_S:
        return
    whole = total["elapsed_s"]
    rest = max(0.0, last["elapsed_s"] - first["elapsed_s"])
    parts = [
        Part("Connect", "connecting", connect["elapsed_s"], ({"counter": "time_connect"},)),
        Part(
            "Waiting",
            "waiting for the first byte of the answer",
            first["elapsed_s"],
            ({"counter": "time_starttransfer"},),
        ),
        Part("Processing", "between the first byte of the answer and its end", rest, ({"counter": "time_total"},)),
    ]
    best = holder(parts, whole)
    if best is None:
        return
    shares = [r["elapsed_s"] for r in rows if r["op"] == "a request of the load test"]
    same = len(shares) >= 3 and shares[-1] - shares[0] <= SAME * shares[0]
    by_timer = same and best.name == "Processing"
    alike = (
        f"; half of the requests and the slowest differ by {figure(shares[-1] - shares[0], 's')} only" if same else ""
    )
    others = ", ".join(f"{figure(p.seconds, 's')} {p.words}" for p in parts if p is not best and p.seconds > 0)
    slowest = [r for r in rows if r["op"] == "a request of the load test"][-1:] if same else []
    yield Sighting(
        "split",
        f"request of the load test, {best.words}",
        f"Of a request of {figure(whole, 's')} (median), {figure(best.seconds, 's')} went by {best.words}, {others}{alike}",
        "duration_s",
        best.seconds,
        "s",
        tuple(
            Lines(r["artifact_id"], r["line_no"], r["line_no"], r.get("op") or r["name"])
            for r in (connect, last, first, total, *slowest, *(kept.values() if len(kept) == 2 else ()))
        ),
        **place(total),
        against="the whole request",
        against_value=whole,
        seconds=best.seconds,
        share=best.seconds / whole,
        of_s=whole,
        seen=({"event": "answer-ends-by-timer"},) if by_timer else best.seen,
        beside=f"{kept[KEPT]['value']:,.0f} of {kept[REQUESTS]['value']:,.0f} requests kept their connection"
        if len(kept) == 2
        else None,
    )

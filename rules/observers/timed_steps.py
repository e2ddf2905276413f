"""Which step of the start of a system, or of the requests of a load test, holds its time.

Standing out: a unit of systemd whose own start takes 5 s and at least half of the way to the target (of all that is listed,
where no target is); the part of a load test's requests that holds at least half of them: connecting, the first byte of the
answer, or what comes after it. Normal: starts in which no unit holds half, requests shorter than a tenth of a second.
Worked example: `NetworkManager.service @3.291s +1min 1.609s` on the way to `graphical.target @1min 11.852s`: 61.6 of 71.9 s.
Cost: one pass over the lines that the general reader timed. Source: systemd-analyze(1); ab(1), Connection Times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, Lines, Observer, Sighting, figure, place
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

START, WAY = "the start of ", "the way to "
"""Words with which the general reader names what systemd-analyze timed."""

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
        | op.str.contains(r" of a request$|^a request of the load test$")
    )
    columns = [*PLACE_COLUMNS, "line_no", "op", "elapsed_s"]
    found = case.scan("logs", columns, timed & pl.col("elapsed_s").is_finite()).sort("artifact_id", "line_no")
    kept = _kept_alive(case)
    for _, rows in found.head(MOST_ROWS).collect(engine="streaming").group_by("artifact_id", maintain_order=True):
        yield from _unit(rows.to_dicts())
        yield from _load_test(rows.to_dicts(), kept.get(rows["artifact_id"][0], {}))


def _kept_alive(case: CaseTables) -> Mapping[int, Mapping[str, dict[str, Any]]]:
    """Return how many requests were made and how many kept their connection, for each load test that asked for that."""
    named = pl.col("name").is_in([REQUESTS, KEPT]) & (pl.col("value") >= 0)
    rows = case.scan("counters", ["artifact_id", "line_no", "name", "value"], named).head(MOST_ROWS)
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for row in rows.collect(engine="streaming").iter_rows(named=True):
        found.setdefault(row["artifact_id"], {})[row["name"]] = row
    return found


def _unit(rows: list[dict[str, Any]]) -> Iterator[Sighting]:
    starts = [r for r in rows if r["op"].startswith(START)]
    ways = [r for r in rows if r["op"].startswith(WAY)]
    if not starts:
        return
    longest = max(starts, key=lambda r: r["elapsed_s"])
    way = max(ways, key=lambda r: r["elapsed_s"], default=None)
    each = {r["op"]: r["elapsed_s"] for r in sorted(starts, key=lambda r: r["elapsed_s"])}
    whole = max(way["elapsed_s"], longest["elapsed_s"]) if way else sum(each.values())
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

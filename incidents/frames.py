"""Frames of the timeline: which clocks share an axis, what lies on it, and the lanes' drawings for a window.

A frame holds one clock domain, or several whose offset was accepted; a clock's `add` puts its seconds on the frame's axis.
What is not aligned stands in a frame of its own and says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incidents.lanes.drawing import Drawing, Window
from incidents.lanes.registry import lanes
from rules.engine.read import ReadOnly

Json = Mapping[str, Any]

#: A frame shows so many strips: of a storm's three thousand threads those with the longest calls.
MOST_LANES = 40
MOST_REASONS = 3

WALL = ("wall-utc", "wall-local")

KINDS = {
    "truss": "system calls",
    "strace": "system calls",
    "sqlnet": "Oracle Net trace",
    "listener_log": "listener log",
}


@dataclass(frozen=True)
class Frame:
    """One axis: its name in the report, the clocks on it (rows of `report["clocks"]`), and where it begins and ends."""

    name: str
    clocks: tuple[Json, ...]
    t0: float
    t1: float

    @property
    def axis(self) -> str:
        """Say how to write times: `clock` as a time of day, `seconds` as seconds since the trace began."""
        return "clock" if self.clocks[0]["kind"] in WALL else "seconds"

    def add(self, clock: str | None) -> float | None:
        """Seconds to put on a time of `clock` to stand on this axis; None if the clock is not one of the frame."""
        return next((float(c.get("add") or 0.0) for c in self.clocks if c["clock"] == clock), None)


def frames_of(report: Json) -> list[Frame]:
    """Return the frames of a report that have a place in time, aligned ones first, then by artifact."""
    grouped: dict[str, list[Json]] = {}
    for clock in report.get("clocks", ()):
        if clock["kind"] != "none" and clock["t_begin"] is not None:
            grouped.setdefault(clock["frame"], []).append(clock)
    frames = []
    for name, clocks in grouped.items():
        begin = min(c["t_begin"] + float(c.get("add") or 0.0) for c in clocks)
        end = max(c["t_end"] + float(c.get("add") or 0.0) for c in clocks)
        margin = max((end - begin) * 0.02, 1e-4)
        frames.append(Frame(name, tuple(clocks), begin - margin, end + margin))
    return sorted(frames, key=lambda frame: (-len(frame.clocks), frame.clocks[0]["artifact"], frame.t0))


def title(frame: Frame, report: Json) -> str:
    """Name a frame by what stands on it.

    >>> report = {"artifacts": [{"id": 1, "kind": "truss"}]}
    >>> clock = {"clock": "1.1:1", "artifact": 1, "host": "db1", "kind": "trace-relative"}
    >>> title(Frame("A", (clock,), 0.0, 1.0), report)
    'db1, system calls'
    """
    kinds = {artifact["id"]: artifact["kind"] for artifact in report["artifacts"]}
    named = []
    for clock in frame.clocks:
        kind: str = kinds.get(clock["artifact"]) or "unknown evidence"
        what = KINDS.get(kind, kind)
        words = f"{clock['host'] or 'unknown host'}, {what}"
        if words not in named:
            named.append(words)
    return " and ".join(named) + (" on one clock" if len(frame.clocks) > 1 else "")


def why(frame: Frame, report: Json) -> str:
    """Say why these clocks share an axis, or why this one stands alone; empty if nothing was tried."""
    ours = {clock["clock"]: clock["host"] or clock["clock"] for clock in frame.clocks}
    tied, refused = [], []
    for row in report.get("clock_map", ()):
        both = {row["clock"], row["ref"]}
        if row["accepted"] and both <= ours.keys() and row["off_lo"] is not None and row["off_hi"] is not None:
            middle, half = (row["off_lo"] + row["off_hi"]) / 2, (row["off_hi"] - row["off_lo"]) / 2
            side = "ahead of" if middle >= 0 else "behind"
            tied.append(
                f"the clock of {ours[row['clock']]} is {abs(middle):.3f} s ± {half:.3f} {side} that of {ours[row['ref']]}"
                f" and drawn shifted; from {row['method']}"
            )
        elif not row["accepted"] and both & ours.keys() and row["reason"]:
            refused.append(f"apart: {row['reason']}")
    # A frame that holds several clocks says what ties them; one that stands alone says why it does.
    said = list(dict.fromkeys(tied or refused))
    if len(said) > MOST_REASONS:
        said = [*said[:MOST_REASONS], f"and {len(said) - MOST_REASONS} more"]
    own = "its own clock, seconds since the trace began" if frame.axis == "seconds" else "its own clock"
    return "; ".join(said) or own


def tables() -> list[str]:
    """Return the evidence tables that lanes draw."""
    return sorted({lane.table for lane, _ in lanes().values()})


def draw(frame: Frame, source: ReadOnly, window: Window) -> tuple[list[Drawing], int]:
    """Draw all lanes of a frame for a window; return the strips, the earliest first, and how many there are in all."""
    strips: list[Drawing] = []
    values = ", ".join(f"($clock{n}, $add{n})" for n in range(len(frame.clocks)))
    params: dict[str, Any] = {"start": window.start, "end": window.end, "pixel": window.pixel}
    for n, clock in enumerate(frame.clocks):
        params |= {f"clock{n}": clock["clock"], f"add{n}": float(clock.get("add") or 0.0)}
    for lane, paint in lanes().values():
        if source.has(lane.table):
            sql = f"with clocks(clock, shift) as (values {values}), {lane.query}"
            strips += paint(source.query(sql, params), window)
    longest = sorted(strips, key=lambda strip: -max(span.worst_s for span in strip.spans))[:MOST_LANES]
    return sorted(longest, key=lambda strip: min(span.start for span in strip.spans)), len(strips)


def bands(frame: Frame, findings: Iterable[Json]) -> list[dict[str, Any]]:
    """Return a band for each finding whose seconds lie on a clock of this frame; it covers the lanes of that clock only."""
    found = []
    for finding in findings:
        add = frame.add(finding.get("clock"))
        if add is None or finding.get("t_from") is None or finding.get("t_to") is None or finding["kind"] != "finding":
            continue
        found.append(
            {
                "finding": finding["key"],
                "start": finding["t_from"] + add,
                "end": finding["t_to"] + add,
                "label": finding["headline"],
                "severity": finding["severity"],
                "clocks": [finding["clock"]],
            }
        )
    return found


def culprits(findings: Iterable[Json]) -> list[dict[str, int]]:
    """Return the cited line ranges of causes: spans that end and begin there are painted as the culprit."""
    return [
        {"artifact": cited["artifact"], "line_from": cited["line_from"], "line_to": cited["line_to"]}
        for finding in findings
        if finding["group"] == "cause"
        for cited in finding["citations"]
    ]


def notes(frame: Frame, rows: Sequence[Json]) -> list[dict[str, Any]]:
    """Place people's notes on time ranges; rows: id, text, clock, t_from, t_to."""
    placed = []
    for row in rows:
        add = frame.add(row["clock"])
        if add is not None:
            placed.append(
                {"id": row["id"], "text": row["text"], "start": row["t_from"] + add, "end": row["t_to"] + add}
            )
    return placed

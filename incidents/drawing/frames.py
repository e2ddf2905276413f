"""Frames of the timeline: which clocks share an axis, what lies on it, and the drawings of its lanes for a window.

A frame holds one clock domain, or several whose offsets were accepted; a clock's `add` moves its seconds onto the
frame's axis. A clock that is not aligned has a frame of its own, which says why. Series without a clock share the last
frame, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from incidents.drawing import windows
from incidents.drawing.lane import Drawing, Lane, Window
from incidents.drawing.registry import lanes
from parsers.kinds import kind_of
from rules import registry
from rules.engine.read import ReadOnly

Json = Mapping[str, Any]

#: Maximum number of strips in a frame; of the 3,000 threads of a connection storm those with the longest calls are
#: shown.
MOST_LANES = 40
MOST_REASONS = 3
#: Maximum number of counters of one table in the chooser.
MOST_OFFERED = 400

WALL = ("wall-utc", "wall-local")
#: Name of the frame for series without a clock.
ORDER = "order"


@dataclass(frozen=True)
class Frame:
    """One axis: its name in the report, the clocks on it (rows of `report["clocks"]`), its begin and its end."""

    name: str
    clocks: tuple[Json, ...]
    t0: float
    t1: float

    @property
    def ordered(self) -> bool:
        """Return whether the axis counts places in an order instead of seconds."""
        return self.name == ORDER

    @property
    def axis(self) -> str:
        """Return how times are written: `clock` (time of day), `seconds` (since the trace began), `order` (number)."""
        if self.ordered:
            return "order"
        return "clock" if self.clocks[0]["kind"] in WALL else "seconds"

    @property
    def laid(self) -> windows.Axis:
        """Return the axis in the form that queries need."""
        shifts = {c["clock"]: 0.0 if self.ordered else float(c.get("add") or 0.0) for c in self.clocks}
        ends = {c["clock"]: float(c["t_end"]) for c in self.clocks if c["t_end"] is not None}
        return windows.Axis(shifts, ends, self.ordered)

    @property
    def epoch(self) -> float | None:
        """Return the seconds since 1970 UTC at 0 of the axis; None if the clock's zone is not UTC."""
        first = self.clocks[0]
        if self.ordered or first["kind"] != "wall-utc":
            return None
        base = datetime.fromisoformat(first.get("base") or "1970-01-01T00:00:00")
        return (base.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() - float(first.get("add") or 0.0)

    def add(self, clock: str | None) -> float | None:
        """Return the seconds to add to a time of `clock` to place it on this axis; None for a foreign clock."""
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
    """Name a frame by the hosts and kinds on it.

    >>> report = {"artifacts": [{"id": 1, "kind": "truss"}]}
    >>> clock = {"clock": "1.1:1", "artifact": 1, "host": "db1", "kind": "trace-relative"}
    >>> title(Frame("A", (clock,), 0.0, 1.0), report)
    'db1, system calls'
    """
    if frame.ordered:
        return "In their order, no clock"
    kinds = {artifact["id"]: artifact["kind"] for artifact in report["artifacts"]}
    named = []
    for clock in frame.clocks:
        kind: str = kinds.get(clock["artifact"]) or "unknown evidence"
        what = kind_of(kind).axis or kind
        words = f"{clock['host'] or 'unknown host'}, {what}"
        if words not in named:
            named.append(words)
    return " and ".join(named) + (" on one clock" if len(frame.clocks) > 1 else "")


def why(frame: Frame, report: Json) -> str:
    """Say why these clocks share an axis, or why this one stands alone; empty if no offset was tried."""
    if frame.ordered:
        return "places in each list; nothing shows which of them happened at the same time"
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
    # A frame of several clocks says what ties them; a frame of one clock says why it stands alone.
    reasons = list(dict.fromkeys(tied or refused))
    if len(reasons) > MOST_REASONS:
        reasons = [*reasons[:MOST_REASONS], f"and {len(reasons) - MOST_REASONS} more"]
    own = "its own clock, seconds since the trace began" if frame.axis == "seconds" else "its own clock"
    return "; ".join(reasons) or own


def tables() -> list[str]:
    """Return the tables that lanes draw, and the table of waits between lanes."""
    return sorted({lane.table for lane, _ in lanes().values()} | {"wait_edges"})


def in_order(report: Json, source: ReadOnly) -> Frame | None:
    """Return the frame of series without a clock, as long as the longest of them; None without such series.

    A single sample is not a series, unless its lane is shown by default. Connects in order are left out: they have a
    figure.
    """
    clocks = tuple(c for c in report.get("clocks", ()) if c["t_begin"] is None)
    if not clocks:
        return None
    laid = Frame(ORDER, clocks, 0.0, 1.0).laid
    places: dict[tuple[str, str], bool] = {}
    for lane, _ in lanes().values():
        if lane.order and lane.timed:
            places[lane.table, lane.order] = lane.shown or places.get((lane.table, lane.order), False)
    longest = 0.0
    for (table, order), shown in sorted(places.items()):
        if source.has(table):
            asked = f"select min({order}) as low, max({order}) as high from {table} s where {laid.clocks()}"
            found = source.query(asked)[0]
            if found["high"] is not None and (shown or found["high"] > found["low"]):
                longest = max(longest, float(found["high"]))
    return Frame(ORDER, clocks, 0.0, longest + 0.5) if longest else None


def draw(
    frame: Frame,
    source: ReadOnly,
    window: Window,
    cache: Path | None = None,
    add: Iterable[str] = (),
    hide: Iterable[str] = (),
) -> tuple[list[Drawing], int]:
    """Draw the lanes of a frame for a window: the default lanes and those in `add`, without those in `hide`.

    Return the strips by host and process, and the number of strips before the limit. Above the limit the strips with
    the longest calls are drawn.
    """
    hidden = set(hide)
    names = [name for name, (lane, _) in lanes().items() if lane.shown]
    chosen = [windows.choice(name) for name in dict.fromkeys([*names, *add]) if name not in hidden]
    there = tables_of(frame, source)
    strips, in_all = windows.draw(
        [one for one in chosen if one and one.lane.table in there], frame.laid, window, source, cache
    )
    longest = sorted(strips, key=lambda strip: (strip.kind == "span", -strip.worst))[:MOST_LANES]
    return in_groups(longest), in_all


def tables_of(frame: Frame, source: ReadOnly) -> set[str]:
    """Return the tables in which artifacts of the frame have rows, and the derived tables that may have some."""
    manifests = source.case.manifests
    held = {
        table
        for number in {clock["artifact"] for clock in frame.clocks} & manifests.keys()
        for batch in manifests[number]["batches"]
        for table, rows in batch["tables"].items()
        if rows
    }
    return held | (set(registry.derived()) if "syscalls" in held else set())


def in_groups(strips: Sequence[Drawing]) -> list[Drawing]:
    """Order strips by host, then counters, then process (the earliest first) with its threads, then events.

    >>> pids = [Drawing("syscalls", "1.1:1", "db1", f"{pid}", "s", process=pid) for pid in (8, 7)]
    >>> [strip.label for strip in in_groups([*pids, Drawing("cpu", "1.1:1", "db1", "CPU", "%", kind="counter")])]
    ['CPU', '7', '8']
    """
    began: dict[tuple[Any, ...], float] = {}
    for strip in strips:
        for group in ((strip.host,), (strip.host, strip.clock, strip.process)):
            began[group] = min(began.get(group, strip.start), strip.start)
    first = {"counter": 0, "span": 1, "event": 2}

    def key(strip: Drawing) -> tuple[Any, ...]:
        process = strip.process if strip.kind == "span" else None
        start = strip.start if process is None else began[strip.host, strip.clock, process]
        return (
            began[strip.host,],
            strip.host or "~",
            first[strip.kind],
            start,
            process or 0,
            strip.lane != "processes",
            strip.start,
            strip.label,
        )

    return sorted(strips, key=key)


def offered(frame: Frame, source: ReadOnly) -> list[dict[str, Any]]:
    """Return the lanes that have rows in a frame, by group, for the chooser; a lane with `args` once for each value."""
    laid = frame.laid
    there = tables_of(frame, source)
    found: list[dict[str, Any]] = []
    by_table: dict[str, list[tuple[str, Lane]]] = {}
    for name, (lane, _) in lanes().items():
        if lane.table in there and source.has(lane.table) and (lane.order if frame.ordered else lane.timed):
            by_table.setdefault(lane.table, []).append((name, lane))
    for table, offers in by_table.items():
        columns = {name: name.partition(".")[2] for name, lane in offers if "." in name}
        counts = "".join(f", count(s.{column}) as c{n}" for n, column in enumerate(columns.values()))
        row = source.query(f"select count(*) as n{counts} from {table} s where {laid.clocks()}")[0]
        filled = {name: row[f"c{n}"] for n, name in enumerate(columns)}
        for name, lane in offers:
            if not filled.get(name, row["n"]):
                continue
            if not lane.args:
                found.append({"name": name, "title": lane.title, "group": lane.group, "shown": lane.shown})
                continue
            listed = ", ".join(f"coalesce(s.{key}, '') as {key}" for key in lane.args)
            values = source.query(
                f"select distinct {listed} from {table} s where {laid.clocks()} order by all limit {MOST_OFFERED}"
            )
            for value in values:
                words = [str(value[key]) for key in lane.args]
                found.append(
                    {
                        "name": f"{name}:{'|'.join(words)}",
                        "title": " ".join(filter(None, words)),
                        "group": lane.group,
                        "shown": False,
                    }
                )
    return sorted(found, key=lambda offer: (offer["group"], not offer["shown"], offer["title"]))


def bands(frame: Frame, findings: Iterable[Json]) -> list[dict[str, Any]]:
    """Return a band for each finding whose seconds lie on a clock of this frame; it covers that clock's lanes only."""
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
    """Return the cited line ranges of causes; spans with exactly these lines are painted as the culprit."""
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


def markers(frame: Frame, rows: Sequence[Json]) -> list[dict[str, Any]]:
    """Place typed instants on an axis whose clock is known to be UTC; rows: id, label, kind, at."""
    if (epoch := frame.epoch) is None:
        return []
    return [{"id": row["id"], "label": row["label"], "kind": row["kind"], "at": row["at"].timestamp() - epoch} for row in rows]  # fmt: skip


class Symptom(Protocol):
    """Where the symptom lies in time, as somebody stated it."""

    symptom_clock: str | None
    symptom_from: float | None
    symptom_to: float | None
    symptom_text: str | None


def bad(frame: Frame, said: Symptom) -> dict[str, Any] | None:
    """Return the range that somebody marked as bad, if it lies on a clock of this frame."""
    add = frame.add(said.symptom_clock)
    if add is None or said.symptom_from is None or said.symptom_to is None:
        return None
    return {
        "start": said.symptom_from + add,
        "end": said.symptom_to + add,
        "label": said.symptom_text or "marked as bad",
    }

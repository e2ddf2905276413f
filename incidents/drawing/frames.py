"""Frames of the timeline: which clocks share an axis, what lies on it, and the drawings of its lanes for a window.

A frame holds one clock domain, or several whose offsets were accepted; a clock's `add` moves its seconds onto the
frame's axis. A clock that is not aligned has a frame of its own, which says why. Series without a clock share the last
frame, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from incidents.drawing import axis_times, windows
from incidents.drawing.axis_times import UTC_NAME, is_zone, zone_shift_at
from incidents.drawing.lane import Drawing, Lane, Sample, Span, Window
from incidents.drawing.registry import lanes
from parsers.kinds import kind_of
from rules import registry
from rules.clocks.readings import WALL, absolute, base_of
from rules.clocks.readings import epoch as instant
from rules.engine.read import ReadOnly
from rules.model import Clock

Json = Mapping[str, Any]

#: Maximum number of strips in a frame; of the 3,000 threads of a connection storm those with the longest calls are
#: shown.
MOST_LANES = 40
MOST_REASONS = 3
#: Maximum number of counters of one table in the chooser.
MOST_OFFERED = 400

#: Share of the axis that is left free at each side of the first and last stamp.
MARGIN = 0.02
#: Half of the length (s) of the window in which the marks of a single moment are looked up.
HAIR_S = 1e-4
#: What the seconds of a clock without times of day count from.
COUNTED_FROM = {
    "trace-relative": "since the trace began",
    "boot-relative": "since the host started",
    "interval": "since the first sample",
}
#: Name of the frame for series without a clock.
ORDER = "order"


@dataclass(frozen=True)
class Frame:
    """One axis: its name in the report, the clocks on it (rows of `report["clocks"]`), its begin and its end.

    Without a length (`t0 == t1`) it is no axis: all that it holds was measured at one moment. `zone` is the zone to
    show instants in; without it they are shown in UTC.
    """

    name: str
    clocks: tuple[Json, ...]
    t0: float
    t1: float
    zone: str | None = None

    @property
    def ordered(self) -> bool:
        """Return whether the axis counts places in an order instead of seconds."""
        return self.name == ORDER

    @property
    def axis(self) -> str:
        """Return how times are written: `clock` (time of day), `seconds` (since the trace began), `order` (number).

        `value` says that there is no axis: the frame holds one moment only.
        """
        return "value" if self.t0 == self.t1 else self.scale

    @property
    def scale(self) -> str:
        """Return how times of this frame are written, even if they are all the same: `clock`, `seconds` or `order`.

        If any of the aligned clocks has times of day, all times of the frame are written as times of day.
        """
        if self.ordered:
            return "order"
        return "clock" if any(clock["kind"] in WALL for clock in self.clocks) else "seconds"

    @property
    def laid(self) -> windows.Axis:
        """Return the axis in the form that queries need."""
        shifts = {c["clock"]: 0.0 if self.ordered else float(c.get("add") or 0.0) for c in self.clocks}
        ends = {c["clock"]: float(c["t_end"]) for c in self.clocks if c["t_end"] is not None}
        return windows.Axis(shifts, ends, self.ordered)

    @cached_property
    def epoch(self) -> float | None:
        """Return the seconds since 1970 UTC at 0 of the axis; None if no clock on it tells."""
        known = None if self.ordered else next((row for row in self.clocks if absolute(_clock(row))), None)
        return base_of(_clock(known)) - _add(known) if known else None

    @cached_property
    def shown_zone(self) -> str | None:
        """Return the zone for the frame's times of day: the room's zone for instants, else the zone of the stamps.

        None if it is not known. Instants are shown in UTC if the zone's offset changes within the frame, since one axis
        cannot show both offsets.
        """
        if self.scale != "clock":
            return None
        if (epoch := self.epoch) is None:
            return self._wall["zone"] if self._wall.get("zone") else None
        ahead = {zone_shift_at(self.zone, epoch + t) for t in (self.t0, self.t1)}
        return self.zone if len(ahead) == 1 and None not in ahead else UTC_NAME

    @cached_property
    def zero(self) -> float:
        """Return what to add to a time on the axis to get the seconds since 1970 that a clock on the wall showed.

        Clocks that show no date count from the midnight of their first day.
        """
        if self.scale != "clock":
            return 0.0
        if (epoch := self.epoch) is not None:
            return epoch + (zone_shift_at(self.shown_zone, epoch + self.t0) or 0.0)
        base = instant(self._wall.get("base") or "")
        return (base or 0.0) - _add(self._wall)

    @property
    def dated(self) -> bool:
        """Return whether the days of this axis are known, in their year."""
        return self.scale == "clock" and (self.epoch is not None or bool(self._wall.get("base")))

    @cached_property
    def _wall(self) -> Json:
        """Return a clock with a time of day: one with a date if there is any, the frame's reference before others."""
        walls = [clock for clock in self.clocks if clock["kind"] in WALL]
        return min(walls, key=lambda clock: (not clock.get("base"), _add(clock) != 0.0))

    @property
    def when(self) -> str:
        """Write the day of the axis, which its ticks do not repeat, and its zone; empty if it shows no times of day."""
        if self.scale != "clock":
            return ""
        if not self.dated and not self._yearless:
            return "the day is not known"
        begin, end = (self._day(t) for t in self.within)
        days = begin if begin == end else f"{begin} to {end}"
        if self._yearless:
            return f"{days}, the year is not known"
        return days + (f", {zone}" if (zone := self.shown_zone) else "")

    @property
    def _yearless(self) -> bool:
        return not self.dated and self._wall.get("lacks") == "year"

    def _day(self, t: float) -> str:
        """Write the date of a time on the axis, without the year if that is not known."""
        return axis_times.day_of_year(self.zero + t) if self._yearless else axis_times.day(self.zero + t)

    @property
    def within(self) -> tuple[float, float]:
        """Return begin and end of what the clocks show; the axis has a margin at both sides of it."""
        return (
            max(self.t0, min((c["t_begin"] + _add(c) for c in self.clocks), default=self.t0)),
            min(self.t1, max((c["t_end"] + _add(c) for c in self.clocks), default=self.t1)),
        )

    def add(self, clock: str | None) -> float | None:
        """Return the seconds to add to a time of `clock` to place it on this axis; None for a foreign clock."""
        return next((_add(c) for c in self.clocks if c["clock"] == clock), None)

    def written(self, at: float, digits: int = 3) -> str:
        """Write a place on the axis: a time of day, seconds since the trace began, or a place in the order."""
        if self.scale == "order":
            return f"{at:.0f}"
        if self.scale == "seconds":
            return f"{at:.{digits}f} s"
        return axis_times.time_of_day(at, self.zero, digits)

    def moment(self) -> str:
        """Write when all of a frame without a length was measured: with its day, as far as that is known."""
        if self.scale == "order":
            return ""
        shown = self.written(self.t0, 0 if self.scale == "clock" and round(self.zero + self.t0, 3) % 1 == 0 else 3)
        if self.scale == "seconds":
            return shown
        day = f"{self._day(self.t0)} " if self.dated or self._yearless else ""
        return f"{day}{shown}" + (f" {zone}" if (zone := self.shown_zone) else "")


def _add(row: Json) -> float:
    return float(row.get("add") or 0.0)


def _clock(row: Json) -> Clock:
    """Return the fields of a report's clock that tell what its readings mean."""
    return Clock(
        row["clock"],
        row.get("artifact") or 0,
        row.get("part") or 0,
        row["kind"],
        row.get("base"),
        row.get("zone"),
        row.get("host"),
        (),
        row.get("t_begin"),
        row.get("t_end"),
        row.get("frame") or "",
        lacks=row.get("lacks") or (None if row.get("base") else "day"),
    )


def frames_of(report: Json) -> list[Frame]:
    """Return the frames of a report that have a place in time, aligned ones first, then by artifact.

    A frame whose clocks show only one moment gets a minimal length (`HAIR_S`) here, so that it can be queried; `fitted`
    removes it again.
    """
    grouped: dict[str, list[Json]] = {}
    for clock in report.get("clocks", ()):
        if clock["kind"] != "none" and clock["t_begin"] is not None:
            grouped.setdefault(clock["frame"], []).append(clock)
    frames = []
    for name, clocks in grouped.items():
        begin, end = _stamps(clocks)
        margin = (end - begin) * MARGIN or HAIR_S
        frames.append(Frame(name, tuple(clocks), begin - margin, end + margin, _zone(clocks, report)))
    return sorted(frames, key=lambda frame: (-len(frame.clocks), frame.clocks[0]["artifact"], frame.t0))


def _stamps(clocks: Iterable[Json]) -> tuple[float, float]:
    """Return the first and last stamp of clocks, on their axis."""
    ends = [(c["t_begin"] + _add(c), c["t_end"] + _add(c)) for c in clocks]
    return min(begin for begin, _ in ends), max(end for _, end in ends)


def _zone(clocks: Iterable[Json], report: Json) -> str | None:
    """Return the time zone of a frame's hosts; if they have none, the zone of the room's hosts if they all share it."""
    own = next((clock["zone"] for clock in clocks if is_zone(clock.get("zone"))), None)
    room = {clock["zone"] for clock in report.get("clocks", ()) if is_zone(clock.get("zone"))}
    return own or (room.pop() if len(room) == 1 else None)


def fitted(frame: Frame, strips: Sequence[Drawing]) -> Frame | None:
    """Return a frame with the axis of what is drawn on it: of the strips' clocks and of their longest marks.

    A frame of a single moment gets no axis (`t0 == t1`). Samples at one moment are values, whatever interval they
    cover; only a call or wait with a length needs an axis. Return None if nothing is drawn there.
    """
    marks: list[Span | Sample] = []
    for strip in strips:
        marks += strip.spans
        marks += strip.samples
    ends = {mark.end for mark in marks}
    if frame.ordered:
        return None if not ends else frame if len(ends) > 1 else replace(frame, t0=max(ends), t1=max(ends))
    shown = {strip.clock for strip in strips}
    begin, end = _stamps([c for c in frame.clocks if c["clock"] in shown] or frame.clocks)
    if not marks:
        return None if begin == end else frame
    single = len(ends) == 1 and all(mark.n == 1 for mark in marks)
    if (single or begin == end) and not any(span.end > span.start for strip in strips for span in strip.spans):
        return replace(frame, t0=max(ends), t1=max(ends))
    begin, end = min([begin, *(mark.start for mark in marks)]), max([end, *(mark.end for mark in marks)])
    margin = (end - begin) * MARGIN
    return replace(frame, t0=begin - margin, t1=end + margin)


def title(frame: Frame, report: Json) -> str:
    """Name a frame by the hosts and kinds on it; hosts with one kind, and kinds of one host, are named together.

    >>> report = {"artifacts": [{"id": 1, "kind": "truss"}, {"id": 2, "kind": "truss"}, {"id": 3, "kind": "vmstat"}]}
    >>> hosts = {1: "db1", 2: "db2", 3: "db1"}
    >>> def named(*artifacts):
    ...     clocks = [{"clock": f"{n}.1:1", "artifact": n, "host": hosts[n], "kind": "trace-relative"} for n in artifacts]
    ...     return title(Frame("A", tuple(clocks), 0.0, 1.0), report)
    >>> named(1), named(1, 2), named(1, 3)
    ('db1, system calls', 'db1 and db2, system calls', 'db1, system calls and vmstat')
    """
    if frame.ordered:
        return "In their order"
    kinds = {artifact["id"]: artifact["kind"] for artifact in report["artifacts"]}
    hosts: dict[str, list[str]] = {}
    for clock in frame.clocks:
        kind: str = kinds.get(clock["artifact"]) or "unknown evidence"
        named = hosts.setdefault(kind_of(kind).axis or kind, [])
        if (host := clock["host"] or "unknown host") not in named:
            named.append(host)
    named_by: dict[str, list[str]] = {}
    for what, named in hosts.items():
        named_by.setdefault(" and ".join(named), []).append(what)
    return "; ".join(f"{named}, {' and '.join(listed)}" for named, listed in named_by.items())


def reason(frame: Frame, report: Json) -> str:
    """Say in one short line which clock an axis has; `why` gives the figures and what was tried.

    >>> clock = {"clock": "1.1:1", "artifact": 1, "host": "db1", "kind": "trace-relative"}
    >>> reason(Frame("A", (clock,), 0.0, 1.0), {})
    'own clock, seconds since the trace began'
    >>> other = {"clock": "2.1:1", "artifact": 2, "host": "web1", "kind": "wall-local"}
    >>> tie = {"clock": "2.1:1", "ref": "1.1:1", "accepted": True, "off_lo": 0.157, "off_hi": 0.237}
    >>> reason(Frame("A", (clock, other), 0.0, 1.0), {"clock_map": [tie]})
    'clocks aligned: web1 −0.197 ± 0.040 s'
    >>> reason(Frame("A", (clock, {**other, "host": "db1"}), 0.0, 1.0), {"clock_map": [tie]})
    'one host, one clock'
    """
    if frame.ordered:
        return "no clock: places in each list"
    if len(frame.clocks) > 1:
        hosts = {clock["clock"]: clock["host"] for clock in frame.clocks}
        if len(set(hosts.values())) == 1 and None not in hosts.values():
            return "one host, one clock"
        moved = []
        for row in report.get("clock_map", ()):
            between = hosts.get(row["clock"]), hosts.get(row["ref"])
            if (
                row["accepted"]
                and None not in between
                and between[0] != between[1]
                and None not in (row["off_lo"], row["off_hi"])
            ):
                middle, half = (row["off_lo"] + row["off_hi"]) / 2, (row["off_hi"] - row["off_lo"]) / 2
                moved.append(f"{between[0]} {'−' if middle > 0 else '+'}{abs(middle):.3f} ± {half:.3f} s")
        more = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
        return f"clocks aligned: {moved[0]}{more}" if moved else "clocks aligned"
    ours = {clock["clock"] for clock in frame.clocks}
    if any(not row["accepted"] and ours & {row["clock"], row["ref"]} for row in report.get("clock_map", ())):
        return "own clock: no common moment with the other frames"
    if frame.scale == "seconds":
        return f"own clock, seconds {COUNTED_FROM.get(frame.clocks[0]['kind'], 'of an unknown zero')}"
    return "own clock"


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
    own = "its own clock"
    if frame.scale == "seconds":
        own += f", seconds {COUNTED_FROM.get(frame.clocks[0]['kind'], 'of an unknown zero')}"
    borrowed = dict.fromkeys(clock["base_why"] for clock in frame.clocks if clock.get("base_why"))
    return "; ".join([*(reasons or [own]), *borrowed])


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


@contextmanager
def alone(frame: Frame, source: ReadOnly) -> Iterator[None]:
    """Let queries inside the context open the files of this frame's artifacts only: a room has many, a frame few."""
    with source.over({int(clock["artifact"]) for clock in frame.clocks}):
        yield


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

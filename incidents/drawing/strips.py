"""Find the strips of a frame that findings cite, and the waits that lead from one strip to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from incidents.drawing import windows
from incidents.drawing.frames import Frame
from incidents.drawing.lane import Window
from incidents.drawing.overviews import rows_of
from incidents.drawing.registry import lanes
from rules.engine.read import ReadOnly

Json = Mapping[str, Any]
Strip = tuple[str, str]
"""Lane and label of a strip, as `Drawing` names them."""

CALLS = ("syscalls", "sqlnet")
#: Maximum number of waits drawn at once; the longest are drawn.
MOST_WAITS = 200


def at_lines(
    frame: Frame, source: ReadOnly, lines: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], tuple[Strip, float]]:
    """Return (artifact, line) -> the strip with the row of this line, and the row's end on the axis."""
    wanted: dict[int, set[int]] = {}
    for artifact, line in lines:
        wanted.setdefault(artifact, set()).add(line)
    if not wanted or frame.ordered:
        return {}
    own = " or ".join(
        f"(s.artifact_id = {int(artifact)} and s.line_no in ({', '.join(str(int(n)) for n in sorted(numbers))}))"
        for artifact, numbers in wanted.items()
    )
    found: dict[tuple[int, int], tuple[Strip, float]] = {}
    window = Window(frame.t0, frame.t1, 1)
    for name in CALLS:
        lane, draw = lanes()[name]
        if not source.has(lane.table):
            continue
        rows = source.query(
            f"select r.* from ({rows_of(lane, f'{frame.laid.clocks()} and ({own})')}) r where r.t1 is not null"
        )
        for row in rows:
            whole = row | {"n": 1, "total_s": 0.0, "worst_s": 0.0, "func": row.get("ended_by")}
            strip = draw([whole], window)[0]
            at = row["t1"] + frame.laid.shifts[row["clock"]]
            found[row["artifact_id"], row["line_to"]] = ((name, strip.label), at)
    return found


def cited(bands: Sequence[Json], findings: Iterable[Json], frame: Frame, source: ReadOnly) -> list[dict[str, Any]]:
    """Add to each band the strips that its finding cites; a band without `strips` covers all strips of its clock."""
    ends = {
        finding["key"]: [(c["artifact"], line) for c in finding["citations"] for line in (c["line_from"], c["line_to"])]
        for finding in findings
    }
    places = at_lines(frame, source, (line for band in bands for line in ends.get(band["finding"], ())))
    laid = []
    for band in bands:
        own = sorted({places[line][0] for line in ends.get(band["finding"], ()) if line in places})
        laid.append({**band, "strips": own} if own else dict(band))
    return laid


def waits(frame: Frame, source: ReadOnly) -> list[dict[str, Any]]:
    """Return the waits of traced requests that were followed, each from the waiting strip to the strip it waited for.

    `to` is None if the other side has no strip in this frame, because its clock is tied to none of the frame: no arrow
    is drawn then, and `from_who` and `to_who` name both sides. The table `wait_edges` comes from the last evaluation;
    without it there are no waits.
    """
    if frame.ordered or source.case.kept("wait_edges") is None:
        return []
    names = ", ".join(windows.quoted(clock) for clock in frame.laid.shifts)
    edges = [
        edge
        for edge in source.case.derived("wait_edges").sort("wait_s", descending=True).to_dicts()
        if edge["clock"] is None or edge["clock"] in frame.laid.shifts
    ][:MOST_WAITS]
    places = at_lines(frame, source, ((edge["artifact_id"], edge["line_to"]) for edge in edges))
    known: dict[str, list[tuple[str | None, Any]]] = {}
    for name in CALLS:
        if source.has(name):
            lane, draw = lanes()[name]
            keys = ", ".join(("clock", "host", *lane.keys))
            rows = source.query(f"select distinct {keys} from {name} where clock in ({names})")
            blank = dict.fromkeys((*lane.fields, "func", "line_from", "line_to", "artifact_id"))
            blank |= dict.fromkeys(("t0", "t1", "n", "total_s", "worst_s"), 0)
            known[name] = [(row["clock"], draw([blank | row], Window(0, 1, 1))[0]) for row in rows]
    found = []
    for edge in edges:
        here = places.get((edge["artifact_id"], edge["line_to"]))
        if here is None:
            continue
        away = edge["to_artifact"] is not None and (edge["to_artifact"], edge["to_clock"]) != (
            edge["artifact_id"],
            edge["clock"],
        )
        if edge["to_artifact"] is None:
            there = [("sqlnet", s.label) for _, s in known.get("sqlnet", []) if s.host == edge["to_host"]]
        else:
            there = [
                ("syscalls", s.label)
                for clock, s in known.get("syscalls", [])
                if (clock, s.host, s.process) == (edge["to_clock"], edge["to_host"], edge["to_pid"]) and edge["to_lwp"] in (None, s.lwp)
            ]  # fmt: skip
        there = [strip for strip in there if strip != here[0]]
        if there or away:
            found.append(
                {
                    "from": here[0],
                    "to": there[0] if there else None,
                    "end": here[1],
                    "kind": edge["kind"],
                    "wait_s": edge["wait_s"],
                    "share": edge["share"],
                    "artifact": edge["artifact_id"],
                    "line_from": edge["line_from"],
                    "line_to": edge["line_to"],
                    "from_who": _who(edge["from_pid"], edge["from_host"]),
                    "to_who": _who(edge["to_pid"], edge["to_host"]),
                }
            )
    return found


def _who(pid: int | None, host: str | None) -> str:
    return " on ".join(filter(None, (f"pid {pid}" if pid is not None else None, host or "an unknown host")))


def elsewhere(found: Iterable[Json]) -> list[str]:
    """Describe in words the waits that lead out of the frame: an arrow there would claim a place on this clock."""
    lines: dict[tuple[str, str], dict[tuple[int, int], float]] = {}
    for edge in found:
        if edge["to"] is None:
            # A wait has one row for each request that it is part of.
            lines.setdefault((edge["from_who"], edge["to_who"]), {})[edge["artifact"], edge["line_to"]] = edge["wait_s"]
    return [
        f"{waiter} waits {len(each)} time{'' if len(each) == 1 else 's'}, {sum(each.values()):.3f} s in all, for {author}, whose clock is "
        "not tied to this one: no arrow is drawn."
        for (waiter, author), each in lines.items()
    ]

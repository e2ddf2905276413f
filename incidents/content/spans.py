"""When something was, in words and as a place on the timeline: from, to, how long, and how sure the clock is of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incidents.content.references import time_place
from incidents.drawing.frames import COUNTED_FROM, Frame, frames_of
from rules.writing.messages import duration


@dataclass(frozen=True)
class Span:
    """A stretch on one clock. `counted`: the day and zone of its times, or what its seconds count from."""

    clock: str
    t_from: float
    t_to: float
    begin: str
    end: str
    length: str
    counted: str
    sure: str
    href: str


def span_of(report: Mapping[str, Any], slug: str, raw: Mapping[str, Any]) -> Span | None:
    """Return when a finding or observation of a report was; None where it has no seconds or no clock with an axis."""
    clock, start, end = raw.get("clock"), raw.get("t_from"), raw.get("t_to")
    if clock is None or start is None or end is None or not report.get("clocks"):
        return None
    for frame in frames_of(dict(report)):
        add = frame.add(clock)
        if add is not None:
            return Span(
                clock=clock,
                t_from=start,
                t_to=end,
                begin=frame.written(start + add),
                end=frame.written(end + add),
                length=duration(end - start) if end > start else "one moment",
                counted=_counted(frame, clock),
                sure=_sure(frame, clock),
                href=time_place(slug, clock, start, end),
            )
    return None


def _counted(frame: Frame, clock: str) -> str:
    if frame.scale == "clock":
        return frame.when
    kind = next(row["kind"] for row in frame.clocks if row["clock"] == clock)
    return COUNTED_FROM.get(kind, "")


def _sure(frame: Frame, clock: str) -> str:
    """Say how far the times may be off against other clocks; both ends are off by the same, so the length is exact."""
    if len(frame.clocks) == 1:
        return "by its own clock"
    err = next(float(row.get("err") or 0.0) for row in frame.clocks if row["clock"] == clock)
    return f"± {duration(err)} against other clocks" if err else "other clocks are laid on this one"

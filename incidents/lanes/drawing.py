"""What a lane is and what it draws: plain data, so that a notebook can plot it too.

Times are seconds on the axis of the frame that a lane stands in, lengths are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: How a span is painted: where the culprit of a cause is, waiting, busy or other, and where nothing was traced.
CLASSES = ("culprit", "wait", "rest", "untraced")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Window:
    """The visible stretch of one frame: `start` to `end` in seconds of its axis, `px` pixels wide."""

    start: float
    end: float
    px: int

    @property
    def pixel(self) -> float:
        """Seconds in one pixel."""
        return max(self.end - self.start, 1e-9) / max(self.px, 1)


@dataclass(frozen=True)
class Lane:
    """A kind of strip: `query` is SQL over the evidence tables, with the relation `clocks(clock, shift)` before it.

    The query knows `$start`, `$end` (seconds of the axis) and `$pixel` (seconds a pixel). It merges what is narrower
    than a pixel, but keeps number, sum and the largest of what it merged, with its line.
    """

    title: str
    table: str
    unit: str
    query: str


@dataclass(frozen=True)
class Span:
    """One bar: a call, a wait, or `n` of them that share a pixel (`total_s` together, the longest being `worst_s`)."""

    start: float
    end: float
    label: str
    cls: str
    artifact: int
    line_from: int
    line_to: int
    at_most: bool
    n: int
    total_s: float
    worst_s: float

    def as_list(self) -> list[Any]:
        return [
            round(self.start, 7),
            round(self.end, 7),
            self.label,
            self.cls,
            self.artifact,
            self.line_from,
            self.line_to,
            int(self.at_most),
            self.n,
            round(self.total_s, 7),
            round(self.worst_s, 7),
        ]


@dataclass(frozen=True)
class Drawing:
    """One strip: all its spans share host, clock and thread (`label`)."""

    lane: str
    clock: str
    host: str | None
    label: str
    unit: str
    spans: Sequence[Span] = field(default_factory=tuple)
    rows: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "lane": self.lane,
            "clock": self.clock,
            "host": self.host,
            "label": self.label,
            "unit": self.unit,
            "rows": self.rows,
            "thinned": any(span.n > 1 for span in self.spans),
            "spans": [span.as_list() for span in self.spans],
        }


Draw = Callable[[Sequence[Row], Window], list[Drawing]]

"""Lanes and what they draw: plain data, so that a notebook can plot it too.

Times are seconds on the axis of the frame that a lane stands in; lengths are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

#: How a span is painted: as the culprit of a cause, waiting, other work, not traced, or an error.
CLASSES = ("culprit", "wait", "rest", "untraced", "error")

Kind = Literal["span", "event", "counter"]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Window:
    """The visible range of one frame: `start` to `end` in seconds of its axis, `px` pixels wide."""

    start: float
    end: float
    px: int

    @property
    def pixel(self) -> float:
        """Return the seconds in one pixel."""
        return max(self.end - self.start, 1e-9) / max(self.px, 1)


@dataclass(frozen=True)
class Lane:
    """A kind of strip over one table, evidence or derived.

    `rows` is a SELECT of single rows over the table as `s`, in the artifact's own clock. Its columns: `clock, host,
    artifact_id`, the `keys` that distinguish strips, `t0, t1, line_from, line_to`, and the `fields` that the drawing
    needs; for a counter `low, high, value`, and `s0, s1, ...` for the values stacked in it. It contains placeholders:
    `{here}` for the condition on the window, `{t}` for the stamp (the place in the order if a series has no clock),
    `{dt}` for the length of a sample, `{end}` for the end of the clock. Merging what is narrower than a pixel, shifting
    onto the axis, and overviews of large artifacts work the same for all lanes (`incidents/drawing/windows.py`).

    `order` is the column that counts the rows of a series without a clock; None means that such a series cannot be
    placed. `finish` adds columns to the merged rows `p` afterwards. `args` are the columns whose values are chosen with
    the lane (`counters:tcp|lo|in`). `shown` says whether a frame has the lane before somebody adds it.
    """

    title: str
    group: str
    table: str
    unit: str
    kind: Kind
    keys: tuple[str, ...]
    fields: tuple[str, ...]
    rows: str
    time: str = "s.t_local"
    order: str | None = None
    timed: bool = True
    finish: str = "select p.* from p"
    stack: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    shown: bool = True


@dataclass(frozen=True)
class Span:
    """One bar: a call, a wait, or `n` of them that share a pixel (`total_s` is their sum, `worst_s` the longest).

    `target` is what the call was made on (address, path, descriptor); empty if the evidence does not show it.
    """

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
    target: str = ""

    @property
    def labels(self) -> list[str]:
        """Return what may be written in the bar, longest first; `static/js/timeline/words.js` writes the same.

        Without a duration there is one label; a stretch that was not traced is never called by its length alone.

        >>> span = Span(0, 5, "poll", "wait", 1, 1, 1, False, 1, 5.005, 5.005, "10.20.0.53:53")
        >>> span.labels
        ['poll 10.20.0.53:53 · 5.005 s', '10.20.0.53:53 · 5.005 s', 'poll · 5.005 s', '5.005 s']
        >>> from dataclasses import replace
        >>> replace(span, target="", at_most=True).labels
        ['poll · at most 5.005 s', 'poll · ≤ 5.005 s', '≤ 5.005 s']
        """
        if self.worst_s <= 0:
            return [self.label]
        said = length(self.worst_s)
        bound, short = (f"at most {said}", f"≤ {said}") if self.at_most else (said, said)
        if self.cls == "untraced":
            return [f"{self.label} · {bound}", self.label]
        texts = [f"{self.label} {self.target} · {bound}", f"{self.target} · {short}"] if self.target else []
        return list(
            dict.fromkeys([*texts, *([] if texts else [f"{self.label} · {bound}"]), f"{self.label} · {short}", short])
        )

    def as_list(self) -> list[Any]:
        marks = [
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
        return [*marks, self.target] if self.target else marks


def length(seconds: float) -> str:
    """Write a duration so that short ones keep their digits.

    >>> length(2.4734), length(0.0004), length(0.0000021), length(333)
    ('2.473 s', '0.4 ms', '2 µs', '333 s')
    """
    if seconds >= 100:
        return f"{seconds:.0f} s"
    if seconds >= 1:
        return f"{seconds:.3f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.0f} µs"


@dataclass(frozen=True)
class Sample:
    """Samples of a counter that share a pixel: lowest, highest and mean value, and the lines of the highest."""

    start: float
    end: float
    low: float
    high: float
    mean: float
    artifact: int
    line: int
    n: int
    stacked: tuple[float, ...] = ()

    def as_list(self) -> list[Any]:
        return [
            round(self.start, 7),
            round(self.end, 7),
            _short(self.low),
            _short(self.high),
            _short(self.mean),
            self.artifact,
            self.line,
            self.n,
            *map(_short, self.stacked),
        ]


def _short(value: float) -> float:
    return float(f"{value:.7g}")


@dataclass(frozen=True)
class Drawing:
    """One strip: its spans or samples share host, clock and label; `process` groups the threads of one process."""

    lane: str
    clock: str
    host: str | None
    label: str
    unit: str
    spans: Sequence[Span] = field(default_factory=tuple)
    samples: Sequence[Sample] = field(default_factory=tuple)
    rows: int = 0
    kind: Kind = "span"
    process: int | None = None
    lwp: int | None = None
    stack: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        drawn: dict[str, Any] = {
            "lane": self.lane,
            "kind": self.kind,
            "clock": self.clock,
            "host": self.host,
            "label": self.label,
            "unit": self.unit,
            "rows": self.rows,
            "thinned": any(span.n > 1 for span in self.spans) or any(one.n > 1 for one in self.samples),
            "spans": [span.as_list() for span in self.spans],
        }
        if self.kind == "counter":
            drawn |= {"samples": [sample.as_list() for sample in self.samples], "stack": list(self.stack)}
        if self.process is not None:
            drawn["process"] = [self.process, self.lwp]
        return drawn

    @property
    def start(self) -> float:
        marks: Iterable[Span | Sample] = self.spans or self.samples
        return min((mark.start for mark in marks), default=0.0)

    @property
    def worst(self) -> float:
        return max((span.worst_s for span in self.spans), default=0.0)


Draw = Callable[[Sequence[Row], Window], list[Drawing]]


def strips(rows: Sequence[Row], keys: Sequence[str]) -> list[tuple[Row, list[Row]]]:
    """Cut rows into runs with the same clock, host and `keys`; return the first row of each run with the run.

    >>> rows = [{"clock": "1.1:1", "host": None, "pid": pid} for pid in (7, 7, 8)]
    >>> [(first["pid"], len(run)) for first, run in strips(rows, ["pid"])]
    [(7, 2), (8, 1)]
    """
    named = ("clock", "host", *keys)
    runs = (list(run) for _, run in groupby(rows, key=lambda row: tuple(row[name] for name in named)))
    return [(run[0], run) for run in runs]


def span(row: Row, label: str, cls: str = "rest", at_most: bool = False, target: str | None = None) -> Span:
    """Make the bar of a merged row."""
    return Span(
        start=row["t0"],
        end=row["t1"],
        label=label,
        cls=cls,
        artifact=row["artifact_id"],
        line_from=row["line_from"],
        line_to=row["line_to"],
        at_most=at_most,
        n=row["n"],
        total_s=row["total_s"],
        worst_s=row["worst_s"],
        target=target or "",
    )


def sample(row: Row, stacked: int = 0) -> Sample:
    """Make the step of a merged row of a counter that stacks `stacked` values."""
    return Sample(
        row["t0"],
        row["t1"],
        row["low"],
        row["high"],
        row["mean"],
        row["artifact_id"],
        row["line_to"],
        row["n"],
        tuple(row[f"s{place}"] or 0.0 for place in range(stacked)),
    )


def counted(rows: Iterable[Row]) -> int:
    """Count the rows of evidence behind merged rows."""
    return sum(row["n"] for row in rows)

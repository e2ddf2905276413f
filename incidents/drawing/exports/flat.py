"""Select the rows of a window as a flat table, and guard its cells for spreadsheets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from incidents.drawing import windows
from incidents.drawing.frames import Frame
from incidents.drawing.lane import Lane, Window
from incidents.drawing.overviews import rows_of
from rules.engine.read import ReadOnly

#: Maximum number of exported rows; for more, the tables themselves are in the evidence folder.
MOST_ROWS = 1_000_000
COLUMNS = (
    *(
        "lane",
        "clock",
        "host",
        "artifact",
        "strip",
        "begin_s",
        "end_s",
        "length_s",
        "label",
        "at_most",
        "value",
        "unit",
    ),
    *("line_from", "line_to"),
)
#: Characters that make a spreadsheet read a cell as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # full-width ones too


def table(frame: Frame, window: Window, chosen: Sequence[windows.Choice], source: ReadOnly, cache: Path | None) -> str:
    """Return a SELECT of the rows of lanes in a window, with times on the frame's axis, one row per row of evidence."""
    parts = []
    for one in chosen:
        lane = one.lane
        if not source.has(lane.table) or not (lane.order if frame.ordered else lane.timed):
            continue
        relation = windows.relation(one, frame.laid, window, source, cache, single=True)
        keys = ", ".join(f"{key}::varchar" for key in lane.keys)
        strip = f"concat_ws(' ', {keys})" if keys else "''"
        unit = "top.unit" if "unit" in lane.fields else windows.quoted(lane.unit)
        counter = lane.kind == "counter"
        parts.append(
            f"select {windows.quoted(one.name)} as lane, clock, host, artifact_id as artifact, {strip} as strip, t0 as begin_s, t1 as end_s,"
            f" t1 - t0 as length_s, {_label(lane)} as label, {_at_most(lane)} as at_most,"
            f" {'total_s / n' if counter else 'null::double'} as value, {unit} as unit, top.line_from as line_from, top.line_to as line_to"
            f" from ({relation})"
        )
    every = " union all ".join(f"({part})" for part in parts)
    empty = f"select {', '.join(f'null as {name}' for name in COLUMNS)} where false"
    return f"select {', '.join(COLUMNS)} from ({every or empty}) order by begin_s, lane, line_from, line_to, strip, end_s, label"


@dataclass(frozen=True)
class Export:
    """What leaves of one frame: the SELECT of its rows in a window, by their begin, and the lanes that they come from."""

    frame: Frame
    chosen: tuple[windows.Choice, ...]
    sql: str


def export(
    frame: Frame, window: Window, chosen: Sequence[windows.Choice], source: ReadOnly, cache: Path | None
) -> Export:
    """Return what leaves of a frame."""
    return Export(frame, tuple(chosen), table(frame, window, chosen, source, cache))


def count(part: Export, source: ReadOnly) -> int:
    """Return the number of rows that leave of a frame."""
    return int(source.query(f"select count(*) as n from ({part.sql})")[0]["n"])


def without_time(part: Export, source: ReadOnly) -> int:
    """Count the rows of the frame's clocks that have no place on its axis, since no time stands in them."""
    axis, many = part.frame.laid, 0
    for one in part.chosen:
        lane = one.lane
        if source.has(lane.table) and (lane.order if axis.ordered else lane.timed):
            here = axis.clocks() + one.condition
            rows = rows_of(lane, here, here, axis.end, ordered=axis.ordered)
            asked = f"select count(*) as n from ({rows}) where t0 is null or t1 is null"
            many += int(source.query(asked)[0]["n"])
    return many


def _label(lane: Lane) -> str:
    for name in ("label", "name", "ended_by"):
        if name in lane.fields and name not in lane.keys:
            return f"top.{name}"
    return "null"


def _at_most(lane: Lane) -> str:
    if "at_most" in lane.fields:
        return "top.at_most"
    return "top.dur_kind = 'gap'" if "dur_kind" in lane.fields else "false"


def guarded(value: object) -> object:
    """Return a cell value that no spreadsheet reads as a formula.

    >>> [guarded(v) for v in ("=1+1", "-3.5", "+4", "@a", "read", None, -2.5, "\\tx", "\\n=1", "\uff1d1")]
    ["'=1+1", '-3.5', '+4', "'@a", 'read', None, -2.5, "'\\tx", "'\\n=1", "'\uff1d1"]
    """
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        number = float(value)
    except ValueError:
        return f"'{value}"
    return value if math.isfinite(number) and value.strip() == value else f"'{value}"

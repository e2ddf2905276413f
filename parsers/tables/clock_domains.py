"""Clock domains of all kinds: what stamps mark, their resolution, hours that come twice, questions to a person.

A format reports a `Domain` with its kind and base; other properties are measured here from its rows. A question asks
for what only a person can know; its answer comes back as the hint of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import numpy as np
import numpy.typing as npt
import polars as pl

from parsers.text.inline_polars import where
from parsers.text.notes import Note
from parsers.text.times import wall_text, zone_name, zone_trouble

Times = npt.NDArray[np.float64]
Lines = npt.NDArray[np.int64]

QUARTER = 900.0
"""Seconds in a quarter of an hour: zones change at whole quarters."""

SAMPLE_ROWS = 200
"""Maximum number of rows of each data frame that are examined for resolution and direction."""

STEPS = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9)

ENDS = {"vmstat", "mpstat", "iostat", "microstates", "db_waits", "db_calls"}
"""Tables whose stamps mark an end: of an interval, a call, a wait."""

NO_CLOCK_ROWS = {"hosts", "params", "profile_meta", "tcp_flows", "open_calls"}
"""Tables whose rows have no clock of their own: their times, if any, are those of something else."""

NO_KNOWN_MARK = {"conn_times"}
"""Tables whose stamps may mark a start or an end depending on the tool: only the format knows."""


@dataclass(frozen=True)
class Trouble:
    """Rows in an hour that their zone has twice or skips: a note on each stretch, and a question."""

    notes: list[Note]
    question: dict[str, Any] | None


@dataclass
class Seen:
    """Times of the rows of one block run, from which properties of their clocks are measured.

    Its size is bounded by the number of quarters of an hour in the run.
    """

    samples: list[tuple[tuple[Lines, Times], int, int]] = field(default_factory=list)

    quarters: list[tuple[int, int, float]] = field(default_factory=list)
    """First line, last line and first second of a quarter of an hour that rows fall in."""

    marks: list[tuple[int, int, str, int]] = field(default_factory=list)
    """First and last line of rows, what their stamps mark (start, end, moment), and the weight of this evidence."""

    def see(self, table: str, frame: pl.DataFrame) -> None:
        """Record the lines and times of rows added to a table."""
        if "t_local" not in frame.columns or table in NO_CLOCK_ROWS:
            return
        timed = where(frame.select_seq("line_no", "t_local"), frame["t_local"].is_not_null())
        if timed.is_empty():
            return
        lines, times = timed["line_no"].to_numpy(), timed["t_local"].to_numpy()
        head = np.argsort(lines[:SAMPLE_ROWS], kind="stable")
        self.samples.append(((lines[head], times[head]), int(lines[head[0]]), int(lines[head[-1]])))
        own = frame["stamp"].drop_nulls() if "stamp" in frame.columns else pl.Series()
        if len(own):
            # The column `stamp` of calls has what stamps mark; signals and messages between them have the same clock.
            self.marks.append((int(lines.min()), int(lines.max()), str(own[0]), 2))
        elif table not in NO_KNOWN_MARK:
            weight = int(table in ENDS)
            self.marks.append((int(lines.min()), int(lines.max()), "end" if weight else "moment", weight))
        quarter = np.floor(times / QUARTER)
        begins = [0, *(np.flatnonzero(np.diff(quarter)) + 1)]
        for first, behind in zip(begins, [*begins[1:], len(quarter)], strict=True):
            here = lines[first:behind]
            self.quarters.append((int(here.min()), int(here.max()), float(quarter[first] * QUARTER)))

    def measure(self, ranges: Sequence[tuple[int, int]]) -> tuple[float | None, str | None, str | None]:
        """Return resolution in seconds, direction and what stamps mark, for the rows in these ranges of lines.

        Each is None if no row shows it.
        """
        first, last = (ranges[0][0], ranges[-1][1]) if ranges else (0, -1)
        near = (sample for sample, begin, end in self.samples if begin <= last and first <= end)
        parts = [(lines[here], times[here]) for lines, times in near if (here := inside(lines, ranges)).any()]
        if not parts:
            return None, None, None
        times = np.concatenate([t for _, t in parts])
        steps = np.concatenate([np.diff(t) for _, t in parts])
        close = (m for m in self.marks if m[0] <= last and first <= m[1])
        inside_marks = [m for m in close if any(a <= m[1] and m[0] <= b for a, b in ranges)]
        most = max((weight for _, _, _, weight in inside_marks), default=0)
        marks = [mark for _, _, mark, weight in inside_marks if weight == most]
        return resolution(times), direction(steps), max(dict.fromkeys(marks), key=marks.count, default=None)

    def trouble(self, ranges: Sequence[tuple[int, int]], zone: str, base: str) -> Trouble:
        """Return notes and a question on rows in hours that `zone` has twice or skips.

        `base` is the ISO time from which the domain's times count.
        """
        if not is_zone(zone):
            return Trouble([], None)
        zero = (datetime.fromisoformat(base).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
        return trouble([q for q in self.quarters if any(a <= q[1] and q[0] <= b for a, b in ranges)], zone, zero)


def resolution(times: Times) -> float | None:
    """Return the step in seconds that all stamps are multiples of, None if it is too fine for a float.

    >>> resolution(np.array([1.5, 2.25])), resolution(np.array([1460613519.329])), resolution(np.array([3.0]))
    (0.01, 0.001, 1.0)
    """
    # A double holds an epoch to a quarter of a microsecond.
    error = max(float(np.abs(times).max()) * 2.5e-16, 1e-12)
    for step in STEPS:
        off = np.abs(times - np.round(times / step) * step)
        if step > 2 * error and (off <= error).all():
            return step
    return None


def direction(steps: Times) -> str | None:
    """Return how times go from line to line: `forward`, `backward` (newest first), None if they do not change."""
    rises, falls = int((steps > 0).sum()), int((steps < 0).sum())
    return None if rises + falls == 0 else "backward" if falls > rises else "forward"


def inside(lines: Lines, ranges: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Return a mask of the lines that lie in ranges; the ranges are sorted and do not overlap."""
    first, last = (np.array([r[i] for r in ranges], np.int64) for i in (0, 1))
    at = np.searchsorted(first, lines, side="right") - 1
    found: npt.NDArray[np.bool_] = (at >= 0) & (lines <= last[np.maximum(at, 0)])
    return found


@cache
def offsets_named(abbreviation: str, year: int) -> tuple[str, ...]:
    """Return the fixed offsets (as zone names) that zones with this abbreviation had in a year, most used first.

    >>> offsets_named("CEST", 2015), offsets_named("XYZT", 2015)
    (('Etc/GMT-2',), ())
    """
    found: dict[str, int] = {}
    for name in available_timezones():
        if "/" not in name or name.startswith("Etc/"):
            continue
        for month in (1, 7):
            at = datetime(year, month, 15, 12, tzinfo=ZoneInfo(name))
            offset = at.utcoffset()
            if at.tzname() == abbreviation and offset is not None and (fixed := zone_name(int(offset.total_seconds()))):
                found[fixed] = found.get(fixed, 0) + 1
    return tuple(sorted(found, key=lambda fixed: (-found[fixed], fixed)))


@cache
def is_zone(name: str) -> bool:
    """Decide whether a zone is known, so that its times can be converted to UTC."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def question(
    ask: str, text: str, reason: str, line: int, *, default: str = "", choices: Iterable[str] = ()
) -> dict[str, Any]:
    """Return a question; see `docs/interfaces.md` section 1."""
    return {
        "ask": ask,
        "text": text,
        "default": default,
        "reason": reason,
        "choices": list(choices),
        "line": line,
    }


def zone_question(zone: str | None, line: int, year: int) -> dict[str, Any]:
    """Ask for the zone of a wall clock: none was printed, or a name that several zones share."""
    if zone is None:
        reason = "no zone is printed and none is known of the host: times are kept as the clock showed them"
        return question("tz", "Which time zone did this clock show?", reason, line)
    offsets = offsets_named(zone, year)
    known = f"zones that print {zone} are {len(offsets)} different offsets from UTC" if offsets else "no zone prints it"
    known = f"all zones that print {zone} have this offset" if len(offsets) == 1 else known
    reason = f"{known}; until it is said, times are kept as the clock showed them"
    default = offsets[0] if len(offsets) == 1 else ""
    return question("tz", f"Which time zone is {zone} here?", reason, line, default=default, choices=offsets)


def year_of(base: str | None, t_begin: float | None) -> int:
    """Return the year in which a domain begins; 1970 if only times of day are known."""
    zero = datetime.fromisoformat(base).replace(tzinfo=None) if base else datetime(1970, 1, 1)
    return (zero + timedelta(seconds=t_begin or 0.0)).year


def date_question(line: int) -> dict[str, Any]:
    reason = "the stamps have no date: they are kept as times of a day"
    return question("date", "Which day does it begin on?", reason, line)


def interval_question(line: int, samples: int) -> dict[str, Any]:
    reason = f"{samples} samples without stamps, and no command tells how long they are apart: they have an order only"
    return question("interval_s", "How many seconds are between two samples?", reason, line)


def trouble(quarters: Iterable[tuple[int, int, float]], zone: str, base_s: float) -> Trouble:
    """Return notes and a question on stamps in the hour that `zone` has twice or skips.

    `base_s` is the domain's base as wall seconds.
    """
    notes: list[Note] = []
    asked: dict[str, Any] | None = None
    kinds: dict[float, str | None] = {}
    for first, last, begin in sorted(quarters):
        at = begin + base_s
        if at not in kinds:
            kinds[at] = zone_trouble(at, zone)
        kind = kinds[at]
        if kind is None:
            continue
        if kind == "ambiguous":
            words = (
                f"{zone} has this hour twice on {wall_text(at)[:10]}: which of the two it is, the stamps do not tell"
            )
        else:
            words = (
                f"{zone} has no such hour on {wall_text(at)[:10]}: the clock was not changed, or the zone is another"
            )
        if notes and notes[-1].text == words and first <= notes[-1].line_to + 1:
            notes[-1] = replace(notes[-1], line_to=max(last, notes[-1].line_to))
        else:
            notes.append(Note(first, last, "remark", words))
        if asked is None:
            asked = _trouble_question(kind, zone, at, first)
    return Trouble(notes, asked)


def _trouble_question(kind: str, zone: str, at: float, line: int) -> dict[str, Any]:
    if kind == "missing":
        text = f"{wall_text(at)[:16]} does not exist in {zone}: which zone did this clock show?"
        reason = "the clock of that zone was set forward over this hour; it is read as if it had not been"
        return question("tz", text, reason, line, default=zone)
    text = f"{wall_text(at)[:16]} comes twice in {zone}: before or after the clock was set back?"
    reason = "taken as before; a fixed offset settles it for all lines"
    passes = [name for fold in (0, 1) if (name := _offset_at(zone, at, fold))]
    return question("tz", text, reason, line, default=zone, choices=[zone, *passes])


def _offset_at(zone: str, at: float, fold: int) -> str | None:
    """Return the fixed offset of the first or second pass of an hour, None if it is not a whole number of hours."""
    offset = datetime.fromisoformat(wall_text(at)).replace(tzinfo=ZoneInfo(zone), fold=fold).utcoffset()
    return None if offset is None else zone_name(int(offset.total_seconds()))


SHORTEST_SET_BACK, LONGEST_SET_BACK = 1800.0, 3600.0
_SWITCH_MONTHS = (3, 4, 9, 10, 11)


def set_back(before: float, after: float, zone: str | None) -> bool:
    """Decide whether a fall of wall seconds is the end of daylight saving time rather than another start of the tool.

    The fall must be at most an hour and more than half of one (the first sample after the change comes an interval
    later). In a known zone the hour must come twice; otherwise the fall must be on a Sunday before 4:00, in a month in
    which clocks are changed.

    >>> from parsers.text.times import wall_seconds
    >>> night = wall_seconds(2016, 10, 30, 2, 59, 50)
    >>> [set_back(night, night - 3580, zone) for zone in ("Europe/Warsaw", "Asia/Tokyo", None)]
    [True, False, True]
    >>> set_back(night + 86400, night + 86400 - 3580, None)
    False
    """
    if not SHORTEST_SET_BACK < before - after <= LONGEST_SET_BACK:
        return False
    if zone is not None and "/" in zone and is_zone(zone):
        return zone_trouble(after, zone) == "ambiguous"
    at = datetime.fromisoformat(wall_text(after))
    return at.weekday() == 6 and at.hour <= 3 and at.month in _SWITCH_MONTHS

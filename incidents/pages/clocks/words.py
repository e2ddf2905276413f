"""A report's clocks in words: what each is, how far it is from the others, which lines show it, what was refused.

Offsets are differences of readings (`rules.clocks.readings`): `clock` shows this many seconds more than `ref`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rules.clocks.days import LEAP_YEAR, ZERO
from rules.clocks.readings import WALL, epoch

Json = Mapping[str, Any]

KINDS = {
    "wall-utc": "time of day, UTC",
    "wall-local": "local time of day",
    "trace-relative": "seconds since the trace began",
    "boot-relative": "seconds since the host started",
    "interval": "samples at a steady interval",
    "none": "no clock, only an order",
}
#: Number of positions of the slider that tries an offset; it extends beyond each bound by half the distance of the
#: bounds, at least by this.
PLACES = 200
LEAST_BEYOND_S = 0.001
#: Stamps of traces have microseconds: an offset nearer to a bound than this lies on the bound.
STAMP_S = 1e-6
#: Offset in seconds above which two clocks of one incident count as far apart, so that a person has to confirm it.
FAR_S = 86400.0


@dataclass(frozen=True)
class Domain:
    """A clock as the page lists it. `begins`, `ends`: raw stamps; `shift`: what the timeline adds, in words."""

    clock: str
    name: str
    artifact: int
    host: str | None
    kind: str
    zone: str
    begins: str
    ends: str
    frame: str
    shift: str
    lines: tuple[tuple[int, int], ...]
    tells_time: bool


@dataclass(frozen=True)
class Pair:
    """Lines on both sides, and the offsets that they allow."""

    artifact: int
    lines: tuple[int, int]
    ref_artifact: int
    ref_lines: tuple[int, int]
    leaves: str


@dataclass(frozen=True)
class Try:
    """An offset that somebody tries between and beyond the bounds of a tie; it changes no drawing and no judgement.

    `places`: slider positions of the first and last allowed offset. `pairs`: the cited pairs, each with the amount by
    which it is missed (empty: it agrees). `ahead`, `err`: the values for the form, with a tolerance up to the nearer
    bound.
    """

    at: int
    places: tuple[int, int]
    low: str
    high: str
    says: str
    misses: str
    pairs: list[tuple[Pair, str]]
    ahead: str
    err: str

    @property
    def width(self) -> int:
        return self.places[1] - self.places[0]


@dataclass(frozen=True)
class Offset:
    """One tie between two clocks, tried or accepted; `ids` are those of the clocks in addresses."""

    clock: str
    ref: str
    ids: tuple[str, str]
    says: str
    accepted: bool
    method: str
    reason: str
    n_pairs: int
    drift: str
    pairs: list[Pair] = field(default_factory=list)
    tried: Try | None = None

    @property
    def unshown(self) -> int:
        return max(0, self.n_pairs - len(self.pairs))


@dataclass(frozen=True)
class Check:
    """A possible jump of a clock or time zone difference."""

    clock: str
    ref: str
    says: str


def named(report: Json) -> dict[str, str]:
    """Name every clock of a report by host and artifact; several of one artifact also by their first line."""
    of_artifact: dict[int, list[Json]] = {}
    for clock in report.get("clocks", ()):
        rows = of_artifact.setdefault(clock["artifact"], [])
        if all(row["clock"] != clock["clock"] for row in rows):
            rows.append(clock)
    names = {}
    for artifact, clocks in of_artifact.items():
        for clock in clocks:
            where = f", from line {clock['lines'][0][0]}" if len(clocks) > 1 and clock["lines"] else ""
            names[clock["clock"]] = f"{clock['host'] or 'unknown host'}, artifact {artifact}{where}"
    return names


def domains(report: Json) -> list[Domain]:
    """List the clocks of a report, those that show time first."""
    names, made, seen = named(report), [], set()
    for clock in report.get("clocks", ()):
        if clock["clock"] in seen:
            continue
        seen.add(clock["clock"])
        timed = clock["kind"] != "none" and clock["t_begin"] is not None
        made.append(
            Domain(
                clock["clock"],
                names[clock["clock"]],
                clock["artifact"],
                clock["host"],
                KINDS.get(clock["kind"], clock["kind"]),
                _zone(clock),
                stamp(clock, clock["t_begin"]),
                stamp(clock, clock["t_end"]),
                clock["frame"] if timed else "",
                _shift(clock, timed),
                tuple((a, b) for a, b in clock["lines"][:3]),
                timed,
            )
        )
    return sorted(made, key=lambda d: (not d.tells_time, d.artifact))


def _zone(clock: Json) -> str:
    if clock["kind"] == "wall-utc":
        return "UTC"
    return clock["zone"] or ("not known" if clock["kind"] == "wall-local" else "")


def _shift(clock: Json, timed: bool) -> str:
    if not timed:
        return ""
    add, err = float(clock.get("add") or 0.0), float(clock.get("err") or 0.0)
    return "as it is" if add == 0 and err == 0 else f"{_seconds(add, sign=True)} ± {err:.3f} s"


def stamp(clock: Json, at: float | None) -> str:
    """Write a reading as the clock itself would: a time of day, or seconds.

    >>> stamp({"kind": "wall-local", "base": None}, 1460613519.329)
    '2016-04-14 05:58:39.329'
    >>> stamp({"kind": "trace-relative", "base": None}, 8.6926)
    '8.6926 s'
    >>> stamp({"kind": "wall-local", "base": None, "lacks": "year"}, 2 * 86400.0)
    '01-03 00:00:00.000 of an unknown year'
    """
    if at is None:
        return ""
    base = (epoch(clock["base"]) if clock.get("base") else None) or 0.0
    if clock["kind"] in WALL:
        return _yearless(at) if clock.get("lacks") == "year" else day_time(base + at)
    return f"{at:.4f} s"


def day_time(reading: float) -> str:
    """Write seconds since 1970 as date and time with milliseconds. In 1970 the year is unknown, in January the day too.

    >>> day_time(3600.5), day_time(9006612.0)
    ('01:00:00.500', '04-14 05:50:12.000 of an unknown year')
    """
    text = _whole(reading)
    if not text.startswith("1970-"):
        return text
    return text[11:] if text.startswith("1970-01") else _yearless(reading)


def _yearless(reading: float) -> str:
    """Write seconds since 1 January without the year; such stamps count the days of a leap year."""
    return f"{_whole(reading + (LEAP_YEAR - ZERO).total_seconds())[5:]} of an unknown year"


def _whole(reading: float) -> str:
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=round(reading, 3))
    except OverflowError:
        return f"{reading:.3f} s"
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d}"


def is_wall(clock: Json) -> bool:
    """Return whether a clock shows times of day."""
    return clock["kind"] in WALL


def offsets(report: Json, at: Mapping[tuple[str, str], int]) -> list[Offset]:
    """List accepted ties between clocks first, then refused ones. `at`: positions of sliders that were moved."""
    names = named(report)
    by_id = {clock["clock"]: clock for clock in report.get("clocks", ())}
    made = []
    for row in report.get("clock_map", ()):
        ours, theirs = by_id.get(row["clock"]), by_id.get(row["ref"])
        cited = [_pair(ours, theirs, pair) for pair in row.get("pairs", ()) if ours and theirs]
        made.append(
            Offset(
                names.get(row["clock"], row["clock"]),
                names.get(row["ref"], row["ref"]),
                (row["clock"], row["ref"]),
                says(ours, theirs, row["off_lo"], row["off_hi"]),
                row["accepted"],
                row["method"],
                row["reason"] or "",
                row.get("n_pairs") or 0,
                _drift(row),
                cited,
                tried(report, row["clock"], row["ref"], at.get((row["clock"], row["ref"]))),
            )
        )
    return sorted(made, key=lambda o: not o.accepted)


def _pair(ours: Json, theirs: Json, pair: Json) -> Pair:
    return Pair(
        ours["artifact"],
        tuple(pair["clock_lines"]),
        theirs["artifact"],
        tuple(pair["ref_lines"]),
        leaves(ours, theirs, pair["off_lo"], pair["off_hi"]),
    )


def tried(report: Json, clock: str, ref: str, at: int | None = None) -> Try | None:
    """Return what a slider position (None: the middle) means for an accepted tie; None without a slider.

    A tie with drift has other bounds at each moment, and a statement has no pairs: neither has a slider.
    """
    by_id = {one["clock"]: one for one in report.get("clocks", ())}
    ours, theirs = by_id.get(clock), by_id.get(ref)
    fit = (one for one in report.get("clock_map", ()) if (one["clock"], one["ref"]) == (clock, ref) and one["accepted"])
    row = next((one for one in fit if one.get("pairs") and one.get("drift_lo") is None), None)
    if ours is None or theirs is None or row is None or row["off_lo"] is None or row["off_hi"] is None:
        return None
    lo, hi = float(row["off_lo"]), float(row["off_hi"])
    beyond = max((hi - lo) / 2, LEAST_BEYOND_S)
    step = (hi - lo + 2 * beyond) / PLACES
    at = min(max(PLACES // 2 if at is None else at, 0), PLACES)
    offset = lo - beyond + at * step
    miss = _missed(offset, lo, hi)
    wall = is_wall(theirs) != is_wall(ours)
    return Try(
        at,
        (round(beyond / step), round((beyond + hi - lo) / step)),
        says(ours, theirs, lo, lo),
        says(ours, theirs, hi, hi),
        says(ours, theirs, offset, offset),
        f"{miss:.6f} s" if miss else "",
        [
            (_pair(ours, theirs, pair), f"{by:.6f} s" if by else "")
            for pair in row["pairs"]
            for by in [_missed(offset, pair["off_lo"], pair["off_hi"])]
        ],
        _whole(-offset if is_wall(theirs) else offset) if wall else f"{offset:.6f}",
        "" if miss else f"{max(min(offset - lo, hi - offset), 0.0):.6f}",
    )


def _missed(offset: float, lo: float, hi: float) -> float:
    """Return how many seconds an offset is outside the bounds; 0 inside them, to the precision of stamps."""
    by = max(lo - offset, offset - hi)
    return by if by > STAMP_S else 0.0


def says(clock: Json | None, ref: Json | None, lo: float | None, hi: float | None) -> str:
    """Put an offset into words: how far ahead or behind, or where a trace's zero would lie on a clock of day times."""
    if lo is None or hi is None:
        return "no offset fits"
    middle, half = (lo + hi) / 2, (hi - lo) / 2
    about = f" ± {half:.3f} s" if hi > lo else ""
    if clock and ref and is_wall(ref) and not is_wall(clock):
        return f"its zero would be {day_time(-middle)}{about} there"
    if clock and ref and is_wall(clock) and not is_wall(ref):
        return f"the other's zero would be {day_time(middle)}{about} here"
    return f"{_seconds(abs(middle))}{about} {'ahead' if middle >= 0 else 'behind'}"


def leaves(clock: Json, ref: Json, lo: float, hi: float) -> str:
    """Write the range of offsets that a pair allows.

    >>> a = {"kind": "wall-utc"}
    >>> leaves(a, a, 0.157, 0.237)
    '+0.157 s to +0.237 s'
    """
    if is_wall(ref) and not is_wall(clock):
        return f"zero between {day_time(-hi)} and {day_time(-lo)}"
    return f"{_seconds(lo, sign=True)} to {_seconds(hi, sign=True)}"


def _drift(row: Json) -> str:
    if row.get("drift_lo") is None or row.get("drift_hi") is None:
        return ""
    return f"drift {row['drift_lo'] * 1e6:+.0f} to {row['drift_hi'] * 1e6:+.0f} ppm"


def checks(report: Json) -> list[Check]:
    """List jumps of clocks and differences that look like a time zone; none of them is applied."""
    names = named(report)
    made = []
    for row in report.get("clock_checks", ()):
        size = _seconds(row["size_s"], sign=True)
        if row["test"] == "step":
            words = f"the offset moves by {size} at reading {row['t_at']:.3f} of the other: one of them was set"
        else:
            words = f"shows {size} more, a whole number of quarter hours: this looks like a time zone"
        words += f" ({row['n_anchors']} places agree)"
        made.append(Check(names.get(row["clock"], row["clock"]), names.get(row["ref"], row["ref"]), words))
    return made


def undecidable(report: Json) -> list[tuple[str, str, str]]:
    """Return pairs of aligned clocks with the time (in words) within which the order of their events is unknown."""
    names = named(report)
    frames: dict[str, list[Json]] = {}
    for clock in report.get("clocks", ()):
        held = frames.setdefault(clock["frame"], [])
        if clock["t_begin"] is not None and all(c["clock"] != clock["clock"] for c in held):
            held.append(clock)
    found = []
    for clocks in frames.values():
        for n, one in enumerate(clocks):
            for other in clocks[n + 1 :]:
                near = float(one.get("err") or 0.0) + float(other.get("err") or 0.0)
                if near > 0 and _meet(one, other, near):
                    found.append((names[one["clock"]], names[other["clock"]], f"{near:.3f} s"))
    return found


def _meet(one: Json, other: Json, near: float) -> bool:
    a, b = (float(c.get("add") or 0.0) for c in (one, other))
    return bool(one["t_begin"] + a <= other["t_end"] + b + near and other["t_begin"] + b <= one["t_end"] + a + near)


def against(report: Json, clock: str, ref: str, lo: float, hi: float) -> list[str]:
    """List the evidence that contradicts a stated offset, and by how much; empty if none does."""
    names, found = named(report), []
    for row in report.get("clock_map", ()):
        if {row["clock"], row["ref"]} != {clock, ref} or row["method"] == "statement":
            continue
        if not row["accepted"] or row["off_lo"] is None or row["off_hi"] is None:
            continue
        low, high = (row["off_lo"], row["off_hi"]) if row["clock"] == clock else (-row["off_hi"], -row["off_lo"])
        gap = max(low - hi, lo - high)
        if gap > 0:
            found.append(
                f"{row['method']} between {names[clock]} and {names[ref]} leaves {_seconds(low, sign=True)} to "
                f"{_seconds(high, sign=True)}; yours misses it by {gap:.3f} s and would be refused"
            )
    return found


def tellers(report: Json) -> list[Domain]:
    """List the clocks that show time, which a statement can tie."""
    return [domain for domain in domains(report) if domain.tells_time]


def _seconds(value: float, sign: bool = False) -> str:
    """Write seconds; from a day on, in days too.

    >>> _seconds(0.197), _seconds(-90000.0, sign=True)
    ('0.197 s', '-90000.000 s (-1.0 days)')
    """
    text = f"{value:+.3f} s" if sign else f"{value:.3f} s"
    days = value / FAR_S
    return text if math.fabs(days) < 1 else f"{text} ({days:+.1f} days)" if sign else f"{text} ({days:.1f} days)"


def frames_of(found: Sequence[Domain]) -> list[tuple[str, list[Domain]]]:
    """Group clocks by the frame they are drawn in."""
    grouped: dict[str, list[Domain]] = {}
    for domain in found:
        grouped.setdefault(domain.frame, []).append(domain)
    return sorted(grouped.items(), key=lambda item: (item[0] == "", item[0]))

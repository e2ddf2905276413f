"""Find the missing day or year of stamps: the only one on which they overlap the time span of dated evidence.

`strace -tt` prints times of day, syslog a month and a day. If other evidence of the host is dated, such stamps belong
to the days of that evidence: if they overlap its span on exactly one day (or in exactly one year), they get that day.
Evidence of other hosts decides only if the host itself has no dated evidence. If several days fit, or none, the stamps
stay without a date and a person is asked; nothing is placed in 1970. The code calls a day found this way borrowed.

    dated evidence of db1     2025-06-01 23:59:00 to 2025-06-02 00:01:30
    strace -tt of db1         23:59:45 to 00:00:14 of the next day
      begun on 2025-05-31     ends a day before that evidence begins
      begun on 2025-06-01     lies within it: the day is known
      begun on 2025-06-02     begins a day after it ends

Spans are compared as digits of one zone. Instants in UTC have such digits only if the zone of the undated clock is
known; local times are compared as printed if one of the two zones is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from rules.clocks.readings import WALL, epoch, zone_shift
from rules.model import Clock

DAY = 86400.0
ZERO = date(1970, 1, 1)
LEAP_YEAR = date(1972, 1, 1)
"""First day of the year whose days stamps without a year count, see `parsers/clocks/yearless.py`."""

FIRST_DAY, LAST_DAY = (date.min - ZERO).days, (date.max - ZERO).days
MOST_NAMED = 3
"""Maximum number of fitting days that a reason names."""

MOST_FITS = 1000
"""Maximum number of days or years that are counted."""

Span = tuple[float, float]


@dataclass(frozen=True)
class Fit:
    """A day or year that fits: the day from whose midnight the stamps count, and its name."""

    base: date
    name: str


@dataclass(frozen=True)
class Near:
    """The dated evidence beside a clock: its span in seconds since 1970, and whose it is."""

    span: Span
    words: str


def with_days(clocks: Sequence[Clock]) -> tuple[Clock, ...]:
    """Return the clocks in their order, each missing day or year filled in, or with the reason why it stays unknown.

    A borrowed day becomes `base`, and `lacks` is None then; `base_why` holds the reason in words either way. Clocks of
    one id share one base. Days come only from stamps that are dated themselves, never from a borrowed day.
    """
    parts: dict[str, list[Clock]] = {}
    for clock in clocks:
        parts.setdefault(clock.clock, []).append(clock)
    dated = [clock for clock in clocks if _is_dated(clock)]
    near: dict[tuple[str | None, str | None], Near | None] = {}
    settled: dict[str, Clock] = {}
    made = []
    for clock in clocks:
        if clock.lacks is not None and clock.clock not in settled:
            if (place := (clock.host, clock.zone)) not in near:
                near[place] = _neighbours(clock, dated)
            span = _hull(_ends(one) for one in parts[clock.clock])
            settled[clock.clock] = _settled(clock, span, near[place])
        same = settled[clock.clock] if clock.lacks is not None else clock
        made.append(replace(clock, base=same.base, lacks=same.lacks, base_why=same.base_why))
    return tuple(made)


def _is_dated(clock: Clock) -> bool:
    """Return whether the stamps of a clock have a day: wall clocks, and traces whose base line names an instant."""
    known = clock.lacks is None and clock.base is not None and epoch(clock.base) is not None
    return known and clock.t_begin is not None and clock.kind in (*WALL, "trace-relative")


def _ends(clock: Clock) -> Span:
    begin = clock.t_begin or 0.0
    return begin, begin if clock.t_end is None else clock.t_end


def _hull(spans: Iterable[Span]) -> Span:
    begins, ends = zip(*spans, strict=True)
    return min(begins), max(ends)


def _settled(clock: Clock, span: Span, near: Near | None) -> Clock:
    """Return a clock with the only day on which `span` overlaps the dated clocks, or with the reason why not."""
    unit, when = ("year", "in") if clock.lacks == "year" else ("day", "on")
    what = "no year is printed" if clock.lacks == "year" else "no date is printed"
    if near is None:
        return replace(clock, base_why=f"{what}, and no evidence beside it tells the {unit}")
    fits = fitting_years(span, near.span) if clock.lacks == "year" else fitting_days(span, near.span)
    if len(fits) == 1:
        why = f"{what}; {fits[0].name} is the only {unit} {when} which these times meet {near.words}"
        return replace(clock, base=f"{fits[0].base}T00:00:00", lacks=None, base_why=why)
    if not fits:
        return replace(clock, base_why=f"{what}, and these times meet {near.words} {when} no {unit}")
    names = [fit.name for fit in fits]
    some = (
        f"{len(names)} {unit}s from {names[0]} to {names[-1]}"
        if len(names) < MOST_FITS
        else f"{MOST_FITS} {unit}s or more"
    )
    if len(names) <= MOST_NAMED:
        some = _listed(names)
    return replace(clock, base_why=f"{what}, and these times meet {near.words} {when} {some}")


def _neighbours(clock: Clock, dated: Sequence[Clock]) -> Near | None:
    """Return the span of the dated clocks that decide: those of the clock's own host, else those of the room."""
    seen = [(other, digits) for other in dated if (digits := _digits(other, clock.zone)) is not None]
    own = [(other, digits) for other, digits in seen if clock.host is not None and other.host == clock.host]
    if not seen:
        return None
    hosts = sorted({other.host for other, _ in own or seen if other.host is not None})
    whose = _listed(hosts) if 0 < len(hosts) <= MOST_NAMED else "the room"
    numbers = sorted({other.artifact for other, _ in own or seen})
    few = [str(number) for number in numbers[:MOST_NAMED]]
    if len(numbers) > len(few):
        few.append(f"{len(numbers) - len(few)} more")
    words = f"the dated times of {whose} (artifact{'s' if len(numbers) > 1 else ''} {_listed(few)})"
    return Near(_hull(digits for _, digits in own or seen), words)


def _digits(clock: Clock, zone: str | None) -> Span | None:
    """Return the span of a dated clock as clocks of `zone` display it, in seconds since 1970; None if unknown."""
    base = epoch(clock.base or "")
    assert base is not None  # only dated clocks are asked
    begin, end = (base + at for at in _ends(clock))
    ahead = zone_shift(zone, begin)
    if clock.kind == "wall-local":
        own = zone_shift(clock.zone, begin)
        shift = 0.0 if own is None or ahead is None else ahead - own
    elif ahead is None:
        return None
    else:
        shift = ahead
    return begin + shift, end + shift


def fitting_days(span: Span, dated: Span) -> list[Fit]:
    """Return the days on which times of day meet a dated span; both in seconds, `span` since the midnight it begins at.

    Of more than MOST_FITS days the first are returned.

    A span that goes past midnight is longer than its day and counts for the day it begins on.

    >>> june = (1748822340.0, 1748822490.0)  # 2025-06-01 23:59:00 to 2025-06-02 00:01:30
    >>> [fit.name for fit in fitting_days((86385.0, 86414.0), june)]
    ['2025-06-01']
    >>> [fit.name for fit in fitting_days((10.0, 20.0), june)], fitting_days((36000.0, 36010.0), june)
    (['2025-06-02'], [])
    """
    first = max(math.ceil((dated[0] - span[1]) / DAY), FIRST_DAY)
    last = min(math.floor((dated[1] - span[0]) / DAY), LAST_DAY, first + MOST_FITS - 1)
    later = timedelta(days=math.floor(span[0] / DAY))
    days = [ZERO + timedelta(days=number) for number in range(first, last + 1)]
    return [Fit(day, str(day + later)) for day in days if day <= date.max - later]


def fitting_years(span: Span, dated: Span) -> list[Fit]:
    """Return the years in which stamps without a year meet a dated span; `span` in seconds since 1 January.

    Such stamps count 29 February as if every year had it. So in another year stamps from March on count from a day
    earlier, and stamps from before and after that day fit no such year.

    >>> may = (1748736000.0, 1748737000.0)  # 2025-06-01 00:00:00 to 00:16:40
    >>> [(str(fit.base), fit.name) for fit in fitting_years((152 * 86400.0, 152 * 86400.0 + 60), may)]
    [('2024-12-31', '2025')]
    """
    begins, ends = (LEAP_YEAR + timedelta(days=math.floor(at / DAY)) for at in span)
    found = []
    near = (ZERO + timedelta(days=min(max(math.floor(at / DAY), FIRST_DAY + 800), LAST_DAY - 800)) for at in dated)
    first, last = (day.year for day in near)
    for year in range(first - 1, min(last + 2, first + MOST_FITS)):
        bases = {base for day in (begins, ends) if (base := _new_year(day, year)) is not None}
        if len(bases) != 1:
            continue
        base = bases.pop()
        zero = (base - ZERO).days * DAY
        if zero + span[0] <= dated[1] and dated[0] <= zero + span[1]:
            found.append(Fit(base, str(year)))
    return found


def _new_year(day: date, year: int) -> date | None:
    """Return the base day of stamps: `day` is their first day if they are of 1972, and they are of `year` instead.

    Return None for 29 February of a year that has none.
    """
    try:
        there = day.replace(year=day.year - LEAP_YEAR.year + year)
    except ValueError:  # 29 February of a year without one
        return None
    return there - (day - LEAP_YEAR)


def _listed(words: Iterable[str]) -> str:
    """Join words with commas and `and`.

    >>> _listed("abc")
    'a, b and c'
    """
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last

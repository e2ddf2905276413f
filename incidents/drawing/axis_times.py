"""Write times of an axis as a clock on the wall shows them, and the zones they are shown in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rules.clocks.days import DAY, LEAP_YEAR, ZERO

UTC_NAME = "UTC"


@cache
def _zone_named(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def is_zone(name: str | None) -> bool:
    """Return whether a name is that of a time zone; printed abbreviations such as CST are not."""
    return bool(name) and _zone_named(str(name)) is not None


def zone_shift_at(name: str | None, instant: float) -> float | None:
    """Return how many seconds the clocks of a zone are ahead of UTC at an instant; None for an unknown zone.

    >>> zone_shift_at("Europe/Warsaw", 1748772000.0), zone_shift_at("CST", 0.0)
    (7200.0, None)
    """
    zone = _zone_named(name) if name else None
    if zone is None:
        return None
    try:
        shift = datetime.fromtimestamp(instant, UTC).astimezone(zone).utcoffset()
    except (OverflowError, ValueError, OSError):
        return None
    return None if shift is None else shift.total_seconds()


def time_of_day(at: float, zero: float, digits: int) -> str:
    """Write a time on an axis as a time of day; the zero of the axis is at `zero` seconds since 1970.

    >>> time_of_day(0.25, 1748772000.0, 3), time_of_day(-60.0, 1748772000.0, 0), time_of_day(59.9996, 0.0, 3)
    ('10:00:00.250', '09:59:00', '00:01:00.000')
    """
    # Only the part of `zero` within its day: a sum with seconds since 1970 would lose microseconds.
    seconds = round((at % DAY + zero % DAY) % DAY, digits) % DAY
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(int(minutes), 60)
    return f"{hour:02}:{minute:02}:{second:0{digits + 3 if digits else 2}.{digits}f}"


def day(shown: float) -> str:
    """Write the date of seconds since 1970.

    >>> day(1748772000.0)
    '2025-06-01'
    """
    try:
        return str(ZERO + timedelta(days=shown // DAY))
    except OverflowError:
        return "a day out of the calendar"


def day_of_year(shown: float) -> str:
    """Write month and day of seconds since 1 January of an unknown year; such stamps count the days of a leap year.

    >>> day_of_year(152 * 86400.0)
    '06-01'
    """
    return day(shown + (LEAP_YEAR - ZERO).days * DAY)[5:]

"""Convert `t_local` to the reading of a clock, and determine which readings are instants in UTC.

`t_local` counts from the domain's `base` if that is known (a truss base line, the date of a log); else it stands for
itself: zero of the trace, or a wall time as if it were UTC. Offsets of the clock map are differences between readings.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rules.derived.derived_table import CaseTables
from rules.model import Clock

WALL = ("wall-utc", "wall-local")


def epoch(text: str) -> float | None:
    """Return the seconds since 1970 of an ISO time, as UTC if it has no zone; None if it is not a time.

    >>> epoch("1970-01-01T00:01:00")
    60.0
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def zone_shift(zone: str | None, reading: float) -> float | None:
    """Return how many seconds a local reading is ahead of UTC in a named zone; None if the zone is unknown or does not
    exist.
    """
    if zone is None:
        return None
    try:
        local = (datetime(1970, 1, 1) + timedelta(seconds=reading)).replace(tzinfo=ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OverflowError):
        return None
    shift = local.utcoffset()
    return None if shift is None else shift.total_seconds()


def base_of(clock: Clock) -> float:
    """Return what to add to `t_local` to get the clock's reading, in UTC if the zone is known."""
    base = epoch(clock.base) if clock.base else None
    zero = 0.0 if base is None else base
    if clock.kind == "wall-local":
        shift = zone_shift(clock.zone, zero + (clock.t_begin or 0.0))
        return zero - (shift or 0.0)
    return zero


def absolute(clock: Clock) -> bool:
    """Return whether readings are instants in UTC; times of day without a date, or days without a year, are not."""
    if clock.lacks is not None:
        return False
    if clock.kind == "wall-utc":
        return True
    if clock.kind == "wall-local":
        return clock.base is not None and zone_shift(clock.zone, clock.t_begin or 0.0) is not None
    return clock.kind == "trace-relative" and clock.base is not None and epoch(clock.base) is not None


def bases_of(clocks: Iterable[Clock]) -> dict[str, float]:
    """Return `base_of` by clock id."""
    return {clock.clock: base_of(clock) for clock in clocks}


def bases(case: CaseTables) -> dict[str, float]:
    """Return `base_of` for every clock domain of a case."""
    return bases_of(case.clocks)

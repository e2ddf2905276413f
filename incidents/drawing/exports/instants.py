"""What files for other tools have in common: places on an axis as instants, and texts with their hidden signs shown.

Instants are whole numbers: a float of seconds since 1970 loses nanoseconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from incidents.drawing.frames import COUNTED_FROM, Frame
from parsers.text.spelling import visible

#: Coarsest step (s) between neighbouring floats at which digits below a microsecond still mean something.
_FINE_S = 1e-9
#: Nanoseconds of the year 10000, which no calendar of ours knows any more.
END_NS = 253_402_300_800 * 10**9


@dataclass(frozen=True)
class Zero:
    """Where 0 of an axis lies, in seconds since 1970; None if nobody knows. `caveat` says in words what is not known."""

    at: float | None
    caveat: str = ""


def zero_of(frame: Frame) -> Zero:
    """Return where 0 of a frame's axis lies.

    Dated times without a zone are taken as UTC, and the caveat says so: they are true but for some hours.
    """
    if (epoch := frame.epoch) is not None:
        return Zero(epoch)
    if frame.dated:
        return Zero(frame.zero, "the time zone is not known: times are taken as UTC")
    if frame.scale == "clock":
        return Zero(None, frame.when)
    if frame.ordered:
        return Zero(None, "no clock, only an order")
    counted = COUNTED_FROM.get(frame.clocks[0]["kind"], "of an unknown zero")
    return Zero(None, f"seconds {counted}, whose date is not known")


def nanoseconds(zero: float, at: float) -> int:
    """Return nanoseconds since 1970 of a place `at` on an axis whose 0 lies at `zero`.

    Digits that a float of this size cannot hold are rounded away.

    >>> nanoseconds(1748772000.0, 0.000000250), nanoseconds(0.0, 1748772000.1234567)
    (1748772000000000250, 1748772000123457000)
    """
    fine = round(at * 1e9) if math.ulp(at) <= _FINE_S else round(at * 1e6) * 1000
    return round(zero * 1e6) * 1000 + fine


@lru_cache(maxsize=8192)
def shown(text: str) -> str:
    """Return a text with its hidden signs spelled out. Most texts of rows repeat: hosts, threads, names of calls."""
    return visible(text)

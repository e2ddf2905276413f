"""Read stamps that have the same columns on almost every line as bytes, in a fifth of the time of a pattern.

    (5304) [12-FEB-2019 17:25:10:647] nttrd: entry
    2014-11-15 16:12:24.300524 : nlstdipi:entry

A line fits only if it differs in nothing but digits from a stamp that the pattern accepted, and if its date is valid.
Every other line (indented, repaired, a longer month) is left to the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_THREAD_DIGITS = 10
_ZERO, _NINE = ord("0"), 9
_WEIGHTS = (36_000, 3600, 0, 600, 60, 0, 10, 1)
"""Seconds for one unit of each digit of `HH:MM:SS`."""


@dataclass(frozen=True)
class Template:
    """A stamp that the pattern accepted, with the places of date and time in it (0-based, half-open)."""

    text: str
    date: tuple[int, int]
    time: tuple[int, int]
    threaded: bool


@dataclass(frozen=True)
class Stamps:
    """Result of reading stamps, one element for each line: `fits` (the others are valid only there), length of prefix and stamp, thread, day, micro."""

    fits: Flags
    length: Longs
    thread: Longs
    day: Longs
    micro: Longs


def read(lines: pl.Series, like: Template, day_of: Callable[[str], int | None]) -> Stamps:
    """Read the stamps of all lines. `day_of` returns the day of a date, None if the pattern does not accept it or it does not exist."""
    array = lines.to_arrow(compat_level=pl.CompatLevel.oldest())
    ends = np.frombuffer(array.buffers()[1], np.int64)[array.offset :][: len(array) + 1]
    width = len(like.text)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    data = np.concatenate([data[: ends[-1]], np.zeros(width + _THREAD_DIGITS + 4, np.uint8)])
    begin, fits = ends[:-1], np.ones(len(array), np.bool_)
    thread = np.zeros(len(array), np.int64)
    if like.threaded:
        begin, thread, fits = _threads(data, begin)
    fits &= begin + width <= ends[1:]
    micro = np.zeros(len(array), np.int64)
    first, last = like.time
    parts = last - first - len(_WEIGHTS) - 1
    fraction = [10 ** (parts - 1 - n) * (1000 if parts == 3 else 1) for n in range(parts)]
    weights = (*(w * 1_000_000 for w in _WEIGHTS), 0, *fraction)
    for at, sign in enumerate(like.text):
        if like.date[0] <= at < like.date[1]:
            continue
        column = data[begin + at]
        if not sign.isdigit():
            fits &= column == ord(sign)
            continue
        digit = column - _ZERO
        fits &= digit <= _NINE
        if first <= at < last:
            micro += digit.astype(np.int64) * weights[at - first]
    day, dated = _days(data, begin, fits, like.date, day_of)
    fits &= dated
    return Stamps(fits, begin + width - ends[:-1], thread, day, micro)


def _threads(data: npt.NDArray[np.uint8], starts: Longs) -> tuple[Longs, Longs, Flags]:
    """Read `(5304) ` in front of stamps: return where the stamp begins, the number, and whether the line has this form."""
    number, begin = np.zeros(len(starts), np.int64), starts.copy()
    is_open = data[starts] == ord("(")
    for at in range(1, _THREAD_DIGITS + 1):
        if not is_open.any():
            break
        column = data[starts + at]
        closes = is_open & (column == ord(")")) & (at > 1)
        begin[closes] = starts[closes] + at + 2
        digit = column - _ZERO
        is_open &= digit <= _NINE
        number = np.where(is_open, number * 10 + digit, number)
    return begin, number, (begin > starts) & (data[begin - 1] == ord(" "))


def _days(
    data: npt.NDArray[np.uint8], begin: Longs, fits: Flags, place: tuple[int, int], day_of: Callable[[str], int | None]
) -> tuple[Longs, Flags]:
    """Read the dates. They hardly ever change from line to line, so each stretch of equal dates is read once."""
    day, dated = np.zeros(len(begin), np.int64), np.zeros(len(begin), np.bool_)
    lines = np.flatnonzero(fits)
    changes = np.zeros(len(lines), np.bool_)
    changes[:1] = True
    for at in range(*place):
        column = data[begin[lines] + at]
        changes[1:] |= column[1:] != column[:-1]
    known: dict[bytes, int | None] = {}
    values = []
    for line in lines[changes]:
        date = data[begin[line] + place[0] : begin[line] + place[1]].tobytes()
        if date not in known:
            known[date] = day_of(date.decode("ascii")) if date.isascii() else None
        values.append(known[date])
    stretch = np.cumsum(changes) - 1
    ok = np.array([v is not None for v in values], np.bool_)
    dated[lines] = ok[stretch]
    day[lines] = np.array([v or 0 for v in values], np.int64)[stretch]
    return day, dated


def template(lines: pl.Series, pattern: str, threaded: bool) -> Template | None:
    """Return the template from the first of `lines` that the pattern accepts; None if there is none or it is not ASCII.

    Groups of the pattern: thread, date, time, and the text after the stamp.
    """
    first = lines.filter(lines.str.contains(f"^{pattern}")).head(1)
    match = re.match(pattern, first[0]) if len(first) else None
    if match is None or not match[0].isascii():
        return None
    begin = match[0].index(") ") + 2 if threaded else 0
    date, time = ((match.start(n) - begin, match.end(n) - begin) for n in (2, 3))
    return Template(match[0][begin : match.start(4)], date, time, threaded)

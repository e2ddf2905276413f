"""Durations in words."""

from __future__ import annotations

from datetime import timedelta


def length(took: timedelta | None) -> str:
    """Write a duration in its two largest units.

    >>> [length(timedelta(seconds=s)) for s in (31, 95, 7_400, 200_000)]
    ['31 s', '1 min 35 s', '2 h 3 min', '2 d 7 h']
    >>> length(None)
    ''
    """
    if took is None:
        return ""
    seconds = max(int(took.total_seconds()), 0)
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    for place, (name, size) in enumerate(units):
        if seconds >= size or size == 1:
            rest = units[place + 1] if place + 1 < len(units) else None
            more = seconds % size // rest[1] if rest else 0
            return f"{seconds // size} {name}" + (f" {more} {rest[0]}" if rest and more else "")
    return ""

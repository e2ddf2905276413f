"""Numbers of bytes in words, the same on pages and in refusals."""

from __future__ import annotations


def in_words(count: int) -> str:
    """Write a number of bytes in the largest unit that keeps it at or above one.

    >>> in_words(512), in_words(200 * 2**30)
    ('512 B', '200.0 GiB')
    """
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"

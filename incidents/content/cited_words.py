"""Find the words of a quoted line that also occur in the claim: figures, addresses, numbers of processes."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9_][\w.:/$-]*[\w$]")
SHORTEST = 3
"""Minimum number of characters of a word that is marked: shorter numbers stand in every line by chance."""


def named(*said: object) -> frozenset[str]:
    """Return the words of a claim's texts and facts that contain a digit and are too long to match by chance.

    >>> sorted(named("pid 3731 took up to 2.473 s at 0x3C0000000, 12 calls", 11.7921, None))
    ['0x3C0000000', '11.7921', '2.473', '3731']
    """
    found = (word for text in said if text is not None for word in _NAME.findall(str(text)))
    return frozenset(word for word in found if len(word) >= SHORTEST and any(map(str.isdigit, word)))


def pieces(line: str, names: frozenset[str]) -> list[tuple[str, bool]]:
    """Split a line into pieces, each with whether it is one of the names; joined they are the line.

    >>> pieces("3731/1: 11.7921 shmat(0x3C0000000)", frozenset({"11.7921", "0x3C0000000", "792"}))
    [('3731/1: ', False), ('11.7921', True), (' shmat(', False), ('0x3C0000000', True), (')', False)]
    """
    if not names:
        return [(line, False)]
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    either = "|".join(map(re.escape, longest_first))
    # A figure is no part of a longer figure or name.
    split = re.split(rf"(?<![\w.])({either})(?!\w|\.\d)", line)
    return [(piece, n % 2 == 1) for n, piece in enumerate(split) if piece]

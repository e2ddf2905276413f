"""Where lines may break: never between a number and its unit, and inside a long word only behind its punctuation."""

from __future__ import annotations

import re
from itertools import pairwise

NO_BREAK = "\u00a0"
LONG = 24
"""Minimum length of a word that may have to be broken in a narrow column."""

_NAMED = (
    "ns", "us", "µs", "ms", "s", "min", "h", "d", "days?", "hours?", "minutes?", "seconds?", "%", "B", "kB", "KB", "MB", "GB", "TB",
    "KiB", "MiB", "GiB", "TiB", "dB", "Hz", "million", "billion", "trillion", "pages?", "times?",
)  # fmt: skip
_UNIT = re.compile(rf"(?<=\d) (?=(?:{'|'.join(_NAMED)})(?![\w%]))")
_SIGN = re.compile(r"(?<![^\s(])([≤≥<>÷×±]) (?=\d)")
_WORD = re.compile(rf"\S{{{LONG},}}")
_BEHIND = re.compile(r"(?<=[/,_.:;=&?)\]}-])(?=\w)|(?<=\w)(?=[(\[{])")


def unparted(text: str) -> str:
    """Put a no-break space between each number and its unit.

    >>> unparted("waits 2.473 s of 3 min 5 s, ≤ 4 %, for 3 workers").replace(NO_BREAK, "~")
    'waits 2.473~s of 3~min 5~s, ≤~4~%, for 3 workers'
    """
    return _SIGN.sub(rf"\1{NO_BREAK}", _UNIT.sub(NO_BREAK, text))


def pieces(text: str) -> list[str]:
    """Cut a text where a long word of it may be broken; the pieces together are the text.

    >>> pieces("open /usr/lib/x86_64-linux-gnu/libc.so now")
    ['open /', 'usr/', 'lib/', 'x86_', '64-', 'linux-', 'gnu/', 'libc.', 'so now']
    >>> pieces("nothing long here")
    ['nothing long here']
    """
    cuts = [found.start() + at.start() for found in _WORD.finditer(text) for at in _BEHIND.finditer(found[0])]
    borders = [0, *cuts, len(text)]
    return [text[a:b] for a, b in pairwise(borders) if b > a]

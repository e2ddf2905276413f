"""Find another output behind the last line of a watched part: text pasted at the end of a large capture."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from parsers.layout.line_owners import hits
from parsers.layout.parts import seen_of
from parsers.text.source import Position, TextFile

LEAST = 3
"""Minimum number of filled lines behind the last own line; fewer belong to the output above: a cut row, a prompt, a
count.
"""

SHOWN = 400
"""Number of last lines that are checked first for lines of the kind's own."""


def strange_tail(text: TextFile, begin: Position, end: int, own: Sequence[str]) -> Position | None:
    """Return where the lines that do not fit the kind begin, behind its last own line in [begin, end).

    Returns None if there are fewer than LEAST of them. Only the last block is examined: if there are more, the hit rate
    falls and `end_of_fit` finds them.
    """
    blocks = deque(text.beginnings(begin.offset, end, 1), 1)
    if not blocks:
        return None
    last = blocks.pop()
    piece = text.piece(last.offset, last.size)
    seen = seen_of(piece.lines)
    filled = (seen != "").to_numpy()
    shown = max(0, len(seen) - SHOWN)
    known = np.flatnonzero(hits(seen.slice(shown), own)) + shown
    if len(known) and filled[known[-1] + 1 :].sum() < LEAST:
        return None
    known = known if len(known) else np.flatnonzero(hits(seen, own))
    if not len(known):
        return None
    at = int(known[-1]) + 1
    line = begin.line + text.count_lines(begin.offset, last.offset) + at
    return Position(line, piece.offset + int(piece.starts[at]))

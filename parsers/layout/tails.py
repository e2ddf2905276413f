"""What stands behind the last line of a watched part: a large capture at whose end somebody pasted something else."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from parsers.layout.line_owners import hits
from parsers.layout.parts import seen_of
from parsers.text.source import Position, TextFile

LEAST = 3
"""Fewer strange lines at the end of a file belong to what stands above: a cut row, a prompt, a count."""

SHOWN = 400
"""So many of the last lines tell whether there is anything strange at all."""


def strange_tail(text: TextFile, begin: Position, end: int, own: Sequence[str]) -> Position | None:
    """Find where behind the last line of a kind's own the strange lines of [begin, end) begin; None if there are hardly any.

    Only the last block is looked at: more of them make the hit rate fall.
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

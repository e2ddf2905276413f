"""Tell for all lines of a block at once which groups of recognisers could know them.

To search a group's pattern with `re` in line after line takes longer than all else that is done for an ordinary line
of a log; Polars searches a block of lines some thirty times as fast.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from parsers.formats.general.text import (
    database_lines,
    gates,
    machine_lines,
    platform_lines,
    program_lines,
    stacks,
    stated_lines,
    status_lines,
)

PATTERNS = {
    gates.MACHINE: machine_lines.MAYBE,
    gates.STATUS: status_lines.MAYBE,
    gates.PLATFORM: platform_lines.MAYBE,
    gates.PROGRAM: program_lines.MAYBE,
    gates.DATABASE: database_lines.MAYBE,
    gates.STUCK: stacks.SLOW,
    gates.DRIVER: stated_lines.TOO_LONG,
}
"""What a line of each group has. `re` and the engine of Polars must find the same, or Polars more."""

STRIPPED = gates.PLATFORM | gates.DATABASE
"""Groups that look at a line without the blanks around it."""

FEW = 200
"""Up to so many lines Polars takes longer to prepare its patterns than `re` takes to search."""


def gates_of(lines: pl.Series) -> list[int]:
    """Return for each line the groups that could know it, as the sum of their bits."""
    if len(lines) <= FEW:
        return [gates.ALL] * len(lines)
    bare = lines.str.strip_chars()
    found = np.zeros(len(lines), np.uint8)
    for bit, pattern in PATTERNS.items():
        ignored = "(?i)" if pattern.flags & re.I else ""
        hits = (bare if bit & STRIPPED else lines).str.contains(ignored + pattern.pattern)
        found |= np.where(hits.to_numpy(), np.uint8(bit), np.uint8(0))
    made: list[int] = found.tolist()
    return made

"""Two tables, or a table and lines of another form, that stand below each other without a blank line: nodetool tpstats, lists with a summary.

Looked for only where the whole paragraph is no table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from parsers.formats.general.text import tables

LEAST = 3
"""Minimum number of lines of the first table: its heading and two rows."""

TRIED = 3
"""Maximum number of places that are tried."""

_GAP = re.compile(r"[ \t]{2,}")


def cut_of(lines: Sequence[str]) -> int | None:
    """Return the index of the line at which another form begins below a table; None if there is no such line.

    >>> first = ["Pool    Active  Pending", "Reads   9       80", "Writes  0       7"]
    >>> cut_of([*first, "Message  Dropped", "READ     9"]), cut_of([*first, "Workers: 9"]), cut_of(first)
    (3, 3, None)
    """
    if len(lines) <= LEAST:
        return None
    widths = [len(_GAP.split(line.strip())) for line in lines]
    if max(widths) < 2:
        return None
    changes = [n for n, (above, below) in enumerate(pairwise(widths), 1) if above != below and n >= LEAST]
    for cut in changes[:TRIED]:
        if len(set(widths[cut - LEAST + 1 : cut])) == 1 and tables.table_at(lines[:cut]) is not None:
            return cut
    return None


def cut_in(lines: Sequence[str], written: Sequence[bool]) -> int | None:
    """Return `cut_of` below the first line that heads a table; None if that table goes on to the end of the paragraph.

    `written` marks sentences, which head no table.
    """
    for at in range(min(tables.ABOVE, len(lines) - LEAST)):
        if written[at] or _GAP.search(lines[at].strip()) is None:
            continue
        if tables.table_at(lines[at:]) is not None:
            return None
        if (cut := cut_of(lines[at:])) is not None:
            return at + cut
    return None

"""Rejoin lines that a terminal or a mail program broke, where the breaks themselves prove how they were broken.

A terminal cuts at its last column, even inside words: every broken line is as wide as the paste, and the next line
continues right behind it. A mail program breaks at a blank: the first word of the next line would not have fitted. A
line is joined to the one above only if it does not begin like a line of the tool, if the width proves the break, and if
the joined line is a line of the tool; otherwise everything stays as it is. For small parts only, since it goes line by
line.

    64 bytes from db1 (192.0.2.7): icmp_seq=1 ttl=64 time=0.231      80 columns: a blank stood here
    ms
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import polars as pl

from parsers.tables.rows import Tables
from parsers.text.notes import ELISION
from parsers.text.source import Source

PASTE = 256 * 1024
"""Maximum bytes of a part that is checked for the damage of a paste (from practice)."""

NARROW, WIDTHS = 60, frozenset({72, 76, 78, 79, 80, 100, 120, 132})
"""Minimum width at which terminals and mail programs wrap, and the usual widths (from practice).

At an unusual width a single break proves nothing.
"""

MOST_LINES = 20
"""Maximum number of lines into which a paste breaks one line."""

_LEFT = {0: log(0.85), 1: log(0.12), 2: log(0.01), 3: log(0.01), 4: log(0.01)}
"""Log probability that a line cut by a terminal lacks this many columns, because blanks at its end are lost.

From practice: one character in seven is a blank.
"""

_STRANGE, _ODD_WIDTH = log(0.001), log(0.05)
"""Log probability of a line that fits neither way, and of a terminal of an unusual width (from practice)."""


@dataclass(frozen=True)
class Break:
    """How the lines of a paste were broken: at `width`, through words (`hard`) or at a blank."""

    width: int
    hard: bool

    def fits(self, above: str, below: str) -> bool:
        """Decide whether the line `above` ends in such a break and `below` is its rest."""
        if self.hard:
            return self.width - max(_LEFT) <= len(above) <= self.width
        words = below.split()
        fits = len(above) <= self.width < len(above) + 1 + len(words[0]) if words else False
        return fits and below[0] not in " \t"

    def glued(self, pieces: Sequence[str]) -> tuple[str, list[int]]:
        """Join pieces; return the text and where each piece begins in it."""
        whole = ""
        starts: list[int] = []
        for piece in pieces:
            whole = whole.ljust(len(starts) * self.width) if self.hard else whole + " " * bool(starts)
            starts.append(len(whole))
            whole += piece
        return whole, starts


def break_of(lines: Sequence[str], strays: Sequence[int]) -> Break | None:
    """Return how the lines above `strays` (indices in `lines`, each with a line above) were broken, None without proof.

    The likelier of the two ways wins: a terminal leaves lines of its full width, less a blank now and then; a mail
    program leaves any width at which the next word did not fit. Breaks that look alike (repeated records) count once.

    >>> break_of(["a" * 80, "b", "c" * 80, "d"], [1, 3])
    Break(width=80, hard=True)
    >>> break_of(["some words of a line", "unbroken"], [1])
    """
    width = max(map(len, lines), default=0)
    seen = {(len(lines[i - 1]), len(lines[i].split()[0]), lines[i][0] in " \t"): i for i in strays}
    seams = [(lines[i - 1], lines[i]) for i in seen.values()]
    # Lines with a word too long for the mail program may be wider: its width is the one that explains most breaks.
    softs = [Break(column, hard=False) for column in sorted({len(above) for above, _ in seams})]
    hard = Break(width, hard=True)
    soft = max(softs, key=lambda s: sum(s.fits(*seam) for seam in seams))
    likely = {
        hard: (0.0 if width in WIDTHS else _ODD_WIDTH)
        + sum(_LEFT.get(width - len(above), _STRANGE) for above, _ in seams),
        soft: sum(-log(len(below.split()[0]) + 1) if soft.fits(above, below) else _STRANGE for above, below in seams),
    }
    after = set(strays)
    full = [lines[i] for i in strays if len(lines[i - 1]) == width]
    # In a table all rows, whole ones too, may be equally wide; then only small rests of several lines prove that they
    # were cut.
    wide = sum(len(above) == width and bool(below) for above, below in pairwise(lines))
    small = len(seams) > 1 and all(hard.fits(above, below) and 4 * len(below) <= width for above, below in seams)
    if 2 * len(full) < wide and not small:
        full = []
    if likely[hard] >= likely[soft]:
        # A single break between two digits may have been a blank.
        sure = len(full) > 1 or (width in WIDTHS and full and not full[0][0].isdigit())
        return hard if sure and width >= NARROW else None
    fits = sum(soft.fits(lines[i - 1], lines[i]) for i in strays)
    # A line without a blank cannot have been broken.
    near = [i for i in range(1, len(lines)) if soft.width - 2 <= len(lines[i - 1]) <= soft.width and i not in after]
    unbroken = sum(bool(lines[i]) and " " in lines[i - 1].strip() for i in near)
    return soft if soft.width >= NARROW and fits > 1 and unbroken <= fits else None


def rejoin(frame: pl.DataFrame, source: Source, out: Tables, own: str, whole: str | None = None) -> pl.DataFrame:
    """Return the lines of a small part (line_no, line) with `line_end`, broken lines joined, in order.

    `own`: pattern of how a line of the tool begins. `whole`: pattern of a complete line, which takes no more. Joined
    lines are noted and count as read; secrets that the breaks had split are masked.
    """
    ends = frame.with_columns(line_end=pl.col("line_no"))
    if not source.is_small(PASTE) or len(frame) < 2:
        return ends
    lines = frame["line"].to_list()
    begins = frame["line"].str.contains(own).to_list()
    apart = frame["line"].str.contains(ELISION).to_list()
    strays = [i for i in range(1, len(lines)) if lines[i] and lines[i - 1] and not begins[i] and not apart[i]]
    broken = break_of(lines, strays) if strays else None
    if broken is None:
        return ends
    numbers = frame["line_no"].to_list()
    done = re.compile(whole) if whole else None
    at, rest = 0, set(strays)
    rows: list[tuple[int, int, str]] = []
    while at < len(lines):
        behind = at + 1
        found: tuple[str, list[int]] | None = None
        while (
            begins[at] and behind in rest and behind - at < MOST_LINES and broken.fits(lines[behind - 1], lines[behind])
        ):
            if done is not None and done.search(found[0] if found else lines[at]):
                break
            behind += 1
            found = broken.glued(lines[at:behind])
        if found is None:
            rows.append((numbers[at], numbers[at], lines[at]))
            at += 1
            continue
        text, starts = found
        pieces = list(zip(numbers[at:behind], lines[at:behind], starts, strict=True))
        out.joined_lines(pieces, text)
        rows.append((numbers[at], numbers[behind - 1], text))
        at = behind
    return pl.DataFrame(rows, schema={"line_no": pl.Int64, "line_end": pl.Int64, "line": pl.String}, orient="row")

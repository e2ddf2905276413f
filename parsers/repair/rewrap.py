"""Lines that a terminal or a mail program broke, put together again where the breaks themselves prove how.

A terminal cuts at its last column, words and all: every broken line is as wide as the paste, and what follows belongs right
behind it. A mail program breaks at a blank: the first word of the next line would not have fitted any more. A line is joined
to the one above only if it begins like none of the tool's own, if the width proves the break, and if the whole is a line of
the tool; otherwise all stays as it is. For small parts only: the lines are looked at one by one.

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
"""A part up to this size (bytes) is looked at as a paste (practice)."""

NARROW, WIDTHS = 60, frozenset({72, 76, 78, 79, 80, 100, 120, 132})
"""No terminal and no mail wraps at fewer columns; the usual widths: at another one a single break proves nothing (practice)."""

MOST_LINES = 20
"""No paste breaks one line into more."""

_LEFT = {0: log(0.85), 1: log(0.12), 2: log(0.01), 3: log(0.01), 4: log(0.01)}
"""How likely a line cut by a terminal lacks so many columns: blanks at its end are lost (practice: one sign in seven is a blank)."""

_STRANGE, _ODD_WIDTH = log(0.001), log(0.05)
"""What fits neither; a terminal of a width that none has by itself (practice)."""


@dataclass(frozen=True)
class Break:
    """How the lines of a paste were broken: at `width`, through words (`hard`) or at a blank."""

    width: int
    hard: bool

    def fits(self, above: str, below: str) -> bool:
        """Tell whether the end of the line `above` is such a break, and `below` its rest."""
        if self.hard:
            return self.width - max(_LEFT) <= len(above) <= self.width
        words = below.split()
        fits = len(above) <= self.width < len(above) + 1 + len(words[0]) if words else False
        return fits and below[0] not in " \t"

    def glued(self, pieces: Sequence[str]) -> tuple[str, list[int]]:
        """Put pieces together; give the text and where each of them begins in it."""
        whole = ""
        starts: list[int] = []
        for piece in pieces:
            whole = whole.ljust(len(starts) * self.width) if self.hard else whole + " " * bool(starts)
            starts.append(len(whole))
            whole += piece
        return whole, starts


def break_of(lines: Sequence[str], strays: Sequence[int]) -> Break | None:
    """Find how the lines above `strays` (places in `lines`, each with a line above) were broken; None if nothing proves it.

    Which of the two is the likelier: a terminal leaves lines of its full width, less a blank now and then; a mail program leaves
    any width at which the next word did not fit. Breaks that look alike (repeated records) count once.

    >>> break_of(["a" * 80, "b", "c" * 80, "d"], [1, 3])
    Break(width=80, hard=True)
    >>> break_of(["some words of a line", "unbroken"], [1])
    """
    width = max(map(len, lines), default=0)
    seen = {(len(lines[i - 1]), len(lines[i].split()[0]), lines[i][0] in " \t"): i for i in strays}
    seams = [(lines[i - 1], lines[i]) for i in seen.values()]
    # Lines that hold a word too long for the mail program may be wider: its column is the one that explains most breaks.
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
    # In a table all rows may be as wide, whole ones too; then only small rests of several lines prove that they were cut.
    wide = sum(len(above) == width and bool(below) for above, below in pairwise(lines))
    small = len(seams) > 1 and all(hard.fits(above, below) and 4 * len(below) <= width for above, below in seams)
    if 2 * len(full) < wide and not small:
        full = []
    if likely[hard] >= likely[soft]:
        # Alone, a break between two digits may have been a blank.
        sure = len(full) > 1 or (width in WIDTHS and full and not full[0][0].isdigit())
        return hard if sure and width >= NARROW else None
    fits = sum(soft.fits(lines[i - 1], lines[i]) for i in strays)
    # A line without a blank could not have been broken.
    near = [i for i in range(1, len(lines)) if soft.width - 2 <= len(lines[i - 1]) <= soft.width and i not in after]
    unbroken = sum(bool(lines[i]) and " " in lines[i - 1].strip() for i in near)
    return soft if soft.width >= NARROW and fits > 1 and unbroken <= fits else None


def rejoin(frame: pl.DataFrame, source: Source, out: Tables, own: str, whole: str | None = None) -> pl.DataFrame:
    """Return the lines of a small part (line_no, line) with `line_end`, broken ones joined; n rows, in order.

    `own`: how a line of the tool begins. `whole`: a line that fits takes no more.
    What was joined is noted and counts as read; secrets that the break had torn are masked.
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

"""Listings of SQL*Plus: headings over a line of dashes, pages, columns wrapped onto further lines, colsep '|'.

       SID    SERIAL# USERNAME
    ---------- ---------- ------------------------------
    PROGRAM
    ------------------------------------------------
          4306      51273 APPS
    sqlplus@app1

Cells are cut where the dashes stand; a row that does not keep to them (a paste that collapsed blanks) is split at its blanks if that
gives as many cells as there are columns, else it is not taken. Line by line: a listing that a person reads is never big.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

DASHES = re.compile(r"^[ \t|]*-{2,}(?:[ \t|+]+-+)*[ \t|]*$|^[ \t|]*-(?:[ \t|+]+-+)+[ \t|]*$|^\+-{2,}[-+]*\+?$")
FOOTER = re.compile(r"^[0-9]+ rows? selected\.?$|^no rows selected$|^Elapsed: ", re.IGNORECASE)
PROMPT = re.compile(
    r"^(?:SQL|[A-Za-z0-9_@.-]{1,30})> ?|^[ ]{1,2}[0-9]{1,3}  \S"
    r"|^[ ]{1,2}[0-9]{1,3} {2,}(?i:from|where|and|or|order +by|group +by|having|(?:left|inner|outer) +join|join|union)\b"
)
"""A prompt, or a further line of a statement: its number, and what was typed, perhaps further in."""


@dataclass
class Cells:
    """One row: heading to text (None where empty), and its lines."""

    line_no: int
    line_end: int
    of: dict[str, str | None]


@dataclass
class Listing:
    """Reads lines one after another; JSON-able by `asdict`. `heads`: for each line of a row, headings and their columns."""

    heads: list[list[tuple[str, int, int]]] = field(default_factory=list)
    held: list[tuple[int, str]] = field(default_factory=list)
    above: tuple[int, str] | None = None
    fresh: bool = False
    """No row stood under the headings yet, so another pair of headings and dashes widens them."""
    before: tuple[int, str] | None = None
    """The line right before `above`, if that was no row: a heading may have two lines."""

    def feed(self, line_no: int, text: str) -> tuple[list[Cells], list[int]]:
        """Take a line; give rows that are complete now and lines that are headings, dashes or footers."""
        text = text.expandtabs(8)
        if DASHES.match(text):
            return [], self._dashes(line_no, text)
        last, rows = self.above, self._flush()
        self.before = last if last is not None and last[0] == line_no - 1 and not rows and not self.held else None
        if not text.strip():
            # Inside a row of several lines a blank line is one whose cells are empty.
            return [*rows, *(self._row(line_no, "") if self.held else [])], []
        if FOOTER.match(text.strip()) or PROMPT.match(text):
            self.heads, self.held = [], []
            return rows, [line_no]
        self.above = (line_no, text)
        return rows, []

    def end(self) -> tuple[list[Cells], list[int]]:
        """Give the last row."""
        rows = self._flush()
        self.held = []
        return rows, []

    @property
    def open_lines(self) -> list[int]:
        """Lines that wait for what comes next."""
        return [n for n, _ in self.held] + [line[0] for line in (self.before, self.above) if line and self.above]

    def awaits_more(self, *headings: str) -> bool:
        """Tell whether the open lines are a row's, or a heading of these names, as far as can be seen."""
        if self.above is None:
            return bool(self.held)
        words = self.above[1].upper().replace("|", " ").split()
        if any(word in headings for word in words):
            return True
        return bool(self.heads) and cut(self.above[1], self.heads[min(len(self.held), len(self.heads) - 1)]) is not None

    def _flush(self) -> list[Cells]:
        above, self.above = self.above, None
        return self._row(*above) if above is not None and self.heads else []

    def _dashes(self, line_no: int, text: str) -> list[int]:
        above, self.above = self.above, None
        before, self.before = self.before, None
        self.held = []
        if text.startswith("+") or above is None:
            return [line_no]
        found = _columns(above[1], text)
        if before is not None and (upper := _upper(before[1], found)) is not None:
            found = [(f"{more} {name}".strip(), a, b) for more, (name, a, b) in zip(upper, found, strict=True)]
        else:
            before = None
        if found not in self.heads:
            self.heads = [*self.heads, found] if self.fresh else [found]
        self.fresh = True
        return [*([before[0]] if before else []), above[0], line_no]

    def _row(self, line_no: int, text: str) -> list[Cells]:
        """Cut a row once all its lines are here; one that fits no columns is dropped, its lines stay unknown."""
        self.fresh = False
        self.held.append((line_no, text))
        if len(self.held) < len(self.heads):
            return []
        held, self.held = self.held, []
        cells: dict[str, str | None] = {}
        for columns, (_, line) in zip(self.heads, held, strict=True):
            values = cut(line, columns)
            if values is None:
                return []
            cells |= {head: value or None for (head, _, _), value in zip(columns, values, strict=True)}
        return [Cells(held[0][0], held[-1][0], cells)]


def _columns(head: str, dashes: str) -> list[tuple[str, int, int]]:
    """Give heading, begin and end of each column; headings in upper case."""
    return [(head[m.start() : m.end()].strip(" |").upper(), m.start(), m.end()) for m in re.finditer("-+", dashes)]


def _upper(text: str, columns: list[tuple[str, int, int]]) -> list[str] | None:
    """Cut the upper line of headings; None if it is none: a word of it stands in a gap, or it is not of headings' signs.

    >>> _upper("      CURRENT   MAX", [("NAME", 0, 4), ("UTIL", 5, 13), ("UTIL", 14, 20)]), _upper("a row here", [("A", 0, 1), ("B", 4, 9)])
    (['', 'CURRENT', 'MAX'], None)
    """
    inside = "".join(text[a:b].ljust(b - a) + " " for _, a, b in columns)
    words = text.split()
    if (
        len(columns) < 2
        or inside.split() != words
        or not re.fullmatch(r"[A-Z(%#][A-Z0-9_()%#/.* ]*", text.strip(), re.IGNORECASE)
    ):
        return None
    if any(word.isdecimal() for word in words) or len(words) > 2 * len(columns):
        return None
    return [text[a:b].strip().upper() for _, a, b in columns]


def cut(text: str, columns: list[tuple[str, int, int]]) -> list[str] | None:
    """Cut a row at its columns; None if it keeps neither to them nor to their number.

    >>> cut("  12 ab cd", [("A", 0, 4), ("B", 5, 12)]), cut("12 ab", [("A", 0, 4), ("B", 5, 12)]), cut("1 2 3", [("A", 0, 4), ("B", 5, 12)])
    (['12', 'ab cd'], ['12', 'ab'], None)
    """
    gaps = [text[a:b] for (_, _, a), (_, b, _) in pairwise(columns)]
    edges = all(not gap.strip(" |") for gap in gaps)
    words = text.replace("|", " ").split()
    if len(words) == len(columns) and len(text.rstrip()) <= columns[-1][1] and "  " not in text.strip():
        # Nothing stands under the last heading, there is a word for each and one blank between two: blanks were collapsed.
        return words
    if edges and (len(columns) == 1 or len(text) > columns[1][1] or len(words) < len(columns)):
        return [text[begin:end].strip(" |") for _, begin, end in _tails(columns, text)]
    return words if len(words) == len(columns) else None


def _tails(columns: list[tuple[str, int, int]], text: str) -> Iterable[tuple[str, int, int]]:
    """Let the last column run to the end of the line."""
    *front, (head, begin, _) = columns
    return [*front, (head, begin, len(text))]

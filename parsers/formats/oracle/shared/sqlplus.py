"""Read listings of SQL*Plus: headings over a line of dashes, pages, columns wrapped onto further lines, colsep '|'.

       SID    SERIAL# USERNAME
    ---------- ---------- ------------------------------
    PROGRAM
    ------------------------------------------------
          4306      51273 APPS
    sqlplus@app1

The positions of the dashes decide where cells begin and end. A row that does not keep to them (a paste collapsed its blanks) is split at
its blanks if that gives as many cells as there are columns, else it is dropped. Lines are read one by one, because a listing that a
person reads is never big.
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
"""A prompt, or a further line of a statement: its number, then the typed text, perhaps indented."""


@dataclass
class Cells:
    """One row: text by heading (None where empty), and its lines."""

    line_no: int
    line_end: int
    of: dict[str, str | None]


@dataclass
class Listing:
    """Reader of a listing, line by line; JSON-able by `asdict`. `heads` has the headings and columns of each line of a row."""

    heads: list[list[tuple[str, int, int]]] = field(default_factory=list)
    held: list[tuple[int, str]] = field(default_factory=list)
    above: tuple[int, str] | None = None
    fresh: bool = False
    """True until a row stands under the headings: another pair of headings and dashes then adds columns."""
    before: tuple[int, str] | None = None
    """The line right before `above`, unless it was a row: a heading may have two lines."""

    def feed(self, line_no: int, text: str) -> tuple[list[Cells], list[int]]:
        """Read a line; return the rows that are complete now, and the numbers of lines that are headings, dashes or footers."""
        text = text.expandtabs(8)
        if DASHES.match(text):
            return [], self._dashes(line_no, text)
        last, rows = self.above, self._flush()
        self.before = last if last is not None and last[0] == line_no - 1 and not rows and not self.held else None
        if not text.strip():
            # In a row of several lines a blank line is a line with empty cells.
            return [*rows, *(self._row(line_no, "") if self.held else [])], []
        if FOOTER.match(text.strip()) or PROMPT.match(text):
            self.heads, self.held = [], []
            return rows, [line_no]
        self.above = (line_no, text)
        return rows, []

    def end(self) -> tuple[list[Cells], list[int]]:
        """Return the last row."""
        rows = self._flush()
        self.held = []
        return rows, []

    @property
    def open_lines(self) -> list[int]:
        """Return the numbers of lines whose meaning depends on the lines that follow."""
        return [n for n, _ in self.held] + [line[0] for line in (self.before, self.above) if line and self.above]

    def awaits_more(self, *headings: str) -> bool:
        """Return whether the open lines may be part of a row, or a heading with one of these names."""
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
        columns = _columns(above[1], text)
        if before is not None and (upper := _upper(before[1], columns)) is not None:
            columns = [(f"{more} {name}".strip(), a, b) for more, (name, a, b) in zip(upper, columns, strict=True)]
        else:
            before = None
        if columns not in self.heads:
            self.heads = [*self.heads, columns] if self.fresh else [columns]
        self.fresh = True
        return [*([before[0]] if before else []), above[0], line_no]

    def _row(self, line_no: int, text: str) -> list[Cells]:
        """Split a row into cells once all its lines are read; drop one that fits no columns: its lines stay unknown."""
        self.fresh = False
        self.held.append((line_no, text))
        if len(self.held) < len(self.heads):
            return []
        lines, self.held = self.held, []
        cells: dict[str, str | None] = {}
        for columns, (_, line) in zip(self.heads, lines, strict=True):
            values = cut(line, columns)
            if values is None:
                return []
            cells |= {head: value or None for (head, _, _), value in zip(columns, values, strict=True)}
        return [Cells(lines[0][0], lines[-1][0], cells)]


def _columns(head: str, dashes: str) -> list[tuple[str, int, int]]:
    """Return heading, begin and end of each column; headings in upper case."""
    return [(head[m.start() : m.end()].strip(" |").upper(), m.start(), m.end()) for m in re.finditer("-+", dashes)]


def _upper(text: str, columns: list[tuple[str, int, int]]) -> list[str] | None:
    """Split the upper line of headings of two lines.

    Returns None if the line is not a heading: a word stands in a gap between columns, or it has characters that headings do not have.

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
    """Split a row into the cells of `columns`; return None if it fits neither their positions nor their number.

    >>> cut("  12 ab cd", [("A", 0, 4), ("B", 5, 12)]), cut("12 ab", [("A", 0, 4), ("B", 5, 12)]), cut("1 2 3", [("A", 0, 4), ("B", 5, 12)])
    (['12', 'ab cd'], ['12', 'ab'], None)
    """
    gaps = [text[a:b] for (_, _, a), (_, b, _) in pairwise(columns)]
    edges = all(not gap.strip(" |") for gap in gaps)
    words = text.replace("|", " ").split()
    if len(words) == len(columns) and len(text.rstrip()) <= columns[-1][1] and "  " not in text.strip():
        # No text reaches the last heading, and there is one word for each column, separated by single blanks: blanks were collapsed.
        return words
    if edges and (len(columns) == 1 or len(text) > columns[1][1] or len(words) < len(columns)):
        return [text[begin:end].strip(" |") for _, begin, end in _tails(columns, text)]
    return words if len(words) == len(columns) else None


def _tails(columns: list[tuple[str, int, int]], text: str) -> Iterable[tuple[str, int, int]]:
    """Return the columns with the last one extended to the end of the line."""
    *front, (head, begin, _) = columns
    return [*front, (head, begin, len(text))]

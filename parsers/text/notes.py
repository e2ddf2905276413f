"""Notes and the line account: whether lines that gave no row were read, are damaged, or are unknown."""

from __future__ import annotations

from dataclasses import dataclass

LINE_ACCOUNT = ("read", "unknown", "elided", "damaged", "blank", "prose")
NOTE_KINDS = ("unknown", "elided", "damaged", "repaired", "remark")
NOTE_CHARS = 300
"""Maximum number of characters in a note's text; the rest is cut."""

ELISION = (
    r"(?i)^\s*(?:(?:[\[(<{]\s*)?(?:\.[ ]?){2,}\s*[\])>}]?|(?:[\[(<{]\s*)?…+\s*[\])>}]?"
    r"|(?:(?:\.{2,9}\s*)?[\[(<{]\s*(?:\.{2,9}\s*)?|\.{2,9}\s*|-{2,9}\s*|={2,9}\s*)(?:output\s)?(?:snip|snipped|cut|skipped|omitted|truncated)"
    r"(?:\s(?:output|here|for [a-z]{1,20}))?\s*(?:(?:\.{2,9}\s*)?[\])>}]|\.{2,9}|-{2,9}|={2,9})|--\s*more\s*--.*)\s*$"
)
"""Marks that an author puts where lines were left out (`....`, `[...]`, `<snip>`, `(truncated output)`).

The pattern works in Python's `re` and in Polars.
"""


@dataclass(frozen=True)
class Note:
    """A remark on lines `line_from` to `line_to`; `kind` is one of NOTE_KINDS."""

    line_from: int
    line_to: int
    kind: str
    text: str


@dataclass(frozen=True)
class LineAccount:
    """Numbers of lines by what became of them; their sum is always the number of lines of the part."""

    read: int = 0
    unknown: int = 0
    elided: int = 0
    damaged: int = 0
    blank: int = 0
    prose: int = 0

    @property
    def lines(self) -> int:
        return self.read + self.unknown + self.elided + self.damaged + self.blank + self.prose

    def __add__(self, other: LineAccount) -> LineAccount:
        return LineAccount(*(getattr(self, k) + getattr(other, k) for k in LINE_ACCOUNT))


def clip(text: str) -> str:
    """Cut a text to the length of a note."""
    return text if len(text) <= NOTE_CHARS else text[: NOTE_CHARS - 1] + "…"

r"""Read the marks between the outputs in one file of supportconfig and of AIX's snap.

    #==[ Command ]======================================#
    # /usr/bin/free -m
                  total        used        free ...

    .....
    .....    vmstat -v
    .....

                 2097152 memory pages

Each output becomes a section of its own, like those between the marks of a collect block (`collect_marks`). A file of
configuration or log is named by its path, as if `cat` had printed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from parsers.provenance.collect_marks import MOST, Section
from parsers.text.source import Position, TextFile

_BAR = r"^#==\[ [A-Za-z][A-Za-z ]{0,40} \]=+#$"
_NAMED = r"^# \S.{0,500}$"
_DOTS = r"^\.{3,}$"
_DOTTED = r"^\.{3,}[ \t]+\S.{0,500}$"
_CANDIDATE = "|".join((_BAR, _NAMED, _DOTS, _DOTTED))
_ANY_MARK = re.compile(f"{_BAR}|{_DOTTED}")
_KIND = re.compile(r"^#==\[ (?P<kind>.+) \]")
_LAST_LINES = re.compile(r" - (?:Last|First) [0-9]+ Lines$")


@dataclass(frozen=True)
class _Line:
    text: str
    here: Position
    behind: Position


def tree_sections(text: TextFile) -> list[Section]:
    """Return the sections of a file of supportconfig or snap; other files have none, which is decided by the head.

    A file with more than `MOST` sections returns none, because thousands of small settings are not outputs.
    """
    if not any(_ANY_MARK.match(line) for line in text.head().lines):
        return []
    found: list[Section] = []
    opened: tuple[str, Position] | None = None
    for here, behind, command in _marks(text):
        if opened is not None:
            _close(found, opened, here)
        opened = (command, behind)
        if len(found) > MOST:
            return []
    if opened is not None:
        last = text.count_lines(text.start, text.size) + (1 if text.open_end() else 0)
        _close(found, opened, Position(last + 1, text.size))
    return found


def _close(found: list[Section], opened: tuple[str, Position], here: Position) -> None:
    command, first = opened
    if command and here.line > first.line:
        found.append(Section(first.line, here.line - 1, here.offset, first.offset, command))


def _marks(text: TextFile) -> Iterator[tuple[Position, Position, str]]:
    """Yield each mark: position of its first line, position of the line behind it, and the command that it names."""
    before: list[_Line] = []
    for line in _candidates(text):
        if before and line.here.line != before[-1].here.line + 1:
            before = []
        before = [*before[-2:], line]
        if len(before) >= 2 and (kind := _KIND.match(before[-2].text)) and line.text.startswith("# "):
            yield before[-2].here, line.behind, _command(kind["kind"], line.text[2:].strip())
        elif len(before) == 3 and _is_dotted([one.text for one in before]):
            yield before[0].here, line.behind, before[1].text.lstrip(".").strip()


def _is_dotted(lines: list[str]) -> bool:
    first, name, last = lines
    return set(first) == set(last) == {"."} and name.startswith("...") and name.strip(".") != ""


def _command(kind: str, name: str) -> str:
    """Return the command that printed a section; empty for words of the tool itself.

    >>> _command("Log File", "/var/log/messages - Last 500 Lines"), _command("Note", "see memory.txt")
    ('cat /var/log/messages', '')
    """
    if kind == "Command":
        return name
    return f"cat {_LAST_LINES.sub('', name)}" if kind.endswith("File") and name.startswith("/") else ""


def _candidates(text: TextFile) -> Iterator[_Line]:
    """Yield the lines that may belong to a mark."""
    line = 1
    for piece in text.pieces(text.start, text.size):
        chosen = piece.lines.str.contains(_CANDIDATE).fill_null(False).arg_true().to_list()
        starts = piece.starts
        for index in chosen:
            begin = piece.offset + int(starts[index])
            behind = piece.offset + int(starts[index + 1]) if index + 1 < len(starts) else piece.offset + piece.size
            yield _Line(piece.lines[index], Position(line + index, begin), Position(line + index + 1, behind))
        line += len(piece.lines)

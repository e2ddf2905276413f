r"""Read the output of a collect block: each tool's output between two marks with host, system, zone, time and command.

    #-- exhibit begin 2016-04-14T07:12:03Z tz=UTC os=solaris release=5.10 host=db1 run: vmstat 5 12
     kthr      memory            page            disk          faults      cpu
    ...
    #-- exhibit end 2016-04-14T07:13:03Z status=0

A collector reads the clock of its server before and after, each between two readings of its own:

    #-- exhibit clock 2016-04-14T07:11:59Z 2016-04-14T07:12:00Z server=2016-04-14T07:14:31.250000Z by=exhibit.example.org

The marks (made by `rules/collecting/blocks.py` and `collector.py`) are borders, so no person is asked for the kind of a
section. A section that no format recognises is prose: the tool printed something other than its table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from parsers.text.source import Position, TextFile

SIGN = "#-- exhibit "
_STAMP = r"(?P<at>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)"
BEGIN = re.compile(
    rf"^#-- exhibit begin {_STAMP} tz=(?P<tz>[A-Za-z0-9/_+-]{{1,40}}) os=(?P<os>[a-z]{{2,20}})"
    r" release=(?P<release>[^\s]{0,60}) host=(?P<host>[A-Za-z0-9_][\w.-]{0,100}) run: (?P<command>\S.{0,1000})$"
)
END = re.compile(rf"^#-- exhibit end {_STAMP} status=(?P<status>[0-9]{{1,3}})$")
CLOCK = re.compile(
    rf"^#-- exhibit clock {_STAMP} {_STAMP.replace('at', 'behind')}"
    r" server=(?P<server>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z)"
    r" by=(?P<by>[A-Za-z0-9.:\[\]-]{1,255})$"
)
MOST = 2_000
"""Maximum number of sections; a file with more is not a collect block."""


@dataclass(frozen=True)
class Section:
    """Lines `line_from` to `line_to` between two marks (both excluded), and the values in the marks."""

    line_from: int
    line_to: int
    behind: int
    """Byte offset of the line behind the section."""
    begin: int
    """Byte offset of its first line."""
    command: str
    host: str | None = None
    os: str | None = None
    release: str | None = None
    tz: str | None = None
    """Zone of the host; None if the host names none, so that the zone of times of other programs is unknown."""
    began: str | None = None
    ended: str | None = None
    server_clock: str | None = None
    """`<server> <least> <most>`: by how many seconds the host's clock is ahead of that server's; None if unknown."""


def sections(text: TextFile) -> list[Section]:
    """Return the sections of a file that a collect block wrote; other files have none, which is decided by the head.

    A section whose end mark is missing (the block was stopped) ends with the file; an empty section is left out.
    """
    if not any(line.startswith(SIGN) for line in text.head().lines):
        return []
    found: list[Section] = []
    ahead: dict[str, list[tuple[float, float]]] = {}
    opened: tuple[re.Match[str], Position] | None = None
    for here, behind, line in _marks(text):
        if reading := CLOCK.match(line):
            _compare(reading, ahead)
        begun, ended = BEGIN.match(line), END.match(line)
        if opened is not None:
            _close(found, opened, here, ended["at"] if ended else "")
            opened = None
        if begun:
            opened = begun, behind
        if len(found) > MOST:
            return []
    if opened is not None:
        last = text.count_lines(text.start, text.size) + (1 if text.open_end() else 0)
        _close(found, opened, Position(last + 1, text.size), "")
    offset = _agreed(ahead)
    return [replace(section, server_clock=offset) for section in found] if offset else found


def _compare(reading: re.Match[str], ahead: dict[str, list[tuple[float, float]]]) -> None:
    """Add the bounds of one clock reading: by how many seconds the host is ahead of the server.

    The host prints whole seconds, so its clock may be up to one second later than printed.
    """
    try:
        before, behind, server = (
            datetime.fromisoformat(reading[name]).timestamp() for name in ("at", "behind", "server")
        )
    except ValueError:
        return
    if behind >= before:
        ahead.setdefault(reading["by"], []).append((before - server, behind + 1 - server))


def _agreed(ahead: dict[str, list[tuple[float, float]]]) -> str | None:
    """Return server and bounds on which all its readings agree; None if they contradict, because a clock was set."""
    if len(ahead) != 1:
        return None
    ((server, bounds),) = ahead.items()
    least, most = max(low for low, _ in bounds), min(high for _, high in bounds)
    return f"{server} {least:.6f} {most:.6f}" if least <= most else None


def _close(found: list[Section], opened: tuple[re.Match[str], Position], here: Position, ended: str) -> None:
    mark, first = opened
    if here.line <= first.line:
        return
    values = mark.groupdict()
    found.append(
        Section(
            line_from=first.line,
            line_to=here.line - 1,
            behind=here.offset,
            begin=first.offset,
            host=values["host"],
            os=values["os"],
            release=values["release"],
            tz=values["tz"] if values["tz"] != "unknown" else None,
            command=values["command"].strip(),
            began=values["at"],
            ended=ended,
        )
    )


def _marks(text: TextFile) -> Iterator[tuple[Position, Position, str]]:
    """Yield each mark: position of its line, position of the next line, its text."""
    line = 1
    for piece in text.pieces(text.start, text.size):
        marked = piece.lines.str.starts_with(SIGN).fill_null(False).arg_true().to_list()
        starts = piece.starts
        for index in marked:
            begin = piece.offset + int(starts[index])
            behind = piece.offset + int(starts[index + 1]) if index + 1 < len(starts) else piece.offset + piece.size
            yield Position(line + index, begin), Position(line + index + 1, behind), piece.lines[index]
        line += len(piece.lines)

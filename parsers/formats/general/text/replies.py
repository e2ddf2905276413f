r"""Read nested replies as redis-cli, valkey-cli and keydb-cli print them on a terminal or with `--no-raw`.

Each element is numbered; an element that is a list has its first element on the same line:

    1) 1) (integer) 12
       2) (integer) 1735689600
       3) (integer) 20315
       4) 1) "HGETALL"
          2) "basket:9"

Known are the entries of SLOWLOG GET (number, time, microseconds, command, client) and of LATENCY LATEST (event, time,
milliseconds of the latest and of the longest). Unnumbered replies, as printed to a pipe, are not recognised.
Source: Redis documentation, SLOWLOG GET, LATENCY LATEST; redis-cli.c, cliFormatReplyTTY.
"""

from __future__ import annotations

import re
from typing import Any

_VALUE = r"\(integer\) -?[0-9]{1,19}|\"(?:[^\"\\]|\\.){0,2000}\"|\(nil\)|\((?:double|true|false)\).{0,40}|\(empty [a-z ]{1,20}\)"
_LINE = re.compile(rf"(?P<before> *(?:[0-9]{{1,9}}\) +)+)(?P<value>{_VALUE})")
_OPENS = re.compile(rf" *[0-9]{{1,9}}\) +(?:[0-9]{{1,9}}\) +)+(?:{_VALUE})")
_INDEX = re.compile(r"([0-9]{1,9})\) ")

MOST_CELLS = 200
"""Maximum number of values of an entry that are stored; the slow log itself cuts a command to 32 arguments."""

LONGEST = 200
"""Maximum number of characters of a command that are stored."""

EPOCH = (1e9, 1e10)
"""Bounds of a plausible time in seconds since 1970."""

Reply = dict[str, Any]
"""An open entry: line_no, line_end, levels (column and number of each open element), cells (path and value). JSON-able."""


def opens(line: str) -> bool:
    """Return whether an entry that is a list begins on a line.

    >>> opens('1) 1) (integer) 4'), opens('1) "name"'), opens("1) 2) of the list")
    (True, False, False)
    """
    return ") " in line[:24] and _OPENS.fullmatch(line) is not None


def open_at(line_no: int) -> Reply:
    """Return an empty entry that begins on line `line_no`."""
    return {"line_no": line_no, "line_end": line_no, "levels": [], "cells": []}


def goes_on(reply: Reply, line_no: int, line: str) -> bool:
    """Add a line to an open entry; return False and change nothing if the line does not belong to it."""
    found = _LINE.fullmatch(line)
    if found is None or (reply["cells"] and opens(line) and _top(found["before"]) <= reply["levels"][0][0]):
        return False
    for index in _INDEX.finditer(found["before"]):
        reply["levels"] = [level for level in reply["levels"] if level[0] < index.end()]
        reply["levels"].append([index.end(), int(index[1])])
    if len(reply["cells"]) < MOST_CELLS:
        reply["cells"].append([[number for _, number in reply["levels"][1:]], found["value"]])
    reply["line_end"] = line_no
    return True


def _top(before: str) -> int:
    """Return the column after the first element number of a line; 0 if there is none."""
    found = _INDEX.search(before)
    return found.end() if found else 0


def row_of(reply: Reply) -> tuple[float, str, float, str] | None:
    """Return time (seconds since 1970), name, duration (s) and text of a known entry; None for any other list."""
    cells = {tuple(path): value for path, value in reply["cells"]}
    first, second, third, fourth = (_number(cells.get((n,))) for n in range(1, 5))
    at = second if second is not None and EPOCH[0] <= second < EPOCH[1] else None
    if at is None or third is None or third < 0:
        return None
    words = [_text(value) for path, value in cells.items() if len(path) == 2 and path[0] == 4]
    if first is not None and words and all(words):
        return at, f"command {words[0].upper()}", third / 1e6, " ".join(words)[:LONGEST]
    event = _text(cells.get((1,)))
    if event and fourth is not None:
        return (
            at,
            f"latency event {event}",
            max(third, fourth) / 1e3,
            f"{event}: last {third:.0f} ms, at most {fourth:.0f} ms",
        )
    return None


def _number(value: str | None) -> float | None:
    return float(value.removeprefix("(integer) ")) if value and value.startswith("(integer) ") else None


def _text(value: str | None) -> str:
    return value[1:-1] if value and value.startswith('"') else ""

r"""Rows of the objects in a JSON document that is printed over several lines, as browsers, tracers and clouds export them.

An object counts if it stands in a list: its first line is `{` alone, its last begins with `}`. It is a row like an object on one
line (`json_rows`). The lines themselves are read as any others too. An object of more than `MOST_LINES` lines, or with a line of
more than `LONGEST` characters, is none: a line that closes an object reads the lines of it again.
Source: RFC 8259; python -m json.tool, jq, JSON.stringify(x, null, 2) put each value on a line of its own.
"""

from __future__ import annotations

import json
from typing import Any

from parsers.formats.general.text.json_rows import row_of_object

MOST_LINES = 200
LONGEST = 4_000
"""Maximum length of a line of an object that becomes a row: the body of a page is no cell."""

DEEPEST = 64
OPEN = "objects"
"""Key of the state that holds the lines of what is open."""

State = dict[str, Any]
Found = tuple[int, list[str], list[str]]


def closed_by(state: State, no: int, line: str) -> Found | None:
    """Return the first line, names and values of the object that a line ends; `state` holds what is open.

    >>> held, text = {}, ['[', '  {', '    "id": 7,', '    "state": "late",', '    "ms": 91', '  },']
    >>> [found for n, line in enumerate(text, 1) if (found := closed_by(held, n, line))]
    [(2, ['id', 'state', 'ms'], ['7', 'late', '91'])]
    >>> text += ['{', '"body": "' + "x" * LONGEST + '",', *text[2:]]
    >>> [found[0] for n, line in enumerate(text, 1) if (found := closed_by(held, n, line))]
    [2]
    >>> [closed_by({}, n, line) for n, line in enumerate(["{", '"id": 7', "}"], 1)]
    [None, None, None]
    >>> [found[0] for n, line in enumerate(["{"] * 90 + text[:6], 1) if (found := closed_by(held, n, line))]
    [92]
    """
    held = state.get(OPEN)
    if held is None:
        if line.strip() not in ("{", "["):
            return None
        held = state[OPEN] = {"lines": [], "starts": [], "listed": line.strip() == "["}
    text = line.strip()
    lines, starts = held["lines"], held["starts"]
    lines.append([no, text])
    if text.startswith("}"):
        at = starts.pop() if starts else None
        made = None if at is None or at < 0 else _object(lines[at:])
        if not starts:
            held["lines"] = []
        return made
    if text.endswith("{"):
        starts.append(len(lines) - 1 if text == "{" and (starts or held["listed"]) else -1)
    if len(starts) > DEEPEST or (not starts and text not in ("[", "]", "],") and not text.endswith("[")):
        state.pop(OPEN)  # no line of a document
    elif len(text) > LONGEST:
        held["lines"], held["starts"] = [], [-1] * len(starts)
    elif len(lines) > MOST_LINES:
        _forget(held)
    return None


def _forget(held: State) -> None:
    """Drop the lines of the outermost object, which is too long to be a row."""
    starts = held["starts"]
    first = next((n for n, at in enumerate(starts) if at >= 0), None)
    if first is not None:
        starts[first] = -1
    cut = min((at for at in starts if at >= 0), default=len(held["lines"]))
    held["lines"] = held["lines"][cut:]
    held["starts"] = [at - cut if at >= 0 else at for at in starts]


def _object(lines: list[list[Any]]) -> Found | None:
    try:
        made = json.loads("\n".join(text for _, text in lines).rstrip(", ]"))
    except (ValueError, RecursionError):
        return None
    row = row_of_object(made) if isinstance(made, dict) else None
    return (lines[0][0], *row) if row else None

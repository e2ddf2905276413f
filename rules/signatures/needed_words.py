"""Words that a text must contain for a pattern to match it: searching them first saves trying hundreds of patterns.

>>> needed_words("timed? ?out (?:waiting|after) [0-9]+ ms")
('after', 'waiting')
>>> needed_words("[a-z]+")
()
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_parser: Any = vars(re)["_parser"]  # the library has no other way to take a pattern apart

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_NO_WIDTH = ("AT", "ASSERT", "ASSERT_NOT")
"""Operations that take no character, so that the text before and after them is one."""


def needed_words(pattern: str) -> tuple[str, ...]:
    """Return lower-case texts, at least one of which is in each ASCII text (in lower case) that the pattern matches
    regardless of case; nothing if there are none.
    """
    return tuple(sorted(_needed(_parser.parse(pattern, re.IGNORECASE)) or ()))


def _needed(operations: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    """Return the best set of alternatives of a sequence: the one whose shortest text is longest."""
    found: list[frozenset[str]] = []
    run = ""
    for operation, argument in operations:
        name = str(operation)
        if name == "LITERAL" and argument < 128:
            run += chr(argument).lower()
            continue
        if name in _NO_WIDTH:
            continue
        found.append(frozenset({run}))
        run = ""
        inner = _inside(name, argument)
        if inner:
            found.append(inner)
    found.append(frozenset({run}))
    return max((words for words in found if all(words)), key=_worth, default=None)


def _inside(name: str, argument: Any) -> frozenset[str] | None:
    if name in _REPEATS:
        least, _, inner = argument
        return _needed(inner) if least else None
    if name == "SUBPATTERN":
        return _needed(argument[-1])
    if name == "ATOMIC_GROUP":
        return _needed(argument)
    if name == "BRANCH":
        branches = [_needed(branch) for branch in argument[1]]
        return None if any(words is None for words in branches) else frozenset().union(*filter(None, branches))
    return None


def _worth(words: frozenset[str]) -> tuple[int, int]:
    return min(map(len, words)), -len(words)

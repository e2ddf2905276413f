"""Regions of a file, each with its own format.

Today's splitter is the simple one: the whole file is one part, unless a person gave the borders (`case.yaml` or the
evidence page). Lines between given parts are prose. A splitter for mails, tickets and pages keeps this contract: parts
ascend, do not overlap, and only a format's own claim or a person's word makes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from parsers.source import Hints


@dataclass(frozen=True)
class PartHint:
    """A person's borders: lines `line_from` to `line_to` (None = end of file), with what is known about them."""

    line_from: int
    line_to: int | None
    hints: Hints = field(default_factory=Hints)


@dataclass(frozen=True)
class Plan:
    """What to read next: a part (numbered from 1) or, with part None, an author's words between parts."""

    part: int | None
    line_from: int
    line_to: int | None
    hints: Hints


def plan(known: Sequence[PartHint], hints: Hints) -> list[Plan]:
    """Lay out a file from line 1 to its end.

    Raises ValueError if known parts overlap or begin before line 1.

    >>> [(p.part, p.line_from, p.line_to) for p in plan([PartHint(3, 5)], Hints())]
    [(None, 1, 2), (1, 3, 5), (None, 6, None)]
    """
    if not known:
        return [Plan(1, 1, None, hints)]
    plans: list[Plan] = []
    following: int | None = 1
    for number, part in enumerate(sorted(known, key=lambda p: p.line_from), start=1):
        backwards = part.line_to is not None and part.line_to < part.line_from
        if following is None or part.line_from < following or backwards:
            raise ValueError(f"parts overlap or run backwards at line {part.line_from}")
        if part.line_from > following:
            plans.append(Plan(None, following, part.line_from - 1, hints))
        plans.append(Plan(number, part.line_from, part.line_to, part.hints))
        following = None if part.line_to is None else part.line_to + 1
    if following is not None:
        plans.append(Plan(None, following, None, hints))
    return plans

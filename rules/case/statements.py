"""Check what people state: figures of an author (`<RULE>.<fact>`), and contradictory statements, which no rule may use."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from rules.model import FreeHypothesis, Statement

FIGURE = re.compile(r"(?P<rule>[A-Z]{2,4}-[0-9]{3}|TEAM-[a-z0-9]+-[0-9]{3})\.(?P<fact>[a-z_][a-z0-9_]*)")
"""Name of an author's figure: a rule and one of its facts (or `magnitude`)."""

WORDS = frozenset({"oradism_mode"})
"""Statements whose value is the text; the value of all others is the number."""


HYPOTHESIS = re.compile(r"H-[A-Z]+(-[A-Z]+)*")
"""Name of a statement that is evidence for or against that cause, as in `strongly against: SQL is fast once connected`.
"""

SPOKEN: Mapping[str, int] = {
    "strongly for": 10,
    "for": 6,
    "slightly for": 3,
    "neutral": 0,
    "slightly against": -3,
    "against": -6,
    "strongly against": -10,
}
"""Weight in decibans of the words in which people give their opinion.

The same words with the same reason count once, whichever causes they are about.
"""


def opinion_of(statement: Statement) -> tuple[int, str] | None:
    """Return weight and reason of an opinion about a cause; None if it is another statement or begins with none of the
    words.
    """
    word, _, reason = (statement.text or "").partition(":")
    if not HYPOTHESIS.fullmatch(statement.name) or word.strip() not in SPOKEN:
        return None
    return SPOKEN[word.strip()], reason.strip()


def _value(statement: Statement) -> object:
    return statement.text if statement.name in WORDS else statement.num


def _value_text(statement: Statement) -> str:
    value = _value(statement)
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def contradictory(statements: Sequence[Statement]) -> dict[tuple[str, str | None], tuple[Statement, ...]]:
    """Return the statements of each (name, subject) that have different values. One without a value contradicts
    nothing.
    """
    stated: dict[tuple[str, str | None], list[Statement]] = {}
    for s in statements:
        if _value(s) is not None:
            stated.setdefault((s.name, s.subject), []).append(s)
    return {key: tuple(all_) for key, all_ in stated.items() if len({_value(s) for s in all_}) > 1}


def usable(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return the statements that rules may read: those that no other statement contradicts."""
    out = contradictory(statements)
    return tuple(s for s in statements if (s.name, s.subject) not in out)


def problems(statements: Sequence[Statement], rules: Collection[str] | None) -> Iterable[str]:
    """Yield a message, starting with its key, for each contradiction and each figure that names none of `rules` (None:
    unknown).
    """
    for (name, subject), all_ in contradictory(statements).items():
        values = " and ".join(
            dict.fromkeys(
                f"{_value_text(s)}{' ' + s.unit if s.unit else ''} (by {s.author or 'unknown'})" for s in all_
            )
        )
        yield f"statements.{name}{f' of {subject}' if subject else ''}: is said to be {values}: none of them is used"
    for n, s in enumerate(statements):
        if HYPOTHESIS.fullmatch(s.name) and opinion_of(s) is None:
            yield f"statements[{n}].text: evidence on {s.name} begins with one of {', '.join(SPOKEN)} and a colon, then the reason"
        if "." not in s.name:
            continue
        figure = FIGURE.fullmatch(s.name)
        if figure is None:
            yield f"statements[{n}].name: {s.name!r} is no figure of a rule: <RULE>.<fact>, such as SHM-001.stall_s"
        elif rules is not None and figure["rule"] not in rules:
            yield f"statements[{n}].name: there is no rule {figure['rule']}"
        elif s.num is None and s.text is None:
            yield f"statements[{n}]: {s.name} has neither num nor text"


def free_problems(free: Sequence[FreeHypothesis], known: Collection[str]) -> Iterable[str]:
    """Yield a message, starting with its key, for each free hypothesis that clashes with the `known` ones or is
    malformed.
    """
    seen: set[str] = set()
    for n, h in enumerate(free):
        if not HYPOTHESIS.fullmatch(h.code):
            yield f"hypotheses[{n}].code: {h.code!r} is no code of a hypothesis: H- and capital letters, such as H-BACKUP"
        elif h.code in known:
            yield f"hypotheses[{n}].code: {h.code} is one of the library's own; its text stays"
        elif h.code in seen:
            yield f"hypotheses[{n}].code: {h.code} is named twice; the first text stays"
        seen.add(h.code)

"""Write the headline of a verdict: one sentence for managers, which every page, mail and command prints as it is.

The label (`LABELS`) stands before it and is not repeated in it. Seen things come before unseen ones, and no figure is
invented: a headline names one quantity at most, from the finding or the observation that it rests on. What an expert
wants to read is the verdict's `sentence`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rules.judging import plain_words
from rules.model import Finding, State, Symptom
from rules.observers.observer import FELT_S

LONG = 90
"""Maximum length of a headline in characters; a longer one is shortened at a comma, if it has one."""

NOT_VISIBLE = "Why is not visible yet."
SYMPTOM_NEAR = 0.1
"""Maximum difference, relative to it, between the symptom that people told and a time that the evidence shows."""

QUOTES = 'A line says: "{}". What it means is not known here.'

ONLY_RANKED = ("course", "setting", "descriptors")
"""Kinds of observations that tell what runs, not what takes time."""

Row = Mapping[str, Any]


def headline(
    state: State,
    best: Finding | None,
    tied: Sequence[str],
    observed: Sequence[Row],
    symptom: Symptom | None,
    beyond: Sequence[Finding] = (),
    covers: str = "",
) -> str:
    """Return the headline of the board's verdict in a state.

    `best` is the finding that carries a cause or suspect, `tied` the causes between which an undecided board cannot
    decide, `beyond` findings that place the seconds outside the evidence, `covers` what was read, in words.
    """
    match state:
        case "cause" | "suspect" if best is not None:
            return sentence(best.manager or best.headline)
        case "undecided":
            named = [text.split(", ", 1)[0].rstrip(".") for text in tied]
            listed = f"{', '.join(named[:-1])} or {named[-1]}" if len(named) > 1 else "".join(named)
            return sentence(f"{listed}: {'both explain' if len(named) == 2 else 'all explain'} it equally")
        case "nothing wrong seen":
            return sentence(f"in {covers}, long enough to hold the slow moment")
    if beyond:
        return f"{sentence(beyond[0].manager or beyond[0].headline)} {NOT_VISIBLE}"
    shown = symptom_shown(observed, symptom)
    if shown is None:
        return f"{sentence(f'nothing stands out in {covers}')} Why it is slow is not visible yet."
    if not plain_words.felt(shown):
        return f"{sentence(f'nothing takes long or fails in {covers}')} Why it is slow is not visible yet."
    return f"{sentence(plain_words.told(shown, LONG - len(NOT_VISIBLE)))} {NOT_VISIBLE}"


def lead_headline(is_: str, best: Row) -> str:
    """Return the headline of a lead: what the mechanism is, and how much of it the largest observation measured.

    >>> row = {"seconds": 10.0, "of_s": None, "n": 2, "observer": "long-waits", "kind": "wait", "unit": "s", "value": 5.0}
    >>> lead_headline("a name server does not answer", row)
    'A name server does not answer: 10.0 s in all.'
    """
    told = plain_words.with_measure(plain_words.acting(is_), best)
    return sentence(told if len(told) < LONG or (best.get("seconds") or 0.0) >= FELT_S else plain_words.acting(is_))


def quoting_headline(line: str) -> str:
    """Return the headline of evidence of which nothing is known but that one of its lines complains.

    >>> quoting_headline("the lift is blocked")
    'A line says: "the lift is blocked". What it means is not known here.'
    """
    return QUOTES.format(line if len(line) <= LONG else f"{line[:LONG].rpartition(' ')[0] or line[:LONG]} ...")


def symptom_shown(observed: Sequence[Row], symptom: Symptom | None) -> Row | None:
    """Return the observation that shows the symptom, else the strongest that one notices, else the strongest; None if
    nothing stands out.
    """
    outstanding = [row for row in observed if not row["idle"] and not row.get("normal")]
    bad = symptom.bad if symptom is not None and symptom.unit == "s" else None
    if bad:
        near = (
            row for row in outstanding if row["unit"] == "s" and abs((row["value"] or 0.0) - bad) <= SYMPTOM_NEAR * bad
        )
        if (found := next(near, None)) is not None:
            return found
    told = [row for row in outstanding if row["kind"] not in ONLY_RANKED]
    return next(filter(plain_words.felt, told), next(iter(told), None))


def sentence(text: str) -> str:
    """Return a text with a capital letter first, unless it begins with a name, and with its stop.

    >>> sentence("either one or the other"), sentence("/var is full"), sentence("2 s.")
    ('Either one or the other.', '/var is full.', '2 s.')
    """
    text = text.strip()
    if text.split(" ", 1)[0].rstrip(",:").isalpha():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."

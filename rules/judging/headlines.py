"""Write the headline of a verdict: one sentence for managers, which every page, mail and command prints as it is.

The label (`LABELS`) stands before it and is not repeated in it. Seen things come before unseen ones, and no figure is
invented: a headline names one quantity at most, from the finding or the observation that it rests on. What an expert
wants to read is the verdict's `sentence`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rules.model import Finding, State, Symptom
from rules.writing.messages import duration

LONG = 90
"""Maximum length of a headline in characters; a longer one is shortened at a comma, if it has one."""

NOT_VISIBLE = "Why is not visible yet."
SYMPTOM_NEAR = 0.1
"""Maximum difference, relative to it, between the symptom that people told and a time that the evidence shows."""

ONLY_RANKED = ("course", "setting")
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
    """Return the headline of a verdict of the board in a state.

    `best` carries a cause or suspect, `tied` are the causes that an undecided board cannot part, `beyond` findings that
    place the seconds where the evidence does not reach, `covers` what was read in words.
    """
    match state:
        case "cause" | "suspect" if best is not None:
            return sentence(best.manager or best.headline)
        case "undecided":
            named = [text.rstrip(".") for text in tied]
            listed = f"{', '.join(named[:-1])}, or {named[-1]}" if len(named) > 1 else "".join(named)
            return sentence(f"either {listed}: {'both fit' if len(named) == 2 else 'all fit'} equally")
        case "nothing wrong seen":
            return sentence(f"{covers}, long enough to hold the slow moment")
    if beyond:
        return f"{sentence(beyond[0].manager or beyond[0].headline)} {NOT_VISIBLE}"
    shown = symptom_shown(observed, symptom)
    if shown is not None:
        return f"{sentence(brief(shown['headline']), shown['subject'])} {NOT_VISIBLE}"
    return "Nothing that could be read stands out. Why it is slow is not visible yet."


def lead_headline(is_: str, best: Row) -> str:
    """Return the headline of a lead: what the mechanism is, and the seconds of its largest observation.

    >>> lead_headline("a name server does not answer", {"seconds": 10.0, "n": 2})
    'A name server does not answer: 10.0 s in all.'
    """
    seconds = best.get("seconds")
    if seconds is None or seconds < 0.1:
        return sentence(is_)
    joint = ", " if ":" in is_ else ": "
    return sentence(
        f"{is_.rstrip('.')}{joint}{seconds_in_words(seconds)}{' in all' if (best.get('n') or 1) > 1 else ''}"
    )


def symptom_shown(observed: Sequence[Row], symptom: Symptom | None) -> Row | None:
    """Return the observation that shows the symptom, else the strongest that stands out; None if nothing does."""
    outstanding = [row for row in observed if not row["idle"] and not row.get("normal")]
    bad = symptom.bad if symptom is not None and symptom.unit == "s" else None
    if bad:
        near = (
            row for row in outstanding if row["unit"] == "s" and abs((row["value"] or 0.0) - bad) <= SYMPTOM_NEAR * bad
        )
        if (found := next(near, None)) is not None:
            return found
    return next((row for row in outstanding if row["kind"] not in ONLY_RANKED), None)


def brief(text: str, most: int = LONG) -> str:
    """Shorten a sentence at a comma or semicolon outside brackets and quotes, so that it still has its figure.

    >>> brief("time elapsed took 3.940 s, 21 of 21 took 0.1 s or more, 0.310 s (median)", 60)
    'time elapsed took 3.940 s, 21 of 21 took 0.1 s or more'
    >>> brief("a sentence without a place to shorten it stays as it is, or so", 20)
    'a sentence without a place to shorten it stays as it is, or so'
    """
    text = text.rstrip(".")
    if len(text) <= most:
        return text
    ends = [at for at in _borders(text) if at <= most and re.search(r"\d", text[:at])]
    return text[: ends[-1]] if ends else text


def sentence(text: str, name: str = "") -> str:
    """Return a text with a capital letter first, unless it begins with a name, and with its stop.

    >>> sentence("either one or the other"), sentence("shmat waited 2 s", "shmat"), sentence("2 s.")
    ('Either one or the other.', 'shmat waited 2 s.', '2 s.')
    """
    text = text.strip()
    first = text.split(" ", 1)[0]
    if first.isalpha() and first != name.split(" ", 1)[0]:
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def seconds_in_words(seconds: float) -> str:
    """Write seconds with at most three digits.

    >>> [seconds_in_words(s) for s in (0.1234, 2.4734, 10.0, 94.0, 7200.0)]
    ['0.123 s', '2.47 s', '10.0 s', '1 min 34 s', '2 h 0 min']
    """
    return f"{seconds:#.3g} s" if 0.1 <= seconds < 60 else duration(seconds)


def _borders(text: str) -> list[int]:
    """Return the places of commas and semicolons that stand outside brackets and quotes and end a clause."""
    depth, quoted, found = 0, False, []
    for at, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter in ",;" and depth <= 0 and not quoted and text[at + 1 : at + 2] == " ":
            found.append(at)
    return found

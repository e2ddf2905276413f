"""Quote lines of short evidence where little else is told of it, those first that a reader would point at.

A paste of a few lines was cut by somebody who saw something in it. Where observers have less to tell than is shown,
lines that nothing cites fill the room, as they stand and without a word of what they mean: first lines that complain,
then those with figures. They are within no bounds and beyond none, so they stand behind all else and blame nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from rules.case.case import Case
from rules.model import LINE, Citation, Observation
from rules.observers.log_complaints import NOT_WORDS, WORDS

Row = dict[str, Any]
Cite = Callable[[int, int, int, str], tuple[Citation, ...]]
"""Quotes lines: artifact, first and last line, the role that they play."""

SHORT = 60
"""Maximum number of lines of an artifact that is short."""

MOST_READ = 1_200
"""Maximum number of lines of all artifacts that are looked at: a room may have hundreds of short ones."""

LONGEST = 240
"""Maximum number of characters of a line that are quoted."""

MOST_WORTH = 3
"""What a line is worth that complains."""

COMPLAINS, HARMLESS = re.compile(WORDS), re.compile(NOT_WORDS)
PROMPT = re.compile(r"\s*(?:\S{0,40}[$#>%]|PS [A-Z]:\\\S*>)\s+\S")
FIGURE = re.compile(r"(?<![\w.])\d[\d,.]*(?![\w])")
WITH_UNIT = re.compile(r"(?<![\w.])\d[\d,.]*\s?(?:%|[num]?s\b|sec|min|[kKMGT]i?B?\b|bytes|/s|ms)")


def quoted_lines(case: Case, cite: Cite, shown: Sequence[Mapping[str, Any]], most: int) -> list[Row]:
    """Return rows of at most `most` lines of the short artifacts that none of the `shown` rows cites."""
    found: list[tuple[int, int, int, str]] = []
    left = MOST_READ if most > 0 else 0
    for artifact in case.spec.artifacts if left else ():
        last = case.manifests.get(artifact.id, {}).get("lines") or 0
        if not 0 < last <= min(SHORT, left):
            continue
        left -= last
        cited = {no for row in shown for e in row["evidence"] if e["artifact_id"] == artifact.id for no in _range(e)}
        found += [(-_worth(text), artifact.id, no, text) for no, text in _texts(cite, artifact.id, last, cited)]
    return [_row(case, artifact, no, text) for _, artifact, no, text in sorted(found)[:most]]


def complaint(shown: Sequence[Observation]) -> str | None:
    """Return the line that is quoted first, if it complains and nothing but lines is shown."""
    if not shown or any(one.kind != LINE for one in shown):
        return None
    line = shown[0].headline[1:-1]
    return line if _worth(line) == MOST_WORTH else None


def _range(evidence: Mapping[str, Any]) -> range:
    return range(evidence["line_from"], evidence["line_to"] + 1)


def _texts(cite: Cite, artifact: int, last: int, cited: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line worth a quotation; of lines that differ in numbers alone the first."""
    forms: set[str] = set()
    for no in range(1, last + 1):
        if no in cited:
            continue
        text = " ".join(" ".join(one.text for one in cite(artifact, no, no, LINE)).split())
        form = re.sub(r"\d+", "#", text)
        if _worth(text) and form not in forms:
            forms.add(form)
            yield no, text


def _worth(text: str) -> int:
    """Return how much a line says by itself: that something is wrong, a figure with its unit, a figure, or nothing."""
    if len(text) < 3 or not re.search(r"[A-Za-z]", text) or PROMPT.match(text):
        return 0
    if COMPLAINS.search(text) and not HARMLESS.search(text):
        return MOST_WORTH
    return 2 if WITH_UNIT.search(text) else 1 if FIGURE.search(text) else 0


def _row(case: Case, artifact: int, no: int, text: str) -> Row:
    at = case.at(artifact, no)
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return {
        "artifact_id": artifact, "line_no": no, "observer": "quoted-lines", "kind": LINE, "subject": text[:80],
        "headline": f'"{cut}"', "host": at.host if at else None, "clock": None, "t_from": None, "t_to": None,
        "name": LINE, "value": float(no), "unit": "", "against": None, "against_value": None, "seconds": None, "share": None,
        "n": 1, "means": None, "signatures": (), "mechanism": None, "layer": None, "normal": True, "idle": None, "beside": None,
        "evidence": [{"artifact_id": artifact, "line_from": no, "line_to": no, "role": LINE}],
    }  # fmt: skip

"""What the evidence shows, as pages read it: magnitude, small picture, sentence, what it is compared with, lines.

Nothing is measured here. A figure that the report does not give is left out, and so is its picture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incidents.content import cited_words
from incidents.drawing import small_pictures
from incidents.drawing.small_pictures import Picture
from rules.model import LINE
from rules.writing.figures import figure
from rules.writing.messages import duration

if TYPE_CHECKING:
    from incidents.content.report import Citation

NEAR = 0.02
"""Maximum difference, relative to it, between a share and the percentage that the sentence says for it."""

UNMEASURED = ("setting", "course", LINE)
"""Kinds whose value and share only rank them: a setting is as it is written, a course is a story."""

_PERCENT = re.compile(r"(\d[\d,]*(?:\.\d+)?) ?%")
_SIZES = {"B": 1.0, "bytes": 1.0, "kB": 1024.0, "KB": 1024.0, "MB": 1024.0**2, "GB": 1024.0**3}
_STEPS = ("B", "kB", "MB", "GB", "TB", "PB")
_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_UNIT_NAMES = re.compile(r"_(?:s|pct|count|kb|bytes|ms|ps)$")


@dataclass(frozen=True)
class Observation:
    """What stands out in the evidence: one sentence with its figure, what it stands for, and its lines. No cause.

    `normal` marks a measure within its bounds, shown because little stands out. `reason` says why nobody loses time by
    it, if it is `idle` or harmless. `where` is the host, if the room knows several.
    """

    rank: int
    key: str
    headline: str
    means: str
    mechanism: str
    host: str
    normal: bool
    idle: bool
    reason: str
    magnitude: str
    small: str
    compared: str
    picture: Picture | None
    citations: list[Citation]
    where: str = ""
    names: tuple[Mapping[str, Any], ...] = ()
    """Names of the site that the headline tells: kind, name, text, author, at."""

    subject: str = ""
    layer: str = ""
    versus: tuple[tuple[str, str], ...] = ()
    """This figure and what it is compared with, each with its name; empty where it is compared with nothing."""
    named: frozenset[str] = frozenset()
    """Figures and names that a reader looks for in its lines."""

    when: Mapping[str, Any] | None = None
    """Clock, t_from and t_to, for `spans.span_of`."""

    @property
    def elsewhere(self) -> str:
        """Return the subject; empty if the headline names it."""
        return "" if self.subject in self.headline else self.subject


def observation(raw: Mapping[str, Any], cited: list[Citation]) -> Observation:
    """Return an observation of a report."""
    quantity, against = raw.get("quantity") or {}, raw.get("against") or {}
    value, unit = _number(quantity.get("value")), str(quantity.get("unit") or "")
    kind, name = str(raw.get("kind") or ""), str(quantity.get("name") or "")
    headline = str(raw.get("headline") or "")
    part = _said_share(raw.get("share"), headline) if kind not in UNMEASURED else None
    return Observation(
        rank=int(raw.get("rank") or 0),
        key=str(raw.get("key") or ""),
        headline=headline,
        means=str(raw.get("means") or ""),
        mechanism=str(raw.get("mechanism") or ""),
        host=str(raw.get("host") or ""),
        normal=bool(raw.get("normal")),
        idle=bool(raw.get("idle")),
        reason=str(raw.get("idle_reason") or ""),
        magnitude=magnitude(value, unit) if kind not in UNMEASURED else "",
        small=kind if kind in UNMEASURED else _small(value, unit, name, int(raw.get("n") or 0), part),
        compared=_compared(against, bool(raw.get("normal")) and kind != LINE),
        picture=_picture(raw, value, unit, kind, part),
        citations=cited,
        names=tuple(raw.get("names") or ()),
        subject=str(raw.get("subject") or ""),
        layer=str(raw.get("layer") or ""),
        named=cited_words.named(headline, raw.get("subject"), raw.get("t_from"), raw.get("t_to")),
        when={name: raw.get(name) for name in ("clock", "t_from", "t_to")},
        versus=_versus(value, unit, against) if kind not in UNMEASURED else (),
    )


def magnitude(value: float | None, unit: str) -> str:
    """Write a figure for a narrow column: seconds as the sentence has them, sizes and large counts in three digits.

    >>> [magnitude(v, u) for v, u in ((2.4734, "s"), (94.73, "%"), (18_771_804, "kB"), (48_211, "count"), (3.2e9, ""))]
    ['2.473 s', '94.7 %', '17.9 GB', '48,211', '3.20 billion']
    >>> magnitude(None, "s")
    ''
    """
    if value is None:
        return ""
    if unit == "s":
        return duration(value)
    if unit in _SIZES:
        return _size(value * _SIZES[unit])
    for step, word in _LARGE:
        if abs(value) >= step:
            return f"{_three_digits(value / step)} {word}"
    return figure(value, "%" if unit == "pct" else unit)


def _size(count: float) -> str:
    step = 0
    while abs(count) >= 1000 and step < len(_STEPS) - 1:
        count, step = count / 1024, step + 1
    return f"{count:.0f} B" if step == 0 else f"{_three_digits(count)} {_STEPS[step]}"


def _three_digits(number: float) -> str:
    return f"{number:.3g}" if number >= 100 else f"{number:#.3g}"


def _small(value: float | None, unit: str, name: str, n: int, part: float | None) -> str:
    """Write the second line below a magnitude: the thing counted, its share, or how often it occurred."""
    word = _UNIT_NAMES.sub("", name).replace("_", " ")
    if unit in ("", "count") or unit in _SIZES:
        return _single(word) if value == 1 and unit == "count" else word
    if unit in ("%", "pct"):
        return word
    if part is not None:
        return f"{figure(100 * part, '%')} of it"
    return f"{n:,} times" if n > 1 else ""


def _single(word: str) -> str:
    """Return the singular of the word for what is counted.

    >>> [_single(word) for word in ("processes", "retries", "lines", "switches", "class", "open")]
    ['process', 'retry', 'line', 'switch', 'class', 'open']
    """
    if word.endswith("ies"):
        return word.removesuffix("ies") + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word.removesuffix("es")
    return word if word.endswith("ss") else word.removesuffix("s")


def _compared(against: Mapping[str, Any], normal: bool) -> str:
    """Say what a figure is compared with, and the value of that if it adds to the words."""
    what, value, unit = str(against.get("what") or ""), _number(against.get("value")), str(against.get("unit") or "")
    if value == 0 and unit == "count":
        what = ""  # "no error" beside a count of errors
    elif value is not None and what and not (value == 1 and unit == "count"):
        what = f"{what}: {magnitude(value, unit)}"
    return ", ".join(text for text in (what, "within its bounds" if normal else "") if text)


def _versus(value: float | None, unit: str, against: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Pair a figure and what it is compared with, each with its name; empty unless both are figures."""
    what, usual, of = str(against.get("what") or ""), _number(against.get("value")), str(against.get("unit") or "")
    if value is None or usual is None or not what:
        return ()
    return ("this", magnitude(value, unit)), (what, magnitude(usual, of))


def _picture(raw: Mapping[str, Any], value: float | None, unit: str, kind: str, part: float | None) -> Picture | None:
    """Choose the picture by the values in the report: a share, two values, or a single measurement."""
    if value is None or kind in UNMEASURED:
        return None
    if part is not None:
        return small_pictures.share(part)
    against = raw.get("against") or {}
    usual = _number(against.get("value"))
    if usual is not None and str(against.get("unit") or "") == unit:
        return small_pictures.pair(value, usual)
    return small_pictures.sample() if raw.get("n") == 1 and raw.get("seconds") is None and not against else None


def _said_share(share: Any, headline: str) -> float | None:
    """Return the share if the headline states it as a percentage; other shares only rank the observation."""
    part = _number(share)
    if part is None or not 0 <= part <= 1:
        return None
    said = (float(found.replace(",", "")) / 100 for found in _PERCENT.findall(headline))
    return part if any(abs(one - part) <= NEAR * part for one in said) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

"""Decide which facts of a truth a report tells, and whether it asks for what an experienced person would ask for.

A fact is told if one of the first seven observations, or a finding, cites at most 20 lines that overlap the fact's and
names its quantity within 2 % (its subject, if it has none).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rules.model import FIRST_SHOWN, Citation, Finding, Observation, Report

if TYPE_CHECKING:
    from rules.judging.truth import Asked, Fact

FEW_LINES = 20
"""Maximum length in lines of a citation that tells a fact: who cites more leaves the looking to the reader."""

NEAR = 0.02
"""Maximum relative difference between the quantity of a fact and the one that was told."""

SCALE: Mapping[str, float] = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0,
    "b": 1 / 1024, "bytes": 1 / 1024, "kb": 1.0, "mb": 1024.0, "gb": 1024.0**2, "kib": 1.0, "mib": 1024.0, "gib": 1024.0**2,
    "%": 0.01, "pct": 0.01, "share": 1.0,
}  # fmt: skip
"""Factor from a unit to the base unit of its dimension: seconds, kB, share."""

NUMBER = re.compile(r"(?<![\w.])([-+]?\d[\d,]*(?:\.\d+)?)(?:\s?(ns|us|µs|ms|s|min|h|kB|MB|GB|KiB|MiB|GiB|%)(?!\w))?")


def told(fact: Fact, report: Report) -> bool:
    """Return whether the report tells a fact."""
    shown: tuple[Observation | Finding, ...] = (*report.observations[:FIRST_SHOWN], *report.findings)
    return any(_tells(fact, said) for said in shown)


def _tells(fact: Fact, said: Observation | Finding) -> bool:
    if not any(_overlaps(fact, c) for c in said.citations):
        return False
    if fact.quantity is None:
        words = (said.headline, said.subject, *(c.role for c in said.citations))
        return not fact.subject or any(fact.subject.lower() in w.lower() for w in words)
    wanted = _base(fact.quantity.value, fact.quantity.unit)
    return any(_near(wanted, value) or _near(fact.quantity.value, value) for value in _figures(said))


def _overlaps(fact: Fact, cited: Citation) -> bool:
    first, last = fact.range
    return (
        PurePath(cited.file).name == PurePath(fact.file).name
        and cited.line_to - cited.line_from < FEW_LINES
        and cited.line_from <= last
        and first <= cited.line_to
    )


def _base(value: float, unit: str | None) -> float:
    return value * SCALE.get((unit or "").lower(), 1.0)


def _figures(said: Observation | Finding) -> Iterator[float]:
    """Yield all figures that an observation or finding names, each as printed and in base units."""
    if isinstance(said, Observation):
        named: Iterable[tuple[Any, str | None]] = [
            (said.quantity.value, said.quantity.unit),
            (said.against.value if said.against else None, said.against.unit if said.against else None),
            (said.seconds, "s"),
            (said.share, None),
            (said.n, None),
        ]
    else:
        named = [(said.magnitude, said.unit), *((v, None) for v in said.facts.values())]
    for value, unit in named:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield from (float(value), _base(float(value), unit))
    for found in NUMBER.finditer(said.headline):
        number = float(found[1].replace(",", ""))
        yield from (number, _base(number, found[2]))


def _near(wanted: float, value: float) -> bool:
    return abs(wanted - value) <= NEAR * abs(wanted) + 1e-12


def asked_for(wanted: Iterable[Asked], report: Report) -> bool | None:
    """Return whether one of the report's asks names a tool that is wanted, on its host; None if nothing is wanted."""
    listed = tuple(wanted)
    if not listed:
        return None
    return any(
        re.search(rf"(?<!\w){re.escape(w.tool)}(?!\w)", ask.ask, re.IGNORECASE)
        and (w.host is None or ask.host is None or w.host == ask.host)
        for w in listed
        for ask in report.asks
    )

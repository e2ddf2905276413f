"""What every observer declares, and what it returns.

A module in `rules/observers/` holds `OBSERVER` and `observe(case)`, a pure function over evidence and derived tables
that yields what stands out (`Sighting`). Nothing is registered: the folder is scanned. An observer names no cause.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from rules import observers as package
from rules.derived.derived_table import CaseTables
from rules.signatures.signatures import Seen
from rules.writing.figures import figure as figure

FELT_S = 0.1
"""Minimum length of a wait in seconds that a person notices, where nobody said what is slow."""

MOST_LINES = 20
"""Maximum number of lines that the citations of one sighting cover together."""

MOST = 20
"""Maximum number of sightings that one observer keeps per artifact: the largest."""


CONTEXT = "context"
"""Kind of a sighting that tells what machine or program it is: it has no bound, and is shown where little stands out."""

KEPT = "kept"
"""Kind of a normal measure that stands beside another one already: it may contradict, and fills no line of its own."""


@dataclass(frozen=True)
class Observer:
    """Name, the question that the observer answers, and the tables it reads: it runs if any of them has rows.

    `next` is the command for the next look if no signature knows what stands out, per system (`*` for any).
    One that looks `across` artifacts sees the whole case; all others see one artifact at a time, so that adding an
    artifact costs only its own. Sightings of one that reads the same samples as another (`like`) do not confirm those.
    `alone`: it measures parts of a whole, so that half of the whole is enough for a lead even if the name only fits
    (decision 0017). `wordless`: its words are ours and those of what every program does, or it tells figures whose bounds
    decide; they lead to no layer by themselves (decision 0028).
    """

    name: str
    question: str
    tables: tuple[str, ...]
    next: Mapping[str, str] = field(default_factory=dict)
    across: bool = False
    like: str | None = None
    alone: bool = False
    wordless: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines of an artifact that a reader should see, with the role that they play."""

    artifact: int
    line_from: int
    line_to: int
    role: str


@dataclass(frozen=True)
class Sighting:
    """A quantity that stands out, or a `normal` measure, which may contradict an explanation.

    - `kind` is a word such as wait, repetition, failure; `subject` the thing as the lines name it.
    - `headline` is one sentence with the figure, what it is compared with, and no cause.
    - `name`, `value`, `unit` are the quantity; `against` says what it is compared with, `against_value` that value.
    - `lines` are the few lines that show it (at most `MOST_LINES` together).
    - `seconds` is wall time on somebody's way, as the union of intervals; `share` (0 to 1) the part of what the
      headline says; `of_s` the non-idle seconds that the artifact covers in its scope.
    - `seen` lists the names by which signatures may recognise it, nearest first (the leaf of a stack).
    - `idle` is the reason why nobody loses time by it; `failure` marks a failure that ended a step.
    - `normal` marks a measure within its bounds: it is not shown.
    - `beside`: what else the same lines show, added after the headline where the observation is shown.
    - `joins`: sightings of one kind and mechanism with the same word are shown as one, which lists the others' `short`.
    """

    kind: str
    subject: str
    headline: str
    name: str
    value: float
    unit: str
    lines: tuple[Lines, ...]
    host: str | None = None
    phase: str | None = None
    clock: str | None = None
    t_from: float | None = None
    t_to: float | None = None
    against: str | None = None
    against_value: float | None = None
    seconds: float | None = None
    share: float | None = None
    of_s: float | None = None
    n: int = 1
    seen: tuple[Seen, ...] = ()
    idle: str | None = None
    failure: bool = False
    normal: bool = False
    beside: str | None = None
    joins: str | None = None
    short: str | None = None


class OutOfTime(Exception):
    """The time of an observer is over; raised when the observer reads the next rows."""


def gathered(case: CaseTables, sources: Iterable[Callable[[CaseTables], Iterable[Sighting]]]) -> Gathered:
    """Return the sightings of several sources; those that would run after the time limit are missing."""
    found: list[Sighting] = []
    for source in sources:
        try:
            found.extend(source(case))  # what a source has yielded is kept even if its own time runs out
        except OutOfTime as late:
            return Gathered(found, late)
    return Gathered(found, None)


@dataclass(frozen=True)
class Gathered:
    """Sightings of sources, and the `OutOfTime` that stopped them, to be raised after the sightings are yielded."""

    found: list[Sighting]
    late: OutOfTime | None


class ObserverModule(Protocol):
    """Interface of a module of `rules/observers`."""

    OBSERVER: Observer

    def observe(self, case: CaseTables) -> Iterable[Sighting]: ...


@functools.cache
def observers() -> Mapping[str, ObserverModule]:
    """Return all observers by name; modules without an `OBSERVER` are shared code and left out."""
    found: dict[str, ObserverModule] = {}
    for entry in sorted(pkgutil.iter_modules(package.__path__), key=lambda e: e.name):
        module: Any = importlib.import_module(f"{package.__name__}.{entry.name}")
        if hasattr(module, "OBSERVER"):
            found[module.OBSERVER.name] = cast(ObserverModule, module)
    return found


def place(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return host, phase and clock of a row of a table, as arguments of a `Sighting`."""
    return {k: row.get(k) for k in ("host", "phase", "clock")}


def lines_of(row: Mapping[str, Any], role: str, most: int = MOST_LINES) -> tuple[Lines, ...]:
    """Return the lines of one row of a table, cut to the first `most`."""
    first, last = int(row["line_no"]), int(row.get("line_end") or row["line_no"])
    return (Lines(int(row["artifact_id"]), first, min(last, first + most - 1), role),)

"""Data model of a rule as its file describes it. The loader builds it and the engine uses it; nothing here runs
anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal

from rules.model import CLASSES, Layer

ParamValue = float | int | str


@dataclass(frozen=True)
class Param:
    """A typed threshold. `why` says where its default comes from; number and int need min and max, enum its values."""

    type: Literal["number", "int", "text", "enum"]
    default: Any
    why: str
    min: float | None = None
    max: float | None = None
    unit: str | None = None
    values: tuple[str, ...] = ()
    boundary_waiver: str | None = None

    def refuse(self, value: object) -> str | None:
        """Return why a value is not allowed here, or None if it is."""
        if self.type in ("number", "int"):
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or (self.type == "int" and not isinstance(value, int))
            ):
                return f"must be {'a number' if self.type == 'number' else 'a whole number'}, not {value!r}"
            if (
                value != value
                or (self.min is not None and value < self.min)
                or (self.max is not None and value > self.max)
            ):
                low, high = ("-" if x is None else f"{x:g}" for x in (self.min, self.max))
                return f"must be {low} to {high}, not {value!r}"
            return None
        if not isinstance(value, str):
            return f"must be text, not {value!r}"
        return f"must be one of {', '.join(self.values)}" if self.type == "enum" and value not in self.values else None


@dataclass(frozen=True)
class Need:
    """One requirement: a table with rows, a column with a value, matching rows, or a person's statement."""

    text: str
    table: str
    column: str | None = None
    statement: str | None = None
    where: tuple[tuple[str, str, Any], ...] = ()
    min_rows: int = 1


@dataclass(frozen=True)
class Requires:
    all: tuple[Need, ...]
    any: tuple[Need, ...] = ()
    confirms: tuple[Need, ...] = ()


@dataclass(frozen=True)
class Exonerates:
    """A layer that is cleared for the seconds in column `seconds`, always or in one tier only."""

    layer: Layer
    when: Literal["always", "base", "corroborated", "contradicted"]
    because: str
    seconds: str


@dataclass(frozen=True)
class Scale:
    """Severity by absolute steps of a column; a missing step is never reached."""

    source: str = field(metadata={"json": "from"})
    unit: str
    minor: float | None = None
    major: float | None = None
    critical: float | None = None
    below: Literal["info"] = "info"

    def of(self, value: float) -> str:
        """Return the severity word of a value in `unit`."""
        steps = (("critical", self.critical), ("major", self.major), ("minor", self.minor))
        return next((word for word, least in steps if least is not None and value >= least), self.below)


@dataclass(frozen=True)
class Own:
    """A weight that is not one of the classes; the reason is shown."""

    dB: int
    reason: str


@dataclass(frozen=True)
class Verify:
    metric: str
    statistic: str
    expect: Literal["increase", "decrease", "equal"]
    min_n: int | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class Messages:
    headline: str | Mapping[str, str]
    expert: str | Mapping[str, str]
    manager: str | Mapping[str, str]

    def template(self, which: Literal["headline", "expert", "manager"], tier: str) -> str:
        """Return the template for a tier; KeyError if the rule has none for it."""
        text: str | Mapping[str, str] = getattr(self, which)
        return text if isinstance(text, str) else text[tier]


@dataclass(frozen=True)
class When:
    """The level-1 form: threshold, ratio or absence over one table."""

    table: str
    where: tuple[tuple[str, str, Any], ...] = ()
    group_by: tuple[str, ...] = ()
    having: tuple[tuple[str, str, str, Any], ...] = ()
    min_rows: int = 1
    magnitude: tuple[str, str] = ("count", "line_no")
    corroborate: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class RuleTest:
    """An inline test: input rows and expected findings. Rows of derived tables may be included; other derived tables
    are built.
    """

    name: str
    tables: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    expect: tuple[Mapping[str, Any], ...] | None = None
    expect_not_evaluable: tuple[str, ...] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RuleFile:
    """The keys of a rule file with their types; `loader.load` checks what types cannot express."""

    schema: Literal[1]
    id: str
    slug: str
    title: str
    version: str
    status: Literal["draft", "experimental", "stable", "deprecated"]
    layer: Layer
    requires: Any
    evidence_group: str
    severity: Scale
    confidence: Mapping[str, str | Own]
    messages: Messages
    remedy: tuple[str, ...]
    false_positives: tuple[str, ...]
    contraindications: tuple[str, ...]
    verify: Verify
    tests: tuple[RuleTest, ...]
    authors: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    references: tuple[Any, ...] = ()
    related: tuple[Any, ...] = ()
    stage: Literal[1, 2] = 1
    contributing_layers: tuple[Layer, ...] = ()
    exonerates: tuple[Exonerates, ...] = ()
    hypotheses: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Param] = field(default_factory=dict)
    query: str | None = None
    scope: Literal["room", "artifact"] = "room"
    parts: Mapping[str, str] = field(default_factory=dict)
    when: When | None = None
    max_rows: int = 50


@dataclass(frozen=True)
class Rule:
    """A loaded rule: the file's content, its parsed requirements, and the SQL that runs (level 1 is compiled)."""

    file: RuleFile
    requires: Requires
    sql: str
    query_hash: str
    path: str

    @property
    def id(self) -> str:
        return self.file.id

    @property
    def area(self) -> str:
        """Return the folder of the rule's file."""
        return PurePath(self.path).parent.name

    def decibans(self, tier: str) -> int:
        """Return the weight of a tier before caps; KeyError for a tier that the rule does not have."""
        return weight(self.file.confidence[tier])

    def best(self) -> int:
        """Return the largest absolute weight of any tier of this rule."""
        return max(abs(self.decibans(t)) for t in self.file.confidence)


def weight(value: str | Own) -> int:
    """Return the decibans of a strength class (against if `-` is before it) or of an own number."""
    if isinstance(value, Own):
        return value.dB
    return -CLASSES[value[1:]] if value.startswith("-") else CLASSES[value]

"""The rules that judge rooms, shipped ones and the team's, and where each fires in the rooms that a person may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, QuerySet

from incidents.access import visible_to
from incidents.content.report import LAYERS, Claim, layer_name, quantity
from incidents.models.judging.finding import Finding
from incidents.models.room.incident import Incident
from rules.reporting import rule_words
from rules.writing.packs import Library, open_library
from rules.writing.rule import Need, Rule

#: Prefix of the ids of a team's own rules (`docs/rule-reference.md`).
TEAM = "TEAM-"


def library() -> Library:
    """Return all rules; read them again when a file in a team's folder changed. Takes half a second the first time."""
    folders = tuple(settings.EXHIBIT_RULES)
    stamp = tuple(
        sorted((str(file), file.stat().st_mtime_ns) for folder in folders for file in Path(folder).rglob("*.yaml"))
    )
    return _library(folders, stamp)


@lru_cache(maxsize=2)
def _library(folders: tuple[Path, ...], stamp: tuple[tuple[str, int], ...]) -> Library:
    return open_library(*folders)


def rule_of(id: str) -> Rule | None:
    return next((rule for rule in library().rules if rule.id == id), None)


@dataclass(frozen=True)
class Shown:
    """A rule as the list and its page show it; `rooms` counts the visible rooms in which it fires now."""

    rule: Rule
    rooms: int = 0

    @property
    def id(self) -> str:
        return self.rule.id

    @property
    def title(self) -> str:
        return self.rule.file.title

    @property
    def layer(self) -> str:
        return layer_name(self.rule.file.layer)

    @property
    def letters(self) -> str:
        return LAYERS.get(self.rule.file.layer, ("", ""))[0]

    @property
    def team(self) -> bool:
        return self.id.startswith(TEAM)

    @property
    def area(self) -> str:
        return self.rule.area.replace("_", " ")

    @property
    def status(self) -> str:
        return self.rule.file.status

    @property
    def needs(self) -> list[str]:
        """Name the tables that the rule requires."""
        requires = self.rule.requires
        return list(dict.fromkeys(need.statement or need.table for need in (*requires.all, *requires.any)))

    def matches(self, words: list[str]) -> bool:
        f = self.rule.file
        text = " ".join(
            (f.id, f.title, f.slug, self.layer, self.area, *f.tags, *self.needs, *rule_words.tables(self.rule))
        )
        return all(word in text.casefold() for word in words)


def fired(user: User | AnonymousUser) -> dict[str, int]:
    """Count, per rule, the rooms visible to this person in which it fires now, in one query."""
    rows = found_in(user).values("rule").annotate(rooms=Count("incident", distinct=True)).order_by("rule")
    return {str(row["rule"]): int(row["rooms"]) for row in rows}


def found_in(user: User | AnonymousUser) -> QuerySet[Finding]:
    """Return the present findings of rules in the rooms that this person may see."""
    rooms = visible_to(user).values("pk")
    return Finding.objects.filter(incident__in=rooms, gone_since__isnull=True, withdrawn=False)


def rooms_of(user: User | AnonymousUser, id: str) -> QuerySet[Incident]:
    """Return the rooms of this person in which a rule fires now, newest first."""
    ids = found_in(user).filter(rule=id).values("incident")
    return Incident.objects.filter(pk__in=ids).order_by("-created_at", "-pk")


@dataclass(frozen=True)
class Threshold:
    """A parameter of a rule; `used` and `origin` are set where a finding is explained."""

    name: str
    default: Any
    unit: str
    least: float | None
    most: float | None
    values: tuple[str, ...]
    why: str
    used: Any = None
    origin: str = ""

    @property
    def bounds(self) -> str:
        if self.values:
            return ", ".join(self.values)
        return f"{self.least:,.12g} to {self.most:,.12g}" if self.least is not None and self.most is not None else ""

    @property
    def changed(self) -> bool:
        return self.used is not None and self.used != self.default


def thresholds(rule: Rule, used: Mapping[str, Any] | None = None) -> list[Threshold]:
    """List the parameters of a rule, with the values that a finding used."""
    found = []
    for name, param in rule.file.params.items():
        value = (used or {}).get(name) or {}
        found.append(
            Threshold(
                name, param.default, param.unit or "", param.min, param.max, param.values, param.why,
                value.get("value"), str(value.get("origin") or ""),
            )
        )  # fmt: skip
    return found


@dataclass(frozen=True)
class Explained:
    """A rule with the values of one finding filled in, to explain the finding."""

    claim: Claim
    rule: Rule | None

    @cached_property
    def thresholds(self) -> list[Threshold]:
        return thresholds(self.rule, self.claim.raw.get("params")) if self.rule else []

    @property
    def other_version(self) -> str:
        """Return the version that judged, if the rule has another version by now."""
        return self.claim.version if self.rule and self.claim.version != self.rule.file.version else ""

    @property
    def facts(self) -> list[tuple[str, str]]:
        """List the values that the condition returned; numbers rounded for reading, lists and texts as they are."""
        return [
            (name, _written(value)) for name, value in (self.claim.raw.get("facts") or {}).items() if value is not None
        ]

    @property
    def severity(self) -> str:
        """Explain the severity."""
        return f"{self.claim.severity}: {self.claim.magnitude}" if self.claim.magnitude else self.claim.severity

    @property
    def steps(self) -> str:
        return rule_words.severity(self.rule) if self.rule else ""

    @property
    def tier(self) -> str:
        return str(self.claim.raw.get("tier") or "")

    @property
    def weights(self) -> list[tuple[str, int, str]]:
        return rule_words.weights(self.rule) if self.rule else []

    @property
    def sql(self) -> str:
        """Return the condition with the values of this case filled in; for reading only."""
        if self.rule is None:
            return ""
        values = {one.name: one.default if one.used is None else one.used for one in self.thresholds}
        return rule_words.filled_in(self.rule.sql.rstrip(), values)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)  # pids and ports are names, not amounts
    if isinstance(value, float):
        return quantity(value, None)
    return ", ".join(map(_written, value)) if isinstance(value, list) else str(value)


def needed(need: Need) -> tuple[str, str]:
    """Return the table (or statement) of a requirement, and its wording in the rule file."""
    return (need.statement or need.table, need.text)

"""Load folders of further rules: a team's rule files, packs, changed thresholds, suppressions. Broken files are
reported and left out.

A folder (`--rules DIR`, setting EXHIBIT_RULES) holds rule files and optionally `pack.yaml` (its folder is then a pack),
`overrides.yaml` and `suppressions.yaml`. No fault stops the loading: a broken file becomes a `Failed` that names file
and key, and the rest is used.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from rules import registry
from rules.errors import RuleInvalid
from rules.model import Failed, Override, Suppression
from rules.writing.compiled import compiled
from rules.writing.decoding import decode
from rules.writing.loader import MAX_BYTES, load_file
from rules.writing.rule import Rule
from rules.writing.yaml_text import load_yaml

ENGINE = 1
"""Version of the rule language that this engine implements; a pack may require a range of versions."""

HOLDS = {">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt, "=": operator.eq}
RANGE = re.compile(r"(>=|<=|<|>|=)\s*([0-9]+)")
MOST_DAYS = 90
"""Maximum days until a suppression ends: what is hidden must be reviewed again."""

PACK, OVERRIDES, SUPPRESSIONS = "pack.yaml", "overrides.yaml", "suppressions.yaml"
T = TypeVar("T")


@dataclass(frozen=True)
class OverrideEntry:
    """One changed threshold of an overrides.yaml; `rule` and `param` as in the rule file."""

    rule: str
    param: str
    value: float | int | str
    reason: str
    author: str
    expires: str | None = None
    scope: Literal["site", "team"] = "team"


@dataclass(frozen=True)
class OverrideFile:
    overrides: tuple[OverrideEntry, ...] = ()


@dataclass(frozen=True)
class SuppressionFile:
    suppressions: tuple[Suppression, ...] = ()


@dataclass(frozen=True)
class PackFile:
    """A pack: name and version, required engine versions, SQL that returns a row if the pack applies, and files (all if
    none is named).
    """

    name: str
    version: str
    engine: str = f">={ENGINE}"
    discovery: str | None = None
    rules: tuple[str, ...] = ()
    overrides: tuple[OverrideEntry, ...] = ()


@dataclass(frozen=True)
class Pack:
    """A pack in use; without `discovery` it always applies."""

    name: str
    version: str
    discovery: str | None
    rules: frozenset[str]


@dataclass(frozen=True)
class Library:
    """Everything that judges a case. `broken` names each file that could not be used."""

    rules: tuple[Rule, ...]
    packs: tuple[Pack, ...] = ()
    overrides: tuple[Override, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    broken: tuple[Failed, ...] = ()
    complete: bool = True

    def only(self, ids: Iterable[str]) -> Library:
        """Return the same library with these rules only."""
        wanted = set(ids)
        return replace(self, rules=tuple(r for r in self.rules if r.id in wanted), complete=False)


@dataclass(frozen=True)
class Placed(Generic[T]):
    """An entry with its file and key."""

    file: str
    key: str
    entry: T


@dataclass
class _Opened:
    ready: Mapping[Path, Rule] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
    packs: list[Pack] = field(default_factory=list)
    overrides: list[Placed[Override]] = field(default_factory=list)
    suppressions: list[Placed[Suppression]] = field(default_factory=list)
    broken: list[Failed] = field(default_factory=list)

    def attempt(self, path: Path, read: Callable[[Path], T]) -> T | None:
        """Read a file; on a fault record it under the file's name and return None."""
        try:
            return read(path)
        except RuleInvalid as error:
            self.broken.append(Failed(_named(path), f"{error.key}: {error.why}" if error.key else error.why))
        except (OSError, UnicodeDecodeError) as error:
            self.broken.append(Failed(_named(path), f"cannot be read: {error}"))
        return None


def open_library(*folders: Path) -> Library:
    """Return the shipped rules and everything in further folders. Of two rules with one id the first is used and the
    second is broken.
    """
    opened = _Opened(_shipped())
    for folder in (registry.LIBRARY, *folders):
        if not folder.is_dir():
            opened.broken.append(Failed(folder.name, "is no folder: none of its rules is used"))
            continue
        packs = {p.parent: opened.attempt(p, lambda p: _decoded(p, PackFile)) for p in sorted(folder.rglob(PACK))}
        for path in sorted(folder.rglob("*.yaml")):
            if path.name == OVERRIDES:
                override_file = opened.attempt(path, lambda p: _decoded(p, OverrideFile))
                opened.overrides += (
                    placed(_named(path), "overrides", _scoped(override_file.overrides)) if override_file else ()
                )
            elif path.name == SUPPRESSIONS:
                suppression_file = opened.attempt(path, lambda p: _decoded(p, SuppressionFile))
                opened.suppressions += (
                    placed(_named(path), "suppressions", suppression_file.suppressions) if suppression_file else ()
                )
            elif path.name != PACK and not any(p in packs for p in path.parents):
                _add(opened, path)
        for place, pack in packs.items():
            if pack is not None:
                _open_pack(opened, place, pack)
    rules = tuple(opened.rules[k] for k in sorted(opened.rules))
    overrides, absurd = usable_overrides(opened.overrides, opened.rules)
    suppressions, endless = usable_suppressions(opened.suppressions)
    return Library(rules, tuple(opened.packs), overrides, suppressions, (*opened.broken, *absurd, *endless))


def _named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def placed(file: str, key: str, entries: Iterable[T]) -> list[Placed[T]]:
    """Return the entries of a list, each with its file and key."""
    return [Placed(file, f"{key}[{n}]", entry) for n, entry in enumerate(entries)]


def _decoded(path: Path, kind: type[T]) -> T:
    def fail(where: str, why: str) -> RuleInvalid:
        return RuleInvalid(path.name, where, why)

    return decode(kind, load_yaml(path.read_text("utf-8"), fail, limit=MAX_BYTES), fail)


def _shipped() -> Mapping[Path, Rule]:
    """Return the shipped rules by file, from their compiled form; none if a rule is broken.

    The caller then reads each file by itself and reports the broken one.
    """
    files = sorted(p for p in registry.LIBRARY.rglob("*.yaml") if p.name not in (PACK, OVERRIDES, SUPPRESSIONS))
    try:
        found = compiled("library", registry.LIBRARY, files, lambda: [load_file(path) for path in files])
    except (RuleInvalid, OSError, UnicodeDecodeError):
        return {}
    return dict(zip(files, found, strict=True))


def _add(opened: _Opened, path: Path) -> Rule | None:
    rule = opened.ready.get(path) or opened.attempt(path, load_file)
    if rule is None:
        return None
    if rule.id in opened.rules:
        opened.broken.append(Failed(_named(path), f"id: {rule.id} is also in {opened.rules[rule.id].path}"))
        return None
    opened.rules[rule.id] = rule
    return rule


def _open_pack(opened: _Opened, place: Path, pack: PackFile) -> None:
    where = f"{place.name}/{PACK}"
    refused = _refused(pack.engine)
    if refused:
        opened.broken.append(Failed(where, f"engine: {refused}; none of its rules is used"))
        return
    paths = [place / name for name in pack.rules] or sorted(
        p for p in place.rglob("*.yaml") if p.name not in (PACK, OVERRIDES, SUPPRESSIONS)
    )
    found = []
    for n, path in enumerate(paths):
        if place.resolve() not in path.resolve().parents or not path.is_file():
            opened.broken.append(Failed(where, f"rules[{n}]: there is no file {pack.rules[n]!r} in this folder"))
            continue
        rule = _add(opened, path)
        found += [rule.id] if rule else []
    opened.packs.append(Pack(pack.name, pack.version, pack.discovery, frozenset(found)))
    opened.overrides += placed(where, "overrides", [replace(o, scope="pack") for o in _scoped(pack.overrides)])


def _scoped(entries: Iterable[OverrideEntry]) -> list[Override]:
    return [Override(e.rule, e.param, e.value, e.reason, e.author, e.scope, e.expires) for e in entries]


def _refused(wanted: str) -> str | None:
    """Return why a range such as `>=1, <3` does not include this engine, None if it does."""
    for part in wanted.split(","):
        match = RANGE.fullmatch(part.strip())
        if match is None:
            return f"{wanted!r} is no range such as '>=1, <3'"
        least = int(match[2])
        if not HOLDS[match[1]](ENGINE, least):
            return f"needs {wanted}, this is {ENGINE}"
    return None


# --- changed thresholds and suppressions ------------------------------------------------------------------------------


def usable_overrides(
    overrides: Sequence[Placed[Override]], rules: Mapping[str, Rule], known: bool = True
) -> tuple[tuple[Override, ...], tuple[Failed, ...]]:
    """Return the valid overrides, and a message for each invalid one, whose rule then keeps its other value.

    `known`: `rules` holds all rules, so one that is missing from it does not exist.
    """
    used, refused = [], []
    for at in overrides:
        o = at.entry
        rule = rules.get(o.rule)
        if rule is None:
            if known:
                refused.append(Failed(at.file, f"{at.key}.rule: there is no rule {o.rule}: not applied"))
            continue
        param = rule.file.params.get(o.param)
        why = "the rule has no such parameter" if param is None else param.refuse(o.value)
        key = "param" if param is None else "value"
        if why is None and o.expires is not None and _day(o.expires) is None:
            key, why = "expires", f"is no date: {o.expires!r}"
        if why:
            refused.append(
                Failed(at.file, f"{at.key}.{key}: {o.rule}.{o.param}: {why} (said by {o.author}): not applied")
            )
        else:
            used.append(o)
    return tuple(used), tuple(refused)


def usable_suppressions(
    suppressions: Sequence[Placed[Suppression]], today: date | None = None
) -> tuple[tuple[Suppression, ...], tuple[Failed, ...]]:
    """Return the suppressions in force, and a message for each invalid one: too long, or without a date."""
    now = today or datetime.now(UTC).date()
    used, refused = [], []
    for at in suppressions:
        s = at.entry
        until = _day(s.until)
        key, why = "until", ""
        if until is None:
            why = f"is no date: {s.until!r}"
        elif until > now + timedelta(days=MOST_DAYS):
            why = f"{s.until} is more than {MOST_DAYS} days away"
        elif s.scope == "host" and s.host is None:
            key, why = "host", "is needed with scope host"
        elif until >= now:
            used.append(s)
        if why:
            refused.append(Failed(at.file, f"{at.key}.{key}: {s.rule}: {why} (said by {s.author}): not applied"))
    return tuple(used), tuple(refused)


def hides(suppression: Suppression, rule: str, host: str | None, subject: str) -> bool:
    """Return whether a suppression hides a finding; its `subject` is a pattern such as `pid 37*`."""
    return (
        suppression.rule == rule
        and (suppression.host is None or suppression.host == host)
        and fnmatchcase(subject, suppression.subject)
    )


def _day(text: Any) -> date | None:
    try:
        return date.fromisoformat(str(text)[:10])
    except ValueError:
        return None

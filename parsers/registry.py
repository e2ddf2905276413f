"""Find all formats, collect their claims on a file and choose one."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import ModuleType

import parsers.formats
from parsers.declarations import Claim, Format
from parsers.errors import AmbiguousFormat, UnknownFormat
from parsers.provenance.prompts import named_by
from parsers.secrets.words import without_secrets
from parsers.text.source import Head, Hints

ENOUGH = 0.3
"""Minimum strength of a claim that takes a file."""

RACE = 0.05
"""Minimum difference in strength between claims of two kinds; below it a person is asked to choose."""

BONUS = 0.4
"""Share of the distance to strength 1 that a claim gains when the command at the prompt names its tool."""


@dataclass(frozen=True)
class Ranked:
    """A claim with the format that it names and the module that parses it."""

    format: Format
    claim: Claim
    module: ModuleType

    @property
    def variant(self) -> str:
        return self.format.variant


@cache
def modules() -> tuple[ModuleType, ...]:
    """Import all modules of `parsers/formats` and return the formats among them.

    A format has FORMAT or FORMATS, `claim` and `parse`; other modules are helpers of a format.
    """
    names = sorted(m.name for m in pkgutil.walk_packages(parsers.formats.__path__, "parsers.formats.") if not m.ispkg)
    found = [importlib.import_module(name) for name in names]
    gc.freeze()  # imported objects stay for good: scanning them in each garbage collection costs 5 % of a large reading
    complete = [m for m in found if hasattr(m, "claim") and hasattr(m, "parse")]
    return tuple(m for m in complete if hasattr(m, "FORMAT") or hasattr(m, "FORMATS"))


def formats_of(module: ModuleType) -> tuple[Format, ...]:
    """Return the formats that a module declares."""
    formats: tuple[Format, ...] = module.FORMATS if hasattr(module, "FORMATS") else (module.FORMAT,)
    return formats


def all_formats() -> list[tuple[Format, ModuleType]]:
    """Return every format with its module, sorted by kind and variant."""
    pairs = [(f, m) for m in modules() for f in formats_of(m)]
    return sorted(pairs, key=lambda pair: (pair[0].kind, pair[0].variant))


@cache
def names_of(form: Format) -> frozenset[str]:
    """Return the words that name a format on a command line: its kind, its tools, its manual pages."""
    tools = {part.split()[0].rpartition("/")[2] for part in re.split(r"[|;]", form.example) if part.strip()}
    tools -= {"cat", "grep", "curl", "ssh"}
    return frozenset({form.kind, *tools, *re.findall(r"([\w.+-]+)\(\d\w*\)", form.man)})


@lru_cache(maxsize=4096)
def _modules_of(kinds: frozenset[str]) -> tuple[ModuleType, ...]:
    return tuple(module for module in modules() if formats_of(module)[0].kind in kinds)


def rank(head: Head, command: str | None = None, kinds: Collection[str] | None = None) -> tuple[Ranked, ...]:
    """Collect the claims of all formats, or of those of some kinds, on a head; strongest first, ties by kind and
    variant.

    A command at a prompt above the lines makes a claim stronger; a format may also compare the lines with its options.
    """
    ranked = []
    if command and head.command != command:
        head = replace(head, command=command)
    for module in modules() if kinds is None else _modules_of(frozenset(kinds)):
        claim: Claim | None = module.claim(head)
        if claim is None or claim.strength <= 0:
            continue
        formats = formats_of(module)
        named = [f for f in formats if f.variant == claim.variant]
        if command and named_by(command, names_of((named or list(formats))[0])):
            strength = round(claim.strength + BONUS * (1 - claim.strength), 2)
            claim = replace(claim, strength=strength, reason=f"{claim.reason}; {command.split()[0]} at the prompt")
        told = replace(claim, reason=without_secrets(claim.reason))  # a reason may quote the lines
        ranked.append(Ranked((named or list(formats))[0], told, module))
    return tuple(sorted(ranked, key=lambda r: (-r.claim.strength, r.format.kind, r.variant)))


def choose(claims: Sequence[Ranked], hints: Hints) -> Ranked:
    """Choose the format to read with: the one a person named, else the strongest claim.

    Raises UnknownFormat when no claim is strong enough or the named kind does not exist, AmbiguousFormat when two kinds
    are nearly equal.
    """
    if hints.kind is not None:
        return _named(claims, hints.kind, hints.variant)
    strong = [c for c in claims if c.claim.strength >= ENOUGH]
    if not strong:
        raise UnknownFormat(tuple(claims))
    best = strong[0]
    rivals = [c for c in strong[1:] if c.format.kind != best.format.kind]
    if rivals and best.claim.strength - rivals[0].claim.strength < RACE:
        raise AmbiguousFormat((best, rivals[0], *[c for c in claims if c not in (best, rivals[0])]))
    return best


@cache
def general() -> Ranked:
    """Return the format for text that no other format claims; its module declares `GENERAL`."""
    module = next(m for m in modules() if getattr(m, "GENERAL", False))
    form = formats_of(module)[0]
    return Ranked(form, Claim(0.0, "no format recognises the first lines", form.variant), module)


def _named(claims: Sequence[Ranked], kind: str, variant: str | None) -> Ranked:
    known = [(f, m) for f, m in all_formats() if f.kind == kind and variant in (None, f.variant)]
    if not known:
        raise UnknownFormat(tuple(claims))
    claimed = [c for c in claims if c.format.kind == kind and variant in (None, c.variant)]
    if claimed:
        return claimed[0]
    # A person's choice outranks the claims; the reading reports the first line that does not fit.
    return Ranked(known[0][0], Claim(0.0, "named by a person", known[0][0].variant), known[0][1])

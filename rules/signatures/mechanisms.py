"""The closed list of mechanisms: what a wait or a failure can be, where it is owed, what speaks against it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from rules.errors import RuleInvalid
from rules.model import Layer
from rules.writing.compiled import compiled
from rules.writing.decoding import decode

FILE = Path(__file__).parent / "mechanisms.yaml"


@dataclass(frozen=True)
class Contradiction:
    """An observation that would be different if the mechanism were true.

    `measure` names a measure of the same host (`cpu_busy_pct` ...) that speaks against it when it lies `below` or
    `above` the number; `mechanism` names another one that, recognised on the same lines, excludes it.
    """

    because: str
    measure: str | None = None
    below: float | None = None
    above: float | None = None
    mechanism: str | None = None


@dataclass(frozen=True)
class Step:
    """What would prove or exclude the mechanism.

    Either a `table` (with the `value` that narrows it) whose command `rules.collecting` knows for the host's system,
    or an `ask` of its own, per system (`*` for any), with who runs it.
    """

    table: str | None = None
    value: str | None = None
    ask: Mapping[str, str] | None = None
    who: str | None = None


@dataclass(frozen=True)
class Mechanism:
    """One entry of mechanisms.yaml.

    `contradicted_by` may be empty only with a reason in `none_known`. `follow` marks a wait for somebody else (a child,
    a peer): the answer is owed at the other end, so it is followed, and a lead only where a name tells who that is.
    `far_end`: the wait itself says who that is (the server behind a proxy, or that a request went to).
    `plain_asleep`: several asleep in it at once name it outright, though each name only fits: nobody is there in passing.
    `brings` names the mechanisms that are seen wherever this one is at work, such as paging by a full memory node.
    `ordinary`: a machine at work looks the same, so that one name which only fits is never enough for a lead.
    `retried`: the next try repairs it, so that a rare line of a long log that tells of it is no lead.
    `unnamed`: stands for whatever of its layer no entry names; only the words of what stands out lead to it.
    """

    mechanism: str
    is_: str = field(metadata={"json": "is"})
    layer: Layer
    hypothesis: str
    next: tuple[Step, ...] = ()
    contradicted_by: tuple[Contradiction, ...] = ()
    none_known: str | None = None
    looks_like: tuple[str, ...] = ()
    follow: bool = False
    far_end: bool = False
    plain_asleep: bool = False
    brings: tuple[str, ...] = ()
    ordinary: bool = False
    retried: bool = False
    unnamed: bool = False


@functools.cache
def mechanisms() -> Mapping[str, Mechanism]:
    """Return all mechanisms by name, in the order of the file."""
    return compiled("mechanisms", FILE.parent, [FILE], _read)


def _read() -> dict[str, Mechanism]:
    loaded = yaml.load(FILE.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    made: dict[str, Mechanism] = {}
    for n, entry in enumerate(loaded, 1):

        def fail(where: str, why: str, n: int = n) -> RuleInvalid:
            return RuleInvalid(FILE.name, f"entry {n}: {where}", why)

        one = decode(Mechanism, entry, fail)
        if one.mechanism in made:
            raise fail("mechanism", f"{one.mechanism} stands twice")
        made[one.mechanism] = one
    return made

"""What names stand for: recognise functions, calls, paths, ports, errors, counters, settings, events and log lines.

Each folder here is named after what its entries recognise (a key of `Seen`); its YAML files are areas, each a list of
entries (`Signature`). A signature is knowledge about a name, never an accusation: it explains an observation, or it is
a remark about a setting. Every entry names a source that one can open.

>>> recognise(stack="jbd2_log_wait_commit")[0].mechanism
'journal-wait'
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast

import yaml

from parsers.kept_patterns import compile_own
from rules.errors import RuleInvalid
from rules.model import Layer
from rules.signatures.mechanisms import FILE as MECHANISMS
from rules.signatures.mechanisms import mechanisms
from rules.signatures.needed_words import needed_words
from rules.writing.compiled import compiled
from rules.writing.decoding import decode

FOLDER = Path(__file__).parent
Strength = Literal["mechanism", "shape", "remark", "harmless", "idle"]
"""How much a name says.

`mechanism` names the mechanism outright; `shape` fits it, and others too; `remark` only tells what the name is;
`harmless` and `idle` say that nobody loses time by it.
"""

TIMER_SHARE, TIMER_S = 0.005, 0.012
"""A duration is that of a timer if it exceeds it by at most this share of it or these seconds, the larger one."""


class Seen(TypedDict, total=False):
    """What an observation saw: any of the names that a signature may match.

    `stack` is a function of a kernel (frame, wait channel), `symbol` one of a program or library, `process` a program's
    name, `step` the words around a time that a log tells, `seconds` a duration, `status` a name in a server's status
    (`status_values.plain`; two with ` / ` between for their quotient), `value` the text of a setting or status, `os` the
    system of the host, `observer` who saw it. A path may be that of a file, socket, door or device.
    """

    stack: str
    symbol: str
    process: str
    call: str
    errno: str
    path: str
    port: int
    counter: str
    group: str
    parameter: str
    status: str
    value: str
    event: str
    code: str
    log: str
    step: str
    seconds: float
    os: str
    observer: str


KEYS = tuple(Seen.__annotations__)

WORDINGS = "wordings"
"""Area of the entries that are `general`."""

SEARCHED = ("path", "log", "step")
"""Keys whose pattern may match anywhere in the text; all others must match the whole name."""

NUMBERS = ("port", "seconds", "value")
"""Keys that are compared as numbers."""


@dataclass(frozen=True)
class Signature:
    """One entry of a list: what matches, what it is, and where one can read that.

    `match` maps keys of `Seen` to a regular expression without regard to case (`value` may also be a comparison such
    as `> 0`, `port` and `seconds` are numbers); a long one may be a list of alternatives. `layer` is where the answer
    is owed; by default that of the mechanism. `harmless` says when it is nothing, `ask` what would show more. `general`
    entries are plain words of any program; they count where no other entry fits.
    """

    match: Mapping[str, Any]
    is_: str = field(metadata={"json": "is"})
    source: str
    example: Any
    strength: Strength = "shape"
    mechanism: str | None = None
    layer: Layer | None = None
    harmless: str | None = None
    ask: tuple[str, ...] = ()
    general: bool = False

    @functools.cached_property
    def _tests(self) -> Mapping[str, Any]:
        return {k: _test(k, v) for k, v in self.match.items()}

    def matches(self, seen: Seen) -> bool:
        """Return whether everything that the entry asks for was seen and fits."""
        named: Mapping[str, object] = seen
        return all(named.get(k) is not None and fits(named[k]) for k, fits in self._tests.items())

    @property
    def blamed_layer(self) -> str | None:
        """Return the layer responsible."""
        known = mechanisms().get(self.mechanism or "")
        return self.layer or (known.layer if known else None)


def _test(key: str, pattern: Any) -> Any:
    if key == "port":
        return lambda port: port == pattern
    if key == "seconds":
        return lambda s: pattern <= s <= pattern + max(TIMER_SHARE * pattern, TIMER_S)
    if key == "value" and (made := re.fullmatch(r"(<=|>=|<|>)\s*(-?[0-9.]+)", str(pattern))):
        return functools.partial(_compared, made[1], float(made[2]))
    expression = compile_own(str(pattern), re.IGNORECASE)
    return expression.search if key in SEARCHED else expression.fullmatch


def _compared(sign: str, limit: float, value: str) -> bool:
    try:
        number = float(value)
    except ValueError:
        return False
    return {"<": number < limit, ">": number > limit, "<=": number <= limit, ">=": number >= limit}[sign]


# --- lists ------------------------------------------------------------------------------------------------------------


def areas() -> tuple[tuple[str, str], ...]:
    """Return all areas as (key, name), for example ("stack", "linux"), in alphabetical order."""
    return tuple((p.parent.name, p.stem) for p in sorted(FOLDER.glob("*/*.yaml")))


@functools.cache
def signatures(key: str, area: str) -> tuple[Signature, ...]:
    """Return the entries of an area; raise RuleInvalid, with the number of the entry, for one that is wrong."""
    path = FOLDER / key / f"{area}.yaml"
    loaded = yaml.load(path.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    made = []
    for n, entry in enumerate(loaded or (), 1):

        def fail(where: str, why: str, n: int = n) -> RuleInvalid:
            return RuleInvalid(f"{key}/{path.name}", f"entry {n}: {where}", why)

        told = {"match": {k: _joined(v) for k, v in entry["match"].items()}, "general": area == WORDINGS}
        one = decode(Signature, {**entry, **told}, fail)
        if key not in one.match or any(k not in KEYS for k in one.match):
            raise fail("match", f"must have the key {key}, and only keys out of {', '.join(KEYS)}")
        if one.mechanism is not None and one.mechanism not in mechanisms():
            raise fail("mechanism", f"there is no {one.mechanism} in mechanisms.yaml")
        if one.mechanism is None and one.strength in ("mechanism", "shape"):
            raise fail("mechanism", f"is required with strength {one.strength}")
        made.append(one)
    return tuple(made)


LITERAL = re.compile(r"[\w@/:% |-]+")
"""Patterns that only list names; these are looked up instead of tried."""


def _joined(pattern: Any) -> Any:
    """Return the alternatives of a long pattern, which a file lists one below the other, as one pattern."""
    return "|".join(pattern) if isinstance(pattern, list) else pattern


@dataclass(frozen=True)
class Tried:
    """An entry whose pattern must be tried, and the words without one of which it cannot match."""

    entry: Signature
    words: tuple[str, ...]


Index = tuple[Mapping[str, tuple[Signature, ...]], tuple[Tried, ...]]
"""The entries of a key by their literal names (lower case), and those whose pattern must be tried."""


@functools.cache
def index(key: str) -> Index:
    """Return the entries of a key; kept compiled."""
    files = [MECHANISMS, *(FOLDER / of / f"{area}.yaml" for of, area in areas() if of == key)]
    return compiled(f"signatures-{key}", FOLDER, files, lambda: _indexed(key))


def _indexed(key: str) -> Index:
    literal: dict[str, list[Signature]] = {}
    tried: list[Tried] = []
    for one in (one for of, area in areas() if of == key for one in signatures(key, area)):
        text = str(one.match[key])
        if key not in (*SEARCHED, "seconds") and LITERAL.fullmatch(text):
            for name in text.split("|"):
                literal.setdefault(name.lower(), []).append(one)
        else:
            tried.append(Tried(one, () if key in NUMBERS else needed_words(text)))
    return {k: tuple(v) for k, v in literal.items()}, tuple(tried)


ORDER: tuple[Strength, ...] = ("mechanism", "shape", "idle", "harmless", "remark")


def recognise(**seen: Unpack[Seen]) -> tuple[Signature, ...]:
    """Return the signatures that fit what was seen, best first; general ones are left out if any other fits.

    A signature with more conditions comes first, then one that tells more than the name of the call, then the
    strongest. Returns an empty tuple if nothing fits. Any subset of keys may be given.
    """
    return _recognise(tuple(sorted((k, _bare(k, v)) for k, v in seen.items() if v is not None)))


SUFFIX = re.compile(r"(?:\.(?:isra|constprop|part|cold|llvm|lto_priv)(?:\.\d+)*)+$|::h[0-9a-f]{16}$")
"""What compilers append to the name of a function."""


def _bare(key: str, value: Any) -> Any:
    """Return the name of a function without what compilers append; any other value as it is."""
    return SUFFIX.sub("", value) if key in ("stack", "symbol") and isinstance(value, str) else value


@functools.lru_cache(maxsize=50_000)
def _recognise(items: tuple[tuple[str, Any], ...]) -> tuple[Signature, ...]:
    seen = cast(Seen, dict(items))
    found = [one for key, value in items for one in _candidates(key, value) if one.matches(seen)]
    found = [one for one in found if not one.general] or found
    return tuple(sorted(found, key=lambda s: (-len(s.match), set(s.match) == {"call"}, ORDER.index(s.strength))))


def _candidates(key: str, value: Any) -> Iterator[Signature]:
    literal, tried = index(key)
    text = str(value).lower()
    yield from literal.get(text, ())
    # A letter outside of ASCII may be another case of one within (the sign of Kelvin is a k): then all are tried.
    all_tried = not text.isascii()
    for one in tried:
        if all_tried or not one.words:
            yield one.entry
            continue
        for word in one.words:  # any(...) takes three times as long
            if word in text:
                yield one.entry
                break

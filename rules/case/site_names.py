"""Names of a site: what its people call the things that evidence names ("port 7001 is our order service").

They are facts about the site, never blame: they are put into the words of observations and into nothing else. No rule,
signature, explanation, ask or verdict reads them.
"""

from __future__ import annotations

import functools
import ipaddress
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from rules.model import NameKind, SiteName

KINDS: tuple[NameKind, ...] = get_args(NameKind)

LONGEST = 200
"""Maximum length in characters of a name and of what it is."""

MOST = 200
"""Maximum number of names in a case."""

SHORTEST: Mapping[NameKind, int] = {"process": 3, "parameter": 3, "log text": 6}
"""Minimum length of names that are searched among other words: a shorter one would be found within anything."""

EXAMPLES: Mapping[NameKind, str] = {
    "port": "7001",
    "host": "10.0.0.7, db1.example.com or 10.0.0.7:7001",
    "path": "/u02/orders",
    "process": "mqbroker",
    "parameter": "order.queue.max",
    "log text": "ORD-77 queue refused",
}
"""A name of each kind, for messages and forms."""

PATTERN = re.compile(r"[.\])][*+]|\\[dwsbDWSB]|\(\?|\[[^\]\s]-[^\]\s]\]|\.\{")
"""Signs of a regular expression in a text that should be the words as they stand in a log."""

HOST_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\s]+):(?P<port>[0-9]+)")
HOST_NAME = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
PATH = re.compile(r"(?:/|[A-Za-z]:[\\/]|\\\\)[^*?]*")
WORD = re.compile(r"[^\s*?()\[\]{}|^\"'`,;]+")


def problem(name: SiteName) -> str | None:
    """Return why a name cannot be used, as a sentence to whoever typed it; None if it can.

    >>> problem(SiteName("port", "99999", "our order service"))
    'A port is a whole number from 1 to 65535; 99999 is not.'
    >>> problem(SiteName("port", "7001", "our order service"))
    """
    return problem_of_name(name.kind, name.name) or problem_of_text(name.text)


def problem_of_text(text: str) -> str | None:
    """Return why a text does not say what a thing is; None if it does."""
    return _unfit(text) if text.strip() else "Say what it is."


def problem_of_name(kind: str, name: str) -> str | None:
    """Return why a text is not a name of this kind; None if it is one."""
    known = next((one for one in KINDS if one == kind), None)
    if known is None:
        return f"{kind!r} is no kind of name. There are: {', '.join(KINDS)}."
    if not name.strip():
        return "Type the name as the evidence writes it."
    return _unfit(name) or _of_kind(known, name)


def _unfit(text: str) -> str | None:
    """Return why a text is not a short line of plain text; None if it is one."""
    if len(text) > LONGEST:
        return f"This has {len(text):,} characters; at most {LONGEST} are kept."
    if any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in text):
        return "Type one line of plain text, without control characters."
    return None


def _of_kind(kind: NameKind, name: str) -> str | None:
    if kind == "port":
        return None if _is_port(name) else f"A port is a whole number from 1 to 65535; {name} is not."
    if len(name) < SHORTEST.get(kind, 1):
        return f"A {kind} of {len(name)} characters would be found in too many words; give at least {SHORTEST[kind]}."
    if kind == "log text":
        pattern = "Type the words as they stand in the log; a pattern is not searched for."
        return pattern if PATTERN.search(name) else None
    if "*" in name or "?" in name:
        return f"Type one whole {kind}, such as {EXAMPLES[kind]}; a pattern is not searched for."
    fits = _is_host(name) if kind == "host" else (PATH if kind == "path" else WORD).fullmatch(name) is not None
    return None if fits else f"This is no {kind} as evidence names one; such as {EXAMPLES[kind]}."


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535


def _is_host(text: str) -> bool:
    """Return whether a text is a host name or an address, with a port or without."""
    if _is_address(text):
        return True
    if parts := HOST_PORT.fullmatch(text):
        return _is_port(parts["port"]) and (_is_address(parts["host"].strip("[]")) or _is_host_name(parts["host"]))
    return _is_host_name(text)


def _is_host_name(text: str) -> bool:
    # Four numbers with dots are an address, and a wrong one is no name.
    return HOST_NAME.fullmatch(text) is not None and not re.fullmatch(r"[0-9.]+", text)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def problems(names: Sequence[SiteName]) -> Iterator[str]:
    """Yield a message for each name that cannot be used, and for those beyond the maximum."""
    for n, name in enumerate(names[:MOST]):
        if why := problem(name):
            yield f"names[{n}]: {why}"
    if len(names) > MOST:
        yield f"names: {len(names)} names; at most {MOST} are used"


def usable(names: Sequence[SiteName]) -> tuple[SiteName, ...]:
    """Return the names that can be used. Of two for the same thing the later counts."""
    last = {(name.kind, name.name): name for name in names[:MOST] if problem(name) is None}
    return tuple(last.values())


# --- where a text names a thing ---------------------------------------------------------------------------------------

ADDRESS = r"(?:\d{1,3}(?:\.\d{1,3}){3})"
SOURCE_FILE = r"\.(?:c|cc|cpp|cs|go|h|hpp|java|js|kt|php|pl|py|rb|rs|scala|ts):$"
BEFORE_PORT = (
    rf"(?<![\w.:/-])(?:{ADDRESS}|\[[0-9A-Fa-f:.]+\]|\*|localhost|(?=[\w.-]*[\d.-])[A-Za-z][\w.-]*\w):",  # 10.0.0.7:7001
    rf"(?<![\w.:/-]){ADDRESS}\.",  # tcpdump and netstat of BSD
    r"(?<![\w-])(?:port|[dsl]port|rport|dpt|spt|tcp|udp)[ :=/#]{1,2}",  # port 7001, PORT=7001, tcp/7001
)
QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class _Mention:
    """A place where a text names a thing; `whole` is the text at this place, which may be longer than the name."""

    begin: int
    end: int
    name: SiteName
    whole: str


@functools.lru_cache(maxsize=1024)
def _pattern(kind: NameKind, name: str) -> re.Pattern[str]:
    """Return the pattern that finds a name as evidence writes it, never a part of a longer one."""
    exact = re.escape(name)
    if kind == "port":
        ways = "|".join(rf"{before}{exact}(?![\w:])(?!\.\d)" for before in BEFORE_PORT)
        return re.compile(rf"{ways}|(?<![\w.:/-]){exact}/(?:tcp|udp)\b", re.IGNORECASE)
    if kind == "host":
        # Behind the address its port, which belongs to the same name for a reader.
        port = "" if HOST_PORT.fullmatch(name) else r"(?::\d{1,5}\b|(?<=\d)\.\d{1,5}\b(?!\.))?"
        return re.compile(rf"(?<![\w.:-]){exact}{port}(?![\w-])(?!\.\w)", re.IGNORECASE)
    if kind == "path":
        trunk = re.escape(name.rstrip("/\\") or name)
        return re.compile(rf"(?<![\w./\\-]){trunk}(?:[/\\][^\s\"',;:()\[\]]*|(?![\w-])(?!\.\w))")
    if kind == "log text":
        return re.compile(r"\s+".join(map(re.escape, name.split())), re.IGNORECASE)
    flags = re.IGNORECASE if kind == "parameter" else 0
    return re.compile(rf"(?<![\w./-]){exact}(?![\w-])(?!\.\w)", flags)


def _found(name: SiteName, text: str) -> re.Match[str] | None:
    for match in _pattern(name.kind, name.name).finditer(text):
        # "sched.c:22" is a line of a source file, no port of a host.
        if name.kind != "port" or not re.search(SOURCE_FILE, match[0][: -len(name.name)]):
            return match
    return None


def named(
    headline: str, others: Iterable[str], quotes: Iterable[str], names: Sequence[SiteName]
) -> tuple[str, tuple[SiteName, ...]]:
    """Return a headline with what people call the things that it names, and the names that were used.

    What a thing is stands behind its first mention. It stands at the end if only one of `others` (the subject) names
    the thing, or if the headline quotes a line there, since quotes stay as they are. Log texts are also looked for in
    `quotes`, the cited lines.

    >>> order, u02 = SiteName("port", "7001", "our order service"), SiteName("path", "/u02", "our NetApp volume")
    >>> named("connect to 10.0.0.7:7001 waited 3.2 s", [], [], [order])[0]
    'connect to 10.0.0.7:7001 (our order service) waited 3.2 s'
    >>> named("reads of /u02/a.dbf took 9 s", ["port 7001"], [], [order, u02])[0]
    'reads of /u02/a.dbf (/u02: our NetApp volume) took 9 s; port 7001: our order service'
    """
    quoted = [match.span() for match in QUOTED.finditer(headline)]
    around, seen_lines = list(others), list(quotes)
    mentions: list[_Mention] = []
    behind: list[SiteName] = []
    for name in names:
        match = _found(name, headline)
        if match and name.kind != "log text" and not any(a < match.end() and match.start() < b for a, b in quoted):
            mentions.append(_Mention(match.start(), match.end(), name, match[0]))
        elif match or any(_found(name, text) for text in (*around, *(seen_lines if name.kind == "log text" else ()))):
            behind.append(name)
    made = headline
    for place in reversed(_places(mentions)):
        said = ", ".join(_words(mention) for mention in place)
        made = f"{made[: place[-1].end]} ({said}){made[place[-1].end :]}"
    tail = "".join(f"; {_whole_name(name)}: {name.text}" for name in behind)
    return made + tail, (*(mention.name for mention in sorted(mentions, key=lambda m: m.begin)), *behind)


def _places(mentions: Sequence[_Mention]) -> list[list[_Mention]]:
    """Group mentions that overlap, such as an address and its port; the one that ends last comes last."""
    places: list[list[_Mention]] = []
    for mention in sorted(mentions, key=lambda m: (m.begin, m.end)):
        if places and mention.begin < max(m.end for m in places[-1]):
            places[-1].append(mention)
        else:
            places.append([mention])
    return [sorted(place, key=lambda m: m.end) for place in places]


def _words(mention: _Mention) -> str:
    """Return what a thing is, preceded by its name if the text names something below it (a file in a folder)."""
    name = mention.name
    below = name.kind == "path" and mention.whole != name.name
    return f"{name.name}: {name.text}" if below else name.text


def _whole_name(name: SiteName) -> str:
    return f"“{name.name}”" if name.kind == "log text" else f"port {name.name}" if name.kind == "port" else name.name

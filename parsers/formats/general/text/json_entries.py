"""Read an entry of a JSON log in any text: behind the name of a container, among lines of other tools, or cut off at its end.

A file of such lines is of another kind; here stands what people paste of them (`docker compose logs`, `kubectl logs` with a prompt, the
first thousand characters of a line). Only a line with a message is an entry; members that say why or how long are told behind it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from parsers.formats.general.text.single_lines import Stamp, stamp_of

LONGEST = 20_000
"""Maximum number of characters of a line that is examined."""

BEGINS = re.compile(r"[ \t]*(?:(?P<who>[A-Za-z][\w.-]{0,60}) {0,30}\| {0,4})?(?=\{[ ]?\"[\w@$.-]{1,40}\"[ ]?:)")
_MEMBER = re.compile(
    r"\"(?P<name>[\w@$.-]{1,60})\"[ ]?:[ ]?(?:\"(?P<text>(?:[^\"\\]|\\.){0,2000})\"|(?P<number>-?[0-9]{1,18}(?:\.[0-9]{1,12})?|true|false)(?=[,}\] ]))"
)
"""A member with a value; the last one of a line that was cut has no end and does not match."""

MOST_LINES = 40
"""Maximum number of lines over which an entry goes on."""

_TOKEN = re.compile(r"\"[^\"\\]*(?:\\.[^\"\\]*)*\"|[\[\]{}]")
_BREAKS = (",", "{", "[", ":")
"""Ends of a line after which an object goes on below."""

_MESSAGES = ("msg", "message")
_STAMPS = ("$date", "ts", "time", "timestamp", "@timestamp", "t", "datetime")
_LEVELS = ("level", "severity", "lvl", "s", "log.level")
_TOLD = re.compile(
    r"(?i)(?:ns|planSummary|(?:keys|docs)Examined|nreturned|writeConflicts|rows_?(?:examined|sent|returned|read)"
    r"|err(?:or)?|errmsg|exception|cause|reason|details?|took|elapsed\w{0,4}|duration\w{0,6}|latency\w{0,4}|status|code|url|path)"
)
_SHORT = {"f": "FATAL", "e": "ERROR", "w": "WARN", "i": "INFO", "d": "DEBUG"}
"""Severities of MongoDB, a letter each; a number (Pino, Bunyan) is left as it stands."""

_NUMBERS = {"60": "FATAL", "50": "ERROR", "40": "WARN", "30": "INFO", "20": "DEBUG", "10": "TRACE"}


class Entry(NamedTuple):
    """What an entry says: its stamp, its severity, and its message with the members that tell why or how long."""

    stamp: Stamp | None
    severity: str | None
    text: str


def entry_of(line: str) -> Entry | None:
    """Return the entry in a line; None for any other line.

    >>> entry_of('kv-1  | {"level":"warn","ts":"2024-01-02T03:04:05Z","msg":"slow write","took":"2.5s","took_ms":{"a')
    Entry(stamp=Stamp(clock='wall-utc', t=1704164645.0, rest=''), severity='WARN', text='slow write took=2.5s')
    >>> entry_of('{"s":"I", "msg":"Slow query", "attr":{"planSummary":"COLLSCAN","durationMillis":4100}}')[1:]
    ('INFO', 'Slow query planSummary=COLLSCAN durationMillis=4100')
    >>> entry_of('{"name": "web", "port": 80}'), entry_of('msg {"a":1}')
    (None, None)
    """
    if len(line) > LONGEST or (begin := BEGINS.match(line)) is None:
        return None
    members = _members(line[begin.end() :])
    message = next((members[name] for name in _MESSAGES if members.get(name)), None)
    if message is None:
        return None
    told = [f"{name}={value}" for name, value in members.items() if _TOLD.fullmatch(name) and value]
    stamped = (stamp_of(members[name]) for name in _STAMPS if name in members)
    level = next((members[name] for name in _LEVELS if name in members), "")
    severity = _SHORT.get(level.lower()) or _NUMBERS.get(level) or level.upper() or None
    text = " ".join(" ".join((message, *told)).split())
    return Entry(next((stamp for stamp in stamped if stamp and not stamp.rest), None), severity, text)


def goes_on(text: str) -> bool:
    """Return whether an entry that was broken between two members goes on with the next line.

    >>> goes_on('{"msg":"Slow query","attr":{"ns":"shop.orders",'), goes_on('{"msg":"a{","n":1}'), goes_on('{"msg":"cut of')
    (True, False, False)
    """
    if len(text) > LONGEST or not text.rstrip().endswith(_BREAKS):
        return False
    brackets = [token for token in _TOKEN.findall(text) if len(token) == 1]
    return sum(1 if bracket in "[{" else -1 for bracket in brackets) > 0


def may_follow(line: str) -> bool:
    """Return whether a line may be the rest of an entry: it begins with a member, or with what opens or closes an object."""
    return line.lstrip()[:1] in ('"', "{", "[", "}", "]") and BEGINS.match(line) is None


def _members(text: str) -> dict[str, str]:
    """Return the members of an object by their last name; of one that was cut those that are whole.

    >>> _members('{"a": 1, "b": {"c": "x y", "d": [1, 2]}}'), _members('{"a": 1, "b": {"c": "x y", "d": "cu')
    ({'a': '1', 'c': 'x y'}, {'a': '1', 'c': 'x y'})
    """
    found: dict[str, str] = {}
    try:
        _gather(json.loads(text.strip().rstrip(",")), found)
    except (ValueError, RecursionError):
        for member in _MEMBER.finditer(text):
            value = member["text"] if member["number"] is None else member["number"]
            found.setdefault(member["name"], value.replace('\\"', '"').replace("\\n", " "))
    return found


def _gather(value: Any, found: dict[str, str]) -> None:
    for name, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, dict):
            _gather(inner, found)
        elif isinstance(inner, (str, int, float)):
            found.setdefault(name, str(inner))

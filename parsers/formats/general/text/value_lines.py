r"""Lines with several values of a server's status that no other reader takes: varnishstat, MQSC, thread pools, JSON cut from its braces.

`listed` reads forms that are unlike any row of a table, before it is decided whether a paragraph is one; `pairs_in` reads what is left over.
Source: varnishstat(1), -1; IBM MQ documentation, DISPLAY; Apache Tomcat, Status servlet; WildFly, CLI (`"name" => "value"`); RFC 8259.

    >>> listed("MAIN.backend_fail      51199         0.59 Backend conn. failures", {})
    [('text', 'MAIN', 'backend_fail', 51199.0)]
    >>> listed("   CURDEPTH(9000)     MAXDEPTH(9000)", {"object": "ORDERS"})
    [('text', 'ORDERS', 'CURDEPTH', 9000.0), ('text', 'ORDERS', 'MAXDEPTH', 9000.0)]
    >>> listed('pool "draw": 16 of 16 busy, 412 waiting', {})[-1]
    ('text', 'draw', 'waiting while all are busy', 412.0)
    >>> listed("Max threads: 90 Current threads busy: 90", {})
    [('text', None, 'Max threads', 90.0), ('text', None, 'Current threads busy', 90.0)]
    >>> listed("Topic: pay\tPartition: 9\tLeader: 1\tReplicas: 1,2,3\tIsr: 1", {})
    [('text', 'pay', 'replicas out of sync', 2.0)]
"""

from __future__ import annotations

import re
from typing import Any

from parsers.formats.general.text.single_lines import LONGEST, Pair, figure_of, pairs_of

TEXT = "text"
"""Group of the values, that of all names and values of the general reader."""

Listed = tuple[str, str | None, str, float]

_VARNISH = re.compile(
    r"[ \t]*(?P<item>[A-Z]{2,6}\.(?:[\w()-]{1,80}\.){0,4})?(?P<name>[a-z][a-z0-9]*_?[a-z0-9_]*)[ \t]+(?P<value>[0-9]{1,20})[ \t]+"
    r"(?:[0-9]{1,12}\.[0-9]{2}|\.)[ \t]+[A-Z]\S*(?: \S+)*[ \t]*"
)
_BRACKETED = re.compile(r"[ \t]*(?:[A-Z][A-Z0-9]{1,15}\([^()]{0,100}\)[ \t]*){1,6}")
_IN_BRACKETS = re.compile(r"([A-Z][A-Z0-9]{1,15})\(([^()]{0,100})\)")
_OBJECTS = ("QUEUE", "CHANNEL", "TOPIC", "CONN", "CHSTATUS")
_SEVERAL = re.compile(r"[ \t]*(?:[A-Z][A-Za-z]{1,20}(?: [a-z]{2,20}){0,4}: [0-9]{1,15}(?: (?:ms|s))?[ \t,]*){2,12}")
_ONE_OF_SEVERAL = re.compile(r"([A-Z][A-Za-z]{1,20}(?: [a-z]{2,20}){0,4}): ([0-9]{1,15})")

_BUSY = "busy|in use|active|occupied|taken|running|used"
_BUSY_OF = re.compile(
    rf"\b(?P<busy>[0-9]{{1,7}}) ?(?:/|of|out of) ?(?P<all>[0-9]{{1,7}})(?: [a-z]{{1,12}})? (?:are )?(?:{_BUSY})\b"
    rf"|\b(?P<busy3>[0-9]{{1,7}}) (?:[a-z]{{1,12}} )?(?:{_BUSY}) \((?:max|limit|of)[ :=]{{1,2}}(?P<all3>[0-9]{{1,7}})\)"
    rf"|\b(?:{_BUSY})[:=]? ?(?P<busy2>[0-9]{{1,7}}) ?(?:/|of) ?(?P<all2>[0-9]{{1,7}})\b"
)
_WAITING = re.compile(
    r"\b(?P<n>[0-9]{1,9})(?: [a-z]{1,12})? (?:waiting|queued|pending|in (?:the )?queue)\b"
    r"|\b(?:queued?|waiting|pending|backlog)(?: [a-z]{1,12})?[:=] ?(?P<n2>[0-9]{1,9})\b",
    re.IGNORECASE,
)
_TITLE = re.compile(r"\"(?P<quoted>[^\"]{1,60})\"|(?P<name>[A-Za-z][\w .-]{0,50}?):")

_REPLICAS = re.compile(
    r"[ \t]*Topic: ?(?P<item>\S{1,200})[ \t].*\bReplicas: ?(?P<all>[0-9,]{1,200})[ \t]+Isr: ?(?P<isr>[0-9,]{0,200})(?:[ \t].*)?"
)
_ALARM = re.compile(r"[ \t]*(?P<what>(?:Free )?[A-Za-z][A-Za-z ]{2,30}) alarm on node (?P<item>\S{1,100})[ \t]*")
_INLINE = re.compile(r"[ \t]*\"(?P<name>[\w.-]{1,60})\" ?: ?\{(?P<held>[^{}]{1,300})\},?[ \t]*")
_SERVER_TIMING = re.compile(
    r"(?P<name>[A-Za-z][\w-]{0,40})(?:;desc=[^;,]{1,80})?;dur=(?P<ms>[0-9]{1,9}(?:\.[0-9]{1,6})?)"
)
_OPENS = re.compile(r"[ \t]*\"?(?P<name>[A-Za-z][\w.-]{1,60})\"?[ \t]*[:=][ \t]*\{[ \t]*")

_TIMING = re.compile(
    r"(?<![\w.])([a-z]{2,20}(?:_[a-z]{1,20}){1,4}): {1,40}([0-9]{1,12}(?:\.[0-9]{1,9})?)(?![a-z0-9_:.])"
)
_FREE_OF = re.compile(r"(?<![\w.])([A-Za-z][\w.]{1,40})=([0-9]{1,18})/([0-9]{1,18})(?![\w/])")

_ARROW = re.compile(r"[ \t]*\"(?P<name>[\w. -]{1,80})\"[ \t]*=>[ \t]*\"?(?P<value>[^\",{}]{1,100})\"?L?,?[ \t]*")
_OF_JSON = re.compile(
    r"\"(?P<name>[\w.$ -]{1,80})\" ?: ?(?:NumberLong\(\"?)?(?P<value>-?[0-9]{1,18}(?:\.[0-9]{1,9})?|true|false|\"[^\"]{1,200}\")"
)


def listed(line: str, state: dict[str, Any]) -> list[Listed]:
    """Return the values in a line of one of the forms above as group, item, name and value; an empty list for any other line.

    `state` holds the name of the object that lines below it are about.
    """
    if len(line) > LONGEST:
        return []
    if ")" in line and "(" in line and _BRACKETED.fullmatch(line):
        return _of_objects(line, state)
    if "_" in line or "." in line:
        found = _VARNISH.fullmatch(line)
        if found and (found["item"] or "_" in found["name"]):
            item = (found["item"] or "").rstrip(".") or None
            return [(TEXT, item, found["name"], float(found["value"]))]
    if "Isr:" in line and (found := _REPLICAS.fullmatch(line)):
        missing = len(set(found["all"].split(","))) - len([one for one in found["isr"].split(",") if one])
        return [(TEXT, found["item"], "replicas out of sync", float(missing))]
    if " alarm on node " in line and (found := _ALARM.fullmatch(line)):
        return [(TEXT, found["item"], f"{found['what'].lower()} alarm", 1.0)]
    if ";dur=" in line:
        return [(TEXT, "server timing", f"server timing {n}", float(ms)) for n, ms in _SERVER_TIMING.findall(line)]
    if ": " in line and _SEVERAL.fullmatch(line):
        return [(TEXT, None, name, float(value)) for name, value in _ONE_OF_SEVERAL.findall(line)]
    return _of_workers(line) if line.lstrip(' \t*-"')[:1].isalpha() else []


def _of_objects(line: str, state: dict[str, Any]) -> list[Listed]:
    cells = _IN_BRACKETS.findall(line)
    for name, value in cells:
        if name in _OBJECTS:
            state["object"] = value
    made = [(TEXT, state.get("object"), name, float(value)) for name, value in cells if value.strip().isdigit()]
    return made if len(cells) > 1 or (made and "object" in state) else []


def _of_workers(line: str) -> list[Listed]:
    if "/" not in line and " of " not in line and " (" not in line:
        return []
    busy = _BUSY_OF.search(line)
    if busy is None:
        return []
    n, whole = (float(busy[name] or busy[f"{name}2"] or busy[f"{name}3"]) for name in ("busy", "all"))
    waiting = _WAITING.search(line, busy.end())
    if not 0 < n <= whole or waiting is None:
        return []
    title = _TITLE.search(line[: busy.start()])
    item = (title["quoted"] or title["name"]).strip() if title else None
    queued = float(waiting["n"] or waiting["n2"])
    name = "waiting while all are busy" if n == whole else "waiting"
    return [(TEXT, item, "busy", n), (TEXT, item, "workers", whole), (TEXT, item, name, queued)]


def pairs_in(line: str) -> list[Pair]:
    """Return the names and values in a line, also of the forms that `pairs_of` does not know.

    >>> [(p.name, p.num) for p in pairs_in('        "WaitCount" => "87",')]
    [('WaitCount', 87.0)]
    >>> [(p.name, p.value) for p in pairs_in('  "op" : "insert", "secs_running" : 91, "waitingForLock" : true,')]
    [('op', 'insert'), ('secs_running', '91'), ('waitingForLock', 'true')]
    >>> [(p.name, p.value) for p in pairs_in("9XX - cycle end: newspace=0/900 oldspace=7/8000 asked=48")]
    [('newspace', '0/900'), ('oldspace', '7/8000')]
    >>> [(p.name, p.num) for p in pairs_in("time_name: 0.01   time_first: 5.20    ---- time_all:  5.3Command ended")]
    [('time_name', 0.01), ('time_first', 5.2), ('time_all', 5.3)]
    """
    if len(line) > LONGEST:
        return []
    if "=>" in line and (found := _ARROW.fullmatch(line)):
        value = found["value"].strip()
        return [Pair(found["name"], value, *figure_of(value), False)]
    if line.count('":') + line.count('" :') > 1:
        if inner := _INLINE.fullmatch(line):
            below = [(f"{inner['name']}.{name}", value.strip('"')) for name, value in _OF_JSON.findall(inner["held"])]
            return [Pair(name, value, *figure_of(value), False) for name, value in below]
        beside = [(name, value.strip('"')) for name, value in _OF_JSON.findall(line)]
        return [Pair(name, value, *figure_of(value), False) for name, value in beside]
    if line.count("_") > 2 and line.count(": ") > 2 and len(timings := _TIMING.findall(line)) > 2:
        return [Pair(name, value, float(value), None, False) for name, value in timings]
    if line.count("/") > 1 and line.count("=") > 1 and len(parts := _FREE_OF.findall(line)) > 1:
        return [Pair(name, f"{part}/{whole}", None, None, False) for name, part, whole in parts]
    if (made := pairs_of(line)) and (len(made) > 1 or made[0].num is not None):
        return made
    if not made and (bullet := line.lstrip(" \t")).startswith(("- ", "* ")):
        return pairs_of(bullet[2:])
    if line.count(", ") > 1 and ": " in line:
        several = pairs_of(line.rpartition(": ")[2])
        return several if len(several) > 2 else made
    return made


def opens_block(line: str) -> re.Match[str] | None:
    """Return the match of a line that opens an object of JSON under a `name`; None for any other line.

    >>> opens_block('  "currentQueue" : {')["name"], opens_block('  "total" : 9,')
    ('currentQueue', None)
    """
    return _OPENS.fullmatch(line) if line.rstrip().endswith("{") and len(line) <= LONGEST else None

r"""Lines in which SQL Server describes a deadlock or a blocked process (XML), and pt-query-digest lists the statements of its profile.

Each becomes a row as those of `stated_lines` do. Source: Microsoft Learn, Deadlocks guide (deadlock graph) and Blocked Process Report;
Percona Toolkit documentation, pt-query-digest (Profile).
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

IN_DEADLOCK = "sessions of a deadlock"
BEHIND = "seconds a blocked process waits"
SPENT = "response time of a statement"
CALLED = "calls of a statement"

_PROFILE = re.compile(
    r"[ \t]*#?[ \t]*[0-9]{1,5}[ \t]+0x[0-9A-F]{8,32}[ \t]+(?P<s>[0-9]{1,12}\.[0-9]{1,6})[ \t]+(?P<pct>[0-9]{1,3}\.[0-9])%[ \t]+(?P<n>[0-9]{1,12})"
    r"[ \t]+[0-9.]{1,20}[ \t]+(?:[0-9.]{1,12}[ \t]+){1,2}(?P<what>[A-Z]{3,20}\b.{0,120}?)[ \t]*"
)
_PROCESS = re.compile(r"[ \t]*<process\b[^<>]{0,4000}")
_ATTRIBUTE = re.compile(r"\b(?P<name>waitresource|waittime|lockMode|spid)=\"(?P<value>[^\"]{0,200})\"")


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return who waits in a deadlock, or a statement with its time and calls; None for any other line.

    >>> stated("#    1 0x9A9A9A9A9A9A9A9A 900.5000 90.0%  300 3.0017 0.90 SELECT shops", {})
    [('response time of a statement', 'SELECT shops', 900.5, 1000.5556), ('calls of a statement', 'SELECT shops', 300.0, None)]
    >>> stated('<process id="p1" waitresource="KEY: 9:81 (9a)" waittime="4000" lockMode="X" spid="61">', {"victim": True})
    [('sessions of a deadlock', 'session 61 (X on KEY: 9:81 (9a))', 4.0, None)]
    """
    if "<" in line:
        return _of_graph(line, state)
    if "0x" in line and "%" in line and (found := _PROFILE.fullmatch(line)):
        spent, pct = float(found["s"]), float(found["pct"])
        what = f"{found['what']}"
        return [
            (SPENT, what, spent, round(spent / pct * 100, 4) if pct else None),
            (CALLED, what, float(found["n"]), None),
        ]
    return None


def _of_graph(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if "<deadlock" in line or "<victimProcess " in line or "<victim-list" in line:
        state["victim"] = True
        return []
    if "<blocked-process" in line:
        state["victim"] = False
        return []
    if "<process " not in line or "waitresource=" not in line or (found := _PROCESS.match(line)) is None:
        return None
    has = {a["name"]: a["value"] for a in _ATTRIBUTE.finditer(found[0])}
    if not has.get("waitresource") or not has.get("waittime", "0").isdigit():
        return []
    of = f"session {has.get('spid', '?')} ({has.get('lockMode', 'a lock')} on {has['waitresource']})"
    name = IN_DEADLOCK if state.get("victim") else BEHIND
    return [(name, of, float(has.get("waittime", "0")[:12]) / 1e3, None)]

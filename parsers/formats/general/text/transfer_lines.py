r"""Lines in which dd tells how fast it copied, SQL Server describes a deadlock or a blocked process (XML), and pt-query-digest
lists the statements of its profile.

Each becomes a row as those of `stated_lines` do. The rate of dd counts only for a copy that is large enough to tell of the medium:
`LEAST_MB` in `LEAST_S`, in blocks of `BLOCK` bytes or more where the lines above tell their number (`1024+0 records out`).
Source: dd(1) of GNU, BSD, Solaris and busybox; Microsoft Learn, Deadlocks guide (deadlock graph) and Blocked Process Report;
Percona Toolkit documentation, pt-query-digest (Profile).
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

COPIED = "bytes copied per second"
IN_DEADLOCK = "sessions of a deadlock"
BEHIND = "seconds a blocked process waits"
SPENT = "response time of a statement"
CALLED = "calls of a statement"

LEAST_MB, LEAST_S, BLOCK = 32.0, 5.0, 65_536.0
"""Minimum size and time of a copy, and of a block, so that caches and the path of each call do not decide on its rate."""

_RECORDS = re.compile(
    r"[ \t]*(?P<n>[0-9]{1,12})\+[0-9]{1,12} (?:records|Datensätze|enregistrements) (?:out|aus|écrits)[ \t]*"
)
_COPY = re.compile(
    r"[ \t]*(?P<bytes>[0-9]{6,18}) bytes (?:\([^()]{1,60}\) )?(?:copied,|transferred in) (?P<s>[0-9]{1,9}(?:[.,][0-9]{1,9})?) (?:s|secs|seconds)\b.*"
)
_PROFILE = re.compile(
    r"[ \t]*#?[ \t]*[0-9]{1,5}[ \t]+0x[0-9A-F]{8,32}[ \t]+(?P<s>[0-9]{1,12}\.[0-9]{1,6})[ \t]+(?P<pct>[0-9]{1,3}\.[0-9])%[ \t]+(?P<n>[0-9]{1,12})"
    r"[ \t]+[0-9.]{1,20}[ \t]+(?:[0-9.]{1,12}[ \t]+){1,2}(?P<what>[A-Z]{3,20}\b.{0,120}?)[ \t]*"
)
_PROCESS = re.compile(r"[ \t]*<process\b[^<>]{0,4000}")
_ATTRIBUTE = re.compile(r"\b(?P<name>waitresource|waittime|lockMode|spid)=\"(?P<value>[^\"]{0,200})\"")


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the rate of a copy in MB per second, or who waits in a deadlock; None for any other line.

    >>> state = {}
    >>> stated("900+0 records out", state), stated("943718400 bytes (944 MB, 900 MiB) copied, 472 s, 2.0 MB/s", state)
    ([], [('bytes copied per second', 'dd', 1.9994, None)])
    >>> stated("512000 bytes (512 kB) copied, 9 s, 57 kB/s", {}), stated("900 bytes were copied", {})
    ([], None)
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
    if " bytes " in line and (found := _COPY.fullmatch(line)):
        blocks, copied, seconds = state.pop("records", None), float(found["bytes"]), float(found["s"].replace(",", "."))
        small = blocks is not None and copied < BLOCK * blocks
        if copied < LEAST_MB * 1e6 or seconds < LEAST_S or small:
            return []
        return [(COPIED, "dd", round(copied / 1e6 / seconds, 4), None)]
    if "+" in line and (found := _RECORDS.fullmatch(line)):
        state["records"] = float(found["n"])
        return []
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

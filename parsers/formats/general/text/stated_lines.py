r"""Lines in which tools of Windows, macOS, BSD and HP-UX state one figure of the system: `lanadmin`, `sar -v`, `netstat -m`,
LatencyMon, `!analyze -v`, `pathping`, `w32tm`, `nltest`, `pmset -g therm`, `powermetrics`, `memory_pressure`.

Each figure is a row under the heading `REPORT`: counter, subject, value, maximum. A line of a report without such a
figure counts as read but gives no row. Source: lanadmin(1M), sar(1M) of HP-UX; netstat(1) of FreeBSD; Microsoft
Learn, pathping, w32tm, nltest, !analyze; pmset(1), powermetrics(1), memory_pressure(1); LatencyMon's report.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.formats.general.text import (
    aix_lines,
    device_lines,
    heap_lines,
    link_lines,
    lock_lines,
    machine_lines,
    statement_lines,
    status_lines,
    tracer_lines,
)
from parsers.formats.general.text.gates import ALL, DRIVER, MACHINE, STATUS

REPORT = "system report"
"""Heading of the rows."""

LONGEST = 300

_NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,18})?"
_FULL = re.compile(r"(?:\S{1,120} )?(?P<who>proc|file|inode): table is full[ \t]*")
_TABLES = re.compile(
    r"(?:[0-9]{2}:[0-9]{2}:[0-9]{2})?[ \t]*N/A[ \t]+N/A[ \t]+(?P<proc>[0-9]{1,9})/(?P<procs>[0-9]{1,9})[ \t]+"
    r"(?P<proc_ov>[0-9]{1,9})[ \t]+"
    r"(?P<inod>[0-9]{1,9})/(?P<inods>[0-9]{1,9})[ \t]+(?P<inod_ov>[0-9]{1,9})[ \t]+(?P<file>[0-9]{1,9})/(?P<files>[0-9]{1,9})[ \t]+"
    r"(?P<file_ov>[0-9]{1,9})[ \t]*"
)
"""A row of sar -v of HP-UX, which prints no sizes of the text table."""
_DENIED = re.compile(
    r"(?P<mbufs>[0-9]{1,15})/(?P<clusters>[0-9]{1,15})/(?P<both>[0-9]{1,15}) requests for mbufs denied \(mbufs/clusters/mbuf\+clusters\)[ \t]*"
)
_CLUSTERS = re.compile(
    r"(?P<used>[0-9]{1,12})/[0-9]{1,12}/[0-9]{1,12}/(?P<most>[0-9]{1,12}) mbuf clusters in use \(current/cache/total/max\)[ \t]*"
)
_LAN_TYPE = re.compile(r"Description[ \t]+= (?P<who>lan[0-9]+) .*\[(?P<speed>[A-Z0-9-]+),(?P<duplex>HD|FD),.*\][ \t]*")
_LAN = re.compile(r"(?P<name>Late Collisions|FCS Errors|Excessive Collisions)[ \t]+= (?P<value>[0-9]{1,15})[ \t]*")
_ROUTINE = re.compile(
    r"Highest (?P<name>DPC|ISR) routine execution time \([^)]{1,3}\):[ \t]+(?P<value>[0-9.,]{1,20})[ \t]*"
)
_DRIVER = re.compile(r"Driver with highest (?P<name>DPC|ISR) routine execution time:[ \t]+(?P<who>\S+\.sys)\b.*")
TOO_LONG = re.compile(
    r"One or more (?P<name>DPC|ISR) routines that belong to a driver running in your system appear to be executing for too long"
)
"""Conclusion of LatencyMon, a long line of several sentences."""
_LONG_DPC = re.compile(r"DPC count \(execution time >=4000 [^)]{1,3}\):[ \t]+(?P<value>[0-9]{1,15})[ \t]*")
_LATENCY = re.compile(
    r"(?:DPC|ISR) count \(execution time [^)]{1,20}\):.*"
    r"|(?:Highest|Average|Total) (?:measured|reported) .{1,60}(?:latency|routine time|time spent in \S+) \([^)]{1,3}\):.*"
)
_STOPPED = re.compile(r"\*[ \t]+Bugcheck Analysis[ \t]+\*")
_STOP = re.compile(r"(?P<who>[A-Z][A-Z0-9_]{5,70}) \((?P<code>[0-9a-f]{1,8})\)[ \t]*")
_IMAGE = re.compile(r"IMAGE_NAME:[ \t]+(?P<who>\S{1,80})[ \t]*")
_HOP = re.compile(
    r"[ \t]{0,4}(?P<hop>[0-9]{1,3})[ \t]+(?:[0-9]{1,6}ms|---)[ \t]+[0-9]{1,5}/[ \t]*[0-9]{1,5} =[ \t]*[0-9]{1,3}%"
    r"[ \t]+[0-9]{1,5}/[ \t]*[0-9]{1,5} =[ \t]*[0-9]{1,3}%"
    r"[ \t]+(?P<who>\S{1,120})(?: \[\S{1,45}\])?[ \t]*"
)
_BEGIN = re.compile(r"Hop[ \t]+RTT[ \t]+Lost/Sent = Pct[ \t]+Lost/Sent = Pct[ \t]+Address[ \t]*")
_SOURCE = re.compile(r"[ \t]{0,4}0[ \t]{20,60}(?P<who>\S{1,120})(?: \[\S{1,45}\])?[ \t]*")
_LINK = re.compile(r"[ \t]+(?P<lost>[0-9]{1,5})/[ \t]*(?P<sent>[0-9]{1,5}) =[ \t]*[0-9]{1,3}%[ \t]+\|[ \t]*")
_TRACKED = re.compile(r"Tracking (?P<who>\S{1,120}) \[[^\]]{3,60}\]\.[ \t]*")
_OFF = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2},? (?:d:\S{1,20} o:)?(?P<value>[+-][0-9]{1,12}\.[0-9]{1,9})s\b.*")
_LEAP = re.compile(r"Leap Indicator: 3 ?\(.{1,40}\)[ \t]*")
_NO_LOGON = re.compile(
    r"Trusted DC Connection Status Status = (?P<value>[0-9]{1,5}) 0x[0-9a-f]{1,8} (?P<who>[A-Z_]{3,60})[ \t]*"
)
_SPEED = re.compile(r"[ \t]*CPU_Speed_Limit[ \t]+= (?P<value>[0-9]{1,3})[ \t]*")
_PLIMIT = re.compile(rf"CPU Plimit: (?P<value>{_NUMBER})[ \t]*")
_HEAT = re.compile(rf"CPU die temperature: (?P<value>{_NUMBER}) C\b.*")
_FREE = re.compile(r"System-wide memory free percentage: (?P<value>[0-9]{1,3})%[ \t]*")
_SWAP = re.compile(
    r"(?:vm\.swapusage: )?total = (?P<most>[0-9.]{1,15})M[ \t]+used = (?P<used>[0-9.]{1,15})M[ \t]+free = [0-9.]{1,15}M\b.*"
)
_SEP = r"[ \t]*[|,\t][ \t]*"
_LISTED_EVENT = re.compile(
    rf"(?P<severity>Critical|Error|Warning|Information){_SEP}(?P<at>[0-9]{{1,4}}[/.-][0-9]{{1,2}}[/.-][0-9]{{2,4}},? [0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?"
    rf"(?: [AP]M)?){_SEP}(?P<program>[A-Za-z][\w. -]{{1,80}}?){_SEP}(?P<code>[0-9]{{1,5}}){_SEP}[^|,\t]{{1,80}}{_SEP}\"?(?P<text>[^\s\"].*?)\"?[ \t]*"
)
"""A row as the Event Viewer of Windows saves or copies it: level, date and time, source, number, category, message."""
_EVENT = re.compile(
    r"[ \t]*(?P<at>[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}[ \t]+[0-9]{1,2}:[0-9]{2}:[0-9]{2} [AP]M)[ \t]+(?:(?P<program>[A-Za-z][\w.-]{1,60})[ \t]+)?"
    r"(?P<code>[0-9]{1,5})[ \t]+(?P<severity>Critical|Error|Warning|Information)[ \t]+(?P<text>\S.*)"
)

Stated = tuple[str, str, float, float | None]
"""Name of the counter, its subject (device, table ...), the value, and its maximum (None: unknown)."""


def event(line: str) -> dict[str, str | None] | None:
    """Return program, event number, severity and message of a row in a Windows event list; None for any other line.

    >>> event("4/7/2031 9:05:11 AM  9 Error  The device did not answer.")["text"]
    'The device did not answer.'
    >>> [event(x)["code"] for x in ('Error,9/8/2031 7:00:01 AM,stor9,7,None,"It failed."', "Error | 8.9.2031 7:00 | Ex-Kernel | 7 | (2) | No.")]
    ['7', '7']
    """
    if len(line) > LONGEST * 10:
        return None
    first = line.lstrip(" \t")[:1]
    shape = _EVENT if first.isdigit() else _LISTED_EVENT if first in ("C", "E", "W", "I") else None
    found = shape.fullmatch(line) if shape else None
    return found.groupdict() if found else None


def stated(line: str, state: dict[str, Any], gates: int = ALL) -> list[Stated] | None:
    r"""Return the figures in a line; an empty list for a line of a report without figures, None for any other line.

    `state` holds names and figures from the lines above that later lines need; `gates` are the groups that could know it.

    >>> stated("3/700/9 requests for mbufs denied (mbufs/clusters/mbuf+clusters)", {})
    [('mbufs denied', 'mbufs, clusters', 712.0, None)]
    >>> stated("12:00:05   N/A   N/A 90/100   2  70/400   0  300/300   7", {})[-1]
    ('file table', 'file', 300.0, 300.0)
    >>> state = {}
    >>> stated("Highest DPC routine execution time (µs):     9000.5", state)
    []
    >>> stated("Driver with highest DPC routine execution time:   disk9.sys - A driver, A vendor", state)
    [('DPC', 'disk9.sys', 0.0090005, None)]
    """
    if gates & DRIVER and len(line) <= LONGEST * 5 and (found := TOO_LONG.search(line)):
        return [("routines too long", f"{found['name']} of a driver", 1.0, None)]
    made = statement_lines.stated(line, state)
    if (made := link_lines.stated(line, state) if made is None else made) is not None:
        return made
    if len(line) > LONGEST:
        return None
    start = line.lstrip(" \t")[:1]
    made = _of_figures(line, state) if start.isdigit() or start == "N" else _of_words(line, state)
    made = device_lines.stated(line, state) if made is None else made
    made = aix_lines.stated(line, state) if made is None else made
    made = lock_lines.stated(line, state) if made is None else made
    made = machine_lines.stated(line, state, bool(gates & MACHINE)) if made is None else made
    made = heap_lines.stated(line, state) if made is None else made
    made = tracer_lines.stated(line, state) if made is None else made
    return status_lines.stated(line, state) if made is None and gates & STATUS else made


def _of_figures(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _TABLES.fullmatch(line):
        sizes = (("proc", "procs"), ("inod", "inods"), ("file", "files"))
        made: list[Stated] = [
            (f"{what} table overflows", what, float(found[f"{what}_ov"]), None) for what, _ in sizes if what != "inod"
        ]
        return made + [(f"{what} table", what, float(found[what]), float(found[most])) for what, most in sizes]
    if found := _DENIED.fullmatch(line):
        count = sum(float(found[name]) for name in ("mbufs", "clusters", "both"))
        return [("mbufs denied", "mbufs, clusters", count, None)]
    if found := _CLUSTERS.fullmatch(line):
        return [("mbuf clusters", "mbuf clusters", float(found["used"]), float(found["most"]))]
    if "hops" in state:
        if found := _LINK.fullmatch(line):
            return [("lost on a link", str(state["hops"]), float(found["lost"]), float(found["sent"]))]
        if found := _HOP.fullmatch(line) or _SOURCE.fullmatch(line):
            state["hops"] = found["who"]
            return []
    if "tracked" in state and (found := _OFF.fullmatch(line)):
        return [("clock offset", str(state["tracked"]), float(found["value"]), None)]
    return None


def _of_words(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _ROUTINE.fullmatch(line):
        state["routine"] = float(found["value"].replace(",", "")) / 1e6
        return []
    if (found := _DRIVER.fullmatch(line)) and "routine" in state:
        return [(found["name"], found["who"], float(state.pop("routine")), None)]
    if found := _LAN_TYPE.fullmatch(line):
        state["lan"] = found["who"]
        state["half"] = found["duplex"] == "HD"
        return [("half duplex", found["who"], 1.0, None)] if state["half"] else []
    if found := _STOP.fullmatch(line) if "stop" in state else None:
        state["stop"] = found["who"]
        return [(f"{found['who']} ({found['code']})", found["who"], float(int(found["code"], 16)), None)]
    if (found := _IMAGE.fullmatch(line)) and state.get("stop"):
        return [("bugcheck image", found["who"], 1.0, None)]
    if _STOPPED.fullmatch(line):
        state["stop"] = ""
        return []
    if _BEGIN.fullmatch(line):
        state["hops"] = "the source"
        return []
    if found := _TRACKED.fullmatch(line):
        state["tracked"] = found["who"]
        return []
    for shape, name, who in _ONE:
        if found := shape.fullmatch(line):
            part = found.groupdict()
            whose = part.get("who") or state.get(who) or who
            value, most = part.get("value") or part.get("used") or "1", part.get("most")
            counter = part.get("name") or name
            if counter == "Late Collisions" and state.get("half"):
                counter = "late collisions at half duplex"
            return [(counter, str(whose), float(value), float(most) if most else None)]
    return [] if _LATENCY.fullmatch(line) else None


_ONE = (
    (_FULL, "table is full", ""),
    (_LAN, "", "lan"),
    (_LONG_DPC, "DPCs of 4 ms or longer", "all processors"),
    (_LEAP, "clock not synchronised", "the clock"),
    (_NO_LOGON, "domain controller", ""),
    (_SPEED, "CPU_Speed_Limit", "processors"),
    (_PLIMIT, "CPU Plimit", "processors"),
    (_HEAT, "CPU die temperature", "processors"),
    (_FREE, "memory free percentage", "memory"),
    (_SWAP, "swap in use", "swap"),
)
"""Lines that need no line above: pattern, counter (if the line does not name it), and subject."""

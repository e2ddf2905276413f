r"""Lines of a host's own accounts that stand without a heading.

Files of /sys and /proc with their path in front, threads of the NFS server, what a process waited for a processor,
buffers of AIX, performance counters of Windows, and rows of its event lists with their fields in any order.
Source: proc(5), sysfs(5); Linux fs/nfsd/stats.c; Linux Documentation/scheduler/sched-stats.rst; AIX vmstat command;
Microsoft Learn, Get-Counter, typeperf, Get-WinEvent.

    >>> host_counters("/sys/class/net/eth7/statistics/rx_packets:9000", None)
    [('iface', 'eth7', 'rx_packets', 9000.0)]
    >>> host_counters("/proc/sys/kernel/random/entropy_avail: 40", None)
    [('text', 'random', 'entropy_avail', 40.0)]
    >>> host_counters("th 16 70000 9.1 4.2 0.0 0.0 0.0 0.0 0.0 0.0 0.0 71.2", None)
    [('nfsd', None, 'threads', 16.0), ('nfsd', None, 'times all nfsd threads were busy', 70000.0)]
    >>> host_counters("9000 81000 70", "cat /proc/71/schedstat")
    [('sched', '71', 'time running', 9000.0), ('sched', '71', 'time waiting', 81000.0)]
    >>> host_counters(r"\\APP9\Memory\Available MBytes: 70", None)
    [('text', None, '\\\\APP9\\Memory\\Available MBytes', 70.0)]
    >>> host_counters("   700 pending disk I/Os blocked with no pbuf", None)
    [('vmstat_v', None, 'pending disk I/Os blocked with no pbuf', 700.0)]
    >>> host_counters(" Reads:   srtt=91 (700ms), dev=9 (90ms), cur=7 (90ms)", None)
    [('text', 'nfs', 'nfs reads srtt ms', 700.0)]
    >>> host_counters("9000 81000 70", "cat numbers.txt"), host_counters("/srv/a:7", None)
    ([], [])
"""

from __future__ import annotations

import re
from typing import Any

from parsers.formats.general.text.single_lines import LONGEST

Counted = tuple[str, str | None, str, float]
"""Group, item, name and value of a counter."""

TEXT, INTERFACE = "text", "iface"
"""Groups of values at this moment and of the totals of an interface."""

_NUMBER = r"-?[0-9]{1,20}(?:\.[0-9]{1,12})?"
_PART = r"[\w.@+-]{1,80}"
_AT_PATH = re.compile(
    rf"/(?:sys|proc)(?:/{_PART}){{0,12}}/(?P<item>{_PART})/(?P<name>{_PART})(?:[ \t]*[:=][ \t]*|[ \t]+)(?P<n>{_NUMBER})[ \t]*"
)
_STATISTICS = re.compile(r"/sys/(?:class/net|devices/.{1,200}/net)/(?P<item>[\w.@-]{1,40})/statistics/")
_RESOURCE = re.compile(r"/proc/pressure/(cpu|memory|io)\b")
_PRESSURE = re.compile(
    r"(?:^|[ \t])(?P<whose>some|full) avg10=(?P<avg10>[0-9.]{1,6}) avg60=(?P<avg60>[0-9.]{1,6}) avg300=(?P<avg300>[0-9.]{1,6}) total="
)
_NFSD = re.compile(r"th (?P<threads>[0-9]{1,6}) (?P<busy>[0-9]{1,20})(?: [0-9]{1,12}\.[0-9]{1,3}){10}[ \t]*")
_SCHEDSTAT = re.compile(
    r"(?:/proc/(?P<pid>[0-9]{1,10})/(?:task/[0-9]{1,10}/)?schedstat:[ \t]*)?"
    r"(?P<ran>[0-9]{1,20}) (?P<waited>[0-9]{1,20}) [0-9]{1,20}[ \t]*"
)
_OF_PID = re.compile(r"/proc/([0-9]{1,10}|self)/(?:task/[0-9*]{1,10}/)?schedstat")
_SRTT = re.compile(
    r"(?P<of>Lookups|Reads|Writes|All):[ \t]+srtt=[ \t]*[0-9]{1,9} \([ \t]*(?P<ms>[0-9]{1,9})ms\),[ \t]+dev=[ \t]*[0-9]{1,9} \(.*"
)
"""A line of `nfsstat -m`: the smoothed time of calls to a file server."""

_BLOCKED = re.compile(r"(?P<n>[0-9]{1,20}) (?P<name>(?:[a-z]+ ){1,4}I/Os blocked with no (?:pbuf|psbuf|fsbuf))")
"""A line of `vmstat -v` of AIX that grep left over."""

_COUNTER = re.compile(
    r"[ \t]*(?P<path>(?:\\\\[^\\]{1,100})?\\[A-Za-z][^\\:]{1,60}(?:\([^\\]{1,100}\))?\\[^\\]{1,80}?)"
    rf"[ \t]*[:=][ \t]*(?P<n>{_NUMBER})[ \t]*%?[ \t]*"
)

_SEVERITY = "Critical|Error|Warning|Information|Verbose"
_AT = (
    r"(?:[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{4}|[0-9]{4}[/-][0-9]{1,2}[/-][0-9]{1,2}),?[ \tT]+[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
    r"(?:[ ][AP]M)?"
)
_ROW = re.compile(rf"[ \t]*(?:(?P<first>{_SEVERITY})[ \t]+)?{_AT}[ \t]+(?P<rest>[A-Za-z0-9].{{8,4000}})")
"""A row of a list of events, columns in any order: the words between its time and its message are level, source and number."""

_WORD = re.compile(r"(?P<word>[A-Za-z0-9][\w./-]{0,60})[ \t]+")


def host_counters(line: str, command: str | None, state: dict[str, Any] | None = None) -> list[Counted]:
    """Return the counters in a line of one of the forms above; an empty list for any other line.

    `command` is the command above the line, which says of what process three bare numbers are; `state` holds the resource
    that the last heading of pressures named.

    >>> held = {}
    >>> host_counters("E Manager: ----- Output from /proc/pressure/io -----", None, held)
    []
    >>> host_counters("E Manager: full avg10=71.20 avg60=60.10 avg300=9.00 total=7000", None, held)[0]
    ('text', 'io', 'full.avg10', 71.2)
    """
    if state is not None and len(line) <= LONGEST:
        if "avg10=" in line and (resource := state.get("resource")) and (found := _PRESSURE.search(line)):
            spans = ("avg10", "avg60", "avg300")
            return [(TEXT, resource, f"{found['whose']}.{span}", float(found[span])) for span in spans]
        if "/proc/pressure/" in line and (found := _RESOURCE.search(line)):
            state["resource"] = found[1] if "End output" not in line else ""
            return []
    first = line.lstrip(" \t")[:1]
    if first == "\\":
        found = _COUNTER.fullmatch(line) if len(line) <= LONGEST else None
        return [(TEXT, None, found["path"], float(found["n"]))] if found else []
    if len(line) > LONGEST:
        return []
    if first == "/":
        return _at_path(line.strip())
    if first in "LRWA" and "srtt=" in line and (found := _SRTT.fullmatch(line.strip())):
        return [(TEXT, "nfs", f"nfs {found['of'].lower()} srtt ms", float(found["ms"]))]
    if first == "t" and (found := _NFSD.fullmatch(line.strip())):
        made = (("threads", found["threads"]), ("times all nfsd threads were busy", found["busy"]))
        return [("nfsd", None, name, float(value)) for name, value in made]
    if first.isdigit() and "blocked with no" in line and (found := _BLOCKED.fullmatch(line.strip())):
        return [("vmstat_v", None, found["name"], float(found["n"]))]
    if first.isdigit() and command and "schedstat" in command and (found := _SCHEDSTAT.fullmatch(line.strip())):
        of = _OF_PID.search(command)
        return _waited(found, of[1] if of else None)
    return []


def _at_path(line: str) -> list[Counted]:
    if not line.startswith(("/sys/", "/proc/")):
        return []
    if "schedstat:" in line and (found := _SCHEDSTAT.fullmatch(line)):
        return _waited(found, found["pid"])
    found = _AT_PATH.fullmatch(line)
    if found is None:
        return []
    if card := _STATISTICS.match(line):
        return [(INTERFACE, card["item"], found["name"], float(found["n"]))]
    return [(TEXT, found["item"], found["name"], float(found["n"]))]


def _waited(found: re.Match[str], pid: str | None) -> list[Counted]:
    return [("sched", pid, "time running", float(found["ran"])), ("sched", pid, "time waiting", float(found["waited"]))]


def event_row(line: str) -> dict[str, str | None] | None:
    """Return program, number, severity and message of a row of an event list; None if it names no level or no number.

    >>> event_row("Warning 9/8/2031 7:00:01 AM  stor9 7   Reset of the shelf.")
    {'program': 'stor9', 'code': '7', 'severity': 'Warning', 'text': 'Reset of the shelf.'}
    >>> event_row("2031-09-08 07:00:01 7001 Error  No answer came back")["code"], event_row("2031-09-08 07:00:01 a 7 It went well")
    ('7001', None)
    """
    if len(line) > LONGEST * 10 or not any(level in line[:120] for level in ("Error", "Warning", "Critical")):
        return None
    found = _ROW.fullmatch(line)
    if found is None:
        return None
    severity, code, program, rest = found["first"], None, None, found["rest"]
    while (severity is None or code is None) and (next_ := _WORD.match(rest)):
        word, rest = next_["word"], rest[next_.end() :]
        if severity is None and word in _SEVERITY.split("|"):
            severity = word
        elif code is None and word.isdigit() and len(word) <= 5:
            code = word
        elif program is None and not word.isdigit():
            program = word
        else:
            return None
    if severity is None or code is None or not rest.strip():
        return None
    return {"program": program, "code": code, "severity": severity, "text": rest.strip()}

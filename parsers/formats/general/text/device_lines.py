r"""Read figures of NFS mounts, disks, adapters and interrupts from single lines: `nfsiostat`, `iostat -En`, `fcstat`,
`vmstat -i` of BSD.

Each figure becomes a row, as in `stated_lines`: counter, subject, value, maximum. `state` holds the mount, disk or
adapter that a line above named. Source: nfsiostat(8); iostat(1M) of Solaris; fcstat of AIX; vmstat(8) of FreeBSD.
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_MOUNTED = re.compile(r"(?P<who>\S{1,200}:/\S{0,200}) mounted on (?P<at>/\S{0,200}):[ \t]*")
_NFS_OPS = re.compile(
    r"(?P<op>read|write):[ \t]+ops/s[ \t]+kB/s[ \t]+kB/op[ \t]+retrans[ \t]+avg RTT \(ms\)[ \t]+avg exe \(ms\).*"
)
_NFS_ROW = re.compile(
    rf"[ \t]*(?P<ops>{_NUMBER})[ \t]+{_NUMBER}[ \t]+{_NUMBER}[ \t]+[0-9]{{1,15}}[ \t]+\([0-9.]{{1,9}}%\)"
    rf"[ \t]+(?P<rtt>{_NUMBER})[ \t]+(?P<exe>{_NUMBER})(?:[ \t].*)?"
)
_ERRORS = re.compile(
    r"(?P<who>\S{1,80})[ \t]+Soft Errors:[ \t]*(?P<soft>[0-9]{1,12})[ \t]+Hard Errors:[ \t]*(?P<hard>[0-9]{1,12})"
    r"[ \t]+Transport Errors:[ \t]*(?P<transport>[0-9]{1,12})[ \t]*"
)
_MEDIA = re.compile(
    r"Media Error:[ \t]*(?P<media>[0-9]{1,12})[ \t]+Device Not Ready:[ \t]*[0-9]{1,12}[ \t]+No Device:.*"
)
_PREDICTED = re.compile(
    r"Illegal Request:[ \t]*[0-9]{1,12}[ \t]+Predictive Failure Analysis:[ \t]*(?P<value>[0-9]{1,12})[ \t]*"
)
_ADAPTER = re.compile(r"FIBRE CHANNEL STATISTICS REPORT:[ \t]*(?P<who>fcs[0-9]{1,4})[ \t]*")
_RESOURCES = re.compile(
    r"[ \t]*(?P<name>No (?:DMA Resource|Adapter Elements|Command Resource) Count):[ \t]*(?P<value>[0-9]{1,15})[ \t]*"
)
_INTERRUPT = re.compile(
    r"(?P<who>(?:irq[0-9]{1,5}|cpu[0-9]{1,5}):[ \t]?\S{1,60})[ \t]+(?P<total>[0-9]{1,18})[ \t]+(?P<value>[0-9]{1,12})[ \t]*"
)
_HEADING = re.compile(r"interrupt[ \t]+total[ \t]+rate[ \t]*")
_TOTAL = re.compile(r"Total[ \t]+[0-9]{1,18}[ \t]+[0-9]{1,12}[ \t]*")


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the figures in a line; an empty list for a line of a report without figures, None for any other line.

    >>> state = {}
    >>> [stated(x, state) for x in ("nas:/export mounted on /srv:", "read:  ops/s  kB/s  kB/op  retrans  avg RTT (ms)  avg exe (ms)")]
    [[], []]
    >>> stated(" 9.5  304.0  32.000   0 (0.0%)   120.5   121.0", state)
    [('nfs read', '/srv', 120.5, 9.5)]
    >>> stated("c1t9d0   Soft Errors: 0 Hard Errors: 7 Transport Errors: 2", {})
    [('hard errors', 'c1t9d0', 7.0, None), ('transport errors', 'c1t9d0', 2.0, None)]
    >>> stated("irq19: uhci1     99000   45000", {})
    [('interrupts of one line', 'irq19: uhci1', 45000.0, None)]
    """
    first = line.lstrip(" \t")[:1]
    if _HEADING.fullmatch(line) or (first == "T" and _TOTAL.fullmatch(line)):
        return []
    if first.isdigit():
        return _of_nfs(line, state)
    if found := _ERRORS.fullmatch(line):
        state["disk"] = found["who"]
        return [(f"{kind} errors", found["who"], float(found[kind]), None) for kind in ("hard", "transport")]
    if (found := _INTERRUPT.fullmatch(line)) and first in "ic":
        return [("interrupts of one line", found["who"], float(found["value"]), None)]
    for shape, name in ((_ADAPTER, "adapter"), (_MOUNTED, "mounted")):
        if found := shape.fullmatch(line):
            state[name] = found.groupdict().get("at") or found["who"]
            return []
    if found := _NFS_OPS.fullmatch(line):
        state["nfs"] = found["op"]
        return []
    return _below_a_name(line, state)


def _of_nfs(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the round-trip time in ms and the rate per second of the NFS operation that the line above names."""
    if "nfs" not in state or (found := _NFS_ROW.fullmatch(line)) is None:
        return None
    return [
        (f"nfs {state.pop('nfs')}", str(state.get("mounted", "the mount")), float(found["rtt"]), float(found["ops"]))
    ]


def _below_a_name(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the figures that a line gives of the disk or adapter that a line above names."""
    if "disk" in state and (found := _MEDIA.fullmatch(line)):
        return [("media errors", str(state["disk"]), float(found["media"]), None)]
    if "disk" in state and (found := _PREDICTED.fullmatch(line)):
        return [("failures predicted", str(state["disk"]), float(found["value"]), None)]
    if "adapter" in state and (found := _RESOURCES.fullmatch(line)):
        return [(found["name"], str(state["adapter"]), float(found["value"]), None)]
    return None

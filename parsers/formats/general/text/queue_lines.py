"""Read counters of the kernel's packet queues and connection table: `tc -s qdisc`, `conntrack -S`.

The line above the figures names the queue. Its backlog is a level; all other figures are totals.
"""

from __future__ import annotations

import re
from typing import Any

QUEUE, BACKLOG, CONNECTIONS = "qdisc", "qdisc backlog", "conntrack"
"""Groups: totals of a queue, its backlog (a level), and totals of the connection table by processor."""

_NAME = re.compile(
    r"[ \t]*(?:qdisc|class) (?P<kind>[a-z_0-9]+) (?P<id>[0-9a-f]*:[0-9a-f]*)(?: dev (?P<device>\S+))?(?: .*)?"
)
_SENT = re.compile(
    r"[ \t]*Sent (?P<bytes>[0-9]{1,19}) bytes (?P<packets>[0-9]{1,19}) pkts? \(dropped (?P<dropped>[0-9]{1,19}), overlimits (?P<over>[0-9]{1,19})"
    r" requeues (?P<again>[0-9]{1,19})\)[ \t]*"
)
_WAITS = re.compile(
    r"[ \t]*backlog (?P<size>[0-9]{1,15})(?P<unit>[KMG]?)b (?P<packets>[0-9]{1,15})p requeues [0-9]{1,19}[ \t]*"
)
_BY_CPU = re.compile(r"cpu=(?P<cpu>[0-9]{1,5})[ \t]+(?P<pairs>(?:[a-z_]+=[0-9]{1,19}[ \t]*){3,40})")
_POWERS = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}

Counted = tuple[str, str | None, str, float]
"""Group, item, name and value of a counter."""


def queued(line: str, state: dict[str, Any]) -> list[Counted] | None:
    """Return the counters in a line; an empty list for a line that names a queue, None for any other line.

    `state` holds the name of the current queue.

    >>> state = {}
    >>> queued("qdisc fq_codel 0: dev eth0 parent :1 limit 10240p", state), state
    ([], {'queue': 'eth0 fq_codel 0:'})
    >>> queued(" Sent 9000 bytes 10 pkt (dropped 3, overlimits 0 requeues 2)", state)[1]
    ('qdisc', 'eth0 fq_codel 0:', 'dropped', 3.0)
    >>> queued(" backlog 12Kb 8p requeues 2", state)
    [('qdisc backlog', 'eth0 fq_codel 0:', 'bytes', 12288.0), ('qdisc backlog', 'eth0 fq_codel 0:', 'packets', 8.0)]
    >>> queued("cpu=1   \\tfound=9 invalid=3 insert_failed=7 drop=7", state)[2]
    ('conntrack', 'CPU1', 'insert_failed', 7.0)
    """
    if len(line) > 400:
        return None
    start = line.lstrip(" \t")[:8]
    if start.startswith(("qdisc ", "class ")) and (found := _NAME.fullmatch(line)):
        state["queue"] = " ".join(filter(None, (found["device"], found["kind"], found["id"])))
        return []
    queue = state.get("queue")
    if start.startswith("Sent ") and (found := _SENT.fullmatch(line)):
        names = {"packets sent": "packets", "dropped": "dropped", "overlimits": "over", "requeues": "again"}
        return [(QUEUE, queue, name, float(found[group])) for name, group in names.items()]
    if start.startswith("backlog") and (found := _WAITS.fullmatch(line)):
        size = float(found["size"]) * _POWERS[found["unit"]]
        return [(BACKLOG, queue, "bytes", size), (BACKLOG, queue, "packets", float(found["packets"]))]
    if start.startswith("cpu=") and "found=" in line and (found := _BY_CPU.fullmatch(line.rstrip())):
        pairs = (pair.split("=") for pair in found["pairs"].split())
        return [(CONNECTIONS, f"CPU{found['cpu']}", name, float(value)) for name, value in pairs]
    return None

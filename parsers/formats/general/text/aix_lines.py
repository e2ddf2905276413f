r"""Read figures of volumes from single lines of AIX tools: `filemon`.

Each figure becomes a row, as in `stated_lines`. `state` holds the volume or list that a line above named. Source: IBM
AIX Commands Reference, filemon.
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,9})?"
_MOST_ACTIVE = re.compile(r"Most Active (?P<what>Files|Segments|(?:Logical|Physical) Volumes)[ \t]*")
_ACTIVE = re.compile(
    rf"[ \t]*(?P<util>[01]\.[0-9]{{2}})[ \t]+[0-9]{{1,15}}[ \t]+[0-9]{{1,15}}[ \t]+{_NUMBER}[ \t]+(?P<who>/dev/\S{{1,60}})(?:[ \t]+\S.*)?"
)
_HEADING = re.compile(r"[ \t]*util[ \t]+#rblk[ \t]+#wblk[ \t]+KB/s[ \t]+volume[ \t]+description[ \t]*")
_VOLUME = re.compile(r"VOLUME:[ \t]*(?P<who>/dev/\S{1,60})(?:[ \t]+description:.*)?")
_TIMES = re.compile(
    rf"[ \t]*(?P<op>read|write) times \(msec\):[ \t]+avg[ \t]+(?P<avg>{_NUMBER})[ \t]+min[ \t]+{_NUMBER}[ \t]+max[ \t]+{_NUMBER}.*"
)
_UTILISED = re.compile(r"[ \t]*utilization:[ \t]+(?P<value>[01]\.[0-9]{3})[ \t]*")
_OF_VOLUME = re.compile(
    r"[ \t]*(?:(?:read|write) (?:sizes \(blks\)|sequences|seq\. lengths)|reads|writes|seeks|seek dist \(blks\)|seek dist \(%tot blks\)"
    r"|time to next req\(msec\)|throughput):.*"
)


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the figures in a line; an empty list for a line of a report without figures, None for any other line.

    >>> state = {}
    >>> [stated(x, state) for x in ("VOLUME: /dev/hdisk7  description: N/A", "  read times (msec):    avg  41.100 min   0.2 max 90.1 sdev 7.0")]
    [[], [('volume read', '/dev/hdisk7', 41.1, None)]]
    >>> [stated(x, state) for x in ("Most Active Physical Volumes", "  0.93  90100  10200  3100.5  /dev/hdisk7   N/A")]
    [[], [('volume busy', '/dev/hdisk7', 93.0, None)]]
    """
    if found := _MOST_ACTIVE.fullmatch(line):
        state["active"] = found["what"]
        return []
    if found := _VOLUME.fullmatch(line):
        state["volume"] = found["who"]
        return []
    if str(state.get("active", "")).endswith("Volumes"):
        if _HEADING.fullmatch(line):
            return []
        if found := _ACTIVE.fullmatch(line):
            name = "volume busy" if state["active"].startswith("Physical") else "logical volume busy"
            return [(name, found["who"], 100.0 * float(found["util"]), None)]
    return _of_volume(line, state) if "volume" in state else None


def _of_volume(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the figures that a line gives of the volume that a line above names."""
    if found := _TIMES.fullmatch(line):
        return [(f"volume {found['op']}", str(state["volume"]), float(found["avg"]), None)]
    if found := _UTILISED.fullmatch(line):
        return [("volume busy", str(state["volume"]), 100.0 * float(found["value"]), None)]
    return [] if _OF_VOLUME.fullmatch(line) else None

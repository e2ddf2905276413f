"""Lines of Linux' /proc without their heading: interrupts (people paste what grep found), stat, and how many lines a file has.

A counter of a processor has its number as item, as `CPU1`, so that readers can compare processors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAMED = "NMI|LOC|SPU|PMI|IWI|RTR|RES|CAL|TLB|TRM|THR|DFR|MC[EP]|HYP|HRE|HVS|PI[NW]|NPI|IPI[0-9]"
"""Interrupts of processors themselves, which have letters instead of a number."""

_INTERRUPT = re.compile(
    rf"[ \t]*(?P<irq>[0-9]{{1,5}}|{_NAMED}):(?P<counts>(?:[ \t]+[0-9]{{1,20}}){{1,1024}})"
    r"[ \t]{2,}(?P<what>[A-Za-z]\S*(?:[ \t]+\S+){0,9})[ \t]*"
)
_STAT = re.compile(r"cpu(?P<cpu>[0-9]{0,4})(?P<ticks>(?:[ \t]+[0-9]{1,20}){4,10})[ \t]*")
_LINES = re.compile(
    r"[ \t]*(?P<n>[0-9]{1,12}) /proc/(?P<pid>[0-9]{1,10})/(?P<file>maps|smaps|fdinfo|mounts|mountinfo)[ \t]*"
)
"""What `wc -l` prints of a file of a process that has one line for each thing."""

LINES = "lines of /proc/PID"
"""Group of the counters of such lines: the number of lines is a level, with the process as item."""

TICKS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
"""Columns of a line cpu of /proc/stat (proc_stat(5)), in ticks."""

Counted = tuple[str, str | None, str, float]
"""Group, item, name and value of a counter."""


def counted(line: str) -> list[Counted]:
    """Return the counters of a line of /proc/interrupts or /proc/stat, or of `wc -l`; nothing for any other line.

    >>> counted(" 87:    1282535          0  armada_370_xp_irq  59  mwlwifi")
    [('interrupts', 'CPU0', '87 mwlwifi', 1282535.0), ('interrupts', 'CPU1', '87 mwlwifi', 0.0)]
    >>> counted("cpu1 4 1 0 9 0 7")[-1], counted("cpu MHz : 2400"), counted("12: 30 left")
    (('proc stat', 'CPU1', 'irq', 7.0), [], [])
    >>> counted("65519 /proc/21626/maps")
    [('lines of /proc/PID', '21626', 'maps', 65519.0)]
    """
    if len(line) > 40_000 or not line[:24].strip():
        return []
    if "/proc/" in line[:24] and (found := _LINES.fullmatch(line)):
        return [(LINES, found["pid"], found["file"], float(found["n"]))]
    if line.startswith("cpu") and (found := _STAT.fullmatch(line)):
        return list(_ticks(found))
    if ":" in line[:12] and (found := _INTERRUPT.fullmatch(line)):
        name = f"{found['irq']} {found['what'].split()[-1]}"
        return [("interrupts", f"CPU{n}", name, float(x)) for n, x in enumerate(found["counts"].split())]
    return []


def _ticks(found: re.Match[str]) -> Iterator[Counted]:
    item = f"CPU{found['cpu']}" if found["cpu"] else None
    for name, ticks in zip(TICKS, found["ticks"].split(), strict=False):
        yield "proc stat", item, name, float(ticks)

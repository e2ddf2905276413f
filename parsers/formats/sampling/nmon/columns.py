"""Columns of nmon: which table and column each value goes to, and its unit.

A section of nmon is a tag (`CPU_ALL`); its columns come from its title line. A value that no table has a column for becomes a counter
whose group is the tag, without the running number that sections over `disks_per_line` get.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

VMSTAT: dict[str, dict[str, tuple[str, float]]] = {
    "CPU_ALL": {
        "User%": ("usr", 1),
        "Sys%": ("sys", 1),
        "Wait%": ("wa", 1),
        "Idle%": ("idle", 1),
        "Steal%": ("st", 1),
    },
    "MEM": {
        "memfree": ("free_kb", 1024),
        "swapfree": ("swap_free_kb", 1024),
        "cached": ("cache_kb", 1024),
        "active": ("active_kb", 1024),
        "buffers": ("buff_kb", 1024),
        "inactive": ("inact_kb", 1024),
        "Real free(MB)": ("free_kb", 1024),
        "Virtual free(MB)": ("swap_free_kb", 1024),
    },
    "PROC": {"Runnable": ("r", 1), "Blocked": ("b", 1), "pswitch": ("cs", 1), "syscall": ("scall", 1)},
    "PAGE": {
        "pgsin": ("pi_kbps", 4),
        "pgsout": ("po_kbps", 4),
        "reclaims": ("re", 1),
        "scans": ("sr", 1),
    },
    "LPAR": {"PhysicalCPU": ("pc", 1)},
}
"""Tag -> printed column -> column of vmstat and factor. MEM prints MB, PAGE (AIX) pages of 4 kB per second."""

MPSTAT = {name: column for name, (column, _) in VMSTAT["CPU_ALL"].items()}

IOSTAT = {
    "DISKBUSY": "busy_pct",
    "DISKREAD": "r_kbps",
    "DISKWRITE": "w_kbps",
    "DISKRIO": "r_ps",
    "DISKWIO": "w_ps",
    "DISKSERV": "asvc_ms",
    "DISKWAIT": "wsvc_ms",
    "DISKXFER": "io_ps",
}
"""Tag -> column of iostat; the printed columns of these sections are devices."""

PS = {
    "%CPU": "cpu_pct",
    "Size": "vsz_kb",
    "ResSet": "rss_kb",
    "%RAM": "mem_pct",
    "Threads": "nlwp",
    "Command": "comm",
    "PID": "pid",
    "PPID": "ppid",
    "COMM": "comm",
    "ProgName": "comm",
    "THCOUNT": "nlwp",
    "USER": "login",
    "FullCommand": "args",
}
"""Columns of TOP and UARG -> columns of ps."""

_ITEMS = re.compile(r"^(?:DISK|JFS|DG|VG|FC|NET(?!STAT)|IOADAPT|SEA|ESS|HDISK)")
_ITEM_NAME = re.compile(
    r"^(.+?)[-_](read|write|xfer|ierrs|oerrs|coll|collisions|size|reads?|writes?|packet)((?:[-/]\S+)?)$"
)
_UNITS = (("KB/s", "kB/s"), ("MB/s", "MB/s"), ("/s", "/s"), ("%", "%"), ("MB", "MB"), ("KB", "kB"))


@dataclass(frozen=True)
class Figure:
    """How a printed column becomes a counter; `item` is a disk, interface or file system, None for the host."""

    item: str | None
    name: str
    unit: str | None
    mode: str


def base_of(tag: str) -> str:
    """Return the section that a tag belongs to: sections over `disks_per_line` carry a running number.

    >>> base_of("DISKBUSY1"), base_of("NETPACKET"), base_of("CPU_ALL"), base_of("DGBUSY2"), base_of("NFSSVRV3")
    ('DISKBUSY', 'NETPACKET', 'CPU_ALL', 'DGBUSY', 'NFSSVRV3')
    """
    return tag.rstrip("0123456789") if _ITEMS.match(tag) else tag


def figure(tag: str, title: str, column: str) -> Figure:
    """Return item, name, unit and mode of a column by the section's title (without its host) and heading.

    >>> figure("NET", "Network I/O", "eth0-read-KB/s")
    Figure(item='eth0', name='read-KB/s', unit='kB/s', mode='rate')
    >>> figure("JFSFILE", "JFS Filespace %Used", "/home")
    Figure(item='/home', name='JFS Filespace %Used', unit='%', mode='level')
    """
    item, name = None, column
    if _ITEMS.match(tag):
        found = _ITEM_NAME.match(column)
        item, name = (found[1], found[2] + found[3]) if found else (column, title)
    unit = next((unit for text, unit in _UNITS if text in name), None) or ("MB" if title.endswith(" MB") else None)
    return Figure(item, name, unit, "rate" if unit in ("kB/s", "MB/s", "/s") else "level")

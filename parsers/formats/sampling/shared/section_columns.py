"""Columns of sar, pidstat and iostat: which table column each is, whatever system printed it.

A section is the set of rows under one header. Its columns go to the tables that have them; a column that no table has becomes a
counter. Sectors and Solaris blocks are 512 bytes; pages need the machine's page size, and are counters without it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from parsers.columns.grid import keys

CPU = {
    **dict.fromkeys(("%usr", "%user", "us", "user", "usr"), "usr"),
    **dict.fromkeys(("%nice", "nice", "ni"), "nice"),
    **dict.fromkeys(("%sys", "%system", "sy", "system", "sys"), "sys"),
    **dict.fromkeys(("%wio", "%iowait", "wt", "wa", "iowait", "wio"), "wa"),
    **dict.fromkeys(("%idle", "id", "idle"), "idle"),
    **dict.fromkeys(("%steal", "st", "steal"), "st"),
    **dict.fromkeys(("%irq", "in", "irq"), "irq"),
    **dict.fromkeys(("%soft", "soft"), "soft"),
    **dict.fromkeys(("%guest", "guest"), "gu"),
    **dict.fromkeys(("%gnice", "gnice"), "gnice"),
    **dict.fromkeys(("physc", "pc"), "pc"),
    **dict.fromkeys(("%entc", "ec"), "ec"),
}
"""Shares of CPU time: columns of vmstat (all CPUs) and mpstat (one CPU)."""

HOST: dict[str, tuple[str, float]] = {
    "cswch/s": ("cs", 1),
    "pswch/s": ("cs", 1),
    "runq-sz": ("r", 1),
    "ldavg-1": ("load1", 1),
    "blocked": ("b", 1),
    "pgpgin/s": ("bi_kbps", 1),
    "pgpgout/s": ("bo_kbps", 1),
    "kbmemfree": ("free_kb", 1),
    "kbbuffers": ("buff_kb", 1),
    "kbcached": ("cache_kb", 1),
    "kbactive": ("active_kb", 1),
    "kbinact": ("inact_kb", 1),
    "kbswpfree": ("swap_free_kb", 1),
    "kbswpused": ("swap_used_kb", 1),
    "freeswap": ("swap_free_kb", 0.5),
    "bswin/s": ("si_kbps", 0.5),
    "bswot/s": ("so_kbps", 0.5),
    "pgscan/s": ("sr", 1),
}
PAGES = {"freemem": "free_kb", "pswpin/s": "si_kbps", "pswpout/s": "so_kbps"}

DISK: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("tps", "r+w/s"), ("io_ps", 1)),
    **dict.fromkeys(("r/s", "rps"), ("r_ps", 1)),
    **dict.fromkeys(("w/s", "wps"), ("w_ps", 1)),
    **dict.fromkeys(("rkB/s", "kr/s", "Kr/s", "kB_read/s", "KB_read/s"), ("r_kbps", 1)),
    **dict.fromkeys(("wkB/s", "kw/s", "Kw/s", "kB_wrtn/s", "KB_wrtn/s"), ("w_kbps", 1)),
    **dict.fromkeys(("rsec/s", "rd_sec/s", "Blk_read/s"), ("r_kbps", 0.5)),
    **dict.fromkeys(("wsec/s", "wr_sec/s", "Blk_wrtn/s"), ("w_kbps", 0.5)),
    **dict.fromkeys(("rMB/s", "Mr/s", "MB_read/s"), ("r_kbps", 1024)),
    **dict.fromkeys(("wMB/s", "Mw/s", "MB_wrtn/s"), ("w_kbps", 1024)),
    "xfer_%tm_act": ("busy_pct", 1),
    "xfer_tps": ("io_ps", 1),
    "xfer_bread": ("r_kbps", 1 / 1024),
    "xfer_bwrtn": ("w_kbps", 1 / 1024),
    "read_rps": ("r_ps", 1),
    "read_avgserv": ("r_resp_ms", 1),
    "write_wps": ("w_ps", 1),
    "write_avgserv": ("w_resp_ms", 1),
    "queue_avgtime": ("wsvc_ms", 1),
    "queue_avgwqsz": ("wait", 1),
    "queue_avgsqsz": ("actv", 1),
    **dict.fromkeys(("avque", "avgqu-sz", "aqu-sz", "qlen"), ("queue", 1)),
    "wait": ("wait", 1),
    "actv": ("actv", 1),
    **dict.fromkeys(("await", "svc_t", "serv", "ms/t"), ("resp_ms", 1)),
    **dict.fromkeys(("avwait", "wsvc_t"), ("wsvc_ms", 1)),
    **dict.fromkeys(("avserv", "asvc_t"), ("asvc_ms", 1)),
    **dict.fromkeys(("r_await", "ms/r"), ("r_resp_ms", 1)),
    **dict.fromkeys(("w_await", "ms/w"), ("w_resp_ms", 1)),
    "%w": ("wait_pct", 1),
    **dict.fromkeys(("%b", "%busy", "%util", "%tm_act", "util"), ("busy_pct", 1)),
}
TASK: dict[str, str] = {
    "%usr": "usr",
    "%user": "usr",
    "%system": "sys",
    "%wait": "lat",
    "cswch/s": "vcx",
    "nvcswch/s": "icx",
}
PROCESS = {"VSZ": "vsz_kb", "RSS": "rss_kb", "%CPU": "cpu_pct", "%MEM": "mem_pct", "threads": "nlwp"}

KEYS = frozenset(
    "CPU cpu DEV device Device Device: Disk Disks: disk IFACE INTR TTY BUS FILESYSTEM MOUNTPOINT FCHOST BAT FAN TEMP IN NODE "
    "DEVICE idvendor idprod manufact product status UID USER PID TGID TID Command uid gid Filesystem: Filesystem Vadapter: Adapter:".split()
)
"""Columns of words; a numeric value in them stays a text."""

DEVICES = frozenset("DEV device Device Device: Disk Disks: disk drive".split())
TASKS = frozenset("PID TGID".split())
ITEMS = (
    "IFACE",
    "INTR",
    "TTY",
    "FILESYSTEM",
    "MOUNTPOINT",
    "FCHOST",
    "BAT",
    "product",
    "DEVICE",
    "BUS",
    "NODE",
    "Filesystem:",
    "Vadapter:",
    "Adapter:",
)
_UNITS = (
    (r"^%", "%"),
    (r"kB.*/s$", "kB/s"),
    (r"MB.*/s$", "MB/s"),
    (r"/s$", "/s"),
    (r"^kb", "kB"),
    (r"^MB", "MB"),
    (r"^kB", "kB"),
    (r"^[kK]b?ps$", "kB/s"),
)
_BLOCKS = re.compile(r"^(?:blks|bread|bwrtn|bdscd|lread|lwrit)/s$")


@dataclass(frozen=True)
class Section:
    """The columns under a header.

    `words` are the positions of texts; `direct` maps a position to table, column and factor; all other positions are counters of the
    group `grp`, with unit and mode. `subject`: host, cpu, device or task.
    """

    names: tuple[str, ...]
    subject: str
    words: dict[int, str]
    direct: dict[int, tuple[str, str, float]]
    counters: dict[int, tuple[str, str | None, str]]
    grp: str
    long_end: bool

    @property
    def numbers(self) -> list[int]:
        return [i for i in range(len(self.names)) if i not in self.words]


@cache
def section(heading: str, page_kb: float | None = None) -> Section:
    """Return the section of a header, whose names are separated by single blanks.

    >>> section("runq-sz %runocc").direct, section("runq-sz %runocc").grp
    ({0: ('vmstat', 'r', 1)}, 'runq-sz')
    """
    names = keys(heading)
    known = set(names)
    words = {i: n for i, n in enumerate(names) if n in KEYS}
    if known & TASKS:
        subject = "task"
        words = {i: n for i, n in words.items() if n not in PROCESS}
    elif known & DEVICES:
        subject = "device"
    elif names[0] in ("CPU", "cpu") and len(known & CPU.keys()) >= 2:
        subject = "cpu"
    else:
        subject = "host" if not words else "item"
    if "DEVICE" in known and {"FAN", "TEMP", "IN"} & known:
        words = {i: n for i, n in words.items() if n != "IN" or i == 0}
    direct: dict[int, tuple[str, str, float]] = {}
    for i, name in enumerate(names):
        if i in words:
            continue
        place = _place(name, subject, known, page_kb)
        if place and place[:2] not in [p[:2] for p in direct.values()]:
            direct[i] = place
    counters = {i: _counter(n) for i, n in enumerate(names) if i not in words and i not in direct}
    grp = {"task": "pidstat", "device": "device"}.get(subject, names[0].rstrip(":"))
    return Section(names, subject, words, direct, counters, grp, names[-1] in KEYS and names[-1] not in ("CPU",))


def _place(name: str, subject: str, known: set[str], page_kb: float | None) -> tuple[str, str, float] | None:
    if subject == "device":
        place = DISK.get(name)
        return ("iostat", *place) if place else None
    if subject == "task":
        if name in TASK and not (name in ("%usr", "%system") and "%CPU" not in known):
            return "microstates", TASK[name], 1
        return ("ps", PROCESS[name], 1) if name in PROCESS else None
    if subject == "cpu":
        return ("cpu", CPU[name], 1) if name in CPU else None
    if subject == "host":
        if len(known & CPU.keys()) >= 3 and name in CPU:
            return "vmstat", CPU[name], 1
        if name in PAGES:
            return ("vmstat", PAGES[name], page_kb) if page_kb else None
        if name == "scall/s" and {"sread/s", "fork/s"} <= known:
            return "vmstat", "scall", 1
        if name in HOST:
            return ("vmstat", *HOST[name])
    return None


def _counter(name: str) -> tuple[str, str | None, str]:
    """Return name, unit and mode of a counter by its heading."""
    if _BLOCKS.match(name):
        return name, "blocks/s", "rate"
    unit = next((unit for pattern, unit in _UNITS if re.search(pattern, name)), None)
    if name.endswith("/i") or re.match(r"^(?:[kKM][bB]|Blk)_(?:read|wrtn|dscd)$|^(?:trn|tot|[sh]/w)$", name):
        return name, unit, "total"
    return name, unit, "rate" if unit and unit.endswith("/s") else "level"

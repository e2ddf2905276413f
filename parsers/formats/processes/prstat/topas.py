"""Read screens of AIX topas: the list of -P, and the full screen with two columns of values on the right.

The left side of the full screen has CPU, network, disks and processes.

    Topas Monitor for host:    aix1                 EVENTS/QUEUES    FILE/TTY
    Thu Jul 10 15:19:50 2008   Interval:  2         Cswitch      42  Readch        0
    Kernel    0.5   |#                           |  Reads         0  Rawin         0
    CPU  User%  Kern%  Wait%  Idle%  Physc   Entc   Writes        4  Ttyout      390
    ALL    2.1    5.3    0.0   92.6   0.04    8.1   Forks         0  Igets         0

Values on the right are recognised by their names, which only topas uses; the text left of the first of them is a row of the
table with the latest heading. So a paste that lost its blanks is read as well. Each line gives separate rows (all of one sample).
`K` and `M` are thousands and millions: in a screen of 5.3, Writech 4357.3K are PageOut's 1064 pages of 4096 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from parsers.tables.rows import Domain, State, Tables
from parsers.tables.schema import schema
from parsers.text.source import Hints
from parsers.text.times import WALL_BASE, month, wall_seconds

BANNER = r"^[ \t]*Topas Monitor for host: *(\S+)"
_STAMP = re.compile(
    r"(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat) ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{4})"
)
_INTERVAL = re.compile(r"Interval: *([0-9]+)")
_RATES = (
    "Cswitch Syscall Reads Writes Forks Execs Readch Writech Rawin Ttyout Igets Namei Dirblk Faults Steals PgspIn PgspOut PageIn PageOut Sios"
    " ServerV2 ServerV3 ServerV4 ClientV2 ClientV3 ClientV4 SerV2 CliV2 SerV3 CliV3 SerV4 CliV4"
).split()
_LEVELS = ("Runqueue", "Waitqueue", "Real,MB", "% Comp", "% Noncomp", "% Client", "Size,MB", "% Used", "% Free")
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?[KMG]?"
_NAMES = "|".join(map(re.escape, sorted((*_RATES, *_LEVELS), key=len, reverse=True)))
_PAIR = re.compile(rf"(?:^|(?<=[ \t|]))({_NAMES})[ \t]+({_NUMBER})(?=[ \t]|$)")
_WORDS = re.compile(
    r"(?:EVENTS/QUEUES|FILE/TTY|PAGING SPACE|PAGING|MEMORY|NFS \(calls/sec\)|NFS *\(V2 *V3 *V4\)?|Press(?: ?:|)|[\"']h[\"'][ -]*for help"
    r"|[\"']q[\"'][ -]*to quit|\[WPAR\]|Rejected|AME)[ \t]*$"
)
"""Headings on the right, which carry no value."""

_HOST = {
    "Cswitch": ("cs", 1.0),
    "Syscall": ("scall", 1.0),
    "Runqueue": ("r", 1.0),
    "Waitqueue": ("b", 1.0),
    "Steals": ("fr_kbps", 4.0),
    "PgspIn": ("pi_kbps", 4.0),
    "PgspOut": ("po_kbps", 4.0),
}
"""Columns of vmstat; pages have 4096 bytes, as the manual page of topas states."""


def _words(text: str) -> str:
    """Return a pattern of words with any blanks between."""
    return text.replace(" ", r"[ \t]+")


_LIST = _words("USER PID PPID PRI NI RES RES SPACE")
_SHARES = {"kernel": "sys", "user": "usr", "wait": "wa", "idle": "idle"}
_BAR = re.compile(r"^(Kernel|User|Wait|Idle)[ \t]+([0-9.]+)[ \t]*\|[#| \t]*$")
_HEADINGS = {
    "cpu": re.compile(r"^CPU[ \t]+User%[ \t]+Kern%[ \t]+Wait%[ \t]+Idle%(?:[ \t]+Physc)?(?:[ \t]+Entc%?)?$"),
    "net": re.compile(r"^(?:Network|Interf)[ \t]+(?:KBPS|BPS)[ \t]+I-Pack[ \t]+O-Pack[ \t]+KB-In[ \t]+KB-Out$"),
    "disk": re.compile(r"^Disk[ \t]+Busy%[ \t]+KBPS[ \t]+TPS[ \t]+KB-Read[ \t]+KB-Writ$"),
    "files": re.compile(r"^FileSystem[ \t]+KBPS[ \t]+TPS[ \t]+KB-Read[ \t]+KB-Writ$"),
    "ps": re.compile(r"^Name[ \t]+PID[ \t]+CPU%[ \t]+PgSp(?:[ \t]+(?:Class|Owner))?(?:[ \t]+Owner)?$"),
    "class": re.compile(r"^WLM-Class"),
    "list": re.compile(
        rf"^(?:{_words('DATA TEXT PAGE PGFAULTS')}|{_LIST}[ \t]+TIME[ \t]+CPU%[ \t]+I/O[ \t]+OTH[ \t]+COMMAND)$"
    ),
}
_ROWS = {
    "cpu": rf"^(ALL|Total|cpu[0-9]+|[0-9]+)((?:[ \t]+{_NUMBER}){{4,6}})$",
    "net": rf"^([a-z]+[0-9]+|Total)((?:[ \t]+{_NUMBER}){{5}})$",
    "disk": rf"^(\S+)((?:[ \t]+{_NUMBER}){{5}})$",
    "files": rf"^(\S+)((?:[ \t]+{_NUMBER}){{4}})$",
    "list": rf"^(\S+){_words(r' ([0-9]+) ([0-9]+) (-?[0-9]+) ([0-9-]+) [0-9]+ [0-9]+ [0-9]+ ([0-9]+):([0-9]{2}) ([0-9.]+) [0-9]+ [0-9]+ (.+)$')}",
    "ps": rf"^(\S+)[ \t]+([0-9]+)[ \t]+({_NUMBER})[ \t]+({_NUMBER})(?:[ \t]+(\S+))?(?:[ \t]+(\S+))?$",
}
_NET = ("KBPS", "I-Pack", "O-Pack", "KB-In", "KB-Out")
OWN = (
    rf"{BANNER}|^{_LIST}|^(?:Network|Interf)[ \t]+KBPS[ \t]+I-Pack|^Disk[ \t]+Busy%[ \t]+KBPS|^FileSystem[ \t]+KBPS|^Name[ \t]+PID[ \t]+CPU%[ \t]+PgSp"
    rf"|^CPU[ \t]+User%[ \t]+Kern%|^(?:Kernel|User|Wait|Idle)[ \t]+[0-9.]+[ \t]*\||(?:^|[ \t|])(?:{_NAMES})[ \t]+{_NUMBER}(?:[ \t]|$)"
    rf"|^(?:hdisk|cd|vpath|hdiskpower|en|et|lo|tr|Total|ALL|cpu)[0-9]*(?:[ \t]+{_NUMBER}){{4,6}}[ \t]*$"
    r"|^[A-Za-z_.][A-Za-z0-9_.-]*[ \t]+[0-9]{3,}[ \t]+[0-9.]+[ \t]+[0-9.]+[ \t]+[a-z]\S*[ \t]*$"
)


_SCREEN = (
    rf"{BANNER}|^{_LIST}|^(?:Network|Interf)[ \t]+KBPS[ \t]+I-Pack"
    rf"|(?:^|[ \t|])(?:Cswitch|Syscall|Runqueue|Waitqueue|Readch|Writech|PgspIn|PgspOut|Dirblk|Ttyout)[ \t]+{_NUMBER}(?:[ \t]|$)"
)


@dataclass
class _Screen:
    """State carried from line to line: number and time of the screen, the table on the left, memory and swap of the host."""

    sample: int = 0
    t: float | None = None
    interval: float | None = None
    table: str = ""
    swap_kb: float | None = None
    mem_kb: float | None = None


def looks(frame: pl.DataFrame) -> bool:
    """Decide whether lines contain a screen of topas."""
    return bool(frame.select(pl.col("line").str.contains(_SCREEN).any()).item())


def signs(lines: Sequence[str]) -> int:
    """Count lines that only topas prints: its banner, headings, and names with their values."""
    return sum(1 for line in lines if re.search(_SCREEN, line))


def read(frame: pl.DataFrame, hints: Hints, out: Tables, state: State) -> None:
    """Read the lines of a block; `state["screen"]` keeps the open screen."""
    screen = _Screen(**state.get("screen", {}))
    rows: dict[str, list[dict[str, Any]]] = {}
    plain: list[int] = []
    times: list[float] = []
    for line_no, line in frame.select("line_no", "line").iter_rows():
        found = _line(line, screen, out)
        if found is None:
            continue
        plain.append(line_no)
        if screen.t is not None and (not times or times[-1] != screen.t):
            times.append(screen.t)
        for table, cells in found:
            common = {"line_no": line_no, "sample": screen.sample, "t_local": screen.t, "interval_s": screen.interval}
            mine = schema(table)
            rows.setdefault(table, []).append({k: v for k, v in (common | cells).items() if k in mine})
    out.read(plain)
    for table, cells_of in rows.items():
        columns = schema(table)
        out.add(
            table, pl.DataFrame(cells_of, schema={c: columns[c] for c in dict.fromkeys(k for r in cells_of for k in r)})
        )
    if plain and times:
        ends = min(times), max(times)
        out.domain(Domain(1, "wall-local", WALL_BASE, hints.tz, *ends, [(plain[0], plain[-1])], stamps="end"))
    state["screen"] = asdict(screen)


def _line(line: str, screen: _Screen, out: Tables) -> list[tuple[str, dict[str, Any]]] | None:
    """Return table and cells of each row of a line; None for a line that is not of topas."""
    text, known = line.strip(), False
    if banner := re.match(BANNER, line):
        screen.sample, screen.table, screen.t = screen.sample + 1, "", None
        out.fact("host", banner[1])
        out.fact("os", "aix")
        text, known = line[banner.end() :].strip(), True
    if stamp := _STAMP.search(text):
        at = month(stamp[1])
        screen.t = (
            None if at is None else wall_seconds(int(stamp[6]), at, int(stamp[2]), *map(int, stamp.group(3, 4, 5)))
        )
        text, known = text.replace(stamp[0], " "), True
    if interval := _INTERVAL.search(text):
        screen.interval = float(interval[1])
        text, known = text.replace(interval[0], " "), True
    rows, pairs = [], {m[1]: _value(m[2]) for m in _PAIR.finditer(text)}
    if pairs:
        rows += _figures(pairs, screen)
        text, known = _PAIR.sub(" ", text), True
    while words := _WORDS.search(text):
        text, known = text[: words.start()].rstrip(), True
    left = text.strip(" \t")
    if left and not left.strip("|# \t"):
        left = ""
    if left:
        taken = _left(left, screen)
        if taken is None:
            return None
        rows, known = [*rows, *taken], True
    return rows if known else None


def _value(text: str) -> float:
    return float(text.rstrip("KMG")) * {"K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1.0)


def _figures(pairs: dict[str, float], screen: _Screen) -> list[tuple[str, dict[str, Any]]]:
    """Put the values of the right side into their tables."""
    host = {_HOST[name][0]: value * _HOST[name][1] for name, value in pairs.items() if name in _HOST}
    rows: list[tuple[str, dict[str, Any]]] = []
    if "Size,MB" in pairs:
        screen.swap_kb = pairs["Size,MB"] * 1024
    for name, column in (("% Used", "swap_used_kb"), ("% Free", "swap_free_kb")):
        if name in pairs and screen.swap_kb is not None:
            host[column] = screen.swap_kb * pairs[name] / 100
    if host:
        rows.append(("vmstat", host))
    if "Real,MB" in pairs and pairs["Real,MB"] * 1024 != screen.mem_kb:
        screen.mem_kb = pairs["Real,MB"] * 1024
        rows.append(("hosts", {"os": "aix", "mem_kb": round(screen.mem_kb)}))
    for name, value in pairs.items():
        if name not in _HOST and name not in ("Real,MB", "Size,MB", "% Used", "% Free"):
            level = name in _LEVELS
            unit = "%" if name[0] == "%" else "B/s" if name in ("Readch", "Writech", "Rawin", "Ttyout") else "/s"
            rows.append(
                (
                    "counters",
                    {"grp": "topas", "name": name, "value": value, "unit": unit, "mode": "level" if level else "rate"},
                )
            )
    return rows


def _left(text: str, screen: _Screen) -> list[tuple[str, dict[str, Any]]] | None:
    """Read the left side: a bar of CPU, a heading, or a row of the open table; None for anything else."""
    if bar := _BAR.match(text):
        return [("vmstat", {_SHARES[bar[1].lower()]: float(bar[2])})]
    for table, heading in _HEADINGS.items():
        if heading.match(text):
            screen.table = table
            return []
    found = re.match(_ROWS[screen.table], text) if screen.table in _ROWS else None
    if found is None:
        return None
    if screen.table == "ps":
        owner = found[6] or found[5]
        return [("ps", {"comm": found[1], "pid": int(found[2]), "cpu_pct": _value(found[3]), "login": owner})]
    if screen.table == "list":
        user, pid, ppid, pri, nice, minutes, seconds, share, name = found.groups()
        return [("ps", {"login": user, "pid": int(pid), "ppid": int(ppid), "pri": int(pri), "nice": int(nice) if nice.isdigit() else None,
                        "cpu_time_s": int(minutes) * 60.0 + int(seconds), "cpu_pct": float(share), "comm": name})]  # fmt: skip
    values = [_value(v) for v in found[2].split()]
    if screen.table == "cpu":
        cells: dict[str, Any] = dict(zip(("usr", "sys", "wa", "idle", "pc", "ec"), values, strict=False))
        return (
            [("vmstat", cells)]
            if found[1] in ("ALL", "Total")
            else [("mpstat", cells | {"cpu": int(found[1].removeprefix("cpu"))})]
        )
    if screen.table == "disk" and found[1] != "Total":
        busy, _, tps, read_kb, write_kb = values
        return [
            (
                "iostat",
                {
                    "device": found[1],
                    "busy_pct": busy,
                    "io_ps": tps,
                    "r_kbps": read_kb,
                    "w_kbps": write_kb,
                    "part_of": False,
                },
            )
        ]
    heads = _NET if screen.table == "net" else ("Busy%", "KBPS", "TPS", "KB-Read", "KB-Writ")[5 - len(values) :]
    group = {"net": "iface", "disk": "disk", "files": "filesystem"}[screen.table]
    return [
        ("counters", {"grp": group, "item": found[1], "name": h, "value": v, "unit": "%" if "%" in h else "kB/s" if "KB" in h else "/s",
                      "mode": "level" if "%" in h else "rate"})
        for h, v in zip(heads, values, strict=True)
    ]  # fmt: skip

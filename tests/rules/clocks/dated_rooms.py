"""Small rooms of dated and undated artifacts: text of strace, truss, vmstat and syslog, and their reading as a case."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from rules.case.case import Case
from rules.case.reading import open_paths

TEN = 10 * 3600
#: 2025-06-01 10:00:00 UTC.
JUNE_TEN = 1748772000

_CALL = 'read(3, "x", 4096) = 1'
_VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st {zone:>19}
"""


def strace_tt(begin: int = TEN, n: int = 30) -> str:
    """Return a trace with times of day; `begin` in seconds of the day, a call a second."""
    hours = [(begin + i) % 86400 for i in range(n)]
    return "".join(f"4117 {h // 3600:02}:{h // 60 % 60:02}:{h % 60:02}.250000 {_CALL} <0.000100>\n" for h in hours)


def strace_ttt(begin: int = JUNE_TEN, n: int = 30) -> str:
    return "".join(f"4117 {begin + i}.250000 {_CALL} <0.000100>\n" for i in range(n))


def strace_r(n: int = 30) -> str:
    return "".join(f"4117      0.001000 {_CALL} <0.000100>\n" for _ in range(n))


def truss_d(n: int = 20) -> str:
    return "".join(f"3731:\t{8.5 + i / 10:.4f}\t0.0100\tread(5, 0xFFBFE000, 64)\t\t\t\t= 8\n" for i in range(n))


def vmstat_t(begin: str = "2025-06-01T09:59:00", n: int = 12, step_s: float = 10, zone: str = "") -> str:
    """Return samples of vmstat with date and time behind them (-t); the first is the average since boot."""
    at = [datetime.fromisoformat(begin) + timedelta(seconds=i * step_s) for i in range(n)]
    row = " 1  0      0 812345  12345 234567    0    0     1     2  101  200  3  1 95  1  0"
    return _VMSTAT.format(zone=zone) + "".join(f"{row} {stamp:%Y-%m-%d %H:%M:%S}\n" for stamp in at)


def vmstat_alone() -> str:
    """Return the only row of a vmstat without stamps."""
    return "\n".join(line[:82].rstrip() for line in vmstat_t(n=1).splitlines()) + "\n"


def syslog(day: str = "Jun  1", hour: int = 10, n: int = 20) -> str:
    return "".join(f"{day} {hour:02}:00:{i:02} db1 app[77]: request {i} was served\n" for i in range(n))


def case_of(folder: Path, files: Mapping[str, tuple[str, str | None]], zones: Mapping[str, str] | None = None) -> Case:
    """Read files (name -> text and host) as a case; `zones` are the time zones of hosts."""
    folder.mkdir()
    hosts = {host for _, host in files.values() if host}
    named = "".join(f"  {host}: {{tz: {(zones or {}).get(host) or 'null'}}}\n" for host in sorted(hosts))
    entries = ""
    for name, (text, host) in files.items():
        (folder / name).write_text(text)
        entries += f"- {{file: {name}, host: {host or 'null'}}}\n"
    head = f"hosts:\n{named}" if hosts else ""
    (folder / "case.yaml").write_text(f"{head}artifacts:\n{entries}")
    spec, status = open_paths([folder], None, folder / "read")
    assert status == 0
    return Case(spec, folder / "cache")

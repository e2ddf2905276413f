"""Measure how long the rules take for one large trace, and how much memory: `python -m benchmarks.judging [rows ...]`.

Uses two generated traces of that many system calls each (default 1,000,000): eight busy processes, in which no rule
finds anything to join, and a listener that serves connections, where every derived table has rows. Each is read once,
then judged in a process of its own as the web application does it, without a cache. `peak_rss_mb` is that process's
largest resident size, or that of the query process below it if it was larger; `together_rss_mb` the largest sum of
both, sampled twenty times a second. `cpu_s` counts both. With `before FOLDER` another source tree judges the same
reading first; then follows a case of one small file, with each tree in turn.

`python -m benchmarks.judging room [artifacts] [rows]` (default 200 and 500,000) judges a room of that many traces of
that many rows each, again unchanged, and again after one more small vmstat and one more small trace, with the cache of
a room. The traces share one reading under many numbers; the cache holds nothing of one that another could use. `cpu_s`
counts all processes. Writes results/judging.json and results/judging_room.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.first_paint import made_truss
from benchmarks.machine import keep

ROOT = Path(__file__).resolve().parents[1]
LISTENER, FIRST_PID, LAST_PID = 22_626, 30_000, 59_000
ALIVE = 50
"""Number of server processes at work beside the one that starts."""


def connection(parent: int, child: int, number: int, alive: list[int]) -> Iterator[tuple[int, float, str, str]]:
    """Yield the calls of one connection (pid, seconds, call, result): accept, double fork, exec, hello, log; then work
    of others.
    """
    hello = " ".join(f"NTP0 {child}")
    yield LISTENER, 0.001, "pollsys(0x100333970, 4, 0x00000000, 0x00000000)", "1"
    yield LISTENER, 0.0005, "accept(9, 0xFFFFFFFF7FFFD3B0, 0xFFFFFFFF7FFFD3AC, SOV_DEFAULT)", "13"
    yield LISTENER, 0.0002, 'read(13, "\\0 F\\0\\001\\0\\0\\0", 8208)', "70"
    yield LISTENER, 0.0002, "pipe()", "14 [15]"
    yield LISTENER, 0.0002, "pipe()", "16 [17]"
    yield LISTENER, 0.0100, "fork1()", str(parent)
    yield parent, 0.0001, "fork1()\t(returning as child ...)", str(LISTENER)
    yield parent, 0.0100, "fork1()", str(child)
    yield child, 0.0001, "fork1()\t(returning as child ...)", str(parent)
    yield parent, 0.0001, "_exit(0)", "0"
    yield LISTENER, 0.0030, f"waitid(P_PID, {parent}, 0xFFFFFFFF7FFFC7D0, WEXITED|WTRAPPED)", "0"
    yield child, 0.0139, 'execve("/u01/bin/oracle", 0x100100000, 0x100200000)', "0"
    for library in range(40):
        yield child, 0.0002, f'open("/u01/lib/lib{library}.so.1", O_RDONLY)', "5"
        yield child, 0.0002, "close(5)", "0"
    if number % 1000 == 0:
        yield child, 1.2000, f"shmat({number}, 0x3C0000000, IPC_ALLOC)", "0x3C0000000"
    yield child, 0.0200, f'write(17, " {hello}\\n", 10)', "10"
    yield LISTENER, 0.0003, f'read(16, " {hello}\\n", 64)', "10"
    yield LISTENER, 0.0001, "close(13)", "0"
    yield LISTENER, 0.0001, "lseek(7, 0, SEEK_CUR)", "100"
    yield LISTENER, 0.0002, 'write(7, " 1 4 - A P R - 2 0 1 6  ".., 180)', "180"
    for step in range(60):
        server, letters = alive[(step * 7 + number) % len(alive)], f"{chr(65 + number % 26)} {chr(65 + step % 26)}"
        yield server, 0.0002, f'read(8, "\\0\\0 {letters}".., 8208)', str(100 + step)
        yield server, 0.0002, f'write(8, "\\0\\0 {letters}".., 512)', "512"


def made_listener(path: Path, rows: int) -> None:
    """Write the trace of a listener and its server processes, with whole connections up to `rows` calls or a few more."""
    written, now, alive = 0, 1.0, [FIRST_PID]
    with path.open("w", encoding="ascii") as out:
        for number in count(1):
            parent = FIRST_PID + 2 * number % (LAST_PID - FIRST_PID)
            for pid, seconds, call, result in connection(parent, parent + 1, number, alive):
                now += seconds
                written += 1
                cpu = min(seconds, 0.0004)
                out.write(f"{pid}/1:\t{now:10.4f}\t{seconds:7.4f}\t{cpu:7.4f}\t{call}\t= {result}\n")
            alive = [*alive, parent + 1][-ALIVE:]
            if written >= rows:
                return


TRACES: dict[str, Callable[[Path, int], None]] = {"processes": made_truss, "listener": made_listener}


@dataclass(frozen=True)
class Used:
    """Resources used by a process and its descendants: seconds, CPU seconds, and resident MB of the largest and of all
    together.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float
    together_mb: float


def run(arguments: list[str], out: Path, root: Path = ROOT) -> Used:
    """Run a Python module of a tree to its end, sampling the memory of all processes twenty times a second.

    RuntimeError if it fails.
    """
    began = time.perf_counter()
    with out.open("w", encoding="utf-8") as answer:
        process = subprocess.Popen([sys.executable, "-m", *arguments], cwd=root, stdout=answer)
        together = 0.0
        while True:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            together = max(together, resident_mb(process.pid))
            time.sleep(0.05)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 6):  # 6: a rule failed, which the results count
        raise RuntimeError(f"{arguments[0]} ended with {process.returncode}")
    return Used(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, together)


def resident_mb(pid: int) -> float:
    """Return the resident size of a process and its children; 0 for a process that has just ended."""
    size = 0.0
    for one in (pid, *children(pid)):
        try:
            pages = int(Path(f"/proc/{one}/statm").read_text("ascii").split()[1])
        except (OSError, IndexError):
            continue
        size += pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024
    return size


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in task.read_text("ascii").split()]
        except OSError:
            continue
    return found


def measure(trace: str, rows: int, folder: Path, trees: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Generate and read one trace, then judge it with each tree in turn."""
    file, reading, report = folder / "big.truss", folder / "reading", folder / "report.json"
    TRACES[trace](file, rows)
    read = run(["parsers", str(file), "--out", str(reading)], folder / "account.txt")
    manifest = json.loads((reading / "manifest.json").read_text("utf-8"))
    parts = [{"part": p["part"], "line_from": p["line_from"], "line_to": p["line_to"]} for p in manifest["parts"]]
    artifact = {
        "id": 1,
        "file": file.name,
        "sha256": manifest["sha256"],
        "original": str(file),
        "reading": str(reading),
    }
    case = folder / "case.json"
    case.write_text(json.dumps({"schema": 1, "artifacts": [{**artifact, "parts": parts}]}), "utf-8")
    results = []
    for tree, root in trees.items():
        judged = run(["rules", "--case-json", str(case), "--json"], report, root)
        found = json.loads(report.read_text("utf-8"))
        results.append(
            {
                "trace": trace, "tree": tree, "rows": sum(b["tables"]["syscalls"] for b in manifest["batches"]), "bytes": file.stat().st_size,
                "read_cpu_s": round(read.cpu_s, 2), **figures(judged),
                "findings": len(found["findings"]), "failed": [f["rule"] for f in found["failed"]], "load": os.getloadavg()[0],
            }
        )  # fmt: skip
    return results


def figures(judged: Used) -> dict[str, float]:
    return {
        "judged_s": round(judged.wall_s, 2), "cpu_s": round(judged.cpu_s, 2), "peak_rss_mb": round(judged.peak_mb),
        "together_rss_mb": round(judged.together_mb),
    }  # fmt: skip


VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    + 12
    * " 1  0      0 900000  10000 200000    0    0     0     0  100  200  1  1 98  0  0\n"
)
HOSTS = 4


def described(number: int, file: Path, reading: Path) -> dict[str, Any]:
    """Return an artifact of the case, on one of the hosts in turn."""
    manifest = json.loads((reading / "manifest.json").read_text("utf-8"))
    parts = [
        {"part": p["part"], "line_from": p["line_from"], "line_to": p["line_to"], "host": f"db{number % HOSTS}"}
        for p in manifest["parts"]
    ]
    return {
        "id": number, "file": f"{number}-{file.name}", "sha256": manifest["sha256"], "original": str(file), "reading": str(reading),
        "parts": parts,
    }  # fmt: skip


def room(artifacts: int, rows: int, folder: Path) -> list[dict[str, Any]]:
    """Judge a room of traces, then again unchanged, with a small vmstat added, and with a small trace added."""
    traces, small, trace = folder / "big.truss", folder / "vmstat.txt", folder / "small.truss"
    made_listener(traces, rows)
    made_listener(trace, 500)
    small.write_text(VMSTAT, encoding="ascii")
    for file in (traces, small, trace):
        run(["parsers", str(file), "--out", str(folder / f"{file.stem}-reading")], folder / "account.txt")
    had = [described(n, traces, folder / "big-reading") for n in range(1, artifacts)]
    more = [*had, described(artifacts, small, folder / "vmstat-reading")]
    most = [*more, described(artifacts + 1, trace, folder / "small-reading")]
    counted = json.loads((folder / "big-reading" / "manifest.json").read_text("utf-8"))["batches"]
    hosts = {f"db{n}": {"os": "solaris", "role": "db", "ncpu": 16} for n in range(HOSTS)}
    results = []
    steps = (("first", had), ("unchanged", had), ("one more small vmstat", more), ("one more small trace", most))
    for step, held in steps:
        case = folder / "case.json"
        case.write_text(json.dumps({"schema": 1, "hosts": hosts, "artifacts": held}), "utf-8")
        judged = run(
            ["rules", "--case-json", str(case), "--cache", str(folder / "cache"), "--json"], folder / "report.json"
        )
        found = json.loads((folder / "report.json").read_text("utf-8"))
        results.append(
            {
                "room": step, "artifacts": len(held), "rows": len(had) * sum(b["tables"]["syscalls"] for b in counted),
                **figures(judged), "findings": len(found["findings"]), "failed": [f["rule"] for f in found["failed"]],
            }
        )  # fmt: skip
    return results


def main() -> None:
    if sys.argv[1:2] == ["room"]:
        artifacts, rows = ([int(n) for n in sys.argv[2:4]] + [200, 500_000][len(sys.argv) - 2 :])[:2]
        with tempfile.TemporaryDirectory(prefix="exhibit-") as folder:
            keep("judging_room", {"results": room(artifacts, rows, Path(folder))})
        return
    trees = {"now": ROOT}
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()] or [1_000_000]
    if "before" in sys.argv:
        trees = {"before": Path(sys.argv[sys.argv.index("before") + 1]), **trees}
    results = []
    for rows in sizes:
        for trace in TRACES:
            with tempfile.TemporaryDirectory(prefix="exhibit-") as folder:
                results += measure(trace, rows, Path(folder), trees)
    keep("judging", {"small": tiny(trees), "results": results})


def tiny(trees: Mapping[str, Path]) -> dict[str, Any]:
    """Judge a case of one small file, three times with each tree in turn; return the smallest CPU seconds of each."""
    with tempfile.TemporaryDirectory(prefix="exhibit-") as folder:
        file = Path(folder) / "vmstat.txt"
        file.write_text(VMSTAT, encoding="ascii")
        made: dict[str, list[float]] = {tree: [] for tree in trees}
        for _ in range(3):
            for tree, root in trees.items():
                made[tree].append(run(["rules", str(file), "--json"], Path(folder) / "report.json", root).cpu_s)
    return {f"{tree}_cpu_s": round(min(times), 2) for tree, times in made.items()}


if __name__ == "__main__":
    main()

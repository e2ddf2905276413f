"""Measure what the observers add to judging: `python -m benchmarks.observers [rows] [--twice] [--keep FOLDER]`.

Generates a case of about that many rows (default 1,000,000) on one host: a trace of a server of 64 threads and its workers
(six tenths; many calls, targets, errors and a few long waits), a system log (two tenths), counters of a monitor and packets
(a tenth each). Each is read once. Then the case is judged in processes of their own: with the rules alone, and with
observers. `ratio` is the CPU seconds of the second by those of the first. `observers` lists the CPU and wall seconds of each
observer and by how many MB it raised the peak of its process; what it reads first of a derived table, such as proc_tree, is
counted with it. `--keep` uses readings left in a folder by an earlier run of the same size.

Memory: `peak_rss_mb` is the larger of the judging process and its query process, `together_rss_mb` the largest sum of both.
Writes results/observers.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.judging import figures, run
from benchmarks.machine import keep

BEGAN = 1795205980.0
THREADS, WORKERS = 64, 8
ERRORS = (
    "ENOENT (No such file or directory)",
    "EAGAIN (Resource temporarily unavailable)",
    "ECONNREFUSED (Connection refused)",
)
LONG_WAITS = (5.005, 3.0, 1.0, 0.25, 0.12)
"""Durations in seconds of the rare long calls; the first three are typical timer values."""

TEMPLATES = 400
"""Number of different messages of the log."""

SERIES = 20
"""Number of counters per sample."""


def varied(number: int, step: int) -> int:
    """Return a number that looks drawn at random but is the same in each run."""
    return (number * 2_654_435_761 + step * 40_503) % 4_294_967_296 >> 7


def call(number: int, thread: int) -> tuple[str, str, float]:
    """Return the text, the result and the duration in seconds of a system call."""
    v = varied(number, thread)
    fd, size, shape = 5 + v % 200, 64 + v % 8000, v // 7 % 100
    seconds = 2e-6 * (1 + v % 997)
    if shape < 25:
        return f'read({fd}, "\\3\\0\\0\\1 row {v % 9973}"..., {size})', str(size), seconds
    if shape < 40:
        return f'write({fd}, "\\0\\0 {v % 977} answer"..., {size})', str(size), seconds
    if shape < 52:
        path, error = f"/srv/app/{v % 40}/module{v // 3 % 5000}.so", v % 5 == 0
        return f'openat(AT_FDCWD, "{path}", O_RDONLY|O_CLOEXEC)', f"-1 {ERRORS[0]}" if error else str(fd), seconds
    if shape < 62:
        return f"close({fd})", "0", seconds
    if shape < 70:
        return (
            f'stat("/srv/app/{v % 40}/part{v // 5 % 700}", {{st_mode=S_IFREG|0644, st_size={size}, ...}})',
            "0",
            seconds,
        )
    if shape < 80:
        address = 0x7FBF00000000 + 64 * (v % 300)
        return f"futex(0x{address:012x}, FUTEX_WAIT_PRIVATE, 2, NULL)", "0", seconds * (1 + v % 40)
    if shape < 86:
        return f"recvfrom({fd}, 0x7ffd{v % 65536:04x}, {size}, MSG_DONTWAIT, NULL, NULL)", f"-1 {ERRORS[1]}", seconds
    if shape < 90:
        result = f"-1 {ERRORS[2]}" if v % 50 == 0 else "0"
        where = f'{{sa_family=AF_INET, sin_port=htons({5432 + v % 3}), sin_addr=inet_addr("192.0.2.{v % 20}")}}'
        return f"connect({fd}, {where}, 16)", result, seconds
    if shape < 95:
        wait = LONG_WAITS[v % 5] + 1e-4 * (v % 20) if v % 4001 == 0 else seconds * 8
        return f"poll([{{fd={fd}, events=POLLIN}}], 1, 5000)", "1 ([{fd=7, revents=POLLIN}])", wait
    if shape < 98:
        return (
            f"mmap(NULL, {4096 * (1 + v % 64)}, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)",
            "0x7f2a00000000",
            seconds,
        )
    return f"fsync({fd})", "0", 0.002 + 1e-5 * (v % 900)


def trace(rows: int) -> Iterator[str]:
    """Yield `strace -f -ttt -T -o FILE` of a server with threads and workers that it forked."""
    stamp = BEGAN
    for worker in range(WORKERS):
        stamp += 0.001
        yield f"{2000} {stamp:.6f} fork() = {3000 + worker} <0.000200>\n"
    for number in range(rows):
        stamp += 1e-5 * (1 + number * 7919 % 97)
        thread = varied(number, 1) % (THREADS + WORKERS)
        pid = 2000 + thread if thread < THREADS else 3000 + thread - THREADS
        text, result, seconds = call(number, thread)
        yield f"{pid} {stamp:.6f} {text} = {result} <{seconds:.6f}>\n"


def log(rows: int) -> Iterator[str]:
    """Yield a journal with stamps to the microsecond: many messages, numbers, addresses, durations, and a few complaints."""
    for number in range(rows):
        v = varied(number, 2)
        second, micro = number // 200, number % 200 * 5000
        day, at = (
            1 + second // 86_400 % 28,
            f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.{micro:06}",
        )
        kind, unit = v % TEMPLATES, ("app", "proxy", "sshd", "kernel", "cron")[v % 5]
        message = (
            f"request {v} of 192.0.2.{v % 250}:{20_000 + v % 40_000} step{kind % 26 * chr(97 + kind % 26)} done in {v % 900} ms"
            if kind % 3
            else f"session s{v:x} {chr(97 + kind % 26)}{chr(97 + kind // 26)} opened /srv/app/{v % 40}/part{v % 700} by uid {v % 60}"
        )
        if v % 997 == 0:
            message = f"ERROR: connection to db{v % 4} timed out after {5000 + v % 5} ms"
        yield f"2026-10-{day:02}T{at}+00:00 web1 {unit}[{1000 + v % 300}]: {message}\n"


def counters(rows: int) -> Iterator[str]:
    """Yield a table of a monitor with a stamp and 20 counters per line."""
    yield "time," + ",".join(f"queue_{n}" if n % 2 else f"requests_{n}" for n in range(SERIES)) + "\n"
    for number in range(max(1, rows // SERIES)):
        day, at = 1 + number // 86_400 % 28, f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
        yield (
            f"2026-10-{day:02} {at}," + ",".join(str(varied(number, n) % (100 * (n + 1))) for n in range(SERIES)) + "\n"
        )


def packets(rows: int) -> Iterator[str]:
    """Yield `tcpdump -n` of clients that ask a server, with a segment sent again now and then."""
    stamp = 3600.0
    for number in range(rows):
        v = varied(number // 4, 3)
        stamp += 1e-4 * (1 + number * 7919 % 17)
        at = f"{int(stamp) // 3600 % 24:02}:{int(stamp) // 60 % 60:02}:{stamp % 60:09.6f}"
        client, seq = f"192.0.2.{v % 200}.{20_000 + v % 30_000}", 1 + number // 4 % 9000 * 100
        step = number % 4
        if step in (0, 3) or (step == 1 and v % 301 == 0):
            flags, ends = ("P.", f"seq {seq}:{seq + 100}, ") if step < 3 else (".", ""), f"{client} > 192.0.2.250.5432"
            yield f"{at} IP {ends}: Flags [{flags[0]}], {flags[1]}ack {seq}, win 501, length {100 if flags[1] else 0}\n"
        else:
            yield f"{at} IP 192.0.2.250.5432 > {client}: Flags [P.], seq {seq}:{seq + 900}, ack {seq + 100}, win 501, length 900\n"


FILES: dict[str, tuple[float, Callable[[int], Iterator[str]]]] = {
    "trace.strace": (0.6, trace),
    "messages.log": (0.2, log),
    "monitor.csv": (0.1, counters),
    "capture.tcpdump": (0.1, packets),
}
"""Name of each file -> its share of all rows, and the function that generates it."""


def read(folder: Path, rows: int) -> dict[str, Any]:
    """Generate and read the files unless the folder holds their readings; return the rows of each table."""
    artifacts, tables = [], {}
    for number, (name, (part, made)) in enumerate(FILES.items(), 1):
        file, reading = folder / name, folder / f"{name}-reading"
        if not (reading / "manifest.json").is_file():
            with file.open("w", encoding="ascii") as out:
                out.writelines(made(int(rows * part)))
            run(["parsers", str(file), "--out", str(reading)], folder / "account.txt")
        manifest = json.loads((reading / "manifest.json").read_text("utf-8"))
        for batch in manifest["batches"]:
            for table, held in batch["tables"].items():
                tables[table] = tables.get(table, 0) + held
        parts = [
            {"part": p["part"], "line_from": p["line_from"], "line_to": p["line_to"], "host": "web1"}
            for p in manifest["parts"]
        ]
        artifacts.append(
            {
                "id": number,
                "file": name,
                "sha256": manifest["sha256"],
                "original": str(file),
                "reading": str(reading),
                "parts": parts,
            }
        )
    hosts = {"web1": {"os": "linux", "ncpu": 16}}
    (folder / "case.json").write_text(json.dumps({"schema": 1, "hosts": hosts, "artifacts": artifacts}), "utf-8")
    return tables


def judge(times: Path, *, observing: bool, arguments: list[str]) -> int:
    """Judge in this process as `python -m rules` does, with or without observers; write the cost of each to `times`."""
    from rules.__main__ import main as judged
    from rules.derived import observations

    taken: dict[str, dict[str, float]] = {}
    watch = observations._watch

    def timed(one: Any, *rest: Any) -> Iterator[dict[str, Any]]:
        if not observing:
            return
        wall, cpu, peak = time.perf_counter(), time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        yield from watch(one, *rest)
        seen = taken.setdefault(one.OBSERVER.name, {"cpu_s": 0.0, "wall_s": 0.0, "raised_mb": 0.0})
        seen["cpu_s"] += time.process_time() - cpu
        seen["wall_s"] += time.perf_counter() - wall
        seen["raised_mb"] += (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024

    observations._watch = timed
    status = judged(arguments)
    times.write_text(json.dumps(taken), "utf-8")
    return status


def measure(folder: Path, *, observing: bool) -> dict[str, Any]:
    """Judge the case in a process of its own."""
    report, times = folder / "report.json", folder / "times.json"
    how = "with" if observing else "without"
    used = run(
        ["benchmarks.observers", "judge", how, str(times), "--case-json", str(folder / "case.json"), "--json"], report
    )
    found = json.loads(report.read_text("utf-8"))
    taken = {k: {n: round(x, 2) for n, x in v.items()} for k, v in json.loads(times.read_text("utf-8")).items()}
    return {
        "observing": observing,
        **figures(used),
        "findings": len(found["findings"]),
        "observations": len(found["observations"]),
        "failed": [f"{f['rule']}: {f['error']}" for f in found["failed"]],
        "load": os.getloadavg()[0],
        "observers": dict(sorted(taken.items(), key=lambda item: -item[1]["cpu_s"])),
    }


def main() -> int:
    if sys.argv[1:2] == ["judge"]:
        return judge(Path(sys.argv[3]), observing=sys.argv[2] == "with", arguments=sys.argv[4:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.observers")
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--twice", action="store_true", help="judge each way twice and keep the smaller CPU seconds")
    parser.add_argument("--keep", type=Path, help="a folder that keeps files and readings for the next run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="exhibit-") as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        tables = read(folder, options.rows)
        made = [measure(folder, observing=o) for o in (False, True) * (2 if options.twice else 1)]
    without, observing = (
        min((m for m in made if m["observing"] == o), key=lambda m: m["cpu_s"]) for o in (False, True)
    )
    ratio = round(observing["cpu_s"] / without["cpu_s"], 2)
    keep("observers", {"rows": tables, "ratio": ratio, "rules_alone": without, "with_observers": observing})
    return 0


if __name__ == "__main__":
    sys.exit(main())

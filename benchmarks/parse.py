"""Measure the reading of large files of eight kinds (wall, CPU, peak memory, lines per second), compared with other
programs.

    python -m benchmarks.parse [--mb 100] [--big-mb 1000] [--kinds truss,vmstat] [--folder DIR] [--jc PYTHON]
    [--strace-parser PROGRAM] [--times 3]

Inputs come from `benchmarks/shapes.py`: the same bytes everywhere. Each reading is a process of its own; imports do not
count in wall clock or CPU; its peak is that of the process itself and of its largest child. A kind is read `--times`
times, in turn with the programs it is compared with, and the smallest time of each counts. With `--big-mb` each kind is
also read at that size, by one process and by one for each core, and one reading is killed half way and resumed. Only
ratios matter: seconds depend on the machine and its other load. `--folder` keeps the inputs; `--jc` names an
interpreter that has jc.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import shapes
from benchmarks.machine import keep

TARGETS = {
    "truss_over_plain_loop": (">=", 3.0),
    "truss_over_grep_wall": ("<=", 25.0),
    "vmstat_over_jc": (">=", 5.0),
    "strace_over_strace_parser": (">=", 1.5),
    "peak_mb": ("<=", 300.0),
    "growth_time": ("<=", 12.0),
    "growth_memory": ("<=", 1.3),
    "line_n_ms": ("<=", 5.0),
    "line_50m_ms": ("<=", 50.0),
}
COUNTING = {
    "truss": "^[0-9]+(/[0-9]+)?:",
    "strace": "^[0-9]+ [0-9.]+ ",
    "sqlnet": "^\\([0-9]+\\) \\[",
    "listener_log": "^[0-9]+-[A-Z]+-[0-9]+ ",
    "vmstat": "^ *[0-9]+ +[0-9]+ ",
    "mpstat": "^ *[0-9]+ +[0-9]+ ",
    "perf": "^[\t ]+[0-9a-f]+ ",
    "text": "^[0-9-]+ [0-9:,]+ [A-Z]+ ",
}
JC_LINES = 100_000
STRACE_LINES, STRACE_THREADS = 40_000, 3_000

HEAD = re.compile(r"^(?:(\d+)(?:/(\d+))?:\s*)?((?:\s*\d+[.,]\d+){0,3})\s*(\w+)\((.*)$", re.ASCII)
TAIL = re.compile(r"\)\s*(?:= (\S+)(?: \[ (\S+) \])?|Err#(\d+)(?: (\w+))?|\(sleeping\.\.\.\))$", re.ASCII)
PLAIN_COLUMNS = (
    "line_no",
    "pid",
    "lwp",
    "t_local",
    "delta_s",
    "elapsed_s",
    "name",
    "args",
    "ret",
    "ret_text",
    "err",
    "fd",
    "path",
)


def plain_loop(path: Path, out: Path) -> int:
    """Read a file with the comparison loop: per line two patterns as general as the format's, thirteen columns, written
    as Parquet.
    """
    columns: dict[str, list[Any]] = {name: [] for name in PLAIN_COLUMNS}
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            line = line.rstrip()
            head, tail = HEAD.match(line), TAIL.search(line)
            if head is None or tail is None:
                continue
            pid, lwp, stamps, name, rest = head.groups()
            numbers = [float(x.replace(",", ".")) for x in stamps.split()] + [None] * 3
            text = tail[1]
            args = rest[: len(rest) - (len(line) - tail.start())]
            first = args.split(",", 1)[0]
            row = (number, int(pid) if pid else None, int(lwp) if lwp else None, *numbers[:3], name, args,
                   int(text, 0) if text and text[:2] != "0x" else None, text, tail[4],
                   int(first) if first.isdigit() else None, first.strip('"') if first[:1] == '"' else None)  # fmt: skip
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    table = pa.table(columns)
    pq.write_table(table, out, compression="zstd", compression_level=1)
    return len(table)


CHILD = """
import json, os, resource, sys, time
from pathlib import Path
from parsers.reading import read
from parsers.registry import modules
from parsers.secrets.words import without_secrets
from parsers.text.source import Hints, Limits
modules()
without_secrets("password=S3cret7")  # imports the library's detectors
def peak(pid):
    try:
        return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return 0.0
highest = [0.0]
def look(progress):
    for task in Path("/proc/self/task").iterdir():
        highest[0] = max([highest[0], *map(peak, (task / "children").read_text().split())])
def spent():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)
for few in sys.argv[4:]:  # a worker has read others before: patterns are compiled
    read(Path(few), Hints(), Path(few).with_suffix(".reading"))
began, before = time.perf_counter(), spent()
account = read(Path(sys.argv[1]), Hints(), Path(sys.argv[2]), progress=look, limits=Limits(processes=int(sys.argv[3])))
wall = time.perf_counter() - began
print(json.dumps({"wall_s": round(wall, 3), "cpu_s": round(spent() - before, 3),
  "peak_mb": round(max(peak("self"), highest[0])), "lines": account.lines, "lines_per_s": round(account.lines / wall),
  "mb_per_s": round(account.bytes / wall / 2**20, 1), "kind": account.kind, "parts": len(account.parts), "tables": account.tables,
  "unknown": account.account.unknown, "load": os.getloadavg()[0]}))
"""
JC = """
import sys, time, jc
text = open(sys.argv[1]).read()
jc.parse("vmstat", text[:1000].rpartition("\\n")[0])  # imports its parser
began, before = time.perf_counter(), time.process_time()
rows = jc.parse("vmstat", text)
print(len(rows), time.perf_counter() - began, time.process_time() - before)
"""


def read_in_child(path: Path, out: Path, processes: int, *, warm: bool = False) -> dict[str, Any]:
    """Read a file in a process of its own into `out`. With `warm` the file's first lines have been read before."""
    import config.celery  # noqa: F401  # sets the allocator as a worker's

    command = [sys.executable, "-c", CHILD, str(path), str(out), str(processes)]
    if warm:
        few = out.with_suffix(".few")
        few.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:200]))
        command.append(str(few))
    told: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return told


def plain_in_child(path: Path, out: Path) -> float:
    """Measure the plain loop in a process of its own, without imports."""
    code = "import sys, time; from pathlib import Path; from benchmarks.parse import plain_loop; began = time.perf_counter()"
    code += "; plain_loop(Path(sys.argv[1]), Path(sys.argv[2])); print(time.perf_counter() - began)"
    ran = subprocess.run([sys.executable, "-c", code, str(path), str(out)], capture_output=True, text=True, check=True)
    return float(ran.stdout)


def timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def least(told: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fastest of several readings of one file, with the smallest CPU time and highest peak among them."""
    best = min(told, key=lambda t: t["wall_s"])
    return best | {
        "cpu_s": min(t["cpu_s"] for t in told),
        "peak_mb": max(t["peak_mb"] for t in told),
        "walls_s": [t["wall_s"] for t in told],
    }


def against_jc(interpreter: str, path: Path, scratch: Path, times: int) -> dict[str, Any]:
    """Read the first lines of a vmstat with jc and with Exhibit, both warm.

    jc holds all rows in memory, so it gets only part of the file.
    """
    some = scratch / "vmstat-some.txt"
    with path.open("rb") as stream:
        some.write_bytes(b"".join(next(stream) for _ in range(JC_LINES)))
    theirs: list[list[float]] = []
    ours: list[dict[str, Any]] = []
    for n in range(times):
        ran = subprocess.run([interpreter, "-c", JC, str(some)], capture_output=True, text=True, check=True)
        theirs.append([float(word) for word in ran.stdout.split()])
        ours.append(read_in_child(some, scratch / f"reading-some-{n}", 1, warm=True))
    rows, wall, cpu = (min(column) for column in zip(*theirs, strict=True))
    own = least(ours)
    return {"lines": JC_LINES, "rows": int(rows), "wall_s": round(wall, 2), "cpu_s": round(cpu, 2),
            "ours_wall_s": own["wall_s"], "ours_cpu_s": own["cpu_s"]}  # fmt: skip


def against_strace_parser(program: str, scratch: Path, times: int) -> dict[str, Any]:
    """Read a strace of many threads with strace-parser, which sums up calls by process, and with Exhibit, both warm.

    strace-parser exits with status 0 even if it refuses a file, so its output is checked.
    """
    some = scratch / "strace-threads.txt"
    texts = shapes.strace(STRACE_THREADS)
    some.write_text("".join(next(texts) for _ in range(STRACE_LINES)), encoding="ascii")
    run = partial(subprocess.run, [program, str(some)], check=True, capture_output=True)
    said = run().stdout
    assert len(said) > 1000, said
    theirs = min(timed(run) for _ in range(times))
    own = least([read_in_child(some, scratch / f"reading-threads-{n}", 1, warm=True) for n in range(times)])
    return {"lines": STRACE_LINES, "threads": STRACE_THREADS, "wall_s": round(theirs, 3), "ours_wall_s": own["wall_s"],
            "ours_cpu_s": own["cpu_s"]}  # fmt: skip


def line_n_ms(path: Path, reading: Path, lines: int) -> float:
    """Return the median time to fetch one line at any position, in milliseconds."""
    from parsers.lines import LineReader

    reader = LineReader(path, reading)
    reader.lines(1, 1)
    places = [1 + k * 7919 * 104_729 % lines for k in range(51)]
    return sorted(timed(partial(reader.lines, n, n)) for n in places)[25] * 1000


def line_50m_ms(scratch: Path) -> float:
    """Return the time to open a file of 60 million short lines at line 50,000,000, from the manifest to the text;
    median of 5.
    """
    from parsers.lines import LineReader
    from parsers.tables import parquet

    path, reading, count, width = scratch / "short.txt", scratch / "short", 60_000_000, 12
    with path.open("wb") as stream:
        for at in range(0, count, 1_000_000):
            stream.write(b"".join(b"%011d\n" % n for n in range(at + 1, at + 1_000_001)))
    batches: list[dict[str, Any]] = []
    step = 32 * 2**20 // width  # lines per run, as a reading would divide them
    for at in range(0, count, step):
        behind = min(at + step, count)
        numbers = [n + 1 for n in range(-(-at // 1000) * 1000, behind, 1000)]
        writer = parquet.Writer(reading, len(batches) + 1)
        writer.write("line_index", pa.table({"line_no": numbers, "offset": [(n - 1) * width for n in numbers]}))
        writer.close()
        batches.append(
            {"batch": len(batches) + 1, "line_next": behind + 1, "offset_next": behind * width, "tables": {}}
        )
    manifest = {"bytes": count * width, "lines": count, "parts": [], "batches": batches, "transcript": None}
    parquet.save_manifest(reading, manifest)

    def open_it() -> None:
        (line,) = LineReader(path, reading).lines(50_000_000, 50_000_000)
        assert int(line.text) == line.line_no == 50_000_000

    return sorted(timed(open_it) for _ in range(5))[2] * 1000


def killed_and_resumed(path: Path, out: Path) -> dict[str, Any]:
    """Kill a reading with SIGKILL when its manifest counts half of the file, resume it, and return the measurements."""
    command = [sys.executable, "-c", CHILD, str(path), str(out), str(os.cpu_count() or 1)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    manifest = out / "manifest.json"
    done = 0
    while done < path.stat().st_size / 2:
        time.sleep(0.2)
        if manifest.exists():
            batches = json.loads(manifest.read_text())["batches"]
            done = batches[-1]["offset_next"] if batches else 0
        assert child.poll() is None, "it was done before it could be killed"
    child.send_signal(signal.SIGKILL)
    child.wait()
    kept = len(json.loads(manifest.read_text())["batches"])
    told = read_in_child(path, out, os.cpu_count() or 1)
    return {"batches_kept": kept, "batches": len(json.loads(manifest.read_text())["batches"]), "rest_wall_s": told["wall_s"],
            "lines": told["lines"], "tables": told["tables"]}  # fmt: skip


def measure(kind: str, path: Path, scratch: Path, jc: str | None, times: int) -> dict[str, Any]:
    """Read one file with one process, and with wc, grep and the available comparison programs."""
    ours, wc, grep = [], [], []
    run = partial(subprocess.run, check=True, capture_output=True)
    for n in range(times):
        ours.append(read_in_child(path, scratch / f"reading-{kind}-{n}", 1))
        wc.append(timed(lambda: run(["wc", "-l", str(path)])))
        grep.append(timed(lambda: run(["grep", "-cE", COUNTING[kind], str(path)])))
    told: dict[str, Any] = {"ours": least(ours), "wc_s": round(min(wc), 3), "grep_s": round(min(grep), 3)}
    told["over_grep"] = round(told["ours"]["wall_s"] / told["grep_s"], 1)
    if kind == "truss":
        told["plain_loop_s"] = round(min(plain_in_child(path, scratch / "plain.parquet") for _ in range(times)), 2)
    if kind == "vmstat" and jc:
        told["jc"] = against_jc(jc, path, scratch, times)
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--big-mb", type=int, default=0, help="also at this size (1000 for the promise about 1 GB)")
    parser.add_argument("--kinds", default=",".join(shapes.SHAPES))
    parser.add_argument("--folder", type=Path, help="keep the inputs there and use those that are there")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--jc", metavar="PYTHON", help="an interpreter that has jc")
    parser.add_argument("--strace-parser", metavar="PROGRAM", help="the program strace-parser")
    options = parser.parse_args()
    kinds, cores = options.kinds.split(","), os.cpu_count() or 1
    result: dict[str, Any] = {
        "mb": options.mb,
        "big_mb": options.big_mb,
        "times": options.times,
        "kinds": {},
        "big": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        inputs: Path = options.folder or scratch

        def given(kind: str, size_mb: int) -> Path:
            path = inputs / f"{kind}-{size_mb}.txt"
            if not path.exists():
                shapes.write(kind, path, size_mb * 2**20)
            return path

        for kind in kinds:
            result["kinds"][kind] = measure(kind, given(kind, options.mb), scratch, options.jc, options.times)
            print(kind, json.dumps(result["kinds"][kind]), file=sys.stderr)
        for kind in kinds if options.big_mb else ():
            path = given(kind, options.big_mb)
            alone = read_in_child(path, scratch / f"alone-{kind}", 1)
            all_cores = read_in_child(path, scratch / f"all-{kind}", cores)
            assert all_cores["tables"] == alone["tables"]
            result["big"][kind] = {"one": alone, "all_cores": all_cores,
                                   "gain": round(alone["wall_s"] / all_cores["wall_s"], 2)}  # fmt: skip
            print(kind, json.dumps(result["big"][kind]), file=sys.stderr)
        if options.big_mb:
            first = kinds[0]
            path, one = given(first, options.big_mb), result["big"][first]["one"]
            result["resumed"] = killed_and_resumed(path, scratch / "killed")
            assert result["resumed"]["tables"] == one["tables"]
            small, scale = result["kinds"][first]["ours"], options.big_mb / options.mb / 10
            result |= {
                "peak_mb": max(told[w]["peak_mb"] for told in result["big"].values() for w in ("one", "all_cores")),
                "growth_time": one["wall_s"] / small["wall_s"] / scale,
                "growth_memory": one["peak_mb"] / small["peak_mb"],
                "line_n_ms": line_n_ms(path, scratch / f"alone-{first}", one["lines"]),
            }
        result["line_50m_ms"] = line_50m_ms(scratch)
        if options.strace_parser:
            result["strace_parser"] = rival = against_strace_parser(options.strace_parser, scratch, options.times)
            result["strace_over_strace_parser"] = rival["wall_s"] / rival["ours_wall_s"]
    if (truss := result["kinds"].get("truss")) is not None:
        result["truss_over_plain_loop"] = truss["plain_loop_s"] / truss["ours"]["wall_s"]
        result["truss_over_grep_wall"] = truss["over_grep"]
    if (jc := result["kinds"].get("vmstat", {}).get("jc")) is not None:
        result["vmstat_over_jc"] = jc["wall_s"] / jc["ours_wall_s"]
    result["targets"] = {
        name: {
            "target": f"{sign} {value}",
            "now": round(result[name], 2),
            "met": result[name] >= value if sign == ">=" else result[name] <= value,
        }
        for name, (sign, value) in TARGETS.items()
        if name in result
    }
    keep("parse", result)
    return 0 if all(t["met"] for t in result["targets"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())

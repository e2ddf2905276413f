"""Lines per second and peak memory of truss and SQL*Net, against a plain Python loop and grep in the same run.

    python -m benchmarks.parsers [--mb 100] [--big-mb 1000]

Inputs are generated in the shapes of the corpus (no randomness: the same bytes everywhere). Each reading is a process of its own,
so that peak memory is that of one reading; imports are not counted. Ratios are what counts: seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import re
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

from benchmarks.machine import keep

TARGETS = {
    "truss_over_plain_loop": (">=", 3.0),
    "truss_over_grep_wall": ("<=", 25.0),
    "peak_mb_big": ("<=", 300.0),
    "growth_time": ("<=", 12.0),
    "growth_memory": ("<=", 1.3),
    "line_n_ms": ("<=", 5.0),
}

CALLS = (
    ("read(14, 0x{a:08X}, 8208)", "= 240"),
    ("write(13, \" N T P 0   3 7 3 1\\n\", {b})", "= {b}"),
    ("pollsys(0x{a:08X}, 6, 0x00000000, 0x00000000)", "= 1"),
    ("lseek(21, 0, SEEK_END)", "= {c}"),
    ("stat(\"/u01/app/oracle/{b}\", 0xFFFFFFFF7FFF{b:04X})", "Err#2 ENOENT"),
    ("fcntl(13, F_SETFD, 0x00000001)", "= 0"),
    ("shmat({c}, 0x{a:08X}, IPC_CREAT)", "= 0x{a:08X}"),
)  # fmt: skip


def make_truss(path: Path, size: int) -> int:
    """Write about `size` bytes of `truss -f -l -d -D -E`; give the number of lines."""
    lines, stamp, number = 0, 0.0, 0
    with path.open("w", encoding="ascii") as stream:
        while stream.tell() < size:
            block = []
            for _ in range(20_000):
                number += 1
                delta = (number * 7919 % 997) / 10_000
                stamp += delta
                call, result = CALLS[number % len(CALLS)]
                fields = {"a": 0x3C0000000 + number * 4096 % (1 << 32), "b": 10 + number % 1000, "c": number % 100_000}
                head = f"{22626 + number % 8}/{1 + number % 2}:\t{stamp:10.4f}\t{delta:7.4f}\t{delta / 3:7.4f}\t"
                block.append(f"{head}{call.format(**fields)}\t{result.format(**fields)}\n")
            stream.write("".join(block))
            lines += len(block)
    return lines


def make_sqlnet(path: Path, size: int) -> int:
    """Write about `size` bytes of a client trace of level 16; give the number of lines."""
    lines, number = 0, 0
    texts = (
        "nsprecv: reading from transport...", "nttrd: entry", "nttrd: socket 9 had bytes read={b}", "nttrd: exit",
        "nsprecv: {b} bytes from transport", "nsprecv: tlen={b}, plen={b}, type=6", "nsprecv: packet dump",
        "nsprecv: 00 F0 00 00 06 00 00 00  |........|", "nsprecv: normal exit", "nioqrc: exit",
    )  # fmt: skip
    with path.open("w", encoding="ascii") as stream:
        while stream.tell() < size:
            block = []
            for _ in range(20_000):
                number += 1
                ms = number // 4
                clock = f"{ms // 3_600_000 % 24:02}:{ms // 60_000 % 60:02}:{ms // 1000 % 60:02}:{ms % 1000:03}"
                stamp = f"[{1 + ms // 86_400_000:02}-APR-2016 {clock}]"
                block.append(f"({1 + number % 3}) {stamp} {texts[number % len(texts)].format(b=10 + number % 2000)}\n")
            stream.write("".join(block))
            lines += len(block)
    return lines


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
    """The rival: for each line two patterns as general as the format's, thirteen columns appended, written as Parquet."""
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
import json, resource, sys, time
from pathlib import Path
from parsers.reading import read
from parsers.registry import modules
from parsers.source import Hints
modules()
began = time.perf_counter()
account = read(Path(sys.argv[1]), Hints(), Path(sys.argv[2]))
used = resource.getrusage(resource.RUSAGE_SELF)
status = Path("/proc/self/status").read_text()  # ru_maxrss would show the parent's peak.
print(json.dumps({"wall_s": time.perf_counter() - began, "cpu_s": used.ru_utime + used.ru_stime,
  "peak_mb": int(status.split("VmHWM:")[1].split()[0]) / 1024, "lines": account.lines, "kind": account.kind, "tables": account.tables,
  "unknown": account.account.unknown}))
"""


def read_in_child(path: Path, scratch: Path) -> dict[str, Any]:
    """Read a file in a process of its own; a fresh reading each time."""
    out = scratch / f"reading-{time.monotonic_ns()}"
    ran = subprocess.run([sys.executable, "-c", CHILD, str(path), str(out)], capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(ran.stdout)
    told["lines_per_s"] = told["lines"] / told["wall_s"]
    told["out"] = str(out)
    return told


def plain_in_child(path: Path, out: Path) -> float:
    """Time the plain loop in a process of its own, imports not counted."""
    code = "import sys, time; from pathlib import Path; from benchmarks.parsers import plain_loop; began = time.perf_counter()"
    code += "; plain_loop(Path(sys.argv[1]), Path(sys.argv[2])); print(time.perf_counter() - began)"
    ran = subprocess.run([sys.executable, "-c", code, str(path), str(out)], capture_output=True, text=True, check=True)
    return float(ran.stdout)


def timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def line_n_ms(path: Path, reading: Path, lines: int) -> float:
    """Median time to fetch one line anywhere, in milliseconds."""
    from parsers.lines import LineReader

    reader = LineReader(path, reading)
    reader.lines(1, 1)
    places = [1 + k * 7919 * 104_729 % lines for k in range(51)]
    return sorted(timed(partial(reader.lines, n, n)) for n in places)[25] * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument(
        "--big-mb", type=int, default=0, help="also read one of this size (1000 for the promise about 1 GB)"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    result: dict[str, Any] = {"mb": options.mb, "big_mb": options.big_mb}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        truss, sqlnet = scratch / "truss.txt", scratch / "sqlnet.trc"
        make_truss(truss, options.mb * 1024**2)
        make_sqlnet(sqlnet, options.mb * 1024**2)
        counting = ["grep", "-cE", "^[0-9]+(/[0-9]+)?:", str(truss)]
        ours: list[dict[str, Any]] = []
        plain: list[float] = []
        grep: list[float] = []
        net: list[dict[str, Any]] = []
        for _ in range(options.rounds):  # Interleaved, so that a busy minute hits all alike.
            ours.append(read_in_child(truss, scratch))
            plain.append(plain_in_child(truss, scratch / "plain.parquet"))
            grep.append(timed(lambda: subprocess.run(counting, check=True, capture_output=True)))
            net.append(read_in_child(sqlnet, scratch))
        best = min(ours, key=lambda r: r["wall_s"])
        result |= {
            "truss": best,
            "sqlnet": min(net, key=lambda r: r["wall_s"]),
            "plain_loop_s": min(plain),
            "grep_s": min(grep),
            "truss_over_plain_loop": min(plain) / best["wall_s"],
            "truss_over_grep_wall": best["wall_s"] / min(grep),
        }
        if options.big_mb:
            big = scratch / "big.txt"
            lines = make_truss(big, options.big_mb * 1024**2)
            told = read_in_child(big, scratch)
            scale = options.big_mb / options.mb / 10
            result |= {
                "truss_big": told,
                "peak_mb_big": told["peak_mb"],
                "growth_time": told["wall_s"] / best["wall_s"] / scale,
                "growth_memory": told["peak_mb"] / best["peak_mb"],
                "line_n_ms": line_n_ms(big, Path(told["out"]), lines),
            }
    result["targets"] = {
        name: {
            "target": f"{sign} {value}",
            "now": round(result[name], 2),
            "met": result[name] >= value if sign == ">=" else result[name] <= value,
        }
        for name, (sign, value) in TARGETS.items()
        if name in result
    }
    for shape in ("truss", "sqlnet", "truss_big"):
        result.get(shape, {}).pop("out", None)
    keep("parsers", result)
    return 0 if all(t["met"] for t in result["targets"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())

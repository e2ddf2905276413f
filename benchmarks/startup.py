"""Measure the CPU seconds of a start: `python -m benchmarks.startup [--times N] [--before FOLDER]`.

Three files of 50 lines (a trace, samples, a log) are read by `python -m parsers`, each alone, and judged together by
`python -m rules`. Each command runs N times (default 3) after one run that leaves byte code, rules and signatures compiled;
the smallest CPU seconds (user and system, with the query process) count. With `--before` another source tree runs in turn.
`modules` is how many modules are loaded, `largest` the ten imports that take most time by themselves, in ms of wall time.

Goals: 0.6 s for parsers, 1.5 s for rules. Writes results/startup.json.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import shapes
from benchmarks.judging import ROOT
from benchmarks.machine import keep

LINES = 50
GOALS_S = {"parsers": 0.6, "rules": 1.5}
LARGEST = 10


def written(folder: Path) -> list[Path]:
    """Write the first lines of three shapes and return the files."""
    files = []
    for name, lines in (("strace", shapes.strace()), ("vmstat", shapes.vmstat()), ("listener", shapes.listener_log())):
        file = folder / f"{name}.txt"
        text = itertools.islice(itertools.chain.from_iterable(one.splitlines(keepends=True) for one in lines), LINES)
        file.write_text("".join(text), "ascii")
        files.append(file)
    return files


def cpu_s(root: Path, arguments: list[str], *flags: str) -> tuple[float, str]:
    """Run a module of a tree and return its CPU seconds and what it wrote to standard error. RuntimeError if it fails."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *flags, "-m", *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 6):  # 6: a rule or an observer ran out of time
        raise RuntimeError(f"{arguments[0]} ended with {done.returncode}: {done.stderr[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def imports(root: Path, arguments: list[str]) -> dict[str, Any]:
    """Return how many modules a command imports, and those that take most time by themselves."""
    _, text = cpu_s(root, arguments, "-X", "importtime")
    rows = [
        line.removeprefix("import time:").split("|") for line in text.splitlines() if line.startswith("import time:")
    ]
    alone = [(int(row[0]) / 1000, row[2].strip()) for row in rows if row[0].strip().isdigit()]
    largest = sorted(alone, reverse=True)[:LARGEST]
    return {"modules": len(alone), "largest": {name: round(ms, 1) for ms, name in largest}}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--before", type=Path, help="another source tree, measured in turn")
    options = parser.parse_args()
    trees = {**({"before": options.before} if options.before else {}), "now": ROOT}
    with tempfile.TemporaryDirectory(prefix="exhibit-") as folder:
        files = list(map(str, written(Path(folder))))
        commands = {f"parsers {Path(f).stem}": ["parsers", f] for f in files} | {"rules": ["rules", *files]}
        results: dict[str, Any] = {}
        for name, arguments in commands.items():
            taken: dict[str, list[float]] = {tree: [] for tree in trees}
            for turn in range(options.times + 1):
                for tree, root in trees.items():
                    seconds, _ = cpu_s(root, arguments)
                    if turn:
                        taken[tree].append(seconds)
            least = {f"{tree}_cpu_s": round(min(seconds), 2) for tree, seconds in taken.items()}
            results[name] = {**least, "goal_s": GOALS_S[arguments[0]]}
        loaded = {name: imports(ROOT, commands[name]) for name in ("parsers strace", "rules")}
    keep("startup", {"lines": LINES, "times": options.times, "results": results, "imports": loaded})


if __name__ == "__main__":
    main()

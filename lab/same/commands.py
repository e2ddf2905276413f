"""Record what the two commands of a checkout print about every sample, seed and case."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

CORPUS = Path("tests/corpus")
CASES = Path("tests/cases")
SEEDS = Path("incidents/sample")
CASE = "case.yaml"
NO_EVIDENCE = {".json", ".md", ".yaml"}
"""Suffixes of files beside samples and cases that are not evidence."""
SIDE_BY_SIDE = 2
FILES_A_CALL = 60
WAIT_S = 1800

Json = dict[str, Any]
Asked = TypeVar("Asked")
Said = TypeVar("Said")


def record_parsers(checkout: Path, python: str, evidence: Path, out: Path, every: int) -> dict[str, int]:
    """Read every file of the corpus, the seeds and the cases; return how many there were."""
    calls = list(_calls(evidence, every))

    def ask(files: list[Path]) -> list[Json]:
        status, printed, complaint = _run(checkout, python, "parsers", evidence, files)
        lines = printed.removesuffix("\n").split("\n")
        if len(lines) != len(files):
            raise RuntimeError(f"parsers printed {len(lines)} lines for {len(files)} files ({status}): {complaint}")
        return [{"at": str(file), "said": json.loads(line)} for file, line in zip(files, lines, strict=True)]

    said = [one for some in _side_by_side(ask, calls) for one in some]
    _write(out, said)
    return {"files": len(said)}


def record_rules(checkout: Path, python: str, evidence: Path, out: Path, every: int) -> dict[str, int]:
    """Judge every seed and case, and all samples of a kind as one more case; return how many there were.

    This takes longest, so an interrupted recording is continued.
    """
    cases = sorted(path.parent.relative_to(evidence) for path in _case_files(evidence))[::every]
    kinds = _by_folder(evidence, CORPUS, every)

    def ask(case: tuple[Path, list[Path]]) -> Json:
        status, printed, complaint = _run(checkout, python, "rules", evidence, case[1])
        if not printed.startswith("{"):
            raise RuntimeError(f"rules printed no JSON for {case[0]} ({status}): {complaint}")
        return {"at": str(case[0]), "status": status, "said": json.loads(printed)}

    known = _whole_lines(out)
    asked = [(case, [case]) for case in cases] + sorted(kinds.items())
    answers = _side_by_side(ask, [one for one in asked if str(one[0]) not in {line["at"] for line in known}])
    _write(out, chain(known, answers))
    return {"cases": len(cases), "kinds": len(kinds)}


def _case_files(evidence: Path) -> Iterator[Path]:
    for folder in (CASES, SEEDS):
        yield from (evidence / folder).rglob(CASE)


def _by_folder(evidence: Path, root: Path, every: int = 1) -> dict[Path, list[Path]]:
    """Return each folder below `root` with the evidence that lies directly in it, paths relative to the checkout."""
    found: dict[Path, list[Path]] = {}
    files = sorted(p for p in (evidence / root).rglob("*") if p.is_file() and p.suffix not in NO_EVIDENCE)
    for file in files[::every]:
        found.setdefault(file.parent.relative_to(evidence), []).append(file.relative_to(evidence))
    return found


def _calls(evidence: Path, every: int) -> Iterator[list[Path]]:
    files = [
        file for root in (CORPUS, CASES, SEEDS) for some in _by_folder(evidence, root, every).values() for file in some
    ]
    for first in range(0, len(files), FILES_A_CALL):
        yield files[first : first + FILES_A_CALL]


def _run(checkout: Path, python: str, package: str, evidence: Path, files: Iterable[Path]) -> tuple[int, str, str]:
    """Run a command of the checkout; return status, output (paths relative to a checkout) and error output."""
    before = "" if evidence == checkout else f"{evidence}/"
    done = subprocess.run(
        ["nice", "-n", "10", python, "-m", package, "--json", *(f"{before}{file}" for file in files)],
        cwd=checkout,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    printed = done.stdout.replace(before, "") if before else done.stdout
    return done.returncode, printed, done.stderr[-2000:]


def _side_by_side(ask: Callable[[Asked], Said], these: Iterable[Asked]) -> Iterator[Said]:
    """Call `ask` for each item, SIDE_BY_SIDE at a time; yield the results in the order of the items."""
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        yield from threads.map(ask, these)


def _whole_lines(out: Path) -> list[Json]:
    """Return the complete lines that an earlier run wrote; its last line may have been cut."""
    if not out.is_file():
        return []
    with out.open(encoding="utf-8") as lines:  # not splitlines(): JSON may hold other ends of lines
        return [json.loads(line) for line in lines if line.endswith("\n")]


def _write(out: Path, said: Iterable[Json]) -> None:
    with out.open("w", encoding="utf-8") as file:
        for one in said:
            file.write(json.dumps(one, ensure_ascii=False) + "\n")
            file.flush()

"""Tests of one recording of counters as one file and as two: the growth between the files equals that between the
samples.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.model import Report
from rules.registry import LIBRARY
from rules.writing.loader import load_file

RECORDED = Path(__file__).parents[2] / "cases" / "produced"
RULES = [load_file(LIBRARY / "listener" / "accept-queue-drops.yaml")]


def judged(folder: Path, *names: str, hosts: tuple[str, ...] = ("box", "box")) -> Report:
    entries = "".join(f"  - {{file: {name}, host: {host}}}\n" for name, host in zip(names, hosts, strict=False))
    known = "".join(f"  {host}: {{os: linux}}\n" for host in dict.fromkeys(hosts))
    (folder / "case.yaml").write_text(f"hosts:\n{known}artifacts:\n{entries}", encoding="utf-8")
    spec, status = open_paths([folder], None, folder.with_name(f"{folder.name}-read"))
    assert status == 0
    return evaluate(spec, rules=RULES)


def halves(folder: Path, case: str) -> None:
    lines = (RECORDED / case / "nstat.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    second = [n for n, line in enumerate(lines) if line.startswith("#kernel")][1]
    folder.mkdir()
    (folder / "one.txt").write_text("".join(lines[:second]), encoding="utf-8")
    (folder / "two.txt").write_text("".join(lines[second:]), encoding="utf-8")


def test_two_files_say_what_one_says(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    shutil.copy(RECORDED / "accept-queue-full" / "nstat.txt", tmp_path / "whole")
    halves(tmp_path / "cut", "accept-queue-full")
    (whole,) = judged(tmp_path / "whole", "nstat.txt").findings
    (cut,) = judged(tmp_path / "cut", "one.txt", "two.txt").findings
    assert (cut.facts["n_queue"], cut.facts["n_other"]) == (whole.facts["n_queue"], whole.facts["n_other"])
    assert {c.file for c in cut.citations} == {"one.txt", "two.txt"}
    assert any("two files" in text for text in cut.against)
    assert (whole.decibans, cut.decibans) == (15, 10)


def test_the_healthy_twin_is_quiet_in_two_files(tmp_path: Path) -> None:
    halves(tmp_path / "cut", "accept-queue-full-healthy")
    made = judged(tmp_path / "cut", "one.txt", "two.txt")
    assert made.findings == ()
    assert made.quiet == ("LSN-012",)


@pytest.mark.parametrize("order", [("two.txt", "one.txt"), ("one.txt", "two.txt")], ids=["wrong order", "two hosts"])
def test_what_cannot_be_compared_says_nothing(order: tuple[str, str], tmp_path: Path) -> None:
    halves(tmp_path / "cut", "accept-queue-full")
    made = judged(tmp_path / "cut", *order, hosts=("box", "box" if order[0] == "two.txt" else "other"))
    assert made.findings == ()
    assert {n.rule for n in made.not_evaluable} == {"LSN-012"}

"""Tests of rules on memory with recordings and published outputs of real hosts: each fires where it should, not on
look-alikes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rules.case.case import Case
from rules.case.reading import open_paths
from rules.judging.evaluate import judge
from rules.model import Report
from tests.rules.library import library

CASES = Path(__file__).parents[2] / "cases"
RULES = {"MEM-001", "MEM-004", "MEM-005"}

FIRES = {
    "public/page-scanner-runs": [("MEM-001", "page scanner", "base")],
    "produced/huge-pages-made": [("MEM-004", "transparent huge pages", "corroborated")],
    "produced/far-memory": [("MEM-005", "pages from other nodes", "base")],
    "produced/full-node": [
        ("MEM-005", "node 0 is full", "corroborated"),
        ("MEM-005", "pages from other nodes", "base"),
    ],
}
LOOK_ALIKES = {
    "public/page-scanner-at-rest": [],
    "produced/huge-pages-made-healthy": [],
    "healthy/guest-huge-pages-default": [("MEM-004", "transparent huge pages", "base")],
    "produced/far-memory-healthy": [],
    "produced/full-node-healthy": [],
}
"""Look-alikes on which only a distribution's setting is named (3 dB, no verdict); all else is quiet."""


def judged(folder: Path, scratch: Path) -> Report:
    spec, _ = open_paths([folder], None, scratch, [])
    return judge(Case(spec, None), library().only(RULES))


def said(report: Report) -> list[tuple[str, str, str]]:
    assert not report.failed
    return sorted((f.rule, f.subject, f.tier) for f in report.findings)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", FIRES)
def test_a_rule_on_memory_fires_on_a_real_host(name: str, tmp_path: Path) -> None:
    assert said(judged(CASES / name, tmp_path)) == FIRES[name]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_rule_on_memory_is_quiet_on_what_looks_alike(name: str, tmp_path: Path) -> None:
    report = judged(CASES / name, tmp_path)
    assert said(report) == LOOK_ALIKES[name]
    assert all(f.decibans < 10 for f in report.findings)


def test_a_full_node_is_a_sign_only_where_nobody_looked_for_swapping(tmp_path: Path) -> None:
    folder = tmp_path / "unwatched"
    shutil.copytree(CASES / "produced" / "full-node-healthy", folder)
    (folder / "vmstat.txt").unlink()
    told = (folder / "case.yaml").read_text("utf-8")
    (folder / "case.yaml").write_text(told.replace("- file: vmstat.txt\n  host: box\n", ""), "utf-8")
    free = (folder / "numactl.txt").read_text("utf-8")
    (folder / "numactl.txt").write_text(free.replace("node 0 free: 30 MB", "node 0 free: 9 MB"), "utf-8")
    (found,) = judged(folder, tmp_path / "read").findings
    assert (found.subject, found.tier, found.decibans) == ("node 0 is full", "base", 3)

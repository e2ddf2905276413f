"""Tests of rules on Oracle, locks, entropy, limits and interfaces: they fire on recordings and stay quiet on
look-alikes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rules.case.case import Case
from rules.case.reading import open_paths
from rules.judging.evaluate import judge
from rules.model import Report
from tests.rules.library import library

CASES = Path(__file__).parents[2] / "cases"

FIRES = {
    "produced/flooded-interface": {("NET-011", "interface line0", "network", 10)},
    "produced/address-space": {("KRN-004", "memory", "os_kernel", 10)},
    "produced/segments-gone": {("USE-002", "segments allocated", "configuration", 6)},
    "produced/young-machine": {("KRN-003", "pid 109", "os_kernel", 10)},
    "public/cluster-heartbeat-lost": {
        ("DB-006", "cluster membership", "network", 6),
        ("DB-006", "cluster membership", "network", 10),
    },
    "public/cluster-member-kill": {("DB-006", "cluster membership", "measurement", 3)},
    "public/listener-refuses-old-driver": {("LSN-011", "service ptdb", "configuration", 10)},
    "public/parse-storm": {
        ("DB-004", "latch free", "database", 6),
        ("DB-004", "latch: shared pool", "database", 6),
        ("DB-004", "latch: library cache", "database", 6),
    },
}
LOOK_ALIKES = (
    "produced/flooded-interface-healthy",
    "produced/address-space-healthy",
    "produced/young-machine-healthy",
    "produced/segments-gone-healthy",
    "public/cluster-node-joins",
    "public/children-share-one-processor",
    "public/disk-bound-report",
    "public/listener-without-connect-data",
)
RULES = {rule for found in FIRES.values() for rule, *_ in found}


def judged(folder: Path, scratch: Path) -> Report:
    spec, _ = open_paths([folder], None, scratch, [])
    return judge(Case(spec, None), library().only(RULES))


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", FIRES)
def test_a_rule_fires_on_a_recording(name: str, tmp_path: Path) -> None:
    report = judged(CASES / name, tmp_path)
    assert not report.failed
    assert {(f.rule, f.subject, f.layer, f.decibans) for f in report.findings} == FIRES[name]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_rule_is_quiet_on_a_look_alike(name: str, tmp_path: Path) -> None:
    report = judged(CASES / name, tmp_path)
    assert not report.failed
    assert list(report.findings) == []

"""Tests of named mechanisms on recordings of real programs: each fires on its own and on no healthy twin; every layer
can be blamed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.scene import installed_paths
from rules.case.case import Case
from rules.case.reading import open_paths
from rules.judging.evaluate import judge
from rules.model import Report
from tests.rules.library import library

PRODUCED = Path(__file__).parents[2] / "cases" / "produced"

RECORDED = {
    "poll-interval": ("APP-002", "client_app", 15),
    "lock-file": ("APP-003", "client_app", 15),
    "garbage-collection": ("APP-001", "client_app", 10),
    "file-scan": ("STO-003", "client_app", 15),
    "row-lock": ("DB-005", "database", 15),
    "accept-queue-full": ("SRV-001", "listener", 15),
    "cpu-quota": ("KRN-002", "os_kernel", 20),
    "deaf-receiver": ("NET-010", "client_app", 15),
    "slow-answer": ("HOT-003", "storage", 15),
}
NAMED = {rule for rule, _, _ in RECORDED.values()}

BLAMABLE = (
    "client_app", "client_host", "network", "listener", "name_service", "os_kernel", "database", "storage", "configuration",
)  # fmt: skip
CONVICTS = ("signature", "mechanism", "mechanism_and_artefact")


def judged(folder: Path, scratch: Path) -> Report:
    spec, _ = open_paths([folder], None, scratch, [])
    return judge(Case(spec, None), library().only(NAMED))


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_mechanism_fires(name: str, tmp_path: Path) -> None:
    report = judged(PRODUCED / name, tmp_path)
    assert not report.failed
    assert [(f.rule, f.layer, f.decibans) for f in report.findings] == [RECORDED[name]]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_mechanism_healthy_twin(name: str, tmp_path: Path) -> None:
    report = judged(PRODUCED / f"{name}-healthy", tmp_path)
    assert not report.failed
    assert list(report.findings) == []


@pytest.mark.parametrize("layer", BLAMABLE)
def test_every_layer_has_three_rules_that_convict(layer: str) -> None:
    able = [
        r.id for r in library().rules
        if layer == r.file.layer and any(c in CONVICTS for c in map(str, r.file.confidence.values()))
    ]  # fmt: skip
    assert len(able) >= 3, able


def test_no_recording_shows_where_it_was_made() -> None:
    folders = [p.parent for p in PRODUCED.glob("*/truth.yaml")]
    assert len(folders) > 50
    assert {f.name: shown for f in folders if (shown := installed_paths(f))} == {}

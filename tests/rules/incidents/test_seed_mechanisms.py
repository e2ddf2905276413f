"""Tests of shared memory, semaphore and prediction rules on the raw published texts: numbers digit by digit, and the
cited lines.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest

from rules import registry
from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.model import Finding, Report
from rules.writing import loader
from tests.rules.traces import SEEDS

CASES = Path(__file__).parents[2] / "cases"
RULES = ("ipc", "memory", "io", "limits", "compare")


@cache
def report(number: str) -> Report:
    rules = [loader.load_file(p) for area in RULES for p in sorted((registry.LIBRARY / area).glob("*.yaml"))]
    with tempfile.TemporaryDirectory() as folder:
        (text,) = SEEDS.glob(f"{number}_*.txt")
        spec, status = open_paths([text], CASES / f"{number}.yaml", Path(folder) / "out")
        assert status == 0
        return evaluate(spec, rules=rules)


def found(number: str, rule: str) -> Finding:
    (one,) = [f for f in report(number).findings if f.rule == rule]
    return one


def lines(finding: Finding) -> list[tuple[int, int]]:
    return [(c.line_from, c.line_to) for c in finding.citations]


def test_ten_detaches_and_the_storm_they_add_up_to():
    storm = found("002", "SHM-003")
    assert (storm.facts["n_calls"], storm.facts["sum_s"], storm.facts["max_ms"]) == (10, 0.2123, 24.7)
    assert (storm.facts["storm_cpu_s"], storm.facts["storm_s"]) == (63.69, 3.98)
    assert (storm.severity, storm.tier, storm.decibans, storm.contiguous) == ("major", "corroborated", 15, "assumed")
    assert storm.facts["busy_sys"] == 87.4
    assert [(c.layer, c.seconds, c.requests) for c in storm.clears] == [("network", 0.2123, 1)]
    assert lines(storm) == [(21, 21), (8, 8)]


def test_the_layout_of_the_segments():
    layout = found("002", "SHM-004")
    assert (layout.facts["n_seg"], layout.facts["n_equal"], layout.facts["stride_gib"]) == (10, 8, 8.0)
    assert (layout.severity, layout.tier, layout.decibans) == ("minor", "corroborated", 15)
    assert lines(layout) == [(21, 21), (28, 28)]


def test_a_wait_column_that_is_always_zero_accuses_and_clears_nobody():
    guard = found("002", "IO-003")
    assert (guard.severity, guard.decibans, guard.layer, guard.clears) == ("info", 0, "measurement", ())


def test_one_semaphore_set():
    crowd = found("003", "SEM-001")
    assert (crowd.facts["n_calls"], crowd.facts["n_nums"], crowd.facts["lo"], crowd.facts["hi"]) == (31, 31, 332, 406)
    assert (crowd.facts["spin_pct"], crowd.facts["of_kernel_pct"], crowd.facts["spin_cpus"]) == (67.8, 88.7, 86.8)
    assert crowd.facts["sets"] == "Listed: 3 sets of 1502 (before), 34 sets of 93 (after-1)."
    assert (crowd.severity, crowd.tier, crowd.decibans, crowd.clears) == ("critical", "corroborated", 20, ())
    assert lines(crowd) == [(132, 162), (60, 60), (92, 127), (178, 180), (189, 222)]
    assert any("stands in no listing" in text for text in crowd.against)


def test_the_setting_behind_it_and_no_limit_after_it():
    setting = found("003", "SEM-002")
    assert (setting.facts["semmsl"], setting.facts["nsems"], setting.facts["ncpu"]) == (2048, 1502, 128)
    assert (setting.severity, setting.decibans) == ("info", 3)
    assert "LIM-003" in report("003").quiet


def test_dynamic_memory_half_resident_and_its_lock_not_seen():
    kind, lock = found("001", "SHM-002"), found("001", "SHM-005")
    assert (kind.facts["n_dism"], kind.severity, kind.tier, kind.decibans) == (6, "minor", "corroborated", 6)
    assert lines(kind) == [(116, 121)]
    assert (lock.facts["rss_kb"], lock.facts["size_kb"], lock.facts["resident_pct"]) == (9146368, 18878464, 48.4)
    assert (lock.severity, lock.tier, lock.decibans) == ("info", "base", 0)
    assert any("ora_dism" in request.ask for request in lock.would_help)


def test_the_gain_that_connect_times_explain_and_the_rest():
    rest = found("001", "CMP-003")
    assert rest.subject == "before to after-2"
    assert (rest.facts["predicted"], rest.facts["bounds"], rest.facts["observed"]) == (66.6, "48.1 to 155", 100)
    assert (rest.facts["rest_s"], rest.facts["outside"], rest.severity, rest.decibans) == (0.3, 0, "info", 0)
    assert lines(rest) == [(21, 41), (173, 199)]


@pytest.mark.parametrize("number", ["001", "002", "003"])
def test_no_rule_fails(number):
    assert report(number).failed == ()

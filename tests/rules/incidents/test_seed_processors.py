"""Tests of processor and data quality rules on the published incidents: the numbers digit by digit, and the cited
lines.
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

CASES = Path(__file__).parents[2] / "cases"
LIBRARY = registry.LIBRARY
BESIDE = (
    "names/cluster-lookup-storm",
    "ipc/shm-attach-stall-dism",
    "ipc/shm-detach-storm",
    "compare/change-had-effect",
)
"""Rules for which the authors give a figure."""


@cache
def report(number: str) -> Report:
    paths = [p for area in ("cpu", "quality", "generic") for p in sorted((LIBRARY / area).glob("*.yaml"))]
    rules = [loader.load_file(p) for p in [*paths, *((LIBRARY / f"{name}.yaml") for name in BESIDE)]]
    with tempfile.TemporaryDirectory() as folder:
        spec, status = open_paths([CASES / number], CASES / number / "case.yaml", Path(folder))
        assert status == 0
        return evaluate(spec, rules=rules)


def all_of(number: str, rule: str) -> list[Finding]:
    return [f for f in report(number).findings if f.rule == rule]


def one(number: str, rule: str) -> Finding:
    (found,) = all_of(number, rule)
    return found


def facts(finding: Finding, *names: str) -> tuple[object, ...]:
    return tuple(finding.facts[n] for n in names)


def test_kernel_time_of_fourteen_processors():
    kernel = one("002", "CPU-002")
    assert facts(kernel, "sys", "usr", "idle", "sys_to_usr", "n_cpus") == (87.4, 8.0, 4.6, 10.9, 14)
    assert (kernel.severity, kernel.tier, kernel.decibans) == ("critical", "base", 6)


def test_five_of_fourteen_processors_spin():
    spins = one("002", "CPU-003")
    assert facts(spins, "n_red", "n_cpus", "cpus", "sum_smtx", "mean_smtx") == (5, 14, "1, 3, 6, 8, 9", 6531, 466.5)
    assert (spins.magnitude, spins.severity, spins.decibans) == (35.7, "major", 6)


def test_one_processor_answers_the_interrupts_but_all_are_full():
    phones = one("002", "CPU-008")
    assert facts(phones, "cpu", "intr_pct", "ithr_pct") == (8, 56.2, 95.2)
    assert (phones.severity, phones.decibans) == ("info", 0)


def test_migrations_are_quiet_and_a_missing_column_is_asked_for():
    assert not all_of("002", "CPU-004")
    assert "CPU-004" in report("002").quiet
    assert [n.needs for n in report("002").not_evaluable if n.rule == "CPU-007"] == [("mpstat.xcal",)]


def test_one_lock_owns_the_profile():
    lock = one("003", "CPU-010")
    assert facts(lock, "symbol", "pct", "listed_pct", "step_pct") == ("__ticket_spin_lock", 67.8, 78.7, 99.83)
    assert str(lock.facts["path"]).endswith("__semctl <- skgpwpost")
    assert (lock.severity, lock.tier, lock.decibans) == ("critical", "corroborated", 15)
    assert lock.clears == ()


def test_more_switching_less_work():
    thrash = one("004", "CPU-005")
    assert facts(thrash, "r_x", "cs_x", "scall_x", "ratio_x") == (5.0, 4.62, 0.351, 13.2)
    assert facts(thrash, "per_call_before", "per_call_after") == (0.0296, 0.3897)
    assert facts(thrash, "sys_before", "sys_after", "usr_before", "usr_after") == (2, 80, 34, 12)
    assert facts(thrash, "idle_before", "idle_after") == (64, 8)
    assert (thrash.severity, thrash.tier, thrash.decibans) == ("critical", "base", 10)


def test_the_batch_is_all_kernel_and_starts_processes_by_its_author_s_word():
    kernel, storm = one("004", "CPU-002"), one("004", "CPU-006")
    assert facts(kernel, "sys", "usr", "sys_to_usr") == (80, 12, 6.7)
    assert kernel.subject == "processors in batch"
    assert (storm.severity, storm.tier, storm.decibans, storm.by_statement) == ("minor", "base", 6, True)
    assert "CPU-001" in {n.rule for n in report("004").not_evaluable}


def test_traced_seconds_are_too_long():
    (measured,) = [f for f in all_of("000", "DQ-005") if f.tier == "corroborated"]
    assert facts(measured, "ratio", "traced_s", "untraced_s", "n_loops") == (1.78, 0.2012, 0.1131, 213)
    assert facts(measured, "untraced_lo_s", "untraced_hi_s") == (0.1081, 0.1181)


def test_a_distribution_that_covers_five_ticks():
    times = next(f for f in all_of("000", "DQ-007") if f.facts["agg"] == "1")
    assert facts(times, "sum_s", "sum_lo_s", "sum_hi_s", "least_ticks") == (24.095, 23.03, 25.16, 5)


def test_segments_and_sets_of_other_starts():
    assert [facts(f, "id_a", "id_b") for f in all_of("001", "DQ-006")] == [
        ("16777280", "16777246"),
        ("16777281", "16777247"),
    ]
    assert [facts(f, "sort", "id_a", "id_b") for f in all_of("003", "DQ-006")] == [
        ("semaphore", "1347842", "none"),
        ("listing", "13006595", "12006595"),
    ]


@pytest.mark.parametrize(("number", "gap", "end"), [("001", 2.4734, "0x3C0000000"), ("002", 0.0246, "0x440000000")])
def test_a_gap_belongs_to_the_call_that_ends_it(number, gap, end):
    misread = one(number, "DQ-008")
    assert facts(misread, "told", "gap_s") == ("0x380000000", gap)
    assert end in str(misread.facts["end_call"])


def test_authors_figures_against_the_lines():
    seen = {
        (f.facts["of_rule"], f.facts["fact"]): facts(f, "told", "seen")
        for number in ("000", "001", "002")
        for f in all_of(number, "DQ-009")
    }
    assert seen[("NSS-001", "lookups_s")] == (0.11, 0.1172)
    assert seen[("CMP-001", "after_mean")] == (0.15, 0.1385)
    assert seen[("SHM-003", "sum_s")] == (0.24, 0.2123)
    assert seen[("SHM-003", "storm_s")] == (5.0, 3.98)


def test_no_clock_steps_and_few_samples():
    for number in ("000", "001"):
        assert not all_of(number, "DQ-002")
        assert "DQ-002" in report(number).quiet
    assert [f.facts["counts"] for f in all_of("004", "DQ-010")] == ["1 in batch, 1 in normal"]
    assert [f.facts["counts"] for f in all_of("000", "DQ-010")] == ["1 in after-1, 1 in before"]


def test_marks_of_omission_and_processors_that_are_not_shown():
    assert {n for n in ("000", "001", "002", "003") if all_of(n, "DQ-004")} == {"000", "001", "002", "003"}
    assert "the listing shows 14 of the 16 CPUs of this host" in [f.facts["seen"] for f in all_of("002", "DQ-004")]


def test_the_quality_of_data_weighs_nothing_and_blames_nobody():
    for number in ("000", "001", "002", "003", "004"):
        for finding in report(number).findings:
            if finding.rule.startswith("DQ"):
                assert (finding.decibans, finding.layer, finding.severity in ("info", "minor")) == (
                    0,
                    "measurement",
                    True,
                )

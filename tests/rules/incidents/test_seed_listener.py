"""Tests of listener, network and name rules on the whole published texts: which rules fire, with the numbers of the
lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.model import Finding, Report
from tests.rules.library import shipped_rules
from tests.rules.traces import SEEDS

CASES = Path(__file__).parents[2] / "cases"
AREAS = ("listener", "network", "names")


@cache
def whole(number: str, folder: Path) -> Report:
    """Judge the whole text of a seed by the rules of these areas."""
    (text,) = SEEDS.glob(f"{number}_*.txt")
    spec, status = open_paths([text], CASES / f"{number}.yaml", folder / number)
    assert status == 0
    made = evaluate(spec, rules=[rule for rule in shipped_rules() if rule.area in AREAS])
    assert not made.failed
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


def found(made: Report, rule: str, place: int = 0) -> Finding:
    return [f for f in made.findings if f.rule == rule][place]


def facts(finding: Finding, expected: Mapping[str, Any]) -> None:
    assert {name: finding.facts.get(name) for name in expected} == pytest.approx(expected, abs=1e-9)


def test_capacity_and_utilisation(folder: Path) -> None:
    before, after = found(whole("000", folder), "LSN-001"), found(whole("000", folder), "LSN-001", 1)
    assert (before.severity, before.decibans, after.severity, after.decibans) == ("info", 0, "info", 0)
    facts(before, {"service_s": 0.2962, "capacity_ps": 3.38, "busy_s": 0.2999, "span_s": 1.1020, "busy_pct": 27.2})
    facts(before, {"from_poll_s": 0.2999, "accepts": 1})
    facts(after, {"service_s": 0.2012, "capacity_ps": 4.97, "change_pct": -32.1})


def test_a_wait_before_accept_that_another_trace_contradicts(folder: Path) -> None:
    wait = found(whole("000", folder), "LSN-002")
    assert (wait.severity, wait.tier, wait.decibans, wait.by_statement) == ("critical", "base", 6, True)
    facts(wait, {"wait_s": 3.9228, "n_ahead": 13.2, "rho_mm1": 0.930, "arrivals_mm1": 3.14, "rho_md1": 0.964})
    facts(wait, {"arrivals_md1": 3.25, "busy_pct": 27.2})
    assert any("27 %" in text for text in wait.against)
    assert not wait.clears


def test_a_large_listener_forks_slowly(folder: Path) -> None:
    fork = found(whole("000", folder), "LSN-004")
    assert (fork.severity, fork.tier, fork.decibans) == ("major", "corroborated", 20)
    facts(fork, {"own_cpu_s": 0.0299, "child_cpu_s": 0.0246, "fork_cpu_s": 0.0545, "cycle_pct": 18.4})
    facts(fork, {"ratio": 3.7, "ratio_lo": 3.0, "ratio_hi": 4.6})
    assert "n = 213 and 158" in fork.expert


def test_the_child_s_trace_ends_before_the_wait_does(folder: Path) -> None:
    before, after = found(whole("000", folder), "LSN-003"), found(whole("000", folder), "LSN-003", 1)
    facts(before, {"wait_s": 0.2806})
    facts(after, {"wait_s": 0.1832})
    assert [(f.severity, f.tier, f.decibans) for f in (before, after)] == [("minor", "base", 15)] * 2


def test_two_forks(folder: Path) -> None:
    before = found(whole("000", folder), "LSN-005")
    assert (before.severity, before.decibans) == ("info", 6)
    facts(before, {"child_pid": 8195, "server_pid": 8197, "exec_s": 0.0139, "share_pct": 94.7})
    start = found(whole("001", folder), "LSN-005")
    assert (start.severity, start.decibans) == ("minor", 6)
    facts(start, {"child_pid": 3728, "server_pid": 3731, "spawn_s": 3.3326})


def test_probes_and_log_are_bounded_out(folder: Path) -> None:
    probes, log = found(whole("000", folder), "LSN-007"), found(whole("000", folder), "LSN-009")
    assert [(f.kind, f.severity, f.decibans) for f in (probes, log)] == [("clear", "info", -15), ("clear", "info", -10)]
    facts(probes, {"adapter_s": 0.0007, "n": 4, "n_missing": 2, "share_pct": 0.24})
    facts(log, {"log_s": 0.0025, "log_mib": 105.1})
    bounds = [(c.layer, c.seconds, c.requests) for f in (probes, log) for c in f.clears]
    assert bounds == [("configuration", 0.0007, 1), ("storage", 0.0025, 1)]


def test_a_dead_endpoint_on_a_thread_of_its_own(folder: Path) -> None:
    errand = found(whole("001", folder), "LSN-008")
    assert (errand.severity, errand.decibans, errand.subject) == ("info", 3, "pid 22626/2")
    facts(errand, {"errand_s": 0.0114, "on_accepting": False})
    assert not errand.clears


def test_a_wait_covered_in_one_document(folder: Path) -> None:
    covered, bounded = found(whole("001", folder), "NET-001"), found(whole("001", folder), "NET-002")
    assert (covered.severity, covered.tier, covered.decibans, bounded.decibans) == ("critical", "base", 10, -10)
    facts(covered, {"client_s": 1.872, "server_s": 1.792, "off_lo": 0.157, "off_hi": 0.237})
    assert [(c.layer, c.seconds) for c in bounded.clears] == [("network", 1.792), ("client_host", 1.792)]


def test_ladder_n2_seed001(folder: Path) -> None:
    ladder = found(whole("001", folder), "NET-004")
    assert (ladder.kind, ladder.decibans, ladder.clears) == ("clear", -3, ())
    facts(ladder, {"n": 21, "n_tail": 2, "base_s": 0.30, "off_3": 0.64})
    assert "3.64, 3.51" in ladder.expert


def test_ipv6_is_bounded_out(folder: Path) -> None:
    (bound,) = found(whole("001", folder), "NET-006").clears
    assert (bound.layer, bound.seconds, bound.requests) == ("configuration", 0.0003, 1)


def test_cluster_look_ups(folder: Path) -> None:
    storm = found(whole("000", folder), "NSS-001")
    assert (storm.severity, storm.tier, storm.decibans) == ("major", "corroborated", 20)
    facts(storm, {"n": 75, "n_config": 72, "n_same": 64, "lookups_s": 0.1172, "cpu_s": 0.1138, "cpu_share": 0.97})
    facts(storm, {"cycle_pct": 39.6, "read_pct": 90.3, "wait_pct": 41.8, "without_s": 0.1790})
    assert [(c.line_from, c.line_to) for c in storm.citations] == [(134, 211), (89, 89), (258, 258), (228, 248)]
    order = found(whole("000", folder), "NSS-005")
    assert (order.severity, order.decibans, order.facts["first_asked"]) == ("info", 3, "cluster")


def test_quiet_and_silent(folder: Path) -> None:
    made = whole("000", folder)
    assert "NET-007" in made.quiet
    lacking = {n.rule for n in made.not_evaluable}
    assert {"LSN-010", "LSN-011", "LSN-012", "NET-003", "NET-005", "NSS-002", "NSS-003", "NSS-004"} <= lacking

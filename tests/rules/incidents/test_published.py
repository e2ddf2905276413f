"""Tests of the five published incidents, cut into files and as whole texts: findings, clearings, verdicts and numbers.

The whole texts are outside the repository; if they are present, they must give the same as the cut outputs (`SEEDS`,
see test_skips.py).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.judging.truth import Compared, compare, load_truth
from rules.model import Finding, Report
from tests.rules.library import library
from tests.rules.traces import SEEDS

CASES = Path(__file__).parents[2] / "cases"
NUMBERS = ("000", "001", "002", "003", "004")
WHOLE = [
    pytest.param(
        n,
        True,
        id=f"{n}-whole",
        marks=pytest.mark.skipif(not SEEDS.is_dir(), reason="the published texts are not here"),
    )
    for n in NUMBERS
]
BOTH = [*(pytest.param(n, False, id=f"{n}-cut") for n in NUMBERS), *WHOLE]


@cache
def report(number: str, whole: bool, folder: Path) -> Report:
    if whole:
        (text,) = SEEDS.glob(f"{number}_*.txt")
        spec, status = open_paths([text], CASES / f"{number}.yaml", folder / f"{number}-whole")
    else:
        spec, status = open_paths([CASES / number], CASES / number / "case.yaml", folder / f"{number}-cut")
    assert status == 0
    return evaluate(spec, rules=library())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("published")


def found(made: Report, rule: str, **where: Any) -> Finding:
    hits = [f for f in made.findings if f.rule == rule and all(getattr(f, k) == v for k, v in where.items())]
    assert hits, f"{rule} did not fire"
    return hits[0]


@pytest.mark.parametrize(("number", "whole"), BOTH)
def test_the_truth_holds(number: str, whole: bool, folder: Path) -> None:
    truth = load_truth((CASES / number / "truth.yaml").read_text(encoding="utf-8"), number)
    result: Compared = compare(truth, report(number, whole, folder))
    assert not result.wrong
    assert {rule for rule, how in result.rules.items() if how != "right"} == set(), result.notes
    assert not report(number, whole, folder).failed


@pytest.mark.parametrize(("number", "whole"), BOTH)
def test_every_rule_stands_in_one_place_per_host(number: str, whole: bool, folder: Path) -> None:
    made = report(number, whole, folder)
    fired = {(f.rule, f.host) for f in made.findings}
    lacking = {(n.rule, n.host) for n in made.not_evaluable}
    assert not fired & lacking


NUMBERS_OF: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "000": [
        ("LSN-001", {}, {"service_s": 0.2962, "capacity_ps": 3.38, "busy_s": 0.2999, "span_s": 1.102, "busy_pct": 27.2}),
        ("LSN-002", {}, {"wait_s": 3.9228, "n_ahead": 13.2, "rho_mm1": 0.93, "arrivals_mm1": 3.14, "rho_md1": 0.964, "arrivals_md1": 3.25}),
        ("LSN-003", {"severity": "minor"}, {"wait_s": 0.2806}),
        ("LSN-004", {"severity": "major"}, {"fork_cpu_s": 0.0545, "cycle_pct": 18.4, "ratio": 3.7, "ratio_lo": 3.0, "ratio_hi": 4.6}),
        ("NSS-001", {}, {"n": 75, "n_config": 72, "n_same": 64, "lookups_s": 0.1172, "cpu_s": 0.1138, "cycle_pct": 39.6, "read_pct": 90.3, "wait_pct": 41.8,
                         "without_s": 0.179}),
    ],
    "001": [
        ("SHM-001", {}, {"stall_s": 2.4734, "seg_gib": 17.875, "id_mismatch": True}),
        ("LSN-003", {}, {"wait_s": 3.3326}),
        ("NET-001", {}, {"client_s": 1.872, "server_s": 1.792}),
        ("CMP-001", {"subject": "before to after-1"}, {"before_med": 0.31, "after_med": 0.13, "shift": -0.17, "ci_lo": -0.19, "ci_hi": -0.15, "cliff": -1.0}),
        ("CMP-001", {"subject": "after-1 to after-2"}, {"shift": -0.09, "ci_lo": -0.1, "ci_hi": -0.08}),
        ("CMP-002", {"subject": "before to after-1"}, {"p_zero": 0.135, "fisher_p": 0.488, "n_needed": 30}),
    ],
    "002": [
        ("SHM-003", {}, {"n_calls": 10, "sum_s": 0.2123, "max_ms": 24.7, "storm_cpu_s": 63.69, "storm_s": 3.98, "busy_sys": 87.4}),
        ("SHM-004", {}, {"n_seg": 10, "n_equal": 8, "stride_gib": 8.0}),
    ],
    "003": [],
    "004": [],
}  # fmt: skip


@pytest.mark.parametrize(("number", "whole"), BOTH)
def test_numbers(number: str, whole: bool, folder: Path) -> None:
    made = report(number, whole, folder)
    for rule, where, facts in NUMBERS_OF[number]:
        got = found(made, rule, **where).facts
        assert {k: got.get(k) for k in facts} == facts, rule


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=WHOLE[1].marks)])
def test_board_of_seed_001(whole: bool, folder: Path) -> None:
    made = report("001", whole, folder)
    scores = {h.code: h.score for h in made.hypotheses}
    assert {c: scores[c] for c in ("H-OS-SHM", "H-CLIENT", "H-LISTENER", "H-NSS", "H-CONN-CHURN", "H-SERVER-SLOW", "H-CFG-DISM", "H-NET-LOSS")} == {
        "H-OS-SHM": 25, "H-CLIENT": -10, "H-LISTENER": -3, "H-NSS": -6, "H-CONN-CHURN": 16, "H-SERVER-SLOW": 15, "H-CFG-DISM": 6, "H-NET-LOSS": -3,
    }  # fmt: skip
    assert (scores["H-NET"], scores["H-DB-SQL"]) == (
        -16,
        -10,
    )  # with a person's statement that SQL is fast once connected
    assert (made.verdict.state, made.verdict.hypothesis, made.verdict.layer, made.verdict.margin) == (
        "cause",
        "H-OS-SHM",
        "os_kernel",
        22,
    )
    leader = next(h for h in made.hypotheses if h.code == "H-OS-SHM")
    assert set(leader.rests_on) == {"shm-attach", "before-after"}


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=WHOLE[4].marks)])
def test_board_of_seed_004(whole: bool, folder: Path) -> None:
    made = report("004", whole, folder)
    scores = {h.code: h.score for h in made.hypotheses}
    assert {c: scores.get(c, 0) for c in ("H-OS-CPU", "H-FORK-STORM", "H-STORAGE", "H-SINGLE-FILE")} == {
        "H-OS-CPU": 10, "H-FORK-STORM": 6, "H-STORAGE": 0, "H-SINGLE-FILE": 0,
    }  # fmt: skip
    assert (made.verdict.state, made.verdict.margin) == ("undecided", 4)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=WHOLE[0].marks)])
def test_whose_seconds_of_a_listeners_cycle(whole: bool, folder: Path) -> None:
    made = report("000", whole, folder)
    assert made.whose_seconds is not None
    assert made.whose_seconds.total_s == 0.2962
    assert sum(round(p.seconds * 1e9) for p in made.whose_seconds.pieces) == 296_200_000
    largest = made.whose_seconds.pieces[0]
    assert (largest.seconds, "cladm" in largest.label, "pid 8197" in largest.label) == (0.1172, True, True)

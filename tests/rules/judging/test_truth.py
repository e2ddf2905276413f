"""Tests of scoring a library on cases with a known answer: the four results, wrong blame, the first result, the two
pages.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rules.__main__ import main
from rules.case.case import Case
from rules.errors import CaseInvalid, RuleError, RuleInvalid, RuleTooSlow
from rules.judging import truth
from rules.judging.evaluate import judge
from rules.judging.truth import Expected, Truth, compare, load_truth
from rules.model import CaseSpec, Failed, Finding, NotEvaluable, Report, Verdict
from rules.reporting import score_page
from tests.rules.library import library

EMPTY = judge(Case(CaseSpec()), [])


def finding(rule: str, layer: str, decibans: int, **keys: Any) -> Finding:
    known: dict[str, Any] = dict.fromkeys(Finding.__dataclass_fields__)
    return Finding(**{**known, "rule": rule, "layer": layer, "decibans": decibans, "kind": "finding", "facts": {}, "headline": "h", **keys})  # fmt: skip


def report(state: str, hypothesis: str | None = None, layer: str | None = None, **keys: Any) -> Report:
    verdict = Verdict(state, (), layer, hypothesis, "good", "", ())  # type: ignore[arg-type]  # a word of the test
    return replace(EMPTY, verdict=verdict, **keys)


@pytest.mark.parametrize(
    ("known", "made", "result"),
    [
        (Truth("cause", "storage"), report("cause", "H-STORAGE", "storage"), "right"),
        (Truth(layer="storage"), report("cause", "H-STORAGE", "storage"), "right"),
        (Truth("cause", "storage"), report("suspect", "H-STORAGE", "storage"), "partly"),
        (Truth("cause", "storage", hypothesis="H-SINGLE-FILE"), report("cause", "H-STORAGE", "storage"), "partly"),
        (Truth("cause", "storage", hypothesis="H-STORAGE"), report("cause", "H-SINGLE-FILE", "storage"), "right"),
        (Truth("cause", "storage"), report("undecided", "H-STORAGE", "storage"), "partly"),
        (Truth("cause", "storage"), report("cannot tell"), "silent"),
        (Truth("cause", "storage"), report("nothing wrong seen"), "silent"),
        (Truth("cause", "storage"), report("undecided", "H-NET", "network"), "silent"),
        (Truth("cause", "storage"), report("cause", "H-NET", "network"), "wrong blame"),
        (Truth("cause", "storage", layers=("network",)), report("cause", "H-NET", "network"), "right"),
        (Truth("undecided", hypothesis="H-OS-CPU"), report("undecided", "H-OS-CPU", "os_kernel"), "right"),
        (Truth("undecided", hypothesis="H-OS-CPU"), report("suspect", "H-OS-CPU", "os_kernel"), "partly"),
        (
            Truth("undecided", hypothesis="H-OS-CPU", forbidden_layers=("network",)),
            report("suspect", "H-NET", "network"),
            "wrong blame",
        ),
        (Truth("cannot tell"), report("cannot tell"), "right"),
        (Truth("cannot tell"), report("suspect", "H-NET", "network"), "wrong blame"),
        (Truth(healthy=True), report("nothing wrong seen"), "right"),
        (Truth(healthy=True), report("cannot tell"), "right"),
        (Truth(healthy=True), report("undecided", "H-NET", "network"), "right"),
        (Truth(healthy=True), report("suspect", "H-NET", "network"), "wrong blame"),
    ],
)
def test_the_verdict(known: Truth, made: Report, result: str) -> None:
    assert compare(known, made).result == result


@pytest.mark.parametrize(
    ("known", "found", "wrong"),
    [
        (Truth(forbidden_layers=("network",)), finding("NET-005", "network", 10), True),
        (Truth(forbidden_layers=("network",)), finding("NET-005", "network", 9), False),
        (Truth(forbidden_layers=("network",)), finding("NET-005", "storage", 20), False),
        (Truth(forbidden_layers=("network",)), finding("NET-002", "network", -20, kind="clear"), False),
        (
            Truth(forbidden_layers=("network",), rules={"NET-005": Expected()}),
            finding("NET-005", "network", 10),
            False,
        ),
        (Truth(layer="storage"), finding("NET-005", "network", 10), True),
        (Truth(layer="storage", layers=("network",)), finding("NET-005", "network", 10), False),
        (Truth("undecided", "storage"), finding("NET-005", "network", 10), False),
        (Truth(healthy=True), finding("NET-005", "network", 10), True),
        (Truth(healthy=True), finding("NET-005", "network", 6), False),
        (Truth(healthy=True), finding("DQ-004", "measurement", 10), False),
    ],
)
def test_who_is_blamed_wrongly(known: Truth, found: Finding, wrong: bool) -> None:
    made = compare(known, report("cannot tell", findings=(found,)))
    assert bool(made.wrong) is wrong
    if wrong:
        assert made.result == "wrong blame"
        assert made.rules[found.rule] == "wrong blame"
        assert found.rule in made.wrong[0]


def test_each_rule_is_compared_with_what_it_should_find() -> None:
    known = Truth(
        rules={
            "SHM-001": Expected("pid 1", "major", facts={"stall_s": 2.5}),
            "SHM-002": Expected(severity="info"),
            "SHM-003": Expected(),
            "SHM-004": Expected(),
            "SHM-005": Expected(),
        },
        quiet=("CPU-001", "CPU-002", "CPU-004", "NO-001"),
        not_evaluable=("CPU-003", "CPU-001"),
    )
    lacks = (NotEvaluable("SHM-003", "", None, (), "", None, "", 0), NotEvaluable("CPU-003", "", None, (), "", None, "", 0))  # fmt: skip
    made = compare(
        known,
        report(
            "cannot tell",
            findings=(
                finding("SHM-001", "os_kernel", 15, subject="pid 2", severity="major", facts={"stall_s": 2.5}),
                finding("SHM-001", "os_kernel", 15, subject="pid 1", severity="major", facts={"stall_s": 2.5 + 1e-12}),
                finding("SHM-002", "configuration", 3, severity="minor"),
                finding("CPU-002", "os_kernel", 6),
            ),
            quiet=("SHM-004", "CPU-001"),
            not_evaluable=lacks,
            failed=(Failed("SHM-005", "x"), Failed("CPU-004", "x")),
        ),
    )
    assert made.rules == {
        "CPU-001": "partly",
        "CPU-002": "partly",
        "CPU-003": "right",
        "CPU-004": "partly",
        "NO-001": "partly",
        "SHM-001": "right",
        "SHM-002": "partly",
        "SHM-003": "silent",
        "SHM-004": "silent",
        "SHM-005": "silent",
    }
    assert "NO-001: no such rule, expected to stay quiet" in made.notes
    assert made.result == "partly"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("stat: cause", "truth.yaml: line 1: stat"),
        ("state: guilty", "truth.yaml: line 1: state"),
        ("healthy: true\nlayer: network", "truth.yaml: healthy"),
        ("layer: network\nforbidden_layers: [network]", "truth.yaml: layer"),
        ("rules: {SHM-001: {severty: major}}", "truth.yaml: line 1: rules.SHM-001.severty"),
    ],
)
def test_a_wrong_truth_is_named(text: str, where: str) -> None:
    with pytest.raises(CaseInvalid) as error:
        load_truth(text)
    assert error.value.where == where


HEALTHY = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 0  0      0 900000  10000 200000    0    0     0     0  100  200  1  1 98  0  0
"""


QUICK = library().only({"IO-002", "CPU-002"})
"""Two rules are enough: comparing and storing results does not depend on what the rules find."""


def made_cases(tmp_path: Path) -> Path:
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "009_abc.txt").write_text(HEALTHY)
    for name, told in {
        "idle": "healthy: true\nsource: a machine that does nothing\n",
        "told/outside": "healthy: true\nevidence: seeds/009_*.txt\n",
        "gone": "healthy: true\nevidence: 008_*.txt\n",
        "planned": "healthy: true\n",
        "both": "state: cause\nlayer: storage\nrules: {IO-002: {}}\nwhole: {evidence: 009_abc.txt, case: ../both.yaml}\nexception: the disk was not watched\n",
    }.items():
        folder = tmp_path / "cases" / name
        folder.mkdir(parents=True)
        (folder / "truth.yaml").write_text(told)
        if name in ("idle", "both"):
            (folder / "vmstat.txt").write_text(HEALTHY)
    (tmp_path / "cases" / "both.yaml").write_text("statements: [{name: sessions, num: 3}]\n")
    return tmp_path / "cases"


def test_a_folder_of_cases(tmp_path: Path) -> None:
    folder, seeds = made_cases(tmp_path), tmp_path / "seeds"
    listed = list(truth.score(folder, QUICK, seeds, jobs=2))
    cases, left_out = [c for c in listed if not isinstance(c, str)], [c for c in listed if isinstance(c, str)]
    out = score_page.text(cases, left_out)
    assert "both          silent  silent  -" in out
    assert "both whole    silent  silent  silent" in out
    assert "idle          right   right   -                   " in out
    assert "told/outside  right" in out
    assert "left out: gone: 008_*.txt is not present" in out
    assert "left out: planned: nothing has been recorded yet" in out
    assert "both: admitted: the disk was not watched" in out
    assert "4 cases: 2 right (first 2), 0 partly (first 0), 2 silent (first 2), 0 wrong blame (first 0)." in out
    assert not (folder / "planned" / "first.yaml").exists()
    assert not (folder / "first.yaml").exists(), "both results of a case are kept beside its truth"

    first = folder / "both" / "first.yaml"
    first.write_text(first.read_text().replace("result: silent", "result: partly", 1))
    alone = list(truth.score(folder, QUICK, seeds, jobs=1))
    page = score_page.page([c for c in alone if not isinstance(c, str)], left_out, truth.fingerprint(folder))
    assert first.read_text().count("result: partly") == 1, "a first result is never written again"
    assert "| both | - | cause (storage) | cannot tell | silent | partly | - | 0 / 1 |" in page
    assert "| idle | a machine that does nothing | healthy |" in page
    assert "| Incidents | 2 | 0 (0 %) | 0 | 2 | 0 | 0 | 2 | 0 |" in page
    assert "| all | 4 | 2 (50 %) | 0 | 2 | 0 | 2 | 2 | 2 |" in page
    assert "## Healthy evidence: told" in page
    assert "## Admitted exceptions: 2" in page
    assert "## Wrong blame\n\nNone." in page
    assert f"{score_page.FINGERPRINT}{truth.fingerprint(folder)}`" in page


def test_a_broken_case_is_named(tmp_path: Path) -> None:
    folder = made_cases(tmp_path)
    (folder / "idle" / "case.yaml").write_text("artefacts: []\n")
    with pytest.raises(CaseInvalid) as error:
        list(truth.score(folder, QUICK, tmp_path / "seeds", jobs=1))
    assert error.value.where == "idle: line 1: artefacts"


@pytest.mark.parametrize(
    "error", [CaseInvalid("a: line 1", "why"), RuleInvalid("f", "k", "why"), RuleTooSlow("R-1", "slow")]
)
def test_errors_come_home_from_other_processes(error: RuleError) -> None:
    home = pickle.loads(pickle.dumps(error))
    assert (type(home), str(home), vars(home)) == (type(error), str(error), vars(error))


def test_the_fingerprint_is_that_of_the_truths(tmp_path: Path) -> None:
    folder = made_cases(tmp_path)
    was = truth.fingerprint(folder)
    (folder / "idle" / "vmstat.txt").write_text("other evidence")
    assert truth.fingerprint(folder) == was
    (folder / "idle" / "truth.yaml").write_text("healthy: true\n")
    assert truth.fingerprint(folder) != was


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = tmp_path / "cases" / "idle"
    case.mkdir(parents=True)
    (case / "truth.yaml").write_text("healthy: true\n")
    with pytest.raises(SystemExit):
        main(["--score", str(tmp_path / "cases")])
    assert "no case that can be judged here" in capsys.readouterr().err
    (case / "vmstat.txt").write_text(HEALTHY)
    only = ["--only", "IO-002", "--jobs", "1"]
    assert main(["--score", str(tmp_path / "cases"), "--docs", str(tmp_path / "accuracy.md"), *only]) == 0
    assert "| idle | - | healthy |" in (tmp_path / "accuracy.md").read_text()
    for wrong in (["--score", str(tmp_path / "nowhere")], ["--score", str(tmp_path / "cases"), "--jobs", "0"]):
        with pytest.raises(SystemExit):
            main(wrong)


def test_wrong_blame_stands_on_both_pages() -> None:
    blaming = compare(Truth(healthy=True), report("suspect", "H-NET", "network"))
    fine = compare(Truth(healthy=True), report("cannot tell"))
    cases = [truth.Scored("a", Truth(healthy=True), fine, blaming, "wrong blame")]
    assert "WRONG BLAME a, without statements: verdict suspect H-NET blames network" in score_page.text(cases, [])
    assert "- a, without statements: verdict suspect" in score_page.page(cases, ["b: not here"])
    assert "- b: not here" in score_page.page(cases, ["b: not here"])

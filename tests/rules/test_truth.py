"""Scoring a library on cases with a known answer: the four results, what is wrong blame, the first result, the two pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rules import score_page, truth
from rules.__main__ import main
from rules.case import Case
from rules.errors import CaseInvalid
from rules.evaluate import judge
from rules.model import CaseSpec, Failed, Finding, NotEvaluable, Report, Verdict
from rules.truth import Expected, Truth, compare, load_truth

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
        (Truth("cause", "storage"), report("undecided", "H-STORAGE", "storage"), "partly"),
        (Truth("cause", "storage"), report("cannot tell"), "silent"),
        (Truth("cause", "storage"), report("nothing wrong seen"), "silent"),
        (Truth("cause", "storage"), report("undecided", "H-NET", "network"), "silent"),
        (Truth("cause", "storage"), report("cause", "H-NET", "network"), "wrong blame"),
        (Truth("cause", "storage", layers=("network",)), report("cause", "H-NET", "network"), "partly"),
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


def test_a_folder_of_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["--texts", str(tmp_path / "seeds")]
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "009_abc.txt").write_text(HEALTHY)
    for name, told in {
        "idle": "healthy: true\nsource: a machine that does nothing\n",
        "told/outside": "healthy: true\nevidence: seeds/009_*.txt\n",
        "gone": "healthy: true\nevidence: 008_*.txt\n",
        "both": "state: cause\nlayer: storage\nrules: {IO-002: {}}\nwhole: {evidence: 009_abc.txt, case: whole.yaml}\nexception: the disk was not watched\n",
    }.items():
        folder = tmp_path / "cases" / name
        folder.mkdir(parents=True)
        (folder / "truth.yaml").write_text(told)
        if "evidence" not in told or name == "both":
            (folder / "vmstat.txt").write_text(HEALTHY)
    (tmp_path / "cases" / "both" / "whole.yaml").write_text("statements: [{name: sessions, num: 3}]\n")
    assert main(["--score", str(tmp_path / "cases"), *texts]) == 0
    out = capsys.readouterr().out
    assert "idle          right   right   -                   " in out
    assert "told/outside  right" in out
    assert "both          silent  silent  -" in out
    assert "both whole    silent  silent  silent" in out
    assert "left out: gone: 008_*.txt is not present" in out
    assert "both: admitted: the disk was not watched" in out
    assert "4 cases: 2 right (first 2), 0 partly (first 0), 2 silent (first 2), 0 wrong blame (first 0)." in out
    first = tmp_path / "cases" / "both" / "first.yaml"
    written = first.read_text()
    first.write_text(written.replace("result: silent", "result: partly", 1))
    assert main(["--score", str(tmp_path / "cases"), "--docs", str(tmp_path / "accuracy.md"), *texts]) == 0
    page = (tmp_path / "accuracy.md").read_text()
    assert "| both | - | cause (storage) | cannot tell | silent | partly | - | 0 / 1 |" in page
    assert "| idle | a machine that does nothing | healthy |" in page
    assert "## Admitted exceptions: 2" in page
    assert "## Wrong blame\n\nNone." in page
    assert first.read_text().count("result: partly") == 1, "a first result is never written again"
    assert main(["--score", str(tmp_path / "cases"), "--docs", str(tmp_path / "again.md"), *texts]) == 0
    assert (tmp_path / "again.md").read_text() == page
    with pytest.raises(SystemExit):
        main(["--score", str(tmp_path / "seeds")])
    with pytest.raises(SystemExit):
        main(["--score", str(tmp_path / "nowhere")])


def test_wrong_blame_stands_on_both_pages() -> None:
    blaming = compare(Truth(healthy=True), report("suspect", "H-NET", "network"))
    fine = compare(Truth(healthy=True), report("cannot tell"))
    cases = [truth.Scored("a", Truth(healthy=True), fine, blaming, "wrong blame")]
    assert "WRONG BLAME a, without statements: verdict suspect H-NET blames network" in score_page.text(cases, [])
    assert "- a, without statements: verdict suspect" in score_page.page(cases, ["b: not here"])
    assert "- b: not here" in score_page.page(cases, ["b: not here"])

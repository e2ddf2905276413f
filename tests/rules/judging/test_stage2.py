"""Tests of stage-2 rules: they run last, read `findings`, and are quiet where the rules they wait for looked and found
nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rules.case.case import Case
from rules.engine.run import Outcome, Runner
from rules.engine.sandbox import Sandbox
from rules.errors import RuleInvalid
from rules.judging.evaluate import judge
from rules.model import CaseSpec, Statement
from rules.writing.inline_tests import run_tests
from rules.writing.loader import load
from rules.writing.rule import Rule
from tests.rules.writing.test_loader import LEVEL1

ONE: dict[str, Any] = {k: v for k, v in LEVEL1.items() if k not in ("when", "params", "query")}


def rule(**keys: Any) -> Rule:
    return load(json.dumps(ONE | keys), f"cpu/{keys['slug']}.yaml")


FIRST = rule(
    id="CPU-101",
    slug="first",
    requires={"all": ["mpstat.smtx"]},
    query="""select 'cpu ' || cpu as subject, smtx::double as magnitude, host, artifact_id, smtx, 'lock' as name,
                    [ev(artifact_id, line_no, line_no, 'row')] as evidence
             from mpstat where smtx > 500 order by line_no""",
    confidence={"base": "shape"},
    messages={"headline": "{subject}", "expert": "{smtx}", "manager": "Busy."},
    tests=[
        {"name": "fires", "tables": {"mpstat": [{"host": "db", "line_no": 1, "cpu": 1, "smtx": 501}]}, "expect": [{}]},
        {"name": "quiet", "tables": {"mpstat": [{"host": "db", "line_no": 1, "cpu": 1, "smtx": 500}]}, "expect": []},
        {"name": "lacks", "tables": {}, "expect_not_evaluable": ["mpstat.smtx"]},
    ],
)
SECOND_KEYS: dict[str, Any] = {
    "id": "CPU-102",
    "slug": "second",
    "stage": 2,
    "requires": {"all": [{"table": "findings", "where": [["rule", "=", "CPU-101"]]}]},
    "query": """select 'host ' || f.host as subject, f.magnitude, f.host, f.facts['smtx'] as smtx, f.by_statement,
                       coalesce(f.facts['nosuch'], -1) as nosuch, f.evidence
                from findings f where f.rule = 'CPU-101' order by f.artifact_id, f.line_no""",
    "confidence": {"base": "counter"},
    "messages": {"headline": "{subject}: {smtx:.0f}", "expert": "{nosuch}", "manager": "Busy."},
    "tests": [
        {
            "name": "fires",
            "tables": {
                "findings": [
                    {
                        "artifact_id": 3,
                        "host": "db",
                        "line_no": 7,
                        "line_end": 9,
                        "rule": "CPU-101",
                        "magnitude": 2.0,
                        "facts": {"smtx": 501, "name": "a text"},
                    }
                ]
            },
            "expect": [{"subject": "host db", "smtx": 501, "nosuch": -1, "evidence_lines": ["3:7-9"]}],
        },
        {
            "name": "quiet",
            "tables": {"findings": [{"host": "db", "line_no": 1, "rule": "CPU-101", "magnitude": None}]},
            "expect": [],
        },
        {"name": "lacks", "tables": {}, "expect_not_evaluable": ["findings"]},
    ],
}
SECOND_KEYS["query"] = SECOND_KEYS["query"].replace("'CPU-101' order", "'CPU-101' and f.magnitude is not null order")
SECOND = rule(**SECOND_KEYS)


def run(tables: dict[str, list[dict[str, Any]]], rules: list[Rule], tmp_path: Path) -> dict[str, Outcome]:
    with Sandbox() as sandbox:
        return {o.rule.id: o for o in Runner(Case.of_tables(tables), sandbox, tmp_path).run(rules)}


MANY: dict[str, list[dict[str, Any]]] = {
    "mpstat": [
        {"host": "db", "line_no": 1, "cpu": 1, "smtx": 501},
        {"host": "app", "line_no": 2, "cpu": 1, "smtx": 3},
        {"host": "db", "line_no": 3, "cpu": 2, "smtx": 900},
    ],
    "vmstat": [{"host": "web", "line_no": 9}],
    "hosts": [{"host": "db"}, {"host": "app"}, {"host": "web"}],
}


def test_stage_two_reads_what_stage_one_found_whatever_the_order(tmp_path: Path) -> None:
    made = run(MANY, [SECOND, FIRST], tmp_path)
    assert list(made) == ["CPU-102", "CPU-101"]
    second = made["CPU-102"]
    assert [(d.host, d.facts["smtx"], d.evidence[0].line_from) for d in second.drafts] == [
        ("db", 501.0, 1),
        ("db", 900.0, 3),
    ]


def test_a_host_where_the_other_rule_was_quiet_is_quiet_and_where_it_lacks_something_that_is_lacking(
    tmp_path: Path,
) -> None:
    second = run(MANY, [FIRST, SECOND], tmp_path)["CPU-102"]
    assert second.quiet == ("app",)
    assert {h: [n.text for n in needs] for h, needs in second.unmet.items()} == {"web": ["mpstat.smtx"]}


def test_without_the_other_rule_the_finding_itself_is_lacking(tmp_path: Path) -> None:
    second = run(MANY, [SECOND], tmp_path)["CPU-102"]
    assert {n.text for needs in second.unmet.values() for n in needs} == {"findings[rule = CPU-101]"}


def test_a_failed_rule_leaves_its_followers_not_evaluable(tmp_path: Path) -> None:
    broken = replace(FIRST, sql="select 1 as subject")
    made = run(MANY, [broken, SECOND], tmp_path)
    assert made["CPU-101"].failed
    assert {n.text for needs in made["CPU-102"].unmet.values() for n in needs} == {"findings[rule = CPU-101]"}


def test_inline_tests_give_findings() -> None:
    assert [(r.test, r.problems) for r in run_tests([FIRST, SECOND]) if r.problems] == []


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"query": SECOND_KEYS["query"], "requires": {"all": ["mpstat"]}}, "stage"),
        ({"query": "select * from mpstat m, findings f", "requires": {"all": ["mpstat"]}}, "stage"),
        ({"query": 'select * from mpstat join "findings" f using (host)', "requires": {"all": ["mpstat"]}}, "stage"),
        ({"requires": {"all": ["findings"]}}, "requires.all[0]"),
        ({"requires": {"all": ["mpstat"], "confirms": ["findings"]}}, "requires.confirms[0]"),
    ],
)
def test_stage_one_may_not_read_findings(change: dict[str, Any], key: str) -> None:
    with pytest.raises(RuleInvalid, match="only a rule of stage 2") as error:
        rule(**{**SECOND_KEYS, "stage": 1, **change})
    assert error.value.key == key


def test_the_word_in_a_text_is_no_table() -> None:
    assert rule(**{**SECOND_KEYS, "stage": 1, "requires": {"all": ["mpstat"]},
                   "query": "select 'from findings' as subject -- from findings\n from mpstat"})  # fmt: skip


def test_even_past_the_loader_stage_one_sees_no_findings(tmp_path: Path) -> None:
    sly = replace(SECOND, file=replace(SECOND.file, stage=1), requires=FIRST.requires)
    assert "no table 'findings'" in (run(MANY, [FIRST, sly], tmp_path)["CPU-102"].failed or "")


def test_results_are_kept_by_what_stage_one_found(tmp_path: Path) -> None:
    case = Case.of_tables({"mpstat": []})
    none = case.hash_of("findings")
    case.take_findings(pl.DataFrame([{"rule": "X"}]))
    one = case.hash_of("findings")
    case.take_findings(pl.DataFrame([{"rule": "Y"}]))
    assert len({none, one, case.hash_of("findings")}) == 3


CLEARING = rule(
    id="CPU-103",
    slug="clearing",
    requires={"all": ["mpstat.smtx"]},
    query="""select 'cpu ' || cpu as subject, smtx::double as magnitude, smtx, case when smtx < 10 then 'clear' end as kind,
                    case when smtx < 10 then ['client_host'] end as clears, 0.5 as clear_s, 1 as clear_n, 'this request' as clear_scope,
                    [ev(artifact_id, line_no, line_no, 'row')] as evidence
             from mpstat order by line_no""",
    severity={"from": "magnitude", "unit": "per s", "minor": 1},
    confidence={"base": "shape", "clear": "-mechanism"},
    hypotheses={"H-OS-LOCK": "tier", "H-OS-CPU": {"clear": "-counter"}},
    messages={
        "headline": {"base": "{subject}: {smtx}", "clear": "{subject} is fine"},
        "expert": "In {clear_s} s.",
        "manager": "Busy.",
    },
    tests=[
        {"name": "fires", "tables": {"mpstat": [{"cpu": 1, "line_no": 1, "smtx": 50}]},
         "expect": [{"decibans": 6, "severity": "minor", "kind": "finding"}]},
        {"name": "clears", "tables": {"mpstat": [{"cpu": 1, "line_no": 1, "smtx": 5}]},
         "expect": [{"decibans": -15, "severity": "info", "kind": "clear", "tier": "base"}]},
        {"name": "quiet", "tables": {"mpstat": [{"cpu": 1, "line_no": 1}]}, "expect_not_evaluable": ["mpstat.smtx"]},
        {"name": "none", "tables": {"mpstat": [{"cpu": 1, "line_no": 1, "smtx": 5}]}, "expect": []},
    ],
)  # fmt: skip


def test_clearing_rows_have_their_own_weight_and_words() -> None:
    problems = {r.test: r.problems for r in run_tests([CLEARING])}
    assert problems["fires"] == problems["clears"] == problems["texts and thresholds"] == ()
    assert problems["none"] != ()
    report = judge(Case.of_tables({"mpstat": [{"cpu": 1, "line_no": 1, "smtx": 5}]}), [CLEARING])
    (found,) = report.findings
    assert (found.headline, found.group, found.cells) == (
        "cpu 1 is fine",
        "cleared",
        {"H-OS-LOCK": -15, "H-OS-CPU": -3},
    )
    assert found.against == ()
    (cleared,) = report.cleared
    assert (cleared.layer, cleared.seconds, cleared.requests) == ("client_host", 0.5, 1)


def test_a_clearing_that_would_blame_is_refused(tmp_path: Path) -> None:
    wrong = replace(CLEARING, file=replace(CLEARING.file, confidence={"base": "shape"}))
    (made,) = run({"mpstat": [{"cpu": 1, "line_no": 1, "smtx": 5}]}, [wrong], tmp_path).values()
    assert "would blame" in (made.failed or "")


def test_contradicting_statements_are_named_and_not_used() -> None:
    said = (
        Statement("sessions", 250, None, "a", "DBA"),
        Statement("sessions", 300, None, "b", "lead"),
        Statement("workers", 2, None, None, "DBA"),
        Statement("workers", 2, None, "again", "lead"),
        Statement("work_rate", 40, "per minute", None, "DBA", "before"),
        Statement("work_rate", 60, "per minute", None, "DBA", "after"),
        Statement("oradism_mode", None, None, "rwsr-x---", "DBA"),
        Statement("oradism_mode", None, None, "rwxr-x---", "DBA"),
    )
    case = Case(CaseSpec(statements=said))
    assert case.table("statements")["name"].to_list() == ["workers", "workers", "work_rate", "work_rate"]
    errors = [f.error for f in judge(case, []).failed if f.rule == "CASE"]
    assert errors == [
        "statements.sessions: is said to be 250 (by DBA) and 300 (by lead): none of them is used",
        "statements.oradism_mode: is said to be rwsr-x--- (by DBA) and rwxr-x--- (by DBA): none of them is used",
    ]


def test_figures_of_an_author_are_read_and_checked() -> None:
    said = (
        Statement("SHM-001.stall_s", 2.47),
        Statement("SHM-999.x", 1),
        Statement("SHM-001.Stall", 1),
        Statement("LSN-003.wait_s"),
    )
    case = Case(CaseSpec(statements=said))
    assert case.table("statements").filter(pl.col("name") == "SHM-001.stall_s")["num"].to_list() == [2.47]
    assert [f.error for f in judge(case).failed if f.rule == "CASE"] == [
        "statements[1].name: there is no rule SHM-999",
        "statements[2].name: 'SHM-001.Stall' is no figure of a rule: <RULE>.<fact>, such as SHM-001.stall_s",
        "statements[3]: LSN-003.wait_s has neither num nor text",
    ]

"""Tests of rule files: everything that can be checked without running the query is an error with its key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.errors import RuleInvalid
from rules.reporting import docs
from rules.writing import loader
from rules.writing.inline_tests import run_tests
from rules.writing.loader import literal, load, load_file, load_library
from rules.writing.rule import Rule

LEVEL1: dict[str, Any] = {
    "schema": 1,
    "id": "CPU-903",
    "slug": "mutex-spinning",
    "version": "1.0.0",
    "status": "stable",
    "title": "Processors spin on kernel mutexes",
    "layer": "os_kernel",
    "requires": {"all": ["mpstat.smtx"], "confirms": ["locks"]},
    "params": {
        "smtx": {
            "type": "number",
            "default": 500,
            "min": 50,
            "max": 100000,
            "unit": "per s",
            "why": "an old monitor rule",
        },
        "sys": {"type": "number", "default": 20, "min": 5, "max": 100, "unit": "pct", "why": "same rule"},
    },
    "evidence_group": "kernel-lock",
    "when": {
        "table": "mpstat_i",
        "where": [["smtx", ">", "$smtx"], ["sys", ">=", "$sys"], ["sys", ">=", "@usr"]],
        "group_by": ["artifact_id", "host", "sample"],
        "having": [["count", "cpu", ">=", 2]],
        "magnitude": ["share", "cpu"],
        "corroborate": {"table": "locks", "where": [["event", "like", "%spin%"]]},
    },
    "severity": {"from": "magnitude", "unit": "pct", "minor": 5, "major": 25, "critical": 50},
    "confidence": {"base": "shape", "corroborated": "mechanism"},
    "messages": {
        "headline": "{n} processors of {n_all} spin",
        "expert": "{subject}: {magnitude:.1f} %",
        "manager": "The processors wait for each other.",
    },
    "remedy": ["find the lock"],
    "false_positives": [],
    "contraindications": [],
    "verify": {"metric": "mpstat.smtx", "statistic": "median", "expect": "decrease"},
}
ROWS = [
    {"host": "db", "line_no": n, "sample": 1, "cpu": n, "smtx": s, "sys": 80, "usr": 10}
    for n, s in enumerate([600, 700, 400, 100, 800], 1)
]
TESTS: list[dict[str, Any]] = [
    {
        "name": "three of five spin",
        "tables": {"mpstat": ROWS},
        "expect": [
            {
                "subject": "sample 1",
                "magnitude": 60.0,
                "n": 3,
                "n_all": 5,
                "severity": "critical",
                "tier": "base",
                "decibans": 6,
                "evidence_lines": ["1:1-5"],
            }
        ],
    },
    {
        "name": "lockstat agrees",
        "tables": {"mpstat": ROWS, "locks": [{"host": "db", "line_no": 1, "event": "adaptive spin"}]},
        "expect": [{"tier": "corroborated", "decibans": 15}],
    },
    {"name": "a since-boot row is no sample", "tables": {"mpstat": [{**r, "first": True} for r in ROWS]}, "expect": []},
    {
        "name": "one processor is silent",
        "tables": {"mpstat": [{**r, "sys": 80 if r["cpu"] == 1 else 4} for r in ROWS]},
        "expect": [],
    },
    {
        "name": "without the column it cannot tell",
        "tables": {"mpstat": [{"host": "db", "line_no": 1, "cpu": 1}]},
        "expect_not_evaluable": ["mpstat.smtx"],
    },
]


def text(**changes: Any) -> str:
    made = {**LEVEL1, "tests": TESTS, **changes}
    return yaml.safe_dump({k: v for k, v in made.items() if v is not ...}, sort_keys=False)


def test_the_level_1_form_compiles_and_runs() -> None:
    results = list(run_tests([load(text())]))
    assert [(r.test, r.problems) for r in results if not r.passed] == []
    assert len(results) == 6


def test_a_form_without_groups_or_having_compiles() -> None:
    when = {
        "table": "mpstat",
        "where": [["smtx", "between", ["$smtx", "$sys"]], ["cpu", "in", [1, 2]], ["host", "!=", None]],
    }
    sql = load(text(when=when)).sql
    assert '"smtx" between $smtx and $sys' in sql
    assert '"cpu" in (1, 2)' in sql
    assert '"host" is not null' in sql
    assert "'mpstat' as subject" in sql


def test_literals() -> None:
    assert [literal(v) for v in ("it's", "@usr", "$low", None, True, 1.5)] == [
        "'it''s'",
        '"usr"',
        "$low",
        "null",
        "true",
        "1.5",
    ]
    with pytest.raises(ValueError, match="cannot stand"):
        literal({"a": 1})


def without(key: str) -> dict[str, Any]:
    return {key: ...}


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown key": ({"colour": "red"}, "colour", "unknown key"),
    "an id of another shape": ({"id": "cpu1"}, "id", "does not match"),
    "a slug of another shape": ({"slug": "Mutex Spinning"}, "slug", "does not match"),
    "a version of another shape": ({"version": "1"}, "version", "does not match"),
    "no layer": (without("layer"), "layer", "is required"),
    "an unknown layer": ({"layer": "dba"}, "layer", "must be one of"),
    "neither query nor form": (without("when"), "query", "either query or when"),
    "both": ({"query": "select 1"}, "query", "either query or when"),
    "a parameter nobody uses": (
        {"params": {**LEVEL1["params"], "x": {"type": "text", "default": "a", "why": "w"}}},
        "params.x",
        "not used",
    ),
    "a parameter nobody declares": ({"params": {"smtx": LEVEL1["params"]["smtx"]}}, "params.sys", "not declared"),
    "a default out of bounds": (
        {"params": {"smtx": {"type": "number", "default": 1, "min": 50, "max": 60, "why": "w"}}},
        "params.smtx.default",
        "must be 50",
    ),
    "a number without bounds": (
        {"params": {"smtx": {"type": "number", "default": 1, "why": "w"}}},
        "params.smtx",
        "needs min and max",
    ),
    "a whole number that is none": (
        {"params": {"smtx": {"type": "int", "default": 1.5, "min": 0, "max": 9, "why": "w"}}},
        "params.smtx.default",
        "whole number",
    ),
    "an enum without values": (
        {"params": {"smtx": {"type": "enum", "default": "a", "why": "w"}}},
        "params.smtx.values",
        "needs values",
    ),
    "an enum with another default": (
        {"params": {"smtx": {"type": "enum", "default": "a", "values": ["b"], "why": "w"}}},
        "params.smtx.default",
        "must be one of b",
    ),
    "a text that is none": (
        {"params": {"smtx": {"type": "text", "default": 5, "why": "w"}}},
        "params.smtx.default",
        "must be text",
    ),
    "a parameter with a bad name": (
        {"params": {"S": {"type": "text", "default": "a", "why": "w"}}},
        "params.S",
        "lower-case",
    ),
    "no base": ({"confidence": {"corroborated": "shape"}}, "confidence.base", "is required"),
    "an unknown tier": ({"confidence": {"base": "shape", "sure": "shape"}}, "confidence.sure", "must be one of"),
    "an unknown class": ({"confidence": {"base": "certain"}}, "confidence.base", "must be one of"),
    "too many decibans": ({"confidence": {"base": {"dB": 21, "reason": "r"}}}, "confidence.base.dB", "-20 to 20"),
    "steps that fall": ({"severity": {"from": "magnitude", "unit": "s", "minor": 5, "major": 1}}, "severity", "ascend"),
    "an unknown code": ({"hypotheses": {"cpu": "tier"}}, "hypotheses.cpu", "no hypothesis"),
    "an unknown class of a cell": ({"hypotheses": {"H-NET": "big"}}, "hypotheses.H-NET", "must be one of"),
    "a cell of a tier that is none": (
        {"hypotheses": {"H-NET": {"contradicted": "shape"}}},
        "hypotheses.H-NET.contradicted",
        "no tier",
    ),
    "a cell of a wrong class": ({"hypotheses": {"H-NET": {"base": "big"}}}, "hypotheses.H-NET.base", "must be one of"),
    "a cell with a wrong column": (
        {"hypotheses": {"H-NET": {"base": "shape", "only": "A B"}}},
        "hypotheses.H-NET.only",
        "must name a column",
    ),
    "a text for one tier only": (
        {"messages": {**LEVEL1["messages"], "expert": {"base": "x"}}},
        "messages.expert.corroborated",
        "is missing",
    ),
    "a text for no tier": (
        {"messages": {**LEVEL1["messages"], "expert": {"base": "x", "corroborated": "y", "contradicted": "z"}}},
        "messages.expert.contradicted",
        "no tier",
    ),
    "a template with an attribute": (
        {"messages": {**LEVEL1["messages"], "headline": "{a.b}"}},
        "messages.headline",
        "braces",
    ),
    "a template with an unknown filter": (
        {"messages": {**LEVEL1["messages"], "headline": "{a|shout}"}},
        "messages.headline",
        "unknown filter",
    ),
    "a template with a wide format": (
        {"messages": {**LEVEL1["messages"], "headline": "{a:=^9}"}},
        "messages.headline",
        "not allowed",
    ),
    "requirements of another shape": ({"requires": ["mpstat"]}, "requires", "must be {all"),
    "requirements with another key": ({"requires": {"all": ["mpstat"], "some": []}}, "requires.some", "unknown key"),
    "an unknown table": ({"requires": {"all": ["nosuch"]}}, "requires.all[0]", "no table"),
    "an unknown column": ({"requires": {"all": ["mpstat.nosuch"]}}, "requires.all[0]", "no column"),
    "a need that is none": ({"requires": {"all": [5]}}, "requires.all[0]", "must be table"),
    "a need with another key": (
        {"requires": {"all": [{"table": "mpstat", "rows": 3}]}},
        "requires.all[0].rows",
        "unknown key",
    ),
    "a need of no rows": (
        {"requires": {"all": [{"table": "mpstat", "min_rows": 0}]}},
        "requires.all[0].min_rows",
        "from 1",
    ),
    "a condition of another shape": (
        {"requires": {"all": [{"table": "mpstat", "where": [["cpu", "="]]}]}},
        "requires.all[0].where[0]",
        "must be",
    ),
    "conditions of another shape": (
        {"requires": {"all": [{"table": "mpstat", "where": "cpu"}]}},
        "requires.all[0].where",
        "must be a list",
    ),
    "an unknown operator": (
        {"requires": {"all": [{"table": "mpstat", "where": [["cpu", "~", 1]]}]}},
        "requires.all[0].where[0]",
        "operator",
    ),
    "a form over an unknown table": ({"when": {"table": "nosuch"}}, "when", "no table"),
    "a form with an unknown aggregate": (
        {"when": {"table": "mpstat", "magnitude": ["sin", "cpu"]}},
        "when.magnitude",
        "aggregate",
    ),
    "a form with a wrong having": (
        {"when": {"table": "mpstat", "having": [["count", "cpu", "in", 2]]}},
        "when.having[0]",
        "cannot stand here",
    ),
    "a form with a value that is none": (
        {"when": {"table": "mpstat", "where": [["cpu", "=", {"a": 1}]]}},
        "when",
        "cannot stand",
    ),
    "a form with a wrong corroborate": (
        {"when": {"table": "mpstat", "corroborate": {"tables": "locks"}}},
        "when.corroborate",
        "must be",
    ),
    "two tests": ({"tests": TESTS[:2]}, "tests", "at least three"),
    "no quiet test": ({"tests": [*TESTS[:2], TESTS[-1]]}, "tests", "stays quiet"),
    "two tests of one name": ({"tests": [*TESTS, TESTS[0]]}, "tests", "same name"),
    "a test that expects two things": (
        {"tests": [*TESTS, {"name": "x", "expect": [], "expect_not_evaluable": []}]},
        "tests[5]",
        "either expect",
    ),
    "a test with an unknown parameter": (
        {"tests": [*TESTS, {"name": "x", "expect": [], "params": {"y": 1}}]},
        "tests[5].params.y",
        "no parameter",
    ),
    "no rows": ({"max_rows": 0}, "max_rows", "at least 1"),
}


@pytest.mark.parametrize(("changes", "key", "words"), WRONG.values(), ids=WRONG.keys())
def test_it_refuses(changes: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(RuleInvalid) as caught:
        load(text(**changes), "some.yaml")
    assert caught.value.file == "some.yaml"
    assert key in str(caught.value)
    assert words in str(caught.value)


def test_it_refuses_duplicate_keys_and_size() -> None:
    with pytest.raises(RuleInvalid, match="stands twice"):
        load(text() + "title: again\n")
    with pytest.raises(RuleInvalid, match="128 KiB"):
        load(text() + "# " + "x" * 130_000)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "cpu" / "mutex-spinning.yaml"
    file.parent.mkdir()
    file.write_text(text(), encoding="utf-8")
    assert load_file(file).area == "cpu"
    assert "CPU-903" in {r.id for r in load_library(tmp_path)}
    other = tmp_path / "other.yaml"
    other.write_text(text(), encoding="utf-8")
    with pytest.raises(RuleInvalid, match="not the file's name"):
        load_file(other)
    other.unlink()
    twin = tmp_path / "twin" / "mutex-spinning.yaml"
    twin.parent.mkdir()
    twin.write_text(text(), encoding="utf-8")
    with pytest.raises(RuleInvalid, match="is also in"):
        load_library(tmp_path)
    twin.write_text("# " + "x" * 140_000, encoding="utf-8")
    with pytest.raises(RuleInvalid, match="128 KiB"):
        load_file(twin)


def test_the_documentation_is_fresh() -> None:
    root = Path(loader.__file__).parents[2]
    assert (root / "docs" / "rules.md").read_text(encoding="utf-8") == docs.page(load_library())


def test_a_failing_rule_test_says_why() -> None:
    wrong: list[dict[str, Any]] = [
        {"name": "other count", "tables": {"mpstat": ROWS}, "expect": []},
        {
            "name": "other value",
            "tables": {"mpstat": ROWS},
            "expect": [{"magnitude": 61, "nosuch": 1, "tier": "base", "evidence_lines": ["1:1-4"]}],
        },
        {"name": "other gate", "tables": {"mpstat": ROWS}, "expect_not_evaluable": ["pmap"]},
        {"name": "gate", "tables": {}, "expect": [{"magnitude": 1}]},
        {"name": "no such column", "tables": {"mpstat": [{"nosuch": 1}]}, "expect": []},
        {"name": "param out of bounds", "tables": {}, "params": {"sys": 1}, "expect": []},
    ]
    rule: Rule = load(text(tests=wrong, messages={**LEVEL1["messages"], "headline": "{nosuch}", "manager": "x" * 200}))
    problems = {r.test: " | ".join(r.problems) for r in run_tests([rule])}
    assert "expected 0 findings, got 1" in problems["other count"]
    assert "magnitude is 60.0, expected 61" in problems["other value"]
    assert "there is no nosuch" in problems["other value"]
    assert "evidence_lines is" in problems["other value"]
    assert "expected not evaluable for pmap" in problems["other gate"]
    assert "not evaluable: lacks mpstat.smtx" in problems["gate"]
    assert "KeyError" in problems["no such column"]
    assert "CaseInvalid" in problems["param out of bounds"]
    assert "nosuch is empty" in problems["texts and thresholds"]
    assert "has 200 characters" in problems["texts and thresholds"]
    assert "no test shows the tier corroborated" in problems["texts and thresholds"]

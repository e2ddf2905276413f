"""Run every rule's inline tests, one test id per rule and case, and one more for the texts and thresholds of each rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from rules.engine.sandbox import Sandbox
from rules.writing.inline_tests import Result, check_rule, run_one
from rules.writing.loader import load
from rules.writing.rule import Rule, RuleTest
from tests.rules.library import shipped_rules
from tests.rules.writing.test_loader import LEVEL1

LIBRARY = shipped_rules()
CASES = [(rule, test) for rule in LIBRARY for test in rule.file.tests]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as child:
        yield child


@pytest.mark.parametrize(("rule", "test"), CASES, ids=[f"{r.id}: {t.name}" for r, t in CASES])
def test_rule(rule: Rule, test: RuleTest, sandbox: Sandbox) -> None:
    assert run_one(rule, test, sandbox) == Result(rule.id, test.name, ())


@pytest.mark.drawn(3)  # each tries every test of a rule again for each threshold
@pytest.mark.parametrize("rule", LIBRARY, ids=[r.id for r in LIBRARY])
def test_texts_and_thresholds(rule: Rule, sandbox: Sandbox) -> None:
    assert check_rule(rule, sandbox).problems == ()


def test_a_threshold_is_tried_under_the_test_s_own_parameters(sandbox: Sandbox) -> None:
    """Check that with the default of `most`, which lets nothing through, only a test that sets it shows the effect of
    `least`.
    """
    columns = {"type": "number", "min": 0, "max": 1000, "why": "practice"}
    document: dict[str, Any] = {k: v for k, v in LEVEL1.items() if k != "when"} | {
        "requires": {"all": ["ps"]},
        "params": {"least": columns | {"default": 5}, "most": columns | {"default": 0}},
        "query": "select 's' as subject, rss_kb as magnitude, host, [ev(artifact_id, line_no, line_no, 'r')] as evidence from ps "
        "where rss_kb between $least and $most order by line_no",
        "severity": {"from": "magnitude", "unit": "kB", "minor": 1},
        "confidence": {"base": "counter"},
        "messages": {"headline": "h", "expert": "e", "manager": "m"},
    }
    row = {"artifact_id": 1, "host": "db", "line_no": 1, "rss_kb": 50}
    given = [{"name": "fires", "tables": {"ps": [row]}, "params": {"most": 60}, "expect": [{}]}]
    given += [
        {"name": "quiet", "tables": {"ps": [row]}, "expect": []},
        {"name": "lacks", "expect_not_evaluable": ["ps"]},
    ]
    rule = load(json.dumps(document | {"tests": given}), "cpu/tried.yaml")
    assert check_rule(rule, sandbox).problems == ()

"""Every rule's own tests, one test id per rule and case; texts and thresholds of each rule as one more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rules.engine.sandbox import Sandbox
from rules.inline_tests import Result, check_rule, run_one
from rules.loader import load_library
from rules.rule import Rule, RuleTest

LIBRARY = load_library()
CASES = [(rule, test) for rule in LIBRARY for test in rule.file.tests]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as child:
        yield child


@pytest.mark.parametrize(("rule", "test"), CASES, ids=[f"{r.id}: {t.name}" for r, t in CASES])
def test_rule(rule: Rule, test: RuleTest, sandbox: Sandbox) -> None:
    assert run_one(rule, test, sandbox) == Result(rule.id, test.name, ())


@pytest.mark.parametrize("rule", LIBRARY, ids=[r.id for r in LIBRARY])
def test_texts_and_thresholds(rule: Rule, sandbox: Sandbox) -> None:
    assert check_rule(rule, sandbox).problems == ()

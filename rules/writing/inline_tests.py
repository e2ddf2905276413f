"""Run the inline tests of rule files: input rows, expected findings, rendered texts.

One runner for command line, pytest and page. In addition to each test it checks what no single test can: the texts of
every tier render, and each numeric threshold matters (with the parameter at its lowest and at its highest value the
same rows, under the test's other parameters, give different findings) or says why not (`boundary_waiver`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rules.case.case import Case
from rules.engine.run import Draft, Outcome, Runner, parameters, template_values
from rules.engine.sandbox import Sandbox
from rules.errors import RuleError
from rules.model import CaseSpec, Override, ParamUsed
from rules.writing.loader import MANAGER_MAX
from rules.writing.messages import MESSAGES, BadTemplate, render
from rules.writing.rule import Rule, RuleTest

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Result:
    """One test of one rule; `problems` is empty if it passed."""

    rule: str
    test: str
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.problems


def run_tests(rules: Iterable[Rule], sandbox: Sandbox | None = None) -> Iterator[Result]:
    """Yield a result per inline test, then one per rule called `texts and thresholds`. All run in one child process."""
    if sandbox is None:
        with Sandbox() as own:
            yield from run_tests(rules, own)
        return
    for rule in rules:
        for test in rule.file.tests:
            yield run_one(rule, test, sandbox)
        yield check_rule(rule, sandbox)


def check_rule(rule: Rule, sandbox: Sandbox) -> Result:
    """Check what no single test can: the texts of every tier render, and each threshold matters."""
    drafts = [d for test in rule.file.tests if (o := _tried(rule, test, sandbox)) for d in o.drafts]
    return Result(rule.id, "texts and thresholds", (*_texts(rule, drafts), *_thresholds(rule, sandbox)))


def run_one(rule: Rule, test: RuleTest, sandbox: Sandbox) -> Result:
    """Run one inline test."""
    return Result(rule.id, test.name, tuple(_problems(rule, test, sandbox)))


def outcome_of(rule: Rule, test: RuleTest, sandbox: Sandbox, params: Mapping[str, Any] | None = None) -> Outcome:
    """Return a rule's outcome on a test's rows; `params` are set regardless of their bounds."""
    values = {**test.params, **(params or {})}
    case = Case.of_tables(test.tables, CaseSpec())
    overrides = [Override(rule.id, name, value, "inline test", "test") for name, value in test.params.items()]
    used = {**parameters(rule, overrides), **{n: ParamUsed(v, None, "test") for n, v in values.items()}}
    with tempfile.TemporaryDirectory(prefix="exhibit-test-") as scratch:
        return Runner(case, sandbox, Path(scratch)).run_one(rule, used)


BROKEN = (RuleError, KeyError, TypeError, ValueError)
"""Exceptions that a wrong test raises; its own result names them."""


def _tried(rule: Rule, test: RuleTest, sandbox: Sandbox, params: Mapping[str, Any] | None = None) -> Outcome | None:
    try:
        return outcome_of(rule, test, sandbox, params)
    except BROKEN:
        return None


def _problems(rule: Rule, test: RuleTest, sandbox: Sandbox) -> Iterator[str]:
    try:
        outcome = outcome_of(rule, test, sandbox)
    except BROKEN as error:
        yield f"{type(error).__name__}: {error}"
        return
    if outcome.failed:
        yield f"failed: {outcome.failed}"
        return
    lacking = {n.text for needs in outcome.unmet.values() for n in needs}
    tables = {n.table for needs in outcome.unmet.values() for n in needs}
    if test.expect_not_evaluable is not None:
        for need in test.expect_not_evaluable:
            if need not in lacking | tables:
                yield f"expected not evaluable for {need}; lacking: {', '.join(sorted(lacking)) or 'nothing'}"
        if outcome.drafts:
            yield f"expected not evaluable, but {len(outcome.drafts)} findings"
        return
    if lacking and not outcome.drafts and not outcome.quiet:
        yield f"not evaluable: lacks {', '.join(sorted(lacking))}"
        return
    yield from _compare(test.expect or (), outcome.drafts)


def _compare(expected: Sequence[Mapping[str, Any]], drafts: Sequence[Draft]) -> Iterator[str]:
    if len(expected) != len(drafts):
        yield f"expected {len(expected)} findings, got {len(drafts)}: {', '.join(d.subject for d in drafts)}"
        return
    for n, (want, draft) in enumerate(zip(expected, drafts, strict=True)):
        got = values_of(draft)
        for key, value in want.items():
            if key not in got:
                yield f"finding {n}: there is no {key}; there are {', '.join(sorted(got))}"
            elif not _same(value, got[key]):
                yield f"finding {n}: {key} is {got[key]!r}, expected {value!r}"


def values_of(draft: Draft) -> dict[str, Any]:
    """Return everything a test may compare: the row's columns, then what the engine derived from them."""
    return {
        **draft.row,
        "subject": draft.subject,
        "tier": draft.tier,
        "kind": draft.kind,
        "layer": draft.layer,
        "decibans": draft.decibans,
        "severity": draft.severity,
        "contiguous": draft.contiguous,
        "by_statement": draft.by_statement,
        "evidence_lines": [f"{e.artifact}:{e.line_from}-{e.line_to}" for e in draft.evidence],
    }


def _same(want: Any, got: Any) -> bool:
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        return len(want) == len(got) and all(_same(w, g) for w, g in zip(want, got, strict=True))
    number = (int, float)
    if (
        isinstance(want, number)
        and isinstance(got, number)
        and not isinstance(want, bool)
        and not isinstance(got, bool)
    ):
        return abs(want - got) <= TOLERANCE
    return type(want) is type(got) and bool(want == got)


def _texts(rule: Rule, shown: Sequence[Draft]) -> Iterator[str]:
    """Yield problems of the texts: each tier's must render with a real row of that tier, the manager's in at most 160
    characters.
    """
    for tier in rule.file.confidence:
        of_tier = [d for d in shown if d.voice == tier]
        if not of_tier:
            yield f"no test shows the tier {tier}"
        for draft in of_tier:
            for which in MESSAGES:
                try:
                    text = render(rule.file.messages.template(which, tier), template_values(draft))
                except BadTemplate as error:
                    yield f"{which} ({tier}): {error}"
                    continue
                if which == "manager" and len(text) > MANAGER_MAX:
                    yield f"manager ({tier}) has {len(text)} characters, at most {MANAGER_MAX}"


def _thresholds(rule: Rule, sandbox: Sandbox) -> Iterator[str]:
    for name, param in rule.file.params.items():
        if param.type not in ("number", "int") or param.boundary_waiver:
            continue
        if not any(
            _decides(rule, t, name, cast(float, param.min), cast(float, param.max), sandbox) for t in rule.file.tests
        ):
            yield f"no test's rows lie on both sides of {name}: at {param.min} and at {param.max} they give the same"


def _decides(rule: Rule, test: RuleTest, name: str, low: float, high: float, sandbox: Sandbox) -> bool:
    both = [_tried(rule, test, sandbox, {name: value}) for value in (low, high)]
    return len({tuple((d.subject, d.kind, d.tier, d.layer) for d in o.drafts) for o in both if o}) > 1

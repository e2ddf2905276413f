"""Tests of level-1 forms: threshold, ratio and absence over one table, compiled to the contract of a query."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rules.case.case import Case
from rules.errors import RuleInvalid
from rules.judging.evaluate import judge
from rules.model import Finding
from rules.writing.loader import load
from rules.writing.rule import Rule
from tests.rules.writing.test_loader import LEVEL1

SEED002 = {
    0: (220, 90),
    1: (630, 88),
    3: (530, 87),
    5: (499, 90),
    6: (1534, 91),
    8: (546, 86),
    9: (1893, 89),
    11: (600, 10),
}
"""Failed mutex tries per second and kernel percent of some CPUs; user percent is 8, but 60 on CPU 11."""


def rule(when: dict[str, Any], **keys: Any) -> Rule:
    base = {k: v for k, v in LEVEL1.items() if k not in ("params", "requires")}
    plain: dict[str, Any] = {
        "requires": {"all": [when["table"].removesuffix("_i")]},
        "hypotheses": {"H-OS-LOCK": "tier"},
        "messages": {"headline": "{subject}: {magnitude:.1f}, {n} of {n_all}", "expert": "e", "manager": "m"},
        "tests": [
            {"name": "a", "expect": [{}]},
            {"name": "b", "expect": []},
            {"name": "c", "expect_not_evaluable": ["x"]},
        ],
    }
    return load(json.dumps({**base, **plain, "when": when, **keys}), "cpu/mutex-spinning.yaml")


def found(made: Rule, **tables: Any) -> list[Finding]:
    report = judge(Case.of_tables(tables), [made])
    assert [f.error for f in report.failed] == []
    return list(report.findings)


ROWS = [
    {"artifact_id": 1, "host": "db", "line_no": 10 + cpu, "sample": 1, "first": False, "cpu": cpu, "smtx": smtx, "sys": sys, "usr": 60 if cpu == 11 else 8}
    for cpu, (smtx, sys) in SEED002.items()
]  # fmt: skip
SPINNING = {
    "table": "mpstat_i",
    "where": [["smtx", ">", 500], ["sys", ">=", 20], ["sys", ">=", "@usr"]],
    "group_by": ["artifact_id", "host", "sample"],
    "having": [["count", "cpu", ">=", 2]],
    "magnitude": ["share", "cpu"],
    "corroborate": {"table": "locks", "where": [["event", "like", "%spin%"]]},
}


def test_a_share_of_the_groups_rows_against_a_column_and_a_number() -> None:
    (made,) = found(rule(SPINNING), mpstat=ROWS)
    assert (made.magnitude, made.headline, made.tier) == (62.5, "sample 1: 62.5, 5 of 8", "base")
    assert [(c.artifact, c.line_from, c.line_to) for c in made.citations] == [(1, 11, 19)]


def test_a_row_of_the_same_host_confirms_and_is_cited() -> None:
    locks = [
        {"artifact_id": 2, "host": "app", "line_no": 3, "event": "adaptive spin"},
        {"artifact_id": 3, "host": "db", "line_no": 4, "event": "adaptive spin"},
        {"artifact_id": 3, "host": "db", "line_no": 5, "event": "adaptive spin"},
    ]
    (made,) = found(rule(SPINNING), mpstat=ROWS, locks=locks)
    assert made.tier == "corroborated"
    assert [(c.artifact, c.line_from, c.role) for c in made.citations] == [(1, 11, "rows"), (3, 4, "confirms")]
    (made,) = found(rule(SPINNING), mpstat=ROWS, locks=locks[:1])
    assert made.tier == "base"


@pytest.mark.parametrize(
    ("change", "fires"),
    [
        ({"having": [["count", "cpu", ">=", 6]]}, False),
        ({"having": [["median", "smtx", ">", 630]]}, False),
        ({"having": [["max", "smtx", "=", 1893]]}, True),
        ({"having": [["share", "cpu", ">", 62.5]]}, False),
        ({"min_rows": 5}, True),
        ({"min_rows": 6}, False),
        ({"where": [["cpu", "in", [1, 3, 77]]], "having": [["sum", "smtx", "=", 1160]]}, True),
        ({"where": [["smtx", "between", [500, 600]]], "having": [["count", "cpu", "=", 3]]}, True),
        ({"where": [["smtx", "=", None]], "having": []}, False),
        ({"where": [["smtx", "!=", None]], "having": []}, True),
    ],
)
def test_conditions_and_aggregates(change: dict[str, Any], fires: bool) -> None:
    assert bool(found(rule({**SPINNING, **change}), mpstat=ROWS)) is fires


def test_each_sample_is_a_group_and_the_first_since_boot_is_none() -> None:
    later = [{**row, "sample": 2, "line_no": row["line_no"] + 50} for row in ROWS]
    boot = [{**row, "first": True} for row in ROWS]
    made = found(rule(SPINNING), mpstat=[*ROWS, *later])
    assert sorted(m.subject for m in made) == ["sample 1", "sample 2"]
    assert [m.subject for m in found(rule(SPINNING), mpstat=[*boot, *later])] == ["sample 2"]


def test_absence_cites_all_rows_in_which_nothing_was_found() -> None:
    absent = {
        "table": "ps",
        "where": [["comm", "=", "ora_dism"]],
        "having": [["count", "pid", "=", 0]],
        "magnitude": ["count", "pid"],
        "min_rows": 0,
    }
    listed = [{"artifact_id": 1, "host": "db", "line_no": n, "pid": n, "comm": "ora_smon"} for n in (3, 4, 5)]
    (made,) = found(rule(absent, confidence={"base": "shape"}), ps=listed)
    assert (made.magnitude, made.citations[0].line_from, made.citations[0].line_to) == (0, 3, 5)
    there = {"artifact_id": 1, "host": "db", "line_no": 6, "pid": 6, "comm": "ora_dism"}
    assert found(rule(absent, confidence={"base": "shape"}), ps=[*listed, there]) == []


@pytest.mark.parametrize(
    ("when", "keys", "where", "why"),
    [
        ({"table": "mpstatt"}, {}, "when", "there is no table 'mpstatt' (did you mean mpstat?)"),
        ({"where": [["smtxx", ">", 1]]}, {}, "when", "mpstat_i has no column 'smtxx' (did you mean smtx?)"),
        ({"min_rows": -1}, {}, "when.min_rows", "must be a whole number from 0"),
        ({}, {"confidence": {"base": "shape"}}, "confidence.corroborated", "is required with when.corroborate"),
        ({"having": [["mode", "cpu", ">", 1]]}, {}, "when.having[0]", "aggregate must be one of"),
        ({"having": [["count", "cpu", "like", 1]]}, {}, "when.having[0]", "cannot stand here"),
        ({"where": [["smtx", "~", 1]]}, {}, "when.where[0]", "operator must be one of"),
    ],
)
def test_a_wrong_form_is_named(when: dict[str, Any], keys: dict[str, Any], where: str, why: str) -> None:
    with pytest.raises(RuleInvalid) as error:
        rule({**SPINNING, **when}, requires={"all": ["mpstat"]}, **keys)
    assert error.value.key == where
    assert why in error.value.why

"""Tests of outcomes per host, the result contract, parameters and overrides, with one made-up rule over rows in memory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from rules.case.case import Case
from rules.clocks import clock_map as clocks
from rules.engine.run import Outcome, Runner, aligned, parameters
from rules.engine.sandbox import Rows, Sandbox
from rules.errors import CaseInvalid
from rules.judging.evaluate import judge
from rules.model import CaseSpec, HostSpec, Override, Symptom
from rules.writing.loader import load
from rules.writing.rule import Rule
from tests.rules.writing.test_loader import LEVEL1

GOOD = "pid::varchar as subject, 1.0 as magnitude, host, [ev(artifact_id, line_no, line_no, 'row')] as evidence"
QUIET: dict[str, Any] = {"name": "quiet", "tables": {"ps": [{"host": "a", "line_no": 1}]}, "expect": []}


def rule(select: str = GOOD, tail: str = "order by line_no", **changes: Any) -> Rule:
    made = {**LEVEL1, "query": f"select {select} from ps {tail}", "requires": {"all": ["ps"]}, "params": {}, **changes}
    made["messages"] = changes.get("messages", {"headline": "{subject}", "expert": "{subject}", "manager": "{subject}"})
    made.setdefault("severity", {})
    made["severity"] = changes.get(
        "severity", {"from": "magnitude", "unit": "s", "minor": 0.5, "major": 1, "critical": 3}
    )
    del made["when"]
    made["tests"] = [QUIET, {**QUIET, "name": "two"}, {"name": "fires", "tables": {}, "expect": [{"subject": "x"}]}]
    return load(yaml.safe_dump(made))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as child:
        yield child


def run(
    sandbox: Sandbox, folder: Path, made: Rule, rows: list[dict[str, Any]], spec: CaseSpec | None = None
) -> Outcome:
    case = Case.of_tables({"ps": rows}, spec)
    (outcome,) = Runner(case, sandbox, folder).run([made], case.spec.rules.overrides)
    return outcome


ROWS = [{"host": "a", "line_no": 1, "pid": 5}, {"host": "b", "line_no": 2, "pid": 6}]


def test_each_host_has_one_outcome(sandbox: Sandbox, tmp_path: Path) -> None:
    spec = CaseSpec(hosts={"a": HostSpec(), "b": HostSpec(), "c": HostSpec()})
    outcome = run(sandbox, tmp_path, rule(tail="where host = 'a'"), [*ROWS, {"line_no": 3, "pid": 7}], spec)
    assert [d.host for d in outcome.drafts] == ["a"]
    assert outcome.quiet == ("b", None)
    assert list(outcome.unmet) == ["c"]


def test_a_rule_for_other_systems_or_roles_asks_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    spec = CaseSpec(hosts={"a": HostSpec(os="linux", role="client")})
    only: list[dict[str, Any]] = [{"os": ["solaris"]}, {"roles": ["db"]}]
    for changes in only:
        outcome = run(sandbox, tmp_path, rule(**changes), [], spec)
        assert (outcome.applies, outcome.quiet, dict(outcome.unmet)) == (False, (None,), {})
    assert run(sandbox, tmp_path, rule(os=["linux"], roles=["client"]), [], spec).unmet.keys() == {"a"}


def test_requirements(sandbox: Sandbox, tmp_path: Path) -> None:
    def unmet(requires: dict[str, Any]) -> list[str]:
        spec = CaseSpec(hosts={"a": HostSpec(), "b": HostSpec()})
        outcome = run(sandbox, tmp_path, rule(requires=requires), ROWS, spec)
        return [n.text for n in outcome.unmet.get("a", ())]

    assert unmet({"all": ["ps.pid", {"table": "ps", "where": [["pid", "=", 5]]}]}) == []
    assert unmet({"all": ["ps.comm"]}) == ["ps.comm"]
    assert unmet({"all": [{"table": "ps", "where": [["pid", "=", 6]], "min_rows": 2}]}) == ["ps[pid = 6] x 2"]
    assert unmet({"all": ["ps"], "any": ["pmap", "vmstat.r"]}) == ["pmap", "vmstat.r"]
    assert unmet({"all": ["ps"], "any": ["pmap", "ps.pid"]}) == []
    assert unmet({"all": ["statement:rss_kb"]}) == ["statement:rss_kb"]


def test_what_no_runnable_rule_needs_is_not_built(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    derived = Case.derived

    def told(case: Case, name: str) -> pl.DataFrame:
        built.append(name)
        return derived(case, name)

    monkeypatch.setattr(Case, "derived", told)
    confirmed = {"all": ["ps"], "confirms": ["call_profile"]}
    assert not run(sandbox, tmp_path, rule(requires=confirmed), []).drafts
    assert built == []
    outcome = run(sandbox, tmp_path, rule(requires=confirmed), ROWS)
    assert len(outcome.drafts) == 2
    assert [n.text for n in outcome.helps["a"]] == ["call_profile"]
    assert "call_profile" in built


def test_needs_of_one_table_are_counted_in_one_query(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    query = Sandbox.query

    def noted(child: Sandbox, name: str, sql: str, *more: Any) -> Rows:
        asked.append(sql)
        return query(child, name, sql, *more)

    monkeypatch.setattr(Sandbox, "query", noted)
    one = rule(requires={"all": ["ps.pid"], "confirms": [{"table": "ps", "where": [["pid", "=", 6]]}]})
    other = rule(id="TST-902", slug="other", requires={"all": ["ps.comm"], "any": ["ps", "statement:rss_kb"]})
    case = Case.of_tables({"ps": ROWS}, CaseSpec(hosts={"a": HostSpec(), "b": HostSpec()}))
    first, second = Runner(case, sandbox, tmp_path).run([one, other])
    assert [sql.count("count(*)") for sql in asked if "count(*)" in sql] == [4]
    assert {host: [n.text for n in needs] for host, needs in first.helps.items()} == {"a": ["ps[pid = 6]"], "b": []}
    assert {host: [n.text for n in needs] for host, needs in second.unmet.items()} == {
        host: ["ps.comm"] for host in "ab"
    }


def test_a_need_that_cannot_be_counted_fails_its_own_rule_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    fine = rule(requires={"all": ["ps.pid"]})
    absurd = rule(id="TST-902", slug="other", requires={"all": [{"table": "ps", "where": [["comm", "=", 5]]}]})
    case = Case.of_tables({"ps": [{**row, "comm": "oracle"} for row in ROWS]})
    first, second = Runner(case, sandbox, tmp_path).run([fine, absurd])
    assert len(first.drafts) == 2
    assert "Could not convert" in (second.failed or "")


BREACHES = {
    "no subject": ("null::varchar as subject, 1 as magnitude, [ev(1, 1, 1, 'x')] as evidence", "subject must be text"),
    "no magnitude": (
        "'x' as subject, 'big' as magnitude, [ev(1, 1, 1, 'x')] as evidence",
        "magnitude must be a number",
    ),
    "no evidence": ("'x' as subject, 1 as magnitude, [] as evidence", "evidence is empty"),
    "half evidence": ("'x' as subject, 1 as magnitude, [ev(1, null, 1, 'x')] as evidence", "is incomplete"),
    "line 0": ("'x' as subject, 1 as magnitude, [ev(1, 0, 1, 'x')] as evidence", "line 0 does not exist"),
    "unknown tier": (GOOD + ", 'contradicted' as tier", "no confidence for the tier"),
    "unknown kind": (GOOD + ", 'guess' as kind", "kind is"),
    "unknown layer": (GOOD + ", 'dba' as layer", "layer is"),
    "broken": (GOOD + ", 'broken' as contiguous", "blames a gap"),
    "unknown contiguous": (GOOD + ", 'maybe' as contiguous", "contiguous is"),
    "unknown cap": (GOOD + ", 'huge' as cap", "cap is"),
    "clears an unknown layer": (
        GOOD + ", ['dba'] as clears, 1.0 as clear_s, 1 as clear_n, 'x' as clear_scope",
        "clears",
    ),
    "clearing without seconds": (
        GOOD + ", ['network'] as clears, 1 as clear_n, 'x' as clear_scope",
        "a clearing needs",
    ),
    "clearing without requests": (
        GOOD + ", ['network'] as clears, 1.0 as clear_s, 'x' as clear_scope",
        "a clearing needs",
    ),
    "clearing under 10 dB": (
        GOOD + ", ['network'] as clears, 1.0 as clear_s, 1 as clear_n, 'x' as clear_scope",
        "clear nobody",
    ),
    "a function that fails": (
        "'x' as subject, (pid / 0)::int as magnitude, [ev(1, 1, 1, 'x')] as evidence, 'x'::int as y",
        "ConversionException",
    ),
}


@pytest.mark.parametrize(("select", "words"), BREACHES.values(), ids=BREACHES.keys())
def test_a_breach_of_the_contract_fails_the_rule(sandbox: Sandbox, tmp_path: Path, select: str, words: str) -> None:
    outcome = run(sandbox, tmp_path, rule(select), ROWS)
    assert outcome.failed is not None
    assert words in outcome.failed
    assert outcome.drafts == ()


def test_a_severity_by_a_column_that_is_no_number_fails(sandbox: Sandbox, tmp_path: Path) -> None:
    outcome = run(
        sandbox, tmp_path, rule(GOOD + ", 'x' as big", severity={"from": "big", "unit": "s", "minor": 1}), ROWS
    )
    assert "severity is by big" in (outcome.failed or "")


def test_caps(sandbox: Sandbox, tmp_path: Path) -> None:
    def decibans(extra: str) -> int:
        return (
            run(sandbox, tmp_path, rule(GOOD + extra, confidence={"base": "mechanism_and_artefact"}), ROWS)
            .drafts[0]
            .decibans
        )

    assert decibans("") == 20
    assert decibans(", 'assumed' as contiguous") == 15
    assert decibans(", 'proven' as contiguous") == 20
    assert decibans(", 'signature' as cap, 'assumed' as contiguous") == 10


def test_lines_that_do_not_ascend_are_two_ranges(sandbox: Sandbox, tmp_path: Path) -> None:
    made = run(sandbox, tmp_path, rule("'x' as subject, 1 as magnitude, host, [ev(1, 9, 3, 'gap')] as evidence"), ROWS)
    assert [(e.line_from, e.line_to) for e in made.drafts[0].evidence] == [(9, 9), (3, 3)]


def test_more_rows_become_one_finding(sandbox: Sandbox, tmp_path: Path) -> None:
    rows = [{"host": "a", "line_no": n, "pid": n} for n in range(1, 8)]
    outcome = run(sandbox, tmp_path, rule(max_rows=2), rows)
    assert [(d.subject, d.more) for d in outcome.drafts] == [("1", 0), ("2", 0), ("3 and 4 more", 5)]
    assert [d.more for d in run(sandbox, tmp_path, rule(max_rows=6), rows).drafts][-1] == 1


def test_severity_by_share_of_the_symptom_only_where_the_seconds_lie_in_it(sandbox: Sandbox, tmp_path: Path) -> None:
    spec = CaseSpec(symptom=Symptom(unit="s", bad=12, normal=2))

    def severity(extra: str, spec: CaseSpec | None, value: float) -> str:
        select = GOOD.replace("1.0 as magnitude", f"{value}::double as magnitude") + extra
        return run(sandbox, tmp_path, rule(select), ROWS, spec).drafts[0].severity

    assert severity("", spec, 2.0) == "major"
    assert severity(", true as in_symptom", spec, 5.0) == "critical"
    assert severity(", true as in_symptom", spec, 2.0) == "major"
    assert severity(", true as in_symptom", spec, 0.6) == "minor"
    assert severity(", true as in_symptom", spec, 0.4) == "info"
    assert severity(", true as in_symptom", None, 5.0) == "critical"
    assert severity(", 'measurement' as layer", spec, 5.0) == "major"


def test_parameters_last_wins_and_origin_is_kept() -> None:
    made = load(
        yaml.safe_dump(
            {**LEVEL1, "tests": [QUIET, {**QUIET, "name": "two"}, {"name": "fires", "expect": [{"subject": "x"}]}]}
        )
    )
    said = [
        Override("CPU-903", "smtx", 700, "busy host", "A", "room"),
        Override("CPU-903", "smtx", 600, "site rule", "B", "site"),
        Override("CPU-903", "sys", 30, "old", "C", "team", expires="2020-01-01"),
        Override("OTHER-1", "sys", 30, "other rule", "C"),
    ]
    used = parameters(made, said, datetime(2026, 1, 1, tzinfo=UTC))
    assert (used["smtx"].value, used["smtx"].origin) == (700, "room A: busy host")
    assert (used["sys"].value, used["sys"].origin) == (20, "rule")
    with pytest.raises(CaseInvalid, match="50"):
        parameters(made, [Override("CPU-903", "smtx", 1, "r", "A")])
    with pytest.raises(CaseInvalid, match="no such parameter"):
        parameters(made, [Override("CPU-903", "x", 1, "r", "A")])


@pytest.mark.parametrize("kind", [ZeroDivisionError, pl.exceptions.PanicException])
def test_a_fault_of_one_rule_concerns_no_other(kind: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise kind("planted")

    case = Case.of_tables({"ps": ROWS})
    monkeypatch.setattr("rules.engine.views.build", broken)
    made = judge(case, [rule()])
    assert [(f.rule, f.error) for f in made.failed] == [("CPU-903", f"rule: requires: {kind.__name__}: planted")]
    monkeypatch.undo()
    monkeypatch.setattr(clocks, "align", broken)
    assert aligned(case) == (None, f"{kind.__name__}: planted")
    made = judge(case, [rule()])
    assert [f.rule for f in made.failed] == ["CLOCKS"]
    assert [f.subject for f in made.findings] == ["5", "6"]


def test_a_text_that_cannot_be_filled_fails_the_rule() -> None:
    made = judge(Case.of_tables({"ps": ROWS}), [rule(messages={"headline": "{nosuch}", "expert": "e", "manager": "m"})])
    assert made.findings == ()
    assert [f.rule for f in made.failed] == ["CPU-903"]


def test_drafts_and_deprecated_rules_do_not_run() -> None:
    assert judge(Case.of_tables({"ps": ROWS}), [rule(status="draft"), rule(status="deprecated")]).findings == ()


def test_nothing_wrong_seen_needs_a_measured_layer_and_the_symptom_in_reach() -> None:
    silent = rule(tail="where pid = 99")

    def state(spec: CaseSpec, **tables: Any) -> str:
        return judge(Case.of_tables({"ps": ROWS, **tables}, spec), [silent]).verdict.state

    assert state(CaseSpec()) == "cannot tell", "nobody said what is slow"
    assert state(CaseSpec(symptom=Symptom(text="login"))) == "cannot tell", "no artifact covers any time"
    assert state(CaseSpec(symptom=Symptom(text="login")), conn_times=[{"line_no": 1, "elapsed_s": 0.09}]) == (
        "nothing wrong seen"
    )
    slow = CaseSpec(symptom=Symptom(text="login", unit="s", bad=3.0, normal=0.3))
    assert state(slow) == "cannot tell"
    assert state(slow, conn_times=[{"line_no": 1, "elapsed_s": 3.5}]) == "cannot tell", "the slow login itself is seen"
    slow = CaseSpec(symptom=Symptom(text="login", unit="s", bad=0.08, normal=0.01))
    assert state(slow, conn_times=[{"line_no": 1, "elapsed_s": 0.09}]) == "nothing wrong seen", "nobody feels it"
    assert state(CaseSpec(symptom=Symptom(text="rate", unit="1/s", bad=3.0))) == "cannot tell"
    timed: dict[str, Any] = {"ps": ROWS, "conn_times": [{"line_no": 1, "elapsed_s": 0.09}]}
    made = judge(Case.of_tables(timed, slow), [silent])
    assert made.verdict.sentence == "Nothing wrong seen in what was measured: os kernel."
    assert judge(Case.of_tables(timed, slow), [rule()]).verdict.state == "cannot tell"


def test_suspected_and_undecided_sentences() -> None:
    strong = rule(hypotheses={"H-OS-LOCK": "tier"}, confidence={"base": "mechanism"})
    made = judge(Case.of_tables({"ps": ROWS}), [strong]).verdict
    assert (made.state, made.hypothesis, made.sentence) == ("suspect", "H-OS-LOCK", "Suspected: 5.")
    both = rule(hypotheses={"H-OS-LOCK": "tier", "H-NET": "signature"}, confidence={"base": "signature"})
    made = judge(Case.of_tables({"ps": ROWS}), [both]).verdict
    assert made.state == "undecided"
    assert made.sentence.startswith("Undecided between ")

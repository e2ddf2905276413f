"""Tests of what runs again after a change: rules by the tables they need, derived tables by artifact, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rules import registry
from rules.case.case import Alignment, Case
from rules.case.reading import open_paths
from rules.engine import views
from rules.engine.run import Outcome, Runner
from rules.engine.sandbox import Sandbox
from rules.engine.slices import Slices
from rules.errors import RuleInvalid, RuleTooSlow
from rules.model import CaseSpec, HostSpec, Override, Statement
from rules.writing.rule import Rule
from tests.rules.judging.test_verdict import rule

TRUSS = """22626:	 8.6926	0.0100	0.0001	fork1()						= {parent}
{parent}:	 8.7000	0.0010	0.0001	fork1()		(returning as child ...)	= 22626
{parent}:	 8.7229	0.0229	0.0001	fork1()						= {child}
{child}:	 8.7300	0.0010	0.0001	fork1()		(returning as child ...)	= {parent}
{child}:	12.0249	3.2949	0.0001	write(17, " N T P 0   {spaced}\\n", 10)		= 10
22626:	12.0252	3.3023	0.0001	read(16, " N T P 0   {spaced}\\n", 64)		= 10
"""
VMSTAT = """procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 900000  10000 200000    0    0     0     0  100  200  1  1 98  0  0
 1  0      0 900000  10000 200000    0    0     0     0  100  200  1  1 98  0  0
"""


def truss(child: int) -> str:
    return TRUSS.format(parent=child - 1, child=child, spaced=" ".join(str(child)))


@pytest.fixture
def spec(tmp_path: Path) -> CaseSpec:
    """Return a case of two traces and one vmstat of two hosts."""
    folder = tmp_path / "evidence"
    folder.mkdir()
    (folder / "a.truss").write_text(truss(3731))
    (folder / "b.truss").write_text(truss(4821))
    (folder / "v.txt").write_text(VMSTAT)
    (folder / "case.yaml").write_text(
        "artifacts: [{file: a.truss, host: db1}, {file: b.truss, host: db2}, {file: v.txt, host: db1}]\n"
    )
    made, status = open_paths([folder], None, tmp_path / "readings")
    assert status == 0
    return made


QUERY = (
    "select '{0}' as subject, count(*)::double as magnitude, max(host) as host, [ev(min(artifact_id), min({1}), min({1}), 'x')] as evidence "
    "from {0} having count(*) > 0"
)


def counting(number: int, table: str, more: str = "") -> Rule:
    return rule(
        number, {}, table=table, query=QUERY.format(table, "line_read" if table == "pipe_pairs" else "line_no") + more
    )


class Asked(Runner):
    """Records which rules were really queried; the counting of needs is not recorded."""

    queried: list[str]

    def _query(self, rule: Rule, sql, params, parts):  # type: ignore[no-untyped-def]  # as in the class above
        self.queried.append(rule.id)
        return super()._query(rule, sql, params, parts)


def run(
    spec: CaseSpec, rules: list[Rule], tmp_path: Path, overrides: tuple[Override, ...] = (), add: float = 0.0
) -> tuple[list[str], list[Outcome]]:
    case = Case(spec, tmp_path / "cache")
    if add:
        case.align({c.clock: Alignment("A", add, 0.0) for c in case.clocks})
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    for old in scratch.iterdir():
        old.unlink()
    with Sandbox() as sandbox:
        runner = Asked(case, sandbox, scratch, tmp_path / "cache")
        runner.queried = []
        outcomes = runner.run(rules, overrides)
    assert [o.failed for o in outcomes if o.failed] == []
    return runner.queried, outcomes


def test_a_rule_runs_again_only_when_a_table_it_needs_changed(tmp_path: Path, spec: CaseSpec) -> None:
    calls, memory, starts = counting(901, "syscalls"), counting(902, "vmstat"), counting(903, "pipe_pairs")
    rules = [calls, memory, starts]
    two = replace(spec, artifacts=spec.artifacts[:2])
    assert run(two, rules, tmp_path)[0] == ["CPU-901", "CPU-903"], "without vmstat the second cannot run"
    assert run(two, rules, tmp_path)[0] == []
    queried, outcomes = run(spec, rules, tmp_path)
    assert queried == ["CPU-902"], "one more artifact of another kind"
    assert [d.magnitude for o in outcomes for d in o.drafts] == [12.0, 2.0, 2.0]
    one = replace(spec, artifacts=(spec.artifacts[0], spec.artifacts[2]))
    assert run(one, rules, tmp_path)[0] == ["CPU-901", "CPU-903"]
    assert run(spec, rules, tmp_path)[0] == [], "back to what was known"


def test_other_things_that_run_a_rule_again(tmp_path: Path, spec: CaseSpec) -> None:
    asked = rule(901, {}, table="syscalls", query=QUERY.format("syscalls", "line_no") + " and max(dur_hi_s) >= $least",
                 params={"least": {"type": "number", "default": 0, "min": 0, "max": 9, "why": "practice"}})  # fmt: skip
    rules = [asked, counting(902, "vmstat"), counting(903, "pipe_pairs")]
    run(spec, rules, tmp_path)
    assert run(spec, rules, tmp_path, (Override("CPU-901", "least", 1, "r", "A"),))[0] == ["CPU-901"]
    assert run(replace(spec, statements=(Statement("workers", 2),)), rules, tmp_path)[0] == []
    assert run(replace(spec, hosts={"db1": HostSpec(ncpu=4)}), rules, tmp_path)[0] == []
    parts = (replace(spec.artifacts[1].parts[0], phase="after"),)
    other = replace(spec, artifacts=(spec.artifacts[0], replace(spec.artifacts[1], parts=parts), spec.artifacts[2]))
    assert run(other, rules, tmp_path)[0] == ["CPU-901", "CPU-903"], (
        "a phase that a person corrected is joined to the rows"
    )


def test_the_common_axis_concerns_only_who_reads_it(tmp_path: Path, spec: CaseSpec) -> None:
    rules = [counting(901, "syscalls"), counting(902, "syscalls", " and count(t) >= 0")]
    run(spec, rules, tmp_path, add=1.0)
    assert run(spec, rules, tmp_path, add=2.0)[0] == ["CPU-902"]


def test_a_derived_table_is_built_again_only_for_what_is_new(
    tmp_path: Path, spec: CaseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = registry.derived()["pipe_pairs"]
    built: list[tuple[int, ...]] = []
    build = module.build

    def watched(case: Case):  # type: ignore[no-untyped-def]  # a frame
        built.append(tuple(a.id for a in case.spec.artifacts))
        return build(case)

    monkeypatch.setattr(module, "build", watched)
    one = replace(spec, artifacts=spec.artifacts[:1])
    alone = Case(one, tmp_path / "cache").derived("pipe_pairs")
    assert built == [(1,)]
    both = Case(replace(spec, artifacts=spec.artifacts[:2]), tmp_path / "cache").derived("pipe_pairs")
    assert built == [(1,), (2,)]
    assert both.filter(both["artifact_id"] == 1).equals(alone)
    assert sorted(both["writer_pid"]) == [3731, 4821]
    again = Case(spec, tmp_path / "cache")
    assert again.derived("pipe_pairs").equals(both)
    assert built == [(1,), (2,)], "an artifact of another kind is not even looked at"
    whole = build(Case(spec))
    assert both.sort("artifact_id", "line_read").equals(whole.sort("artifact_id", "line_read"))


def test_a_damaged_file_of_the_cache_is_made_again(tmp_path: Path, spec: CaseSpec) -> None:
    rules = [counting(902, "vmstat")]
    run(spec, rules, tmp_path)
    for kept in (tmp_path / "cache").rglob("*.json"):
        kept.write_text(json.dumps({"rows": []})[:5])
    queried, outcomes = run(spec, rules, tmp_path)
    assert queried == ["CPU-902"]
    assert outcomes[0].drafts[0].magnitude == 2.0


PART = """select artifact_id, host, min(line_no) as line_no, count(*) filter (where dur_hi_s >= $least) as n
          from syscalls group by artifact_id, host"""
WITH_PART: dict[str, Any] = {
    "parts": {"r905_calls": PART},
    "params": {"least": {"type": "number", "default": 0, "min": 0, "max": 9, "why": "practice"}},
    "query": """select 'calls ' || (select count(*) from vmstat) as subject, n::double as magnitude, host,
                       [ev(artifact_id, line_no, line_no, 'x')] as evidence
                from r905_calls where n > 0 order by artifact_id""",
}


def found(outcomes: list[Outcome]) -> list[tuple[str | None, str, float, list[int]]]:
    return [(d.host, d.subject, d.magnitude, [e.artifact for e in d.evidence]) for o in outcomes for d in o.drafts]


def test_a_part_of_a_rule_is_asked_of_new_artifacts_only(
    tmp_path: Path, spec: CaseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, tuple[int, ...]]] = []
    build = views.build

    def watched(case: Case, wanted: Iterable[str], scratch: Path) -> dict[str, str]:
        named = list(wanted)
        asked.append((named[0], tuple(a.id for a in case.spec.artifacts)))
        return build(case, named, scratch)

    monkeypatch.setattr("rules.engine.slices.views.build", watched)
    rules = [rule(905, {}, table="syscalls", **WITH_PART)]
    one = replace(spec, artifacts=(spec.artifacts[0], spec.artifacts[2]))
    queried, outcomes = run(one, rules, tmp_path)
    assert found(outcomes) == [("db1", "calls 2", 4.0, [1])]
    asked.clear()
    queried, outcomes = run(spec, rules, tmp_path)
    assert queried == ["CPU-905"]
    assert found(outcomes) == [("db1", "calls 2", 4.0, [1]), ("db2", "calls 2", 4.0, [2])]
    assert ("syscalls", (2,)) in asked
    assert ("syscalls", (1, 2, 3)) not in [(name, held) for name, held in asked if name == "syscalls"]
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    assert found(run(spec, rules, fresh)[1]) == found(outcomes)

    asked.clear()
    less = (*spec.artifacts[:2],)
    queried, outcomes = run(replace(spec, artifacts=less), rules, tmp_path)
    assert queried == ["CPU-905"], "vmstat is gone, which the query reads itself"
    assert [subject for _, subject, _, _ in found(outcomes)] == ["calls 0", "calls 0"]
    assert [name for name, _ in asked if name == "syscalls"] == []

    other = (replace(spec.artifacts[1], parts=(replace(spec.artifacts[1].parts[0], host="db9"),)), *spec.artifacts[2:])
    outcomes = run(replace(spec, artifacts=(spec.artifacts[0], *other)), rules, tmp_path)[1]
    assert [host for host, *_ in found(outcomes)] == ["db1", "db9"], "a corrected host is joined anew"
    outcomes = run(spec, rules, tmp_path, (Override("CPU-905", "least", 1, "r", "A"),))[1]
    assert [n for _, _, n, _ in found(outcomes)] == [2.0, 2.0], "a threshold in a part"


def test_a_part_without_rows_is_an_empty_table(tmp_path: Path, spec: CaseSpec) -> None:
    rules = [rule(905, {}, table="vmstat", **WITH_PART)]
    outcomes = run(replace(spec, artifacts=spec.artifacts[2:]), rules, tmp_path)[1]
    assert found(outcomes) == []
    assert outcomes[0].quiet == ("db1",)


def test_kept_slices_that_are_gone_are_made_again(tmp_path: Path, spec: CaseSpec) -> None:
    rules = [rule(905, {}, table="syscalls", **WITH_PART)]
    before = found(run(spec, rules, tmp_path)[1])
    for kept in (tmp_path / "cache").rglob("slices/*.parquet"):
        kept.unlink()
    for kept in (tmp_path / "cache").rglob("rules/*.json"):
        kept.unlink()
    assert found(run(spec, rules, tmp_path)[1]) == before


def test_a_room_is_asked_in_lots_and_what_some_gave_stays(
    tmp_path: Path, spec: CaseSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [rule(905, {}, table="syscalls", **WITH_PART)]
    fresh = tmp_path / "whole"
    fresh.mkdir()
    whole = found(run(spec, rules, fresh)[1])
    monkeypatch.setattr("rules.engine.slices.LOT", 5)
    lots: list[tuple[int, ...]] = []
    write = Slices._write

    def watched(self: Slices, name: str, case: Case, *more: Any) -> None:
        lots.append(tuple(a.id for a in case.spec.artifacts))
        if broken and lots[-1] == (2,):
            raise RuleTooSlow(name, "30 s are over")
        write(self, name, case, *more)

    monkeypatch.setattr(Slices, "_write", watched)
    broken = True
    with pytest.raises(AssertionError, match="30 s"):
        run(spec, rules, tmp_path)
    assert lots == [(1,), (2,)]
    broken = False
    assert found(run(spec, rules, tmp_path)[1]) == whole
    assert lots == [(1,), (2,), (2,)], "the first lot is not asked again"
    uncached = Case(spec)
    with Sandbox() as sandbox:
        assert found(Runner(uncached, sandbox, tmp_path / "scratch").run(rules)) == whole
    assert lots[3:] == [(1,), (2,)]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ({"calls": PART}, "begins with r905_"),
        ({"r905_calls": PART.replace("syscalls", "statements")}, "statements"),
        ({"r905_calls": PART.replace("syscalls", "changes")}, "changes"),
        ({"r905_calls": PART.replace("syscalls", "findings")}, "findings"),
        ({"r905_calls": PART.replace("count(*)", "count(t)")}, "t_local"),
        ({"r905_calls": PART.replace("artifact_id", "pid")}, "artifact_id"),
        ({"r905_calls": PART, "r905_more": PART}, "not read"),
    ],
)
def test_a_part_that_more_than_its_artifact_would_change_is_refused(part: dict[str, str], why: str) -> None:
    with pytest.raises(RuleInvalid, match=why):
        rule(905, {}, table="syscalls", **{**WITH_PART, "parts": part})


def test_needs_of_what_others_found_are_counted_with_a_cache(tmp_path: Path, spec: CaseSpec) -> None:
    first = counting(901, "vmstat")
    second = rule(906, {}, table="findings", stage=2)
    outcomes = run(spec, [first, second], tmp_path)[1]
    assert [len(o.drafts) for o in outcomes] == [1, 1]
    assert [len(o.drafts) for o in run(spec, [first, second], tmp_path)[1]] == [1, 1]

"""Tests of the evidence behind the board: the published boards from the whole texts, digit by digit, and verdicts
without a piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rules import registry
from rules.case.case_yaml import dump_case_yaml, load_case_yaml
from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.judging.scoring import CAUSES
from rules.model import CaseSpec, EvidenceGroup, FreeHypothesis, Report, Statement
from rules.writing.loader import load_file
from tests.rules.incidents import seed001
from tests.rules.library import library
from tests.rules.traces import SEEDS

CASES = Path(__file__).parents[2] / "cases"
WHOLE = pytest.mark.skipif(not SEEDS.is_dir(), reason="the published texts are not here")
SQL_IS_FAST = "said by DBA: after the connection is made, SQL is very fast"
COLUMNS = ("H-NET", "H-CLIENT", "H-LISTENER", "H-NSS", "H-OS-SHM", "H-DB-SQL")


def whole(number: str, folder: Path) -> CaseSpec:
    (text,) = SEEDS.glob(f"{number}_*.txt")
    spec, status = open_paths([text], CASES / f"{number}.yaml", folder)
    assert status == 0
    return spec


@pytest.fixture(scope="module")
def seed_001(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return evaluate(whole("001", tmp_path_factory.mktemp("001")), rules=library())


@pytest.fixture(scope="module")
def seed_004(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report with the author's statement on the database, which the published board counts and the text
    mentions.
    """
    spec = whole("004", tmp_path_factory.mktemp("004"))
    said = Statement("H-DB-SQL", text="slightly against: Oracle workload is not high", author="author")
    return evaluate(replace(spec, statements=(*spec.statements, said)), rules=library())


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> CaseSpec:
    spec, status = open_paths([seed001.CASE], None, tmp_path_factory.mktemp("cut"))
    assert status == 0
    return spec


@pytest.fixture(scope="module")
def report(cut: CaseSpec) -> Report:
    return evaluate(cut, rules=library())


FEW = [
    load_file(registry.LIBRARY / f"{name}.yaml")
    for name in (
        "ipc/shm-attach-stall-dism",
        "network/client-wait-covered",
        "network/network-bounded-out",
        "listener/listener-waits-for-child",
        "compare/change-had-effect",
    )
]
"""Rules that suffice for a leader and its chain: the whole library takes seconds for each case."""


def judged(spec: CaseSpec) -> Report:
    return evaluate(spec, rules=FEW)


def groups(report: Report) -> Mapping[str, EvidenceGroup]:
    return {g.name: g for g in report.board.groups}


def row(cells: Mapping[str, int]) -> list[int]:
    return [cells.get(code, 0) for code in COLUMNS]


@WHOLE
def test_the_published_board_of_seed_001(seed_001: Report) -> None:
    its = groups(seed_001)
    assert {name: row(its[name].cells) for name in ("wait-cover", "child-wait", "shm-attach", "syn-ladder", "before-after", SQL_IS_FAST)} == {
        "wait-cover": [-10, -10, 0, 3, 3, 0],
        "child-wait": [0, 0, -3, 3, 3, 0],
        "shm-attach": [0, 0, 0, -6, 15, 0],
        "syn-ladder": [-3, 0, 0, 0, 0, 0],
        "before-after": [0, 0, 0, 0, 10, 0],
        SQL_IS_FAST: [-3, 0, 0, 0, 0, -10],
    }  # fmt: skip
    (chain,) = seed_001.board.chains
    assert {"wait-cover", "child-wait", "shm-attach"} <= set(chain.groups)
    assert row(chain.cells) == [-10, -10, -3, -6, 15, 0]
    scores = {h.code: h.score for h in seed_001.hypotheses}
    assert row(scores) == [-16, -10, -3, -6, 25, -10]
    further = ("H-SERVER-SLOW", "H-NET-LOSS", "H-CONN-CHURN", "H-CFG-DISM", "H-OS-CPU", "H-OS-MEM", "H-STORAGE")
    assert [scores[c] for c in further] == [15, -3, 16, 6, 3, 3, 3]
    assert scores["H-CFG"] <= 0
    assert (seed_001.verdict.state, seed_001.verdict.hypothesis, seed_001.verdict.margin) == ("cause", "H-OS-SHM", 22)


@WHOLE
def test_what_seed_001_rests_on(seed_001: Report) -> None:
    its = groups(seed_001)
    for name, kept in (("shm-attach", 13), ("before-after", 15)):
        without = its[name].without
        assert (without.leader, without.kept, without.state, without.support) == ("H-OS-SHM", kept, "suspect", "fair")
    assert its["syn-ladder"].without.state == its[SQL_IS_FAST].without.state == "cause"


@WHOLE
def test_the_published_board_of_seed_004(seed_004: Report) -> None:
    scores = {h.code: h.score for h in seed_004.hypotheses}
    assert [scores.get(c, 0) for c in ("H-OS-CPU", "H-FORK-STORM", "H-STORAGE", "H-SINGLE-FILE", "H-DB-SQL")] == [10, 6, 0, 0, -3]  # fmt: skip
    assert (seed_004.verdict.state, seed_004.verdict.margin) == ("undecided", 4)
    assert "Undecided between" in seed_004.verdict.sentence
    its = groups(seed_004)
    assert its["cpu-load"].cells["H-OS-CPU"] == 10
    assert (its["cpu-load"].spread, its["cpu-load"].discriminates) == (10, True)
    said = its["said by author: Oracle workload is not high"]
    assert (said.said_by, said.spread, said.discriminates) == ("author", 3, False)
    sure = its["fork-storm"].without
    assert (sure.state, sure.leader, sure.kept) == ("suspect", "H-OS-CPU", 10)
    assert its["cpu-load"].without.kept == 0
    asked = {w.rule for w in seed_004.board.wanted if w.overturns}
    assert {"IO-001", "LSN-001"} <= asked, "any fair sign for another cause would do at a margin of 4"


def test_a_group_and_a_chain_have_what_counts_and_what_does_not(report: Report) -> None:
    its = groups(report)
    assert [g.spread for g in report.board.groups if not g.discriminates] == [
        g.spread for g in report.board.groups if g.spread < 6
    ]
    assert its["shm-attach"].title == "New server process stalls attaching dynamic shared memory"
    keys = {f.key for f in report.findings}
    assert all(set(g.findings) <= keys for g in report.board.groups)
    assert its["wait-cover"].cells["H-NSS"] == 3, "not counted, for shm-attach says -6 of the same seconds"
    assert dict(next(h for h in report.hypotheses if h.code == "H-NSS").cells) == {"shm-attach": -6}
    against = {h.code: h.against for h in report.hypotheses}
    nss = against["H-NSS"]
    assert nss is not None
    assert (nss.decibans, nss.group) == (-6, "shm-attach")
    assert nss.finding in keys
    assert against["H-OS-SHM"] is None


def test_relations_of_causes(report: Report) -> None:
    of = {h.code: h for h in report.hypotheses}
    assert (of["H-NET-LOSS"].part_of, of["H-CFG-DISM"].why_of) == ("H-NET", "H-OS-SHM")
    assert (of["H-SERVER-SLOW"].role, of["H-CONN-CHURN"].role, of["H-OTHER"].role) == ("umbrella", "demand", "other")
    assert (of["H-NET"].origin, of["H-OS-MEM"].origin, of["H-NET"].layer) == ("fixed", "named", "network")


def test_without_the_memory_map_the_finding_keeps_its_base_weight(report: Report) -> None:
    its = {a.kind: a.without for a in report.board.artifacts if a.kind in ("pmap", "truss")}
    assert (its["pmap"].kept, its["pmap"].margin, its["pmap"].leader) == (20, 17, "H-OS-SHM")
    assert (its["truss"].kept, its["truss"].state) == (13, "suspect")


def test_machine_and_people_apart_and_together(cut: CaseSpec) -> None:
    words = (
        Statement("H-NET", text="for: pings were slow", author="Ann"),
        Statement("H-OS-SHM", text="against: pings were slow", author="Ann"),
        Statement("H-NET", text="strongly against: the switch counts no errors", author="Bo"),
    )
    made = judged(replace(cut, statements=(*(s for s in cut.statements if not s.name.startswith("H-")), *words)))
    of = {h.code: (h.machine, h.people, h.score) for h in made.hypotheses}
    assert of["H-NET"] == (-10, -4, -14)
    assert of["H-OS-SHM"] == (25, -6, 19)
    row = groups(made)["said by Ann: pings were slow"]
    assert (row.said_by, row.reason, row.title, dict(row.cells), row.spread, row.findings) == (
        "Ann", "pings were slow", "pings were slow", {"H-NET": 6, "H-OS-SHM": -6}, 12, (),
    )  # fmt: skip
    assert (made.verdict.state, row.without.state, row.without.kept) == ("suspect", "cause", 25)
    network = next(h for h in made.hypotheses if h.code == "H-NET").against
    assert network is not None
    assert (network.decibans, network.finding is None) == (-10, network.group.startswith("said by"))


def test_a_free_hypothesis_stands_with_its_words_also_after_export(cut: CaseSpec) -> None:
    free = FreeHypothesis("H-BACKUP", "the backup reads the same disks", "storage", "Ann")
    said = Statement("H-BACKUP", text="for: it starts at the same minute", author="Ann")
    spec = replace(cut, hypotheses=(free,), statements=(*cut.statements, said))
    made = judged(spec)
    column = next(h for h in made.hypotheses if h.code == "H-BACKUP")
    assert (column.cause, column.layer, column.origin, column.score) == (free.cause, "storage", "free", 6)
    assert (column.machine, column.people) == (0, 6)
    again = load_case_yaml(dump_case_yaml(spec)).spec(spec.artifacts)
    assert again.hypotheses == (free,)
    exported = judged(again)
    assert (exported.hypotheses, exported.board) == (made.hypotheses, made.board)
    unsaid = evaluate(replace(cut, hypotheses=(free,)), rules=())
    assert any(h.code == "H-BACKUP" and h.score == 0 for h in unsaid.hypotheses), "it stands without evidence too"


def test_a_free_hypothesis_that_cannot_stand_is_told(cut: CaseSpec) -> None:
    bad = tuple(FreeHypothesis(c, "mine") for c in ("H-NET", "backup", "H-TAPE", "H-TAPE"))
    made = evaluate(replace(cut, hypotheses=bad), rules=())
    why = [f.error for f in made.failed if f.rule == "CASE"]
    assert [w.partition(":")[0] for w in why if w.startswith("hypotheses")] == [
        f"hypotheses[{n}].code" for n in (0, 1, 3)
    ]
    assert next(h.cause for h in made.hypotheses if h.code == "H-NET") == CAUSES["H-NET"].text


def test_what_could_overturn_the_leader(report: Report) -> None:
    wanted = report.board.wanted
    assert wanted
    assert [w.shift for w in wanted] == sorted((w.shift for w in wanted), reverse=True)
    assert all(w.shift > 0 and w.overturns == (w.shift >= 22) for w in wanted)
    own = [w for w in wanted if w.rule == "SHM-001"]
    assert {w.needs for w in own} >= {("unbroken trace",), ("pmap of the same start",)}
    assert {(w.towards, w.overturns, w.finding is None) for w in own} == {(None, True, False)}
    codes = {h.code for h in report.hypotheses} | set(CAUSES)
    assert {w.towards for w in wanted} - {None} <= codes - {"H-OS-SHM", "H-SERVER-SLOW", "H-CFG-DISM", "H-CFG-NUMA"}
    asked = {(n.rule, n.host, n.ask) for n in report.not_evaluable}
    assert all((w.rule, w.host, w.ask) in asked for w in wanted if w.finding is None)


def test_an_empty_case_has_an_empty_board() -> None:
    board = judged(CaseSpec()).board
    assert (board.groups, board.chains, board.artifacts) == ((), (), ())
    assert all(w.overturns == (w.shift >= 10) for w in board.wanted), "where nobody leads a fair sign makes a suspect"

"""Tests of the verdict: two kinds of evidence, weak counters, disjoint seconds, ties, people's opinions, statements
without evidence.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rules.case.case import Case
from rules.case.statements import problems
from rules.judging import scoring
from rules.judging.evaluate import judge
from rules.model import CaseSpec, Clock, Override, Report, RuleChoices, Statement, Symptom
from rules.writing.inline_tests import run_tests
from rules.writing.loader import load
from rules.writing.rule import Rule
from tests.rules.writing.test_loader import LEVEL1

BASE: dict[str, Any] = {k: v for k, v in LEVEL1.items() if k not in ("when", "params", "query")}


def rule(number: int, cells: dict[str, Any], *, table: str = "ps", group: str | None = None, confidence: str = "mechanism", columns: str = "",
         **keys: Any) -> Rule:  # fmt: skip
    """Return a rule that fires once per row of a table; the row gives host and times."""
    return load(
        json.dumps(
            BASE
            | {
                "id": f"CPU-{number}",
                "slug": f"r{number}",
                "requires": {"all": [table]},
                "hypotheses": cells,
                "evidence_group": group or f"g{number}",
                "confidence": {"base": confidence, "corroborated": confidence},
                "severity": {"from": "magnitude", "unit": "s", "minor": 1},
                "messages": {"headline": f"finding {number}", "expert": "e", "manager": "m"},
                "query": f"""select '{table}' as subject, 2.0 as magnitude, host, [ev(artifact_id, line_no, line_no, 'row')] as evidence{columns}
                             from {table} order by artifact_id, line_no""",
                "tests": [
                    {"name": "a", "expect": [{}]},
                    {"name": "b", "expect": []},
                    {"name": "c", "expect_not_evaluable": [table]},
                ],
            }
            | keys
        ),
        f"cpu/r{number}.yaml",
    )


def judged(rules: list[Rule], spec: CaseSpec | None = None, **tables: list[dict[str, Any]]) -> Report:
    rows = {"ps": [{"artifact_id": 1, "host": "db", "line_no": 1}], "vmstat": [{"artifact_id": 2, "host": "db", "line_no": 1}], **tables}  # fmt: skip
    made = judge(Case.of_tables(rows, spec), rules)
    assert [f.error for f in made.failed if f.rule != "CASE"] == []
    return made


LOCK, NET = {"H-OS-LOCK": "tier"}, {"H-NET": "tier"}


def test_two_artifacts_of_one_host_make_a_cause_and_one_only_a_suspect() -> None:
    assert judged([rule(901, LOCK), rule(902, LOCK)]).verdict.state == "suspect", "both from the same file"
    assert judged([rule(901, LOCK), rule(902, LOCK, table="vmstat")]).verdict.state == "cause"
    other = [{"artifact_id": 2, "host": "app", "line_no": 1}]
    assert judged([rule(901, LOCK), rule(902, LOCK, table="vmstat")], vmstat=other).verdict.state == "suspect"
    nowhere = [{"artifact_id": 2, "host": None, "line_no": 1}]
    assert judged([rule(901, LOCK), rule(902, LOCK, table="vmstat")], vmstat=nowhere).verdict.state == "suspect"
    same = [rule(901, LOCK, group="g"), rule(902, LOCK, table="vmstat", group="g")]
    assert judged(same).verdict.state == "suspect", "one group counts once: 15 dB"


def test_a_corroborated_finding_of_two_artifacts_is_two_kinds_unless_they_are_of_different_starts() -> None:
    both = ", [ev(1, 1, 1, 'a'), ev(2, 1, 1, 'b')] as evidence, 'corroborated' as tier"

    def made(more: str) -> Report:
        query = f"select 's' as subject, 2.0 as magnitude, host{both}{more} from ps order by line_no"
        return judged([rule(901, LOCK, confidence="mechanism_and_artefact", query=query)])

    assert made("").verdict.state == "cause"
    assert made(", true as id_mismatch").verdict.state == "suspect"


@pytest.mark.parametrize(("change", "state"), [("mechanism", "cause"), ("counter", "suspect")])
def test_time_accounting_with_an_intervention_is_two_kinds(change: str, state: str) -> None:
    timed = rule(901, LOCK, columns=", 0.6 as request_share", confidence="mechanism_and_artefact")
    after = rule(902, LOCK, group="before-after", confidence=change)
    made = judged([timed, after]).verdict
    assert (made.state, made.share) == (state, 0.6)
    less = rule(901, LOCK, columns=", 0.49 as request_share", confidence="mechanism_and_artefact")
    assert judged([less, after]).verdict.state == "suspect"


def test_counters_alone_blame_nobody_whatever_their_sum() -> None:
    weak = [
        rule(901, LOCK, confidence="shape"),
        rule(902, LOCK, table="vmstat", confidence="shape"),
        rule(903, LOCK, table="vmstat", confidence="counter"),
    ]
    made = judged(weak)
    assert {h.code: h.score for h in made.hypotheses}["H-OS-LOCK"] == 15
    assert (made.verdict.state, made.verdict.layer, made.verdict.rules) == ("cannot tell", None, ())
    assert judged([*weak, rule(904, LOCK, confidence="signature")]).verdict.state == "suspect"


def test_a_tie_stays_a_tie_and_names_every_rival_within_the_margin() -> None:
    made = judged([rule(901, LOCK), rule(902, NET, confidence="signature"), rule(903, {"H-STORAGE": "tier"}, confidence="counter")])  # fmt: skip
    assert (made.verdict.state, made.verdict.hypothesis, made.verdict.margin) == ("undecided", "H-OS-LOCK", 5)
    assert (
        made.verdict.sentence == "Undecided between contention on a kernel lock and network path is slow: finding 901."
    )
    tied = judged([rule(901, LOCK), rule(902, NET)]).verdict
    assert (tied.state, tied.margin) == ("undecided", 0)


CYCLE = {"artifact_id": 1, "host": "db", "clock": "1.1:1", "pid": 1, "lwp": 1, "cycle": 1, "t_accept": 1.0, "t_end": 2.0, "complete": True,
         "line_accept": 1, "line_end": 9}  # fmt: skip


@pytest.mark.parametrize(
    ("begin", "end", "state", "names"),
    [
        (1.5, 1.9, "suspect", ("CPU-902", "CPU-901")),
        (1.4, 1.9, "undecided", ("CPU-902",)),  # the same seconds: rivals
        (1.5, 2.1, "undecided", ("CPU-902",)),  # not in one request
    ],
)
def test_causes_of_disjoint_seconds_of_one_request_are_named_together(
    begin: float, end: float, state: str, names: tuple[str, ...]
) -> None:
    def timed(first: float, last: float) -> str:
        return f", '1.1:1' as clock, {first} as t_from, {last} as t_to"

    seconds = {"from": "magnitude", "unit": "pct", "minor": 1}
    rules = [
        rule(901, LOCK, columns=timed(1.1, 1.45), severity=seconds),
        rule(902, {"H-NSS": "tier"}, columns=timed(begin, end), severity=seconds),
    ]
    made = judged(rules, listener_cycles=[CYCLE]).verdict
    assert (made.state, made.rules) == (state, names)
    if state == "suspect":
        assert made.hypothesis == "H-NSS", "the larger share first"
        assert made.sentence == "Suspected: finding 902; in other seconds of the same request: finding 901."


def test_a_finding_that_says_only_its_end_stands_there() -> None:
    ended = rule(901, LOCK, columns=", '1.1:1' as clock, 1.2 as t_to")
    later = rule(902, {"H-NSS": "tier"}, columns=", '1.1:1' as clock, 1.5 as t_from, 1.9 as t_to")
    made = judged([ended, later], listener_cycles=[CYCLE]).verdict
    assert (made.state, set(made.rules)) == ("suspect", {"CPU-901", "CPU-902"})
    outside = rule(901, LOCK, columns=", '1.1:1' as clock, 2.2 as t_to")
    assert judged([outside, later], listener_cycles=[CYCLE]).verdict.state == "undecided"


def test_a_reason_attaches_and_never_leads() -> None:
    made = judged([rule(901, {"H-OS-SHM": "tier"}), rule(902, {"H-CFG-DISM": "tier"}, confidence="mechanism_and_artefact", layer="configuration")])  # fmt: skip
    assert (made.verdict.state, made.verdict.hypothesis, made.verdict.layer) == ("suspect", "H-OS-SHM", "os_kernel")
    assert made.verdict.margin == 15
    assert judged([rule(902, {"H-CFG-DISM": "tier"})]).verdict.state == "cannot tell"


def test_the_layer_is_that_of_the_strongest_finding_for_the_leader() -> None:
    made = judged([rule(901, {"H-OS-LOCK": "signature"}, confidence="mechanism_and_artefact", layer="database"), rule(902, LOCK)])  # fmt: skip
    assert made.verdict.layer == "os_kernel"


def test_the_board_says_what_a_suspicion_rests_on() -> None:
    made = judged([rule(901, LOCK), rule(902, LOCK, table="vmstat", confidence="counter")])
    assert made.hypotheses[0].rests_on == ("g901",)


def test_words_of_people_weigh_and_are_told_apart() -> None:
    said = (
        Statement("H-DB-SQL", text="strongly against: SQL is fast once connected", author="DBA"),
        Statement("H-NET", text="slightly against: SQL is fast once connected", author="DBA"),
        Statement("H-NET", text="against: ping is fine", author="lead"),
    )
    made = judged([rule(901, LOCK), rule(902, NET, confidence="counter")], CaseSpec(statements=said))
    board = {h.code: (h.score, h.said) for h in made.hypotheses}
    assert board["H-DB-SQL"] == (-10, -10)
    assert board["H-NET"] == (-6, -9)
    assert board["H-OS-LOCK"] == (15, 0)
    assert scoring.opinions(said)[0].cells == {"H-DB-SQL": -10, "H-NET": -3}
    alone = judged([], CaseSpec(statements=(Statement("H-NET", text="strongly for: I say so", author="lead"),)))
    assert alone.verdict.state == "cannot tell", "words alone blame nobody"
    assert list(problems((Statement("H-NET", text="surely: x"),), None)) == [
        "statements[0].text: evidence on H-NET begins with one of strongly for, for, slightly for, neutral, slightly against, "
        "against, strongly against and a colon, then the reason"
    ]


def test_what_rests_on_words_alone_is_minor_and_base() -> None:
    query = """select s.name as subject, 9.0 as magnitude, 'corroborated' as tier, s.num as n, [] as evidence from statements s order by s.name"""
    spoken = rule(901, LOCK, requires={"all": ["statement:defunct"]}, query=query, severity={"from": "magnitude", "unit": "n", "major": 5})  # fmt: skip
    made = judged([spoken], CaseSpec(statements=(Statement("defunct", 50),)))
    (found,) = made.findings
    assert (found.severity, found.tier, found.by_statement, found.citations, found.decibans) == (
        "minor",
        "base",
        True,
        (),
        15,
    )
    shown = rule(901, LOCK, query="select 'x' as subject, 9.0 as magnitude, [] as evidence from ps order by pid")
    broken = judge(Case.of_tables({"ps": [{"line_no": 1}]}), [shown])
    assert [f.error for f in broken.failed] == ["cpu/r901.yaml: query: result row 'x': evidence is empty"]


def test_a_changed_threshold_stands_in_the_text() -> None:
    asked = rule(901, LOCK, params={"least": {"type": "number", "default": 0.5, "min": 0.01, "max": 60, "unit": "s", "why": "practice"}},
                 query="select 's' as subject, $least::double as magnitude, host, [ev(artifact_id, line_no, line_no, 'x')] as evidence from ps")  # fmt: skip
    own = judged([asked]).findings[0]
    assert own.expert == "e"
    changed = (Override("CPU-901", "least", 0.2, "fast host", "DBA", "team"),)
    made = judged([asked], CaseSpec(rules=RuleChoices(changed))).findings[0]
    assert made.expert == "e Changed threshold: least is 0.2 s instead of 0.5 s, set by team DBA: fast host."
    assert made.params["least"].origin == "team DBA: fast host"


def test_nothing_wrong_needs_nothing_above_info() -> None:
    slow = CaseSpec(symptom=Symptom("login", "s", 0.08, 0.01))
    times = [{"artifact_id": 3, "host": "db", "line_no": 1, "elapsed_s": 0.09}]  # nobody feels it
    silent = rule(901, LOCK, query="select 's' as subject, 1.0 as magnitude, host, [ev(1, 1, 1, 'x')] as evidence from ps where pid = 77")  # fmt: skip
    assert judged([silent], slow, conn_times=times).verdict.state == "nothing wrong seen"
    weak = rule(902, LOCK, confidence="counter")
    assert judged([silent, weak], slow, conn_times=times).verdict.state == "cannot tell", "a minor finding is something"
    info = rule(902, LOCK, confidence="counter", severity={"from": "magnitude", "unit": "s"})
    assert judged([silent, info], slow, conn_times=times).verdict.state == "nothing wrong seen"
    quality = replace(weak, file=replace(weak.file, layer="measurement"))
    assert judged([silent, quality], slow, conn_times=times).verdict.state == "nothing wrong seen"


def test_nothing_wrong_needs_seconds_of_more_than_one_attached_thread() -> None:
    slow = CaseSpec(symptom=Symptom("a service uses a whole processor"))
    silent = rule(901, LOCK, query="select 's' as subject, 1.0 as magnitude, host, [ev(1, 1, 1, 'x')] as evidence from ps where pid = 77")  # fmt: skip

    def state(
        seconds: float, lwps: tuple[int, ...], first: str = "read", last: str = "read", at: tuple[float, ...] = ()
    ) -> str:
        stamps = dict(enumerate(at, 1))
        rows: dict[str, list[dict[str, Any]]] = {
            "ps": [{"artifact_id": 1, "host": "db", "line_no": 1}],
            "syscalls": [
                {"artifact_id": 3, "host": "db", "clock": "c", "line_no": n, "pid": 7, "lwp": lwps[n % len(lwps)], "t_local": stamps.get(n)}
                | {"name": {1: first, 9: last}.get(n, "read")}
                for n in range(1, 10)
            ],
        }  # fmt: skip
        case = Case.of_tables(rows, slow)
        clock = Clock("c", 3, 1, "trace-relative", None, None, "db", ((1, 9),), 0.0, seconds, "c")
        vars(case)["clocks"] = (clock,)
        return judge(case, [silent]).verdict.state

    assert state(0.3, (1, 2)) == "cannot tell", "a third of a second is a glimpse"
    assert state(6.0, (1,)) == "cannot tell", "other threads may spin meanwhile"
    assert state(6.0, (1, 2)) == "nothing wrong seen"
    assert state(6.0, (1,), "execve") == "nothing wrong seen", "the whole program is in the trace"
    assert state(0.3, (1,), "execve", "exit_group") == "nothing wrong seen", "however short, it is the whole command"
    assert state(9.0, (1, 2), at=(0, 1, 2, 3, 4, 5, 6, 7, 9)) == "nothing wrong seen"
    assert state(9.0, (1, 2), at=(0, 1, 2, 3, 8.1, 8.2, 8.3, 8.4, 9)) == "cannot tell", "half of the time is not in it"
    assert state(0.3, (1,), "execve") == state(0.3, (1,), "read", "exit_group") == "cannot tell"


def test_nothing_wrong_is_not_said_beside_a_wait_that_people_feel() -> None:
    slow = CaseSpec(symptom=Symptom("login", "s", 1.0, 0.1))
    times = [{"artifact_id": 3, "host": "db", "line_no": 1, "elapsed_s": 1.5}]
    silent = rule(901, LOCK, query="select 's' as subject, 1.0 as magnitude, host, [ev(1, 1, 1, 'x')] as evidence from ps where pid = 77")  # fmt: skip
    verdict = judged([silent], slow, conn_times=times).verdict
    assert verdict.state == "cannot tell"
    assert "What stands out most: " in verdict.sentence
    assert verdict.headline.endswith(". Why is not visible yet.")
    assert "1.500 s" in verdict.headline


def test_the_rules_of_this_file_are_rules() -> None:
    assert list(run_tests([rule(901, LOCK)]))


def test_what_breaks_beside_the_rules_is_named_and_the_report_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("planted")

    for name in ("requests_of", "whose_seconds", "_compared"):
        monkeypatch.setattr(f"rules.judging.evaluate.{name}", broken)
    made = judge(Case.of_tables({"ps": [{"artifact_id": 1, "host": "db", "line_no": 1}]}), [rule(901, LOCK)])
    assert {f.rule: f.error for f in made.failed} == dict.fromkeys(
        ("REQUESTS", "WHOSE SECONDS", "COMPARED"), "ZeroDivisionError: planted"
    )
    assert (made.verdict.state, made.verdict.rules, made.compared) == ("suspect", ("CPU-901",), ())

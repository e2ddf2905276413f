"""Tests of the published incident of seed 001 from raw text to verdict: its numbers, its twins, and both ways to the
same report.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from rules.case.reading import open_paths
from rules.judging.evaluate import RUNS, evaluate
from rules.model import CaseSpec, Report, Statement
from tests.rules.incidents import seed001
from tests.rules.library import library, shipped_rules

ROOT = Path(__file__).parents[3]


def judged(folder: Path, out: Path) -> Report:
    spec, status = open_paths([folder], None, out)
    assert status == 0
    return evaluate(spec, rules=library())


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> CaseSpec:
    made, status = open_paths([seed001.CASE], None, tmp_path_factory.mktemp("readings"))
    assert status == 0
    return made


@pytest.fixture(scope="module")
def report(spec: CaseSpec) -> Report:
    return evaluate(spec, rules=library())


def test_the_verdict_is_the_attach_of_shared_memory(report: Report) -> None:
    v = report.verdict
    assert (v.state, v.rules, v.layer, v.hypothesis, v.support) == (
        "cause",
        ("SHM-001",),
        "os_kernel",
        "H-OS-SHM",
        "good",
    )
    assert (v.margin, v.share) == (22, 0.7422)
    assert "2.473 of 3.333 s" in v.sentence
    assert any("unbroken trace" in m for m in v.missing)
    assert any("pmap of the same start" in m for m in v.missing)


def test_the_board(report: Report) -> None:
    scores = {h.code: h.score for h in report.hypotheses}
    assert scores["H-OS-SHM"] == 25
    assert (scores["H-NET"], scores["H-CLIENT"], scores["H-LISTENER"], scores["H-NSS"]) == (-16, -10, -3, -6)
    assert (scores["H-SERVER-SLOW"], scores["H-CONN-CHURN"], scores["H-DB-SQL"]) == (15, 16, -10)
    leader = report.hypotheses[0]
    assert dict(leader.cells) == {"before-after": 10, "shm-attach": 15}
    assert leader.rests_on == ("before-after", "shm-attach")


def test_the_attach(report: Report) -> None:
    (found,) = seed001.findings(report, "SHM-001")
    assert (found["tier"], found["decibans"], found["severity"], found["contiguous"]) == (
        "corroborated",
        15,
        "major",
        "assumed",
    )
    facts = found["facts"]
    assert isinstance(facts, dict)
    assert (facts["stall_s"], facts["id_mismatch"], facts["seg_gib"], facts["shm_kind"]) == (
        2.4734,
        True,
        17.875,
        "dism",
    )
    assert "0x3C0000000" in facts["call"]
    assert [(c["file"], c["line_from"], c["line_to"]) for c in found["citations"]] == [
        ("truss-listener.txt", 14, 30),
        ("pmap-smon.txt", 6, 7),
    ]
    assert "0x3C0000000" in found["citations"][0]["text"].splitlines()[-1]
    assert {c["layer"]: c["seconds"] for c in found["clears"]} == {"client_host": 2.4734, "network": 2.4734}
    assert found["group"] == "cause"
    assert any("ids of the two artifacts differ" in a for a in found["against"])


def test_the_listener_waits_for_its_child(report: Report) -> None:
    (found,) = seed001.findings(report, "LSN-003")
    assert (found["facts"]["wait_s"], found["facts"]["child_s"], found["decibans"], found["severity"]) == (
        3.3326,
        3.3023,
        15,
        "critical",
    )
    assert found["group"] == "along"
    assert [(c["line_from"], c["line_to"]) for c in found["citations"]] == [(1, 6)]


def test_who_waits_for_whom(report: Report) -> None:
    (found,) = seed001.findings(report, "NET-001")
    facts = found["facts"]
    assert (facts["client_s"], facts["server_s"], facts["residual_s"], facts["off_lo"], facts["off_hi"]) == (
        1.872,
        1.792,
        0.08,
        0.157,
        0.237,
    )
    assert (found["magnitude"], found["tier"], found["decibans"], found["severity"], found["by_statement"]) == (
        95.7,
        "base",
        10,
        "critical",
        True,
    )
    network, client = [c for c in report.cleared if c.rule == "NET-002"]
    assert (network.layer, client.layer, network.seconds, network.requests, network.decibans) == (
        "network",
        "client_host",
        1.792,
        1,
        -10,
    )
    assert network.bound == "at most 0.080 s of 1.872 s"


def test_clocks(report: Report) -> None:
    accepted = [c for c in report.clock_map if c.accepted]
    assert [(c.clock, c.ref, c.off_lo, c.off_hi) for c in accepted] == [("2.1:1", "1.1:1", 0.157, 0.237)]
    (refused,) = [c for c in report.clock_map if not c.accepted]
    assert refused.reason is not None
    assert "1.5406" in refused.reason
    (pair,) = accepted[0].pairs
    assert (accepted[0].n_pairs, pair.off_lo, pair.off_hi) == (1, 0.157, 0.237)
    assert pair.clock_lines[0] < pair.clock_lines[1]
    assert pair.ref_lines[0] < pair.ref_lines[1]
    assert [p.ref_lines for p in refused.pairs] == [pair.clock_lines], "the same wait of the listener"
    frames = {c.clock: c.frame for c in report.clocks}
    assert frames["1.1:1"] == frames["2.1:1"] != frames["3.1:1"]


def test_the_changes(report: Report) -> None:
    first, both, second = report.compared
    assert (first.n, first.median, first.hl_shift, first.ci) == ((21, 20), (0.31, 0.13), -0.17, (-0.19, -0.15))
    assert (both.n, both.median) == ((21, 27), (0.31, 0.05))
    assert (second.n, second.median) == ((20, 27), (0.13, 0.05))
    weights = {f["subject"]: (f["tier"], f["decibans"], f["severity"]) for f in seed001.findings(report, "CMP-001")}
    assert weights["before to after-1"] == ("base", 10, "info")
    (tail,) = seed001.findings(report, "CMP-002")
    assert (tail["tier"], tail["decibans"], tail["facts"]["p_zero"], tail["facts"]["n_needed"]) == (
        "base",
        3,
        0.135,
        30,
    )


def test_a_connection_per_item(report: Report) -> None:
    (found,) = seed001.findings(report, "LSN-006")
    assert (
        found["magnitude"],
        found["facts"]["mean_s"],
        found["severity"],
        found["decibans"],
        found["by_statement"],
    ) == (42.9, 0.6438, "major", 10, True)


def test_whose_seconds_add_up(report: Report) -> None:
    whose = report.whose_seconds
    assert whose is not None
    assert [(p.seconds, p.kind) for p in whose.pieces] == [
        (0.0303, "traced"),
        (0.5958, "untraced"),
        (2.4734, "culprit"),
        (0.2328, "untraced"),
        (0.0003, "rest"),
    ]
    assert round(sum(p.seconds for p in whose.pieces), 9) == whose.total_s == 3.3326
    assert all(p.citations for p in whose.pieces)
    assert [p.label for p in whose.pieces if p.at_most and p.kind == "culprit"] == ["shmat in pid 3731"]


def test_each_rule_stands_once(report: Report) -> None:
    fired = {(f.rule, f.host) for f in report.findings}
    assert {r for r, _ in fired} >= {"CMP-001", "CMP-002", "LSN-003", "LSN-006", "NET-001", "NET-002", "SHM-001"}
    assert not fired & {(n.rule, n.host) for n in report.not_evaluable}
    assert not {r for r, _ in fired} & {n.rule for n in report.not_evaluable if n.host is None}
    assert [f for f in report.failed if f.rule != "CASE"] == []


def test_the_truth_of_the_case(report: Report) -> None:
    truth = yaml.safe_load((seed001.CASE / "truth.yaml").read_text(encoding="utf-8"))
    assert report.verdict.state == truth["state"]
    assert report.verdict.layer == truth["layer"]
    for rule in ("SHM-001", "LSN-003", "NET-001", "NET-002", "LSN-006", "CMP-001", "CMP-002"):
        want = truth["rules"][rule]
        found = [f for f in seed001.findings(report, rule) if f["subject"] == want["subject"]]
        assert [(f["severity"], f["tier"], f["decibans"]) for f in found] == [
            (want["severity"], want["tier"], want["decibans"])
        ], rule
        assert {k: found[0]["facts"][k] for k in want["facts"]} == want["facts"]
    assert report.verdict.layer not in truth["forbidden_layers"]


# --- no constant of the seed stands in a condition --------------------------------------------------------------------


def test_other_processes_addresses_and_hosts(tmp_path: Path, report: Report) -> None:
    other = judged(seed001.write(tmp_path / "case", seed001.other_names), tmp_path / "out")
    assert [(f.rule, f.tier, f.decibans, f.severity, f.magnitude) for f in other.findings] == [
        (f.rule, f.tier, f.decibans, f.severity, f.magnitude) for f in report.findings
    ]
    assert (other.verdict.state, other.verdict.hypothesis, other.verdict.margin) == ("cause", "H-OS-SHM", 22)
    (found,) = seed001.findings(other, "SHM-001")
    assert (found["subject"], found["host"]) == ("pid 19081", "ora-7")
    assert "0x7C0000000" in found["facts"]["call"]


@pytest.mark.parametrize("factor", [0.3, 3])
def test_other_times(tmp_path: Path, factor: float) -> None:
    other = judged(seed001.write(tmp_path / "case", seed001.scaled(factor)), tmp_path / "out")
    (attach,) = seed001.findings(other, "SHM-001")
    assert attach["facts"]["stall_s"] == pytest.approx(2.4734 * factor, abs=2e-4)
    assert attach["severity"] == ("minor" if factor < 1 else "critical")
    (listener,) = seed001.findings(other, "LSN-003")
    assert listener["facts"]["wait_s"] == pytest.approx(3.3326 * factor, abs=2e-4)
    (cover,) = seed001.findings(other, "NET-001")
    assert cover["facts"]["client_s"] == pytest.approx(1.872 * factor, abs=2e-3)
    assert cover["magnitude"] == pytest.approx(95.7, abs=0.3)
    medians = [c.median for c in other.compared]
    assert medians[0] == pytest.approx((0.31 * factor, 0.13 * factor), abs=1e-3)
    assert (other.verdict.state, other.verdict.hypothesis) == ("cause", "H-OS-SHM")
    assert other.verdict.share == pytest.approx(0.7422, abs=1e-3)


def test_without_the_stall_nobody_is_blamed_for_attaching(tmp_path: Path) -> None:
    other = judged(seed001.write(tmp_path / "case", seed001.without_stall), tmp_path / "out")
    assert seed001.findings(other, "SHM-001") == []
    assert "SHM-001" in other.quiet
    (listener,) = seed001.findings(other, "LSN-003")
    assert listener["facts"]["wait_s"] == pytest.approx(0.8626, abs=1e-4)
    assert other.verdict.state != "cause"


def test_without_statements_nobody_ties_the_traces(tmp_path: Path, spec: CaseSpec, report: Report) -> None:
    bare = evaluate(replace(spec, statements=()), rules=library())
    assert {f.rule for f in bare.findings} >= {"CMP-001", "CMP-002", "LSN-003", "SHM-001"}
    assert not {f.rule for f in bare.findings} & {"NET-001", "NET-002", "LSN-006"}
    unmet = {n.rule: n.needs for n in bare.not_evaluable}
    assert unmet["LSN-006"] == ("statement:work_rate",)
    assert "NET-001" in unmet
    assert "NET-002" not in {c.rule for c in bare.cleared}
    assert bare.verdict.state == report.verdict.state


def test_an_empty_case_cannot_tell() -> None:
    made = evaluate(CaseSpec())
    assert made.verdict.state == "cannot tell"
    assert {n.rule for n in made.not_evaluable} >= {
        "CMP-001",
        "CMP-002",
        "LSN-003",
        "LSN-006",
        "NET-001",
        "NET-002",
        "SHM-001",
    }
    assert made.findings == ()
    assert made.whose_seconds is None


# --- a lost packet gives the same picture as an idle listener ---------------------------------------------------------

CLIENT = """[14-APR-2016 05:58:39:329] nsprecv: entry
[14-APR-2016 05:58:39:329] nsprecv: reading from transport...
[14-APR-2016 05:58:39:329] nttrd: entry
[14-APR-2016 05:58:42:401] nttrd: socket 516 had bytes read=8
[14-APR-2016 05:58:42:401] nttrd: exit
"""
LISTENER = """[14-APR-2016 05:58:39:566] nsevwait: 4 registered connection(s)
[14-APR-2016 05:58:39:566] nsevwait: 0 pre-posted event(s)
[14-APR-2016 05:58:39:566] nsevwait: waiting for transport event (1 thru 5)...
[14-APR-2016 05:58:42:558] nsevwait: 1 newly-posted event(s)
[14-APR-2016 05:58:42:558] nsevfnt: cxd: 0x222b28 stage 0: NT events set:
        CONNECTION REQUEST
[14-APR-2016 05:58:42:558] nsevfnt: cxd: 0x222b28 stage 0: NS events set:
        INCOMING CALL
"""


def test_lost_packet_twin_clears_nobody(tmp_path: Path) -> None:
    """Check a request that was lost and sent again 3 s later: the listener was idle until it arrived."""
    (tmp_path / "client-trace.txt").write_text(CLIENT, encoding="utf-8")
    (tmp_path / "listener-trace.txt").write_text(LISTENER, encoding="utf-8")
    (tmp_path / "case.yaml").write_text(
        "hosts: {gateway: {os: windows, role: client}, db1: {os: solaris, role: db}}\n"
        "artifacts:\n  - {file: client-trace.txt, host: gateway}\n  - {file: listener-trace.txt, host: db1, role: listener}\n"
        "statements: [{name: same_connection, text: both traces are of the same login, author: DBA}]\n",
        encoding="utf-8",
    )
    made = judged(tmp_path, tmp_path / ".out")
    assert [f for f in made.findings if f.layer != "measurement"] == []
    assert made.cleared == ()
    unmet = {n.rule: n for n in made.not_evaluable}
    assert unmet["NET-001"].needs == ("wait_cover[residence != none, same_conn != none]",)
    assert "packet" in unmet["NET-001"].ask or "snoop" in unmet["NET-001"].ask
    assert made.verdict.state == "cannot tell"
    assert any("packet" in m or "snoop" in m for m in made.verdict.missing)


# --- both ways to the same report -------------------------------------------------------------------------------------


def command(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rules", *arguments], cwd=ROOT, input=text, capture_output=True, text=True, check=False
    )


def without_time(report: dict[str, object]) -> dict[str, object]:
    return {k: v for k, v in report.items() if k != "seconds"}


def test_the_command_line_gives_the_same_report(report: Report) -> None:
    done = command(str(seed001.CASE), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert without_time(json.loads(done.stdout)) == without_time(json.loads(json.dumps(report.as_json())))


def test_a_case_as_json_gives_the_same_report(tmp_path: Path, spec: CaseSpec, report: Report) -> None:
    done = command("--case-json", "-", "--cache", str(tmp_path), "--json", text=json.dumps(spec.as_json()))
    assert done.returncode == 0, done.stderr
    assert without_time(json.loads(done.stdout)) == without_time(json.loads(json.dumps(report.as_json())))


def test_cached_results_give_the_same_report(tmp_path: Path, spec: CaseSpec, report: Report) -> None:
    first = evaluate(spec, tmp_path)
    kept = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    assert (
        7
        <= len([p for p in kept if p.parent.name == "rules"])
        <= len([r for r in shipped_rules() if r.file.status in RUNS])
    )
    again = evaluate(spec, tmp_path)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()} == kept
    assert without_time(first.as_json()) == without_time(again.as_json()) == without_time(report.as_json())


def test_a_new_statement_runs_only_what_reads_it(tmp_path: Path, spec: CaseSpec) -> None:
    evaluate(spec, tmp_path)
    before = {p.name for p in (tmp_path / "rules").iterdir()}
    changed = replace(spec, statements=(*spec.statements, Statement("workers", 2)))
    made = evaluate(changed, tmp_path)
    fresh = {
        p.name.split("-")[0] + "-" + p.name.split("-")[1]
        for p in (tmp_path / "rules").iterdir()
        if p.name not in before
    }
    assert "LSN-006" in fresh
    assert "SHM-001" not in fresh
    (found,) = seed001.findings(made, "LSN-006")
    assert found["magnitude"] == 21.5

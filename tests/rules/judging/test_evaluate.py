"""Tests of report parts that the published incident does not show: long quotes, the client's wait alone, texts against
a finding.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rules.__main__ import main
from rules.case.case import Case
from rules.case.reading import open_paths
from rules.judging.evaluate import Quotes, judge
from rules.model import CaseSpec
from rules.reporting.html_page import page
from rules.reporting.terminal import report as printed
from rules.walking.whose_seconds import whose_seconds
from tests.rules.incidents import seed001
from tests.rules.library import shipped_rules

COVER = {
    "client_artifact": 1, "client_from": 3, "client_to": 4, "server_artifact": 2, "server_from": 3, "server_to": 4, "client_s": 1.872, "server_s": 1.792,
    "residence": "partly", "same_conn": "statement", "client_host": "gateway",
}  # fmt: skip


def test_without_a_trace_of_calls_the_clients_wait_is_cut_in_two() -> None:
    case = Case.of_tables({"wait_cover": [COVER, {**COVER, "client_s": 9.0, "residence": "none"}]})
    made = whose_seconds(case, (), Quotes(case).cite)
    assert made is not None
    assert [(p.seconds, p.kind, p.at_most) for p in made.pieces] == [(1.792, "wait", False), (0.08, "rest", True)]
    assert made.total_s == 1.872
    assert (
        whose_seconds(Case.of_tables({"wait_cover": [{**COVER, "residence": "none"}]}), (), Quotes(case).cite) is None
    )


def trace(*rows: tuple[int, int, float, str, dict[str, object]]) -> list[dict[str, object]]:
    """Return rows of one trace: line, pid, stamp, call, more."""
    base = {"artifact_id": 1, "host": "db", "clock": "1.1:1", "lwp": 1, "state": "done", "contiguous": "proven"}
    return [
        {**base, "line_no": line, "seq": line, "pid": pid, "t_local": t, "name": name, **more}
        for line, pid, t, name, more in rows
    ]


def test_a_child_of_which_nothing_was_traced_is_one_piece_not_traced() -> None:
    calls = trace(
        (1, 10, 1.0, "fork1", {"child_pid": 11}),
        (2, 11, 3.0, "write", {"data": "NTP0 11", "bytes": 7, "contiguous": "broken"}),
        (3, 10, 3.0, "read", {"data": "NTP0 11", "bytes": 7}),
    )
    case = Case.of_tables({"syscalls": calls})
    made = whose_seconds(case, (), Quotes(case).cite)
    assert made is not None
    assert [(p.seconds, p.kind) for p in made.pieces] == [(2.0, "untraced")]


def test_a_start_without_its_fork_has_no_pieces() -> None:
    start = {
        "artifact_id": 1,
        "clock": "1.1:1",
        "reader_pid": 10,
        "writer_pid": 11,
        "spawn_s": 1.0,
        "t_write": 2.0,
        "t_read": 2.0,
        "line_read": 3,
    }
    case = Case.of_tables({"pipe_pairs": [start], "wait_cover": [COVER]})
    made = whose_seconds(case, (), Quotes(case).cite)
    assert made is not None
    assert made.title == "One client wait"


def test_missing_ends_of_a_trace_are_not_traced() -> None:
    start = {
        "artifact_id": 1,
        "clock": "1.1:1",
        "reader_pid": 10,
        "writer_pid": 11,
        "spawn_s": 2.0,
        "t_write": 2.9,
        "t_read": 3.0,
        "line_read": 3,
        "token": "NTP0 11",
    }
    tree = [{"artifact_id": 1, "clock": "1.1:1", "pid": 11, "ppid": 10, "line_fork": 1, "t_fork": 1.0}]
    calls = trace((2, 11, 1.5, "shmat", {}), (3, 10, 3.0, "read", {}))
    case = Case.of_tables({"pipe_pairs": [start], "proc_tree": tree, "syscalls": calls})
    made = whose_seconds(case, (), Quotes(case).cite)
    assert made is not None
    assert [(p.seconds, p.kind) for p in made.pieces] == [(0.5, "traced"), (1.4, "untraced"), (0.1, "rest")]


def test_long_citations_quote_both_ends(tmp_path: Path) -> None:
    (tmp_path / "times.txt").write_text("".join(f"time elapsed : 0,{n:02d}\n" for n in range(1, 61)), encoding="utf-8")
    spec, _ = open_paths([tmp_path / "times.txt"], None, tmp_path / "out")
    (citation,) = Quotes(Case(spec)).cite(1, 1, 60, "all")
    lines = citation.text.splitlines()
    assert len(lines) == 41
    assert (lines[0], lines[20], lines[-1]) == ("time elapsed : 0,01", "... 20 lines ...", "time elapsed : 0,60")


def test_what_speaks_against_a_finding_is_said() -> None:
    calls = trace(
        (
            5,
            12,
            9.0,
            "shmat",
            {
                "args": "1, 0x380000000, IPC_ALLOC",
                "arg_id": 1,
                "arg_addr": 15032385536,
                "dur_hi_s": 2.0,
                "prev_line": 4,
                "prev_name": "open",
            },
        )
    )
    calls += [{**c, "pid": 12 + n, "line_no": 5 + n, "prev_line": 4 + n} for n, c in enumerate(calls * 60, 1)]
    pmap = [
        {
            "artifact_id": 2,
            "host": "db",
            "line_no": 1,
            "addr": 15032385536,
            "kbytes": 1024,
            "shm_kind": "ism",
            "shmid": 1,
        }
    ]
    made = judge(Case.of_tables({"syscalls": calls, "pmap": pmap}), [r for r in shipped_rules() if r.id == "SHM-001"])
    assert len(made.findings) == 51
    folded = next(f for f in made.findings if f.more)
    assert folded.headline.endswith("(and 11 more like it)")
    assert "The confirming artifact disagrees." in folded.against
    assert made.verdict.state == "cannot tell"
    assert made.hypotheses[-1].code == "H-OS-SHM"
    assert "H-OS-SHM" in {h.code for h in made.hypotheses if h.score == -10}
    assert "-10 dB" in printed(made)
    assert "-10 dB" in page(made)
    cited = replace(folded, citations=(folded.citations * 239)[:239])
    many = replace(made, findings=(cited,))
    assert "and 234 more cited ranges" in printed(many)
    html = page(many)
    assert "<details><summary>234 more cited ranges</summary>" in html


def test_severity_words_are_the_four(tmp_path: Path) -> None:
    spec, _ = open_paths([seed001.CASE], None, tmp_path)
    made = judge(Case(replace(spec, markers=())), shipped_rules())
    assert {f.severity for f in made.findings} <= {"info", "minor", "major", "critical"}
    assert {n.rule for n in made.not_evaluable} >= {"CMP-001", "CMP-002"}
    assert made.verdict.state == "suspect"


def test_a_case_as_json_from_a_file_and_the_written_documentation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, _ = open_paths([seed001.CASE], None, tmp_path / "out")
    file = tmp_path / "case.json"
    file.write_text(json.dumps(spec.as_json()), encoding="utf-8")
    assert main(["--case-json", str(file), "--only", "SHM-001", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"][0]["rule"] == "SHM-001"
    assert main(["--docs", str(tmp_path / "rules.md")]) == 0
    assert "### SHM-001" in (tmp_path / "rules.md").read_text(encoding="utf-8")
    assert main(["--case-json", str(tmp_path / "nosuch.json")]) == 2
    file.write_text("{", encoding="utf-8")
    assert main(["--case-json", str(file)]) == 2
    assert CaseSpec() == CaseSpec.from_json({})

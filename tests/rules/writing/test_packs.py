"""Tests of folders of further rules: team files, packs, changed thresholds, suppressions; broken files are named, the
rest is used.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from rules.__main__ import main
from rules.case.case import Case
from rules.judging.evaluate import judge
from rules.model import CaseSpec, Override, Report, RuleChoices, Suppression
from rules.writing.packs import open_library, placed, usable_overrides, usable_suppressions
from tests.rules.writing.test_loader import LEVEL1

TEAM: dict[str, Any] = {k: v for k, v in LEVEL1.items() if k not in ("when", "params", "query")} | {
    "id": "TEAM-dba-001",
    "slug": "busy",
    "requires": {"all": ["ps"]},
    "params": {
        "least": {"type": "number", "default": 5, "min": 0.5, "max": 60, "unit": "s", "why": "practice: of this house"}
    },
    "query": "select 'pid ' || pid as subject, rss_kb as magnitude, host, [ev(artifact_id, line_no, line_no, 'row')] as evidence from ps "
    "where rss_kb >= $least order by line_no",
    "hypotheses": {"H-OS-MEM": "tier"},
    "confidence": {"base": "mechanism"},
    "severity": {"from": "magnitude", "unit": "s", "minor": 1},
    "messages": {"headline": "{subject}", "expert": "e", "manager": "m"},
    "tests": [
        {"name": "a", "expect": [{}]},
        {"name": "b", "expect": []},
        {"name": "c", "expect_not_evaluable": ["ps"]},
    ],
}
ROWS = {"ps": [{"artifact_id": 1, "host": "db", "line_no": n, "pid": n, "rss_kb": n} for n in (3, 6, 9)]}


def write(folder: Path, name: str, made: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(made if isinstance(made, str) else yaml.safe_dump(made, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture
def nothing_shipped(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the shipped rules, so that each test has only its own."""
    monkeypatch.setattr("rules.registry.LIBRARY", tmp_path_factory.mktemp("library"))


pytestmark = pytest.mark.usefixtures("nothing_shipped")


def judged(folder: Path, spec: CaseSpec | None = None) -> Report:
    return judge(Case.of_tables(ROWS, spec), open_library(folder))


def found(report: Report) -> list[str]:
    return [f.subject for f in report.findings]


def test_a_teams_rule_is_used_with_the_shipped_ones(tmp_path: Path) -> None:
    write(tmp_path, "busy.yaml", TEAM)
    write(tmp_path / "cpu", "one.yaml", TEAM | {"id": "CPU-901", "slug": "one"})
    library = open_library(tmp_path)
    assert library.broken == ()
    assert [r.id for r in library.rules] == ["CPU-901", "TEAM-dba-001"]
    (tmp_path / "cpu" / "one.yaml").unlink()
    assert found(judged(tmp_path)) == ["pid 6", "pid 9"]


def test_broken_files_are_named_and_the_others_go_on(tmp_path: Path) -> None:
    write(tmp_path / "team", "busy.yaml", TEAM)
    write(tmp_path / "team", "again.yaml", TEAM | {"slug": "again"})
    write(tmp_path / "team", "typo.yaml", {**TEAM, "id": "TEAM-dba-002", "slug": "typo", "evidnce_group": "x"})
    write(tmp_path / "team", "half.yaml", "schema: 1\nid: [TEAM\ntitle: x\n")
    write(tmp_path / "team", "wrong.yaml", {**TEAM, "id": "TEAM-dba-003", "slug": "wrong", "max_rows": "many"})
    write(tmp_path / "team", "name.yaml", {**TEAM, "id": "TEAM-dba-004", "slug": "other"})
    write(tmp_path / "team", "absurd.yaml", {**TEAM, "id": "TEAM-dba-005", "slug": "absurd",
                                             "params": {"least": {**TEAM["params"]["least"], "default": 1e9}}})  # fmt: skip
    (tmp_path / "team" / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "team" / "huge.yaml").write_text("# " + "x" * 200_000, encoding="utf-8")
    report = judged(tmp_path / "team")
    assert found(report) == ["pid 6", "pid 9"]
    failed = {f.rule: f.error for f in report.failed}
    assert failed.pop("team/bytes.yaml").startswith("cannot be read")
    assert failed.pop("team/half.yaml").startswith("line 3: ")
    assert failed.pop("team/typo.yaml").startswith("line ")
    assert failed.pop("team/wrong.yaml").endswith("max_rows: must be a whole number, not str 'many'")
    assert failed == {
        "team/busy.yaml": "id: TEAM-dba-001 is also in team/again.yaml",
        "team/name.yaml": "slug: 'other' is not the file's name",
        "team/absurd.yaml": "params.least.default: must be 0.5 to 60, not 1000000000.0",
        "team/huge.yaml": "is larger than 128 KiB",
    }
    typo = next(f.error for f in report.failed if f.rule == "team/typo.yaml")
    assert "evidnce_group: unknown key (did you mean evidence_group?)" in typo


def test_changed_thresholds_pack_site_team_room_last_wins(tmp_path: Path) -> None:
    write(tmp_path / "p", "busy.yaml", TEAM)
    entry = {"rule": "TEAM-dba-001", "param": "least", "reason": "fast host", "author": "DBA"}
    write(tmp_path / "p", "pack.yaml", {"name": "house", "version": "1.0.0", "overrides": [entry | {"value": 9}]})
    assert found(judged(tmp_path)) == ["pid 9"]
    write(tmp_path, "overrides.yaml", {"overrides": [entry | {"value": 6}, entry | {"value": 7, "scope": "site"}]})
    report = judged(tmp_path)
    assert found(report) == ["pid 6", "pid 9"]
    assert report.findings[0].expert == "e Changed threshold: least is 6 s instead of 5 s, set by team DBA: fast host."
    room = CaseSpec(rules=RuleChoices((Override("TEAM-dba-001", "least", 2, "this night", "lead"),)))
    report = judged(tmp_path, room)
    assert found(report) == ["pid 3", "pid 6", "pid 9"]
    assert report.findings[0].params["least"].origin == "room lead: this night"
    write(tmp_path, "overrides.yaml", {"overrides": [entry | {"value": 6, "expires": "2020-01-01"}]})
    assert found(judged(tmp_path)) == ["pid 9"], "an expired one no longer holds"


def test_absurd_thresholds_are_named_and_not_applied(tmp_path: Path) -> None:
    rules = {r.id: r for r in open_library(write(tmp_path, "busy.yaml", TEAM).parent).rules}
    given = (
        Override("TEAM-dba-001", "least", 1e12, "r", "A"),
        Override("TEAM-dba-001", "least", "many", "r", "A", "team"),
        Override("TEAM-dba-001", "most", 1, "r", "A"),
        Override("TEAM-dba-009", "least", 1, "r", "A"),
        Override("TEAM-dba-001", "least", 6, "r", "A", expires="soon"),
        Override("TEAM-dba-001", "least", 6, "r", "A"),
    )
    used, refused = usable_overrides(placed("dba/overrides.yaml", "overrides", given), rules)
    assert used == given[5:]
    assert {f.rule for f in refused} == {"dba/overrides.yaml"}
    assert [f.error for f in refused] == [
        "overrides[0].value: TEAM-dba-001.least: must be 0.5 to 60, not 1000000000000.0 (said by A): not applied",
        "overrides[1].value: TEAM-dba-001.least: must be a number, not 'many' (said by A): not applied",
        "overrides[2].param: TEAM-dba-001.most: the rule has no such parameter (said by A): not applied",
        "overrides[3].rule: there is no rule TEAM-dba-009: not applied",
        "overrides[4].expires: TEAM-dba-001.least: is no date: 'soon' (said by A): not applied",
    ]
    assert len(usable_overrides(placed("f", "k", given), rules, known=False)[1]) == 4
    report = judged(tmp_path, CaseSpec(rules=RuleChoices(given[:1])))
    assert found(report) == ["pid 6", "pid 9"]
    assert [(f.rule, f.error.split(":")[0]) for f in report.failed] == [("CASE", "rules.overrides[0].value")]


def test_what_is_absurd_in_a_folder_is_named_with_its_own_file_and_key(tmp_path: Path) -> None:
    entry = {"rule": "TEAM-dba-001", "param": "least", "value": 6, "reason": "r", "author": "DBA"}
    hidden = {"rule": "TEAM-dba-001", "reason": "r", "author": "DBA", "until": "some day"}
    write(tmp_path / "site", "busy.yaml", TEAM)
    write(tmp_path / "site", "overrides.yaml", {"overrides": [entry, entry | {"value": 1e9, "scope": "site"}]})
    write(tmp_path / "site", "suppressions.yaml", {"suppressions": [hidden]})
    write(tmp_path / "p", "pack.yaml", {"name": "p", "version": "1.0.0", "overrides": [entry | {"param": "most"}]})
    library = open_library(tmp_path)
    assert {f.rule: f.error for f in library.broken} == {
        "site/overrides.yaml": "overrides[1].value: TEAM-dba-001.least: must be 0.5 to 60, not 1000000000.0 (said by DBA): not applied",
        "site/suppressions.yaml": "suppressions[0].until: TEAM-dba-001: is no date: 'some day' (said by DBA): not applied",
        "p/pack.yaml": "overrides[0].param: TEAM-dba-001.most: the rule has no such parameter (said by DBA): not applied",
    }
    report = judged(tmp_path)
    assert (found(report), report.failed) == (["pid 6", "pid 9"], library.broken)


def test_a_pack_runs_where_its_discovery_finds_something(tmp_path: Path) -> None:
    write(tmp_path / "p", "busy.yaml", TEAM)
    write(tmp_path / "p", "deeper/other.yaml", TEAM | {"id": "TEAM-dba-002", "slug": "other"})

    def pack(**keys: Any) -> Report:
        write(tmp_path / "p", "pack.yaml", {"name": "house", "version": "1.0.0"} | keys)
        return judged(tmp_path)

    assert len(pack().findings) == 4
    assert len(pack(discovery="select 1 from ps where host = 'db'").findings) == 4
    report = pack(discovery="select 1 from ps where host = 'nosuch'")
    assert (report.findings, report.failed, report.quiet, report.not_evaluable) == ((), (), (), ())
    report = pack(discovery="select * from read_csv('/etc/passwd')")
    assert [f.rule for f in report.failed] == ["pack house"]
    assert report.findings == ()
    assert len(pack(rules=["busy.yaml"]).findings) == 2
    report = pack(rules=["busy.yaml", "../outside.yaml", "gone.yaml"])
    assert len(report.findings) == 2
    assert [f.error for f in report.failed] == [
        "rules[1]: there is no file '../outside.yaml' in this folder",
        "rules[2]: there is no file 'gone.yaml' in this folder",
    ]
    assert len(pack(engine=">=1, <2").findings) == 4
    assert [f.error for f in pack(engine=">=2").failed] == ["engine: needs >=2, this is 1; none of its rules is used"]
    assert "is no range" in pack(engine="new").failed[0].error
    assert [f.rule for f in pack(nam="x").failed] == ["p/pack.yaml"]


PS = "  PID  PPID %CPU   RSS    VSZ     TIME COMMAND\n    1     0  0.0    10     20 00:00:01 init\n"
TODAY = datetime.now(UTC).date()


def until(days: int) -> str:
    return (TODAY + timedelta(days=days)).isoformat()


def test_suppressions_hide_and_count(tmp_path: Path) -> None:
    write(tmp_path, "busy.yaml", TEAM)
    one = {"rule": "TEAM-dba-001", "reason": "known leak", "author": "DBA", "until": until(30), "subject": "pid 6"}
    write(tmp_path, "suppressions.yaml", {"suppressions": [one]})
    report = judged(tmp_path)
    assert found(report) == ["pid 9"]
    (hidden,) = report.hidden
    assert (hidden.rule, hidden.subject, hidden.reason, hidden.author, hidden.until) == ("TEAM-dba-001", "pid 6", "known leak", "DBA", until(30))  # fmt: skip
    assert "TEAM-dba-001" not in report.quiet
    whole = CaseSpec(rules=RuleChoices(suppressions=(Suppression("TEAM-dba-001", "r", "lead", until(1)),)))
    report = judged(tmp_path, whole)
    assert (found(report), len(report.hidden), report.verdict.state) == ([], 2, "cannot tell")
    elsewhere = (Suppression("TEAM-dba-001", "r", "lead", until(1), host="app", scope="host"),)
    assert len(judged(tmp_path, CaseSpec(rules=RuleChoices(suppressions=elsewhere))).hidden) == 1
    assert CaseSpec.from_json(json.loads(json.dumps(whole.as_json()))) == whole


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Suppression("X-001", "r", "A", until(91)), "more than 90 days"),
        (Suppression("X-001", "r", "A", "some day"), "is no date"),
        (Suppression("X-001", "r", "A", until(9), scope="host"), "is needed with scope host"),
    ],
)
def test_a_suppression_without_a_near_end_is_refused(given: Suppression, why: str) -> None:
    used, refused = usable_suppressions(placed("f", "suppressions", (given,)))
    assert used == ()
    assert why in refused[0].error


def test_a_suppression_ends() -> None:
    given = (Suppression("X-001", "r", "A", "2026-03-01"),)
    assert usable_suppressions(placed("f", "k", given), date(2026, 3, 1)) == (given, ())
    assert usable_suppressions(placed("f", "k", given), date(2026, 3, 2)) == ((), ())


def test_deprecated_rules_load_and_do_not_run(tmp_path: Path) -> None:
    write(tmp_path, "busy.yaml", TEAM | {"status": "deprecated"})
    assert [r.id for r in open_library(tmp_path).rules] == ["TEAM-dba-001"]
    report = judged(tmp_path)
    assert (report.findings, report.quiet) == ((), ())


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "team", "busy.yaml", TEAM)
    write(tmp_path / "team", "half.yaml", "id: [")
    evidence = write(tmp_path / "case", "ps.txt", PS + "    2     1  0.0     2     20 00:00:01 sh\n").parent
    assert main([str(evidence), "--rules", str(tmp_path / "team"), "--only", "TEAM-dba-001"]) == 6
    out = capsys.readouterr().out
    assert "TEAM-dba-001 pid 1" in out
    assert "FAILED team/half.yaml: line 2: " in out
    assert main(["--list", "--rules", str(tmp_path / "team")]) == 2
    assert "team/half.yaml: line 2" in capsys.readouterr().err
    case = write(tmp_path, "case.json", json.dumps(CaseSpec().as_json()))
    assert main(["--case-json", str(case), "--json", "--rules", str(tmp_path / "gone")]) == 6
    assert {"rule": "gone", "error": "is no folder: none of its rules is used", "host": None} in json.loads(capsys.readouterr().out)["failed"]  # fmt: skip


def test_a_case_that_names_what_is_not_there_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "ps.txt", PS)
    write(
        tmp_path,
        "case.yaml",
        """hosts: {db1: {os: linux}}
artifacts: [{file: ps.txt, host: bd1, phase: before}, {file: pss.txt}]
phases: [{file: gone, lines: 1-2, phase: later}]
markers: [{between: [before, aftr], changed: [x]}]
statements: [{name: sessions, num: 1}, {name: sessions, num: 2}]
""",
    )
    assert main([str(tmp_path), "--json"]) == 6
    failed = [f["error"] for f in json.loads(capsys.readouterr().out)["failed"] if f["rule"] == "CASE"]
    assert failed == [
        "case.yaml: artifacts[1].file: pss.txt is not among the files given; did you mean ps.txt?",
        "case.yaml: phases[0].file: gone is not among the files given",
        "artifacts.ps.txt.host: 'bd1' is not among the hosts (db1); did you mean db1?; it stands as a host of its own",
        "markers[0].between: no evidence is of the phase 'aftr' (there are: before)",
        "statements.sessions: is said to be 1 (by unknown) and 2 (by unknown): none of them is used",
    ]

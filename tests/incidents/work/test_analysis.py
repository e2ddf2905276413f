"""Tests of judging a room: its case equals the exported one, findings keep their identity, closed rooms need a lead."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from incidents import access, tasks
from incidents.access import Room
from incidents.actions import artifacts, case, notes, purge, rooms
from incidents.actions.sample import FIRST, SAMPLES, open_sample, sample
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact
from incidents.models.judging.finding import Evaluation, Finding, FindingVersion
from incidents.models.room.event import Event
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job
from incidents.storage import store
from incidents.work import analysis, judge_process
from rules.case.case_yaml import load_case_yaml
from rules.case.reading import open_paths
from rules.judging.evaluate import evaluate
from rules.model import CaseSpec
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_room, make_user, run_jobs

pytestmark = pytest.mark.django_db


def sample_room(number: str = FIRST) -> Room:
    user = make_user()
    return access.enter(user, open_sample(user, number).slug)


def on_the_command_line(incident: Incident, folder: Path) -> dict[str, Any]:
    """Write the room's export into a folder and judge it on the command line."""
    folder.mkdir()
    rows = list(incident.artifacts.exclude(state="purged"))
    names = store.export_names(rows)
    for artifact in rows:
        with store.open_original(artifact) as file:
            (folder / names[artifact.number]).write_bytes(file.read())
    (folder / "case.yaml").write_text(analysis.case_yaml(incident), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "rules", str(folder), "--json"], capture_output=True, cwd=settings.BASE_DIR, check=False
    )
    assert done.returncode in (0, 3, 6), done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def lasting(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key != "seconds"}


def test_the_rooms_report_is_that_of_the_command_line_on_its_export(tmp_path: Path) -> None:
    """Check a room with everything: corrections, a purge (a gap in the numbers), an unreadable file, offsets."""
    room = sample_room()
    make_artifact(room, b"nobody knows this\n", "riddle.txt")
    wrong = make_artifact(room, b"time elapsed : 9,99\n" * 5, "wrong.txt")
    late = make_artifact(room, CONNECT_TIMES, "late.txt", host="gateway", phase="after-2")
    run_jobs()
    purge.purge(room, wrong.number, "another customer's")
    artifacts.correct(room, late.number, {"kind": "conntime"})
    case.add_phase(room, late.number, 1, 3, "batch")
    case.put_host(room, "db1", {"ncpu": 16, "mem_gib": 64.0, "tz": "Europe/Warsaw"})
    case.put_statement(room, {"name": "sessions", "num": 300.0, "text": 'about 300: "all" of them\nend together'})
    case.put_offset(room, "1.1:1", "3.1:1", -5.0, 5.0, "the same hour")
    rooms.edit(room, {"since": datetime(2016, 4, 14, 5, 58, tzinfo=UTC)})
    run_jobs()
    newest = Evaluation.objects.latest("number")
    assert newest.report["verdict"]["state"] == "cause"
    assert [a["id"] for a in newest.report["artifacts"]] == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert lasting(on_the_command_line(room.incident, tmp_path / "export")) == lasting(newest.report)


def test_the_sample_room_is_the_published_case() -> None:
    room = sample_room()
    assert room.incident.title.startswith("Logins take 3.9 seconds (published example: ")
    assert room.incident.artifacts.count() == 7
    run_jobs()
    assert set(room.incident.artifacts.values_list("state", flat=True)) == {"read"}
    verdict = Evaluation.objects.latest("number").report["verdict"]
    assert (verdict["state"], verdict["hypothesis"]) == ("cause", "H-OS-SHM")
    assert Finding.objects.filter(gone_since=None, group="cause").exists()


@pytest.mark.drawn(2)
@pytest.mark.parametrize("number", ["000", "002", "003", "004"])
def test_a_published_case_uploaded_piece_by_piece_gives_the_report_of_its_folder(number: str, tmp_path: Path) -> None:
    """Check a room with each output as an artifact, and symptom and phases typed in, against the files in a folder."""
    published = Path(settings.BASE_DIR) / "tests" / "cases" / number
    room = sample_room(number)
    told = load_case_yaml((published / "case.yaml").read_text(encoding="utf-8"))
    names = list(room.incident.artifacts.values_list("name", flat=True))
    assert names == [entry.file for entry in told.artifacts]
    assert room.incident.phases.count() == len(told.phases)
    run_jobs("small")
    run_jobs()
    newest = Evaluation.objects.get().report
    spec, status = open_paths([published], None, tmp_path / "read")
    assert status == 0
    folder = json.loads(json.dumps(evaluate(spec).as_json()))
    assert newest["findings"]
    assert lasting(newest) == lasting(folder)


def test_the_sample_room_is_opened_once_and_completed() -> None:
    user = make_user()
    first = open_sample(user)
    Artifact.objects.filter(incident=first, number=7).delete()
    assert open_sample(user) == first
    assert first.artifacts.count() == 7
    other = make_user("other")
    call_command("sample", "other")
    assert Incident.objects.filter(created_by=other).count() == 1


@pytest.mark.parametrize("number", [one.number for one in SAMPLES])
def test_a_sample_room_holds_the_files_of_its_published_case(number: str) -> None:
    """Check that the files in the application equal those in tests, since the application is shipped without tests."""
    published, ours = Path(settings.BASE_DIR) / "tests" / "cases" / number, sample(number).folder
    assert {path.name for path in ours.iterdir()} == {"case.yaml", *(path.name for path in published.glob("*.txt"))}
    for path in ours.iterdir():
        assert path.read_bytes() == (published / path.name).read_bytes()


def test_five_sample_rooms_stand_side_by_side_and_each_is_opened_once() -> None:
    user = make_user()
    opened = {one.number: open_sample(user, one.number) for one in SAMPLES}
    assert {open_sample(user, number) for number in opened} == set(opened.values())
    assert Incident.objects.count() == len(SAMPLES) == 5
    for one in SAMPLES:
        room = opened[one.number]
        assert room.title == f"{one.title} (published example: {one.credit})"
        assert one.source in room.measured_how
        assert room.artifacts.count() == len(one.told.artifacts)
        assert room.phases.count() == len(one.told.phases)
        assert set(room.artifacts.values_list("way", flat=True)) == {"sample"}
    with pytest.raises(Refused, match="no such sample"):
        open_sample(user, "../001")


def test_many_arrivals_are_one_judgement() -> None:
    sample_room()
    run_jobs("small")
    assert Job.objects.filter(kind="judge").count() == 1
    run_jobs()
    assert Evaluation.objects.count() == 1


def test_what_leans_on_nothing_new_writes_nothing_new() -> None:
    room = sample_room()
    run_jobs()
    before = [table.objects.count() for table in (Evaluation, FindingVersion, Event)]
    rooms.rejudge(room)
    assert run_jobs() == 1
    assert [table.objects.count() for table in (Evaluation, FindingVersion, Event)] == before


class TestFindings:
    def report(self, *keys: str, **changed: Any) -> dict[str, Any]:
        findings = [
            {
                "key": key,
                "rule": "SHM-001",
                "version": "1.0.0",
                "kind": "finding",
                "group": "cause",
                "headline": "h",
                "citations": [],
                **changed,
            }
            for key in keys
        ]
        return {"findings": findings, "verdict": {"state": "cause"}, "artifacts": [], "seconds": 1.0}

    def save(self, room: Room, report: dict[str, Any]) -> Evaluation | None:
        return analysis.save_report(room.incident, CaseSpec(), report)

    def test_a_key_is_one_finding_through_all_evaluations(self) -> None:
        room, key = make_room(), "a" * 16
        self.save(room, self.report(key, "b" * 16))
        note = notes.add(room, "mine", finding_key=key)
        self.save(room, self.report(key, headline="changed"))
        finding = Finding.objects.get(key=key)
        assert [v.content["headline"] for v in finding.versions.all()] == ["h", "changed"]
        assert finding.current is not None
        assert (finding.current.number, finding.gone_since) == (2, None)
        assert note.finding_key == finding.key

    def test_one_that_is_not_found_again_stays_and_can_come_back(self) -> None:
        room, key = make_room(), "a" * 16
        self.save(room, self.report(key))
        self.save(room, self.report())
        gone = Finding.objects.get(key=key)
        assert gone.gone_since is not None
        self.save(room, self.report("b" * 16))
        assert Finding.objects.get(key=key).gone_since == gone.gone_since  # since the first time it was missing
        self.save(room, self.report(key, "b" * 16))
        back = Finding.objects.get(key=key)
        assert (back.pk, back.gone_since, back.versions.count()) == (gone.pk, None, 1)

    def test_only_what_changed_is_told(self) -> None:
        room, first, second = make_room(), "a" * 16, "b" * 16
        self.save(room, self.report(first, second))
        Event.objects.all().delete()
        report = self.report(first, second)
        report["findings"][1]["headline"] = "changed"
        self.save(room, report)
        assert list(Event.objects.values_list("kind", "object")) == [("finding", second), ("verdict", "2")]

    def test_the_time_it_took_is_no_change(self) -> None:
        room = make_room()
        report = self.report("a" * 16)
        assert self.save(room, report) is not None
        assert self.save(room, {**copy.deepcopy(report), "seconds": 2.0}) is None

    def test_a_closed_room_asks_its_lead(self) -> None:
        room = make_room()
        self.save(room, self.report("a" * 16))
        rooms.set_status(room, "closed")
        room.incident.refresh_from_db()
        self.save(room, self.report("b" * 16))
        assert list(Finding.objects.values_list("key", flat=True)) == ["a" * 16]
        rooms.accept_evaluation(room)
        assert Finding.objects.get(key="b" * 16).gone_since is None
        assert Finding.objects.get(key="a" * 16).gone_since is not None

    def test_a_judgement_that_read_purged_evidence_is_thrown_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        room = make_room()
        make_artifact(room)
        run_jobs("small")

        def purged_meanwhile(spec: CaseSpec, *_: Any) -> dict[str, Any]:
            if spec.artifacts:
                purge.purge(room, 1, "wrong file")
            return self.report()

        monkeypatch.setattr(analysis, "judge", purged_meanwhile)
        tasks.work("judge")
        assert not Evaluation.objects.exists()
        run_jobs("judge")
        assert Evaluation.objects.get().report["findings"] == []


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[judge_process._Child]:
    """Return the children that judge, in the order in which they were started."""
    children: list[judge_process._Child] = []
    start = judge_process._judge

    def noted(later_s: float = 0.0) -> judge_process._Child:
        children.append(start(later_s))
        return children[-1]

    monkeypatch.setattr(judge_process, "_judge", noted)
    return children


class TestChild:
    def test_what_goes_wrong_in_the_child_is_a_cause_and_the_room_keeps_what_it_had(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_artifact(make_room())
        run_jobs("small")
        monkeypatch.setattr(judge_process, "CHILD_MEMORY", 64 * 2**20)
        run_jobs("judge")
        job = Job.objects.get(kind="judge")
        assert job.state == "failed"
        assert job.cause is not None
        assert "The room keeps what it had." in job.cause
        assert "Traceback" not in job.cause
        assert Event.objects.filter(kind="verdict").count() == 1

    def test_one_that_takes_too_long_is_stopped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(judge_process, "CHILD_SECONDS", 0)
        with pytest.raises(judge_process.JudgingFailed, match="took over 0 s"):
            analysis.judge(CaseSpec())

    def test_it_stops_when_the_job_is_somebody_elses(self, started: list[judge_process._Child]) -> None:
        def lost() -> None:
            raise RuntimeError("lease lost")

        child = judge_process._judge()  # waits for a case that never comes
        with pytest.raises(RuntimeError, match="lease lost"):
            child.wait(lost)
        child.close()
        assert child.process.returncode == -9

    def test_a_teams_broken_rule_file_is_named_and_the_rest_is_judged(self, settings: Any, tmp_path: Path) -> None:
        (tmp_path / "half.yaml").write_text("id: [", encoding="utf-8")
        settings.EXHIBIT_RULES = [tmp_path, tmp_path / "gone"]
        report = analysis.judge(CaseSpec())
        failed = {f["rule"]: f["error"] for f in report["failed"]}
        assert failed[f"{tmp_path.name}/half.yaml"].startswith("line 2")
        assert failed["gone"] == "is no folder: none of its rules is used"
        assert report["not_evaluable"]

    def test_one_waits_ahead_judges_one_case_and_the_next_takes_its_place(
        self, started: list[judge_process._Child]
    ) -> None:
        judge = judge_process.JudgeProcess()
        judge.judge(CaseSpec())
        assert len(started) == 1  # no child waits ahead unless `warm` was called
        judge.warm()
        judge.warm()
        assert [judge.judge(CaseSpec(title=title))["verdict"]["state"] for title in "ab"] == ["cannot tell"] * 2
        judge.close()
        assert len(started) == 4
        assert [child.process.returncode for child in started] == [0, 0, 0, -9]

    def test_one_that_died_while_it_waited_is_replaced(self, started: list[judge_process._Child]) -> None:
        judge = judge_process.JudgeProcess()
        judge.warm()
        started[0].process.kill()
        started[0].process.wait()
        assert judge.judge(CaseSpec())["verdict"]["state"] == "cannot tell"
        judge.close()
        assert len(started) == 3

    def test_no_room_for_one_ahead_costs_no_judgement(
        self, monkeypatch: pytest.MonkeyPatch, started: list[judge_process._Child]
    ) -> None:
        judge = judge_process.JudgeProcess()
        judge.warm()
        start = judge_process._judge

        def full(later_s: float = 0.0) -> judge_process._Child:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(judge_process, "_judge", full)
        assert judge.judge(CaseSpec())["verdict"]["state"] == "cannot tell"
        monkeypatch.setattr(judge_process, "_judge", start)
        assert judge.judge(CaseSpec())["verdict"]["state"] == "cannot tell"
        judge.close()
        assert len(started) == 3

    def test_rules_that_a_team_changed_while_it_waited_are_in_force(self, settings: Any, tmp_path: Path) -> None:
        settings.EXHIBIT_RULES = [tmp_path]
        judge = judge_process.JudgeProcess()
        judge.warm()
        (tmp_path / "half.yaml").write_text("id: [", encoding="utf-8")
        failed = [f["rule"] for f in judge.judge(CaseSpec())["failed"]]
        judge.close()
        assert failed == [f"{tmp_path.name}/half.yaml"]

    def test_one_that_waits_ends_with_its_worker(self) -> None:
        code = (
            "import django; django.setup(); from incidents.work import judge_process; "
            "judge = judge_process.JudgeProcess(); judge.warm(); print(judge._waiting.process.pid)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=settings.BASE_DIR, check=True)
        pid = int(done.stdout)
        deadline = time.monotonic() + 30
        while (stat := Path(f"/proc/{pid}/stat")).exists() and " Z " not in stat.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)

"""Tests of the client and its command against a server: answers, uploads, repeated calls, printed messages."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from incidents.access import Room
from incidents.actions import access_tokens
from incidents.actions import summary as summaries
from incidents.doors.rest import description
from incidents.models.people.access_token import Scope
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_room, run_jobs
from tests.incidents.doors.test_collector import Door, door  # noqa: F401  # a fixture
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_files, add_report

pytestmark = pytest.mark.django_db(transaction=True)
FILE = Path(__file__).resolve().parents[4] / "client" / "exhibit.py"
CLIENT = runpy.run_path(str(FILE))


def exhibit(door: Door, room: Room, *scopes: str) -> Any:  # noqa: F811
    token = access_tokens.create(room.user, "the client", scopes or tuple(Scope.values), 1)
    return CLIENT["Exhibit"](f"http://127.0.0.1:{door.port}", token, pause_s=0.01)


def command(door: Door, room: Room, *arguments: str) -> Any:  # noqa: F811
    token = access_tokens.create(room.user, "the command", tuple(Scope.values), 1)
    env = {"EXHIBIT_URL": f"http://127.0.0.1:{door.port}", "EXHIBIT_TOKEN": token}
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", str(FILE), *arguments],
        capture_output=True,
        text=True,
        env=env,
        check=False,
        timeout=120,
    )
    assert token not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize(
    ("here", "shape"),
    [
        ("RoomRow", "RoomShape"),
        ("Verdict", "RoomVerdict"),
        ("Artifact", "ArtifactShape"),
        ("Finding", "FindingShape"),
        ("Judged", "VerdictShape"),
        ("Answer", "Answered"),
    ],
)
def test_its_types_are_those_of_the_description(here: str, shape: str):
    described = description.document()["components"]["schemas"][shape]["properties"]
    assert set(CLIENT[here].__annotations__) == set(described)


def test_it_reads_and_writes_a_room(door: Door):  # noqa: F811
    room = make_room()
    here = exhibit(door, room).room(room.incident.slug)
    assert here.verdict() is None
    make_artifact(room, CONNECT_TIMES)
    add_report(room)
    assert here.verdict()["verdict"] == reports.report()["verdict"]
    assert [one["key"] for one in here.findings()] == [one["key"] for one in reports.report()["findings"]]
    assert here.note("Slow here.", artifact=1)["program"] == "the client"
    assert [one["text"] for one in here.notes()] == ["Slow here."]
    assert here.ask_for("A trace", command="vmstat 5 12")["state"] == "open"
    assert here.plan("Restart the listener")["id"] == next(here.actions())["id"]
    assert here.log_entry("Looked at it")["kind"] == "step"
    assert [*here.decisions(), *here.follow_ups()] == []
    assert here.review()["helped"] is None
    assert here.summary()["evaluation"] == 1
    assert here.close()["status"] == "closed"
    assert here.reopen()["status"] == "open"
    assert [one["slug"] for one in exhibit(door, room).rooms()] == [room.incident.slug]


def test_it_goes_through_all_pages(door: Door, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    room = make_room()
    for n in range(5):
        make_artifact(room, b"%d\n" % n)
    monkeypatch.setitem(CLIENT["Exhibit"]._all.__globals__, "A_PAGE", 2)
    assert [one["number"] for one in exhibit(door, room).room(room.incident.slug).artifacts()] == [1, 2, 3, 4, 5]
    assert len([asked for asked in door.asked if asked.endswith("/artifacts")]) == 3


@pytest.mark.parametrize("size", [1000, 5 * 2**20])
def test_it_uploads_small_and_large_files_once(door: Door, tmp_path: Path, size: int):  # noqa: F811
    room = make_room()
    file = tmp_path / "a trace.txt"
    file.write_bytes(b"x" * (size - 1) + b"\n")
    here = exhibit(door, room, Scope.UPLOAD).room(room.incident.slug)
    assert [here.upload(file, host="db1"), here.upload(file)] == [1, 1]
    artifact = room.incident.artifacts.get()
    assert (artifact.name, artifact.size, artifact.corrections.get().value) == ("a trace.txt", size, "db1")
    assert any("/uploads/" in asked for asked in door.asked) == (size > 2**22)


def test_a_call_without_an_answer_is_made_again_and_done_once(door: Door, monkeypatch: pytest.MonkeyPatch):  # noqa: F811
    room = make_room()
    client = exhibit(door, room)
    once, lost = client._once, [True, True]

    def losing(*arguments: Any) -> Any:
        made = once(*arguments)
        if lost:
            lost.pop()
            raise ConnectionResetError("the line broke")
        return made

    monkeypatch.setattr(client, "_once", losing)
    client.room(room.incident.slug).note("once")
    assert room.incident.notes.count() == 1


def test_a_server_that_is_away_is_named(door: Door):  # noqa: F811
    room = make_room()
    client = CLIENT["Exhibit"]("http://127.0.0.1:1", "exhibit_x", pause_s=0.01)
    with pytest.raises(CLIENT["Unreachable"], match=r"127\.0\.0\.1:1 did not answer"):
        client.room(room.incident.slug).read()


def test_refusals_come_in_the_words_of_the_server(door: Door):  # noqa: F811
    room = make_room()
    with pytest.raises(CLIENT["Problem"], match="lacks the scope “write”") as refused:
        exhibit(door, room, Scope.READ).room(room.incident.slug).note("x")
    assert refused.value.status == 403
    with pytest.raises(CLIENT["Problem"], match=r"body\.said\.artifact"):
        exhibit(door, room).room(room.incident.slug).note("x", artifact=-1)


def test_the_command_uploads_watches_asks_and_reports(door: Door, tmp_path: Path):  # noqa: F811
    room = make_room()
    file = tmp_path / "times.txt"
    file.write_bytes(CONNECT_TIMES)
    slug = room.incident.slug
    assert slug in command(door, room, "rooms").stdout
    sent = command(door, room, "upload", slug, str(file), "--host", "db1")
    assert (sent.returncode, sent.stdout, sent.stderr) == (0, f"{file}\tartifact 1\n", "")
    early = command(door, room, "report", slug)
    assert (early.returncode, "not judged yet" in early.stderr) == (1, True)
    waiting = command(door, room, "watch", slug, "--most", "0")
    assert (waiting.returncode, waiting.stdout) == (1, "1 queued; not judged yet\n")
    run_jobs()
    done = command(door, room, "watch", slug)
    assert (done.returncode, done.stdout.startswith("1 read; ")) == (0, True)
    answer = command(door, room, "ask", slug, "select count(*) as n from conn_times")
    assert (answer.stdout, answer.stderr) == ("n\n20\n", "")
    wrong = command(door, room, "ask", slug, "select nonsense")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.startswith("exhibit: ")) == (1, "", True)
    add_report(room)
    report = command(door, room, "report", slug).stdout
    assert reports.report()["verdict"]["sentence"] in report
    assert "artifact 1, lines" in report
    assert '"findings"' in command(door, room, "report", slug, "--json").stdout


def test_the_command_prints_the_summary_with_its_lines_and_the_words_of_a_lead(door: Door):  # noqa: F811
    room = make_room(title="Logins take 3.9 s")
    add_files(room)
    add_report(room)
    slug = room.incident.slug
    summaries.put_text(room, "next", "Restart\nat night.", "beside", 0)
    summaries.put_text(room, "cause", "Memory.", "instead", 0)
    told = command(door, room, "summary", slug).stdout
    assert told.startswith("Logins take 3.9 s\n")
    assert "Restart at night. (" in told
    assert f"\nCause\n  Memory. ({room.user.username})\n\n" in told
    assert "  [1] artifact 1 (truss-listener.txt), lines 7 to 11\n" in told
    assert '"digest"' in command(door, room, "summary", slug, "--json").stdout


def test_the_command_says_what_it_needs():
    done = subprocess.run(
        [sys.executable, str(FILE), "rooms"], capture_output=True, text=True, env={}, check=False, timeout=60
    )
    assert (done.returncode, "EXHIBIT_URL and EXHIBIT_TOKEN" in done.stderr) == (2, True)

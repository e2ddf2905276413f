"""Write operations: rooms, uploads, notes, requests, questions; each writes by the action that pages use."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from incidents.actions import requests
from incidents.models.judging.query import AskedQuery
from incidents.models.people.access_token import Scope
from incidents.models.room.incident import Incident
from tests.incidents.conftest import CONNECT_TIMES, make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.doors.rest.programs import at, program, sent

pytestmark = pytest.mark.django_db


def test_a_room_is_opened_with_what_is_known():
    user = make_user()
    said = {
        "title": "Logins take 3.9 s",
        "symptom_bad": 3.9,
        "symptom_unit": "s",
        "since": "2016-04-14T07:12:03Z",
        "hosts": [{"name": "db1", "os": "solaris", "ncpu": 64}],
    }
    answer = sent(program(user, Scope.ROOMS), "/api/v1/rooms", said)
    assert answer.status_code == 201, answer.content
    incident = Incident.objects.get()
    assert (answer.json()["slug"], answer.json()["role"]) == (incident.slug, "lead")
    assert (incident.symptom_bad, incident.t_zero) == (3.9, incident.since)
    assert list(incident.hosts.values_list("name", "ncpu")) == [("db1", 64)]


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ({}, "body.said.title"),
        ({"title": "x" * 201}, "body.said.title"),
        ({"title": "x", "symptom_bad": "much"}, "body.said.symptom_bad"),
        ({"title": "x", "since": "2016-04-14T07:12:03"}, "body.said.since"),
        ({"title": "x", "since": "9999-12-31T23:59:59-20:08"}, "body.said.since"),
        ({"title": "x", "hosts": [{}]}, "body.said.hosts.0.name"),
        ({"title": "x", "symptom": "slow"}, "body.said.symptom"),
    ],
)
def test_nonsense_is_refused_by_its_place(said: dict[str, Any], where: str):
    answer = sent(program(make_user()), "/api/v1/rooms", said)
    assert (answer.status_code, [one["where"] for one in answer.json()["errors"]]) == (422, [where])
    assert not Incident.objects.exists()


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'"text"', b"\xff"])
def test_a_body_that_is_no_object_is_refused(body: bytes):
    answer = program(make_user()).post("/api/v1/rooms", body, "application/json")
    assert (answer.status_code in (400, 422), answer["Content-Type"]) == (True, "application/problem+json")


def test_a_room_is_closed_and_opened_again():
    room = make_room()
    client = program(room.user, Scope.ROOMS)
    assert sent(client, at(room, "/close")).json()["status"] == "closed"
    again = sent(client, at(room, "/close"))
    assert (again.status_code, "closed this room already" in again.json()["detail"]) == (409, True)
    assert sent(client, at(room, "/reopen")).json()["status"] == "open"
    assert sent(client, at(room, "/reopen")).status_code == 409


def test_a_closed_room_takes_nothing():
    room = make_room()
    client = program(room.user)
    sent(client, at(room, "/close"))
    assert sent(client, at(room, "/notes"), {"text": "late"}).status_code == 409
    assert client.post(at(room, "/artifacts"), b"late", "application/octet-stream").status_code == 409


def test_bytes_become_an_artifact_as_they_are():
    room = make_room()
    client = program(room.user, Scope.UPLOAD)
    body = b"\x00\xff not text \r\n"
    answer = client.post(f"{at(room, '/artifacts')}?name=a.bin&host=db1", body, "application/octet-stream")
    assert answer.status_code == 201, answer.content
    assert (answer.json()["number"], answer.json()["sha256"]) == (1, hashlib.sha256(body).hexdigest())
    assert room.incident.artifacts.get().corrections.get().value == "db1"
    again = client.post(at(room, "/artifacts"), body, "application/octet-stream")
    assert (again.status_code, again.json()["artifact"]) == (409, 1)
    assert client.post(at(room, "/artifacts"), b"", "application/octet-stream").status_code == 400


def test_a_body_that_is_too_large_is_refused(settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    room = make_room()
    answer = program(room.user).post(at(room, "/artifacts"), b"x" * 101, "application/octet-stream")
    assert (answer.status_code, answer["Content-Type"]) == (413, "application/problem+json")


def test_a_note_is_marked_as_that_of_a_program():
    room = make_room(make_user("ada"))
    make_artifact(room, CONNECT_TIMES)
    client = program(room.user, Scope.WRITE, label="the watcher")
    said = {"text": "Slow here.", "artifact": 1, "line_from": 2, "line_to": 3}
    note = sent(client, at(room, "/notes"), said).json()
    assert (note["author"], note["program"], note["artifact"], note["line_to"]) == ("ada", "the watcher", 1, 3)
    sent(client, at(room, f"/notes/{note['id']}/replies"), {"text": "And here."})
    edited = sent(client, at(room, f"/notes/{note['id']}"), {"text": "Slow, lines 2 and 3."}, "patch").json()
    assert (edited["text"], [one["program"] for one in edited["replies"]]) == ("Slow, lines 2 and 3.", ["the watcher"])
    assert sent(client, at(room, f"/notes/{note['id']}/resolve")).json()["resolved_at"]
    assert sent(client, at(room, f"/notes/{note['id']}/reopen")).json()["resolved_at"] is None
    assert sent(client, at(room, f"/notes/{note['id']}"), method="delete").json()["deleted"] is True
    page = make_member(room.incident)
    assert room.incident.notes.exclude(author=page.user).count() == 2


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"text": ""}, 400),
        ({"text": "x" * 10_001}, 422),
        ({"text": "x", "line_from": 1}, 422),
        ({"text": "x", "line_from": 1, "line_to": 2}, 400),
        ({"text": "x", "artifact": 9}, 404),
        ({"text": "x", "finding": "0" * 16}, 404),
        ({"text": "x", "clock": "1.1:1", "time_from": 5, "time_to": 1}, 400),
        ({"text": "a\x00b", "lane": "a\x00"}, 400),
    ],
)
def test_a_note_that_fits_nowhere_is_refused(said: dict[str, Any], status: int):
    room = make_room()
    answer = sent(program(room.user), at(room, "/notes"), said)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert not room.incident.notes.exists()


def test_a_token_edits_its_owners_notes_only():
    room = make_room()
    member = make_member(room.incident)
    theirs = sent(program(member.user), at(room, "/notes"), {"text": "mine"}).json()["id"]
    # A lead may edit others' notes on the page, and no token may: it gives no right to manage people.
    assert sent(program(room.user), at(room, f"/notes/{theirs}"), {"text": "x"}, "patch").status_code == 403
    assert sent(program(room.user), at(room, "/notes/999/replies"), {"text": "x"}).status_code == 404


def test_evidence_is_asked_for_with_the_cost_of_the_command():
    room = make_room()
    client = program(room.user, Scope.WRITE)
    row = sent(client, at(room, "/requests"), {"what": "A trace", "command": "vmstat 5 12", "host": "db1"}).json()
    assert (row["state"], row["host"], bool(row["cost"])) == ("open", "db1", True)
    changed = sent(client, at(room, f"/requests/{row['id']}"), {"what": "Another"}, "patch").json()
    assert (changed["what"], changed["command"]) == ("Another", "vmstat 5 12")
    due = sent(client, at(room, f"/requests/{row['id']}"), {"due_at": "0779-07-07T11:40:02+20:08"}, "patch").json()
    assert due["due_at"] == "0779-07-06T15:32:02Z", "a zone that PostgreSQL does not take"
    assert sent(client, at(room, f"/requests/{row['id']}/withdraw")).json()["state"] == "withdrawn"
    assert sent(client, at(room, f"/requests/{row['id']}/withdraw")).status_code == 409
    assert sent(client, at(room, f"/requests/{row['id']}/reopen")).json()["state"] == "open"
    assert sent(client, at(room, "/requests"), {"what": "x" * 501}).status_code == 422
    assert sent(client, at(room, "/requests"), {"what": " "}).status_code == 400
    assert requests.put(room, {"what": "by hand"}).asked_by == room.user


def test_a_question_is_answered_within_the_fences():
    room = make_room()
    make_artifact(room, CONNECT_TIMES)
    run_jobs("small")
    client = program(room.user, Scope.ASK)
    asked = {"sql": "select artifact_id, count(*) as n from conn_times group by 1"}
    answer = sent(client, at(room, "/ask"), asked)
    assert answer.status_code == 200, answer.content
    assert (answer.json()["columns"], answer.json()["rows"]) == (["artifact_id", "n"], [[1, 20]])
    assert AskedQuery.objects.get().sql == asked["sql"]
    for wrong in ("select * from '/etc/passwd'", "drop table conn_times", "select nonsense", "\x00"):
        refused = sent(client, at(room, "/ask"), {"sql": wrong})
        assert (refused.status_code, refused["Content-Type"]) == (422, "application/problem+json"), wrong


def test_questions_may_be_switched_off(settings):
    settings.EXHIBIT_ASK = False
    room = make_room()
    assert sent(program(room.user), at(room, "/ask"), {"sql": "select 1"}).status_code == 403

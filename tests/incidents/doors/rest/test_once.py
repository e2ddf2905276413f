"""Tests of idempotency keys: a repeated write is done once and gets the same answer."""

from __future__ import annotations

import json
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from incidents import tasks
from incidents.doors.rest import description
from incidents.models.people.access_token import IdempotencyKey
from incidents.models.room.incident import Incident
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.doors.rest.programs import at, program, sent

pytestmark = pytest.mark.django_db


def test_a_replay_answers_the_same_and_does_nothing():
    room = make_room()
    client = program(room.user)
    answers = [sent(client, at(room, "/notes"), {"text": "once"}, key="k1") for _ in range(3)]
    assert {(one.status_code, one.content) for one in answers} == {(201, answers[0].content)}
    assert [one.get("Idempotent-Replayed") for one in answers] == [None, "true", "true"]
    assert room.incident.notes.count() == 1
    assert sent(client, at(room, "/notes"), {"text": "once"}, key="k2").status_code == 201
    assert sent(client, at(room, "/notes"), {"text": "once"}).status_code == 201
    assert room.incident.notes.count() == 3


def test_every_write_takes_a_key():
    paths = description.document()["paths"]
    for address, operations in paths.items():
        for method, operation in operations.items():
            named = [one["name"] for one in operation.get("parameters", [])]
            writes = method != "get" and not address.endswith("/ask")
            assert ("Idempotency-Key" in named) == writes, (method, address)


def test_rooms_and_uploads_come_once():
    client = program(make_user())
    slugs = {sent(client, "/api/v1/rooms", {"title": "Slow"}, key="room").json()["slug"] for _ in range(2)}
    assert len(slugs) == Incident.objects.count() == 1
    address = f"/api/v1/rooms/{slugs.pop()}/artifacts"
    head = {"Idempotency-Key": "file"}
    answers = [client.post(address, b"a line", "application/octet-stream", headers=head) for _ in range(2)]
    assert [one.status_code for one in answers] == [201, 201]  # without the key the second would be 409


@pytest.mark.parametrize("other", ["body", "address", "method"])
def test_a_key_of_another_call_is_refused(other: str):
    room = make_room()
    client = program(room.user)
    note = sent(client, at(room, "/notes"), {"text": "one"}, key="k").json()["id"]
    calls = {
        "body": lambda: sent(client, at(room, "/notes"), {"text": "two"}, key="k"),
        "address": lambda: sent(client, at(room, f"/notes/{note}/replies"), {"text": "one"}, key="k"),
        "method": lambda: sent(client, at(room, f"/notes/{note}"), {"text": "one"}, "patch", key="k"),
    }
    answer = calls[other]()
    assert (answer.status_code, "used for another call" in answer.json()["detail"]) == (422, True)
    assert room.incident.notes.count() == 1


def test_a_refusal_is_not_kept():
    room = make_room()
    client = program(room.user)
    sent(client, at(room, "/close"))
    assert sent(client, at(room, "/notes"), {"text": "x"}, key="k").status_code == 409
    assert not IdempotencyKey.objects.exists()
    sent(client, at(room, "/reopen"))
    assert sent(client, at(room, "/notes"), {"text": "x"}, key="k").status_code == 201


def test_keys_of_two_people_are_two():
    room = make_room()
    other = make_member(room.incident).user
    for user in (room.user, other):
        assert sent(program(user), at(room, "/notes"), {"text": "x"}, key="k").status_code == 201
    assert room.incident.notes.count() == 2


def test_whoever_lost_the_room_gets_no_replay():
    room = make_room()
    member = make_member(room.incident)
    client = program(member.user)
    assert sent(client, at(room, "/notes"), {"text": "x"}, key="k").status_code == 201
    room.incident.memberships.filter(user=member.user).delete()
    assert sent(client, at(room, "/notes"), {"text": "x"}, key="k").status_code == 404


def test_a_key_ends_after_its_day():
    room = make_room()
    client = program(room.user)
    sent(client, at(room, "/notes"), {"text": "x"}, key="k")
    IdempotencyKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert sent(client, at(room, "/notes"), {"text": "y"}, key="k").status_code == 201
    IdempotencyKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    tasks._forget()
    assert not IdempotencyKey.objects.exists()


@pytest.mark.parametrize("key", ["", "x" * 201, "a b", "a\tb", "ä"])
def test_a_key_is_a_short_word(key: str):
    room = make_room()
    assert sent(program(room.user), at(room, "/notes"), {"text": "x"}, key=key).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_two_at_the_same_time_write_once():
    room = make_room()
    token = program(room.user).defaults["HTTP_AUTHORIZATION"]
    start, answers = threading.Barrier(4), []

    def call() -> None:
        client = Client(headers={"Authorization": token})
        start.wait(10)
        answers.append(sent(client, at(room, "/notes"), {"text": "x"}, key="k"))
        connection.close()

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)
    assert len({json.dumps(one.json(), sort_keys=True) for one in answers}) == 1
    assert {one.status_code for one in answers} == {201}
    assert room.incident.notes.count() == 1

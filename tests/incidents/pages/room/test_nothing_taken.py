"""A room without evidence invites nobody to add some who cannot: it says what holds instead."""

from __future__ import annotations

import html

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from incidents import access
from incidents.access import Room
from incidents.actions import keeping, rooms
from incidents.models.people.membership import Role
from tests.incidents.conftest import make_member, make_room

pytestmark = pytest.mark.django_db

INVITES = ("Drop files", "drop the file", "drop that file", "Add what you have", "Add evidence", "will appear here")


def said(room: Room, name: str = "room") -> str:
    client = Client()
    client.force_login(room.user)
    page = client.get(reverse(name, args=[room.incident.slug]), {"system": "linux"} if name == "collect" else {})
    assert page.status_code == 200
    main = page.content.decode().split('<main id="main"', 1)[1].split('<dialog id="keys"', 1)[0]
    return " ".join(html.unescape(main.split('<dialog id="paste"', 1)[0]).split())


def again(room: Room) -> Room:
    return access.enter(room.user, room.incident.slug)


def closed(room: Room) -> Room:
    rooms.close(room)
    return again(room)


def leaving(room: Room) -> Room:
    keeping.announce(closed(room), "it was an exercise")
    return again(room)


def archived(room: Room) -> Room:
    rooms.archive(closed(room))
    return again(room)


def held_and_closed(room: Room) -> Room:
    keeping.hold(room, "a court asks for it")
    return closed(room)


def closing(room: Room) -> Room:
    room.incident.closing_at, room.incident.closing_by = timezone.now(), room.user
    room.incident.save(update_fields=("closing_at", "closing_by"))
    return again(room)


def viewed(room: Room) -> Room:
    return make_member(room.incident, Role.VIEWER)


@pytest.mark.parametrize(
    ("become", "why"),
    [
        (closed, "This room is closed. A lead can open it again."),
        (leaving, "This room is to be deleted, "),
        (archived, "This room is archived: it can be read."),
        (held_and_closed, "This room is closed. A lead can open it again."),
        (closing, "This room is being closed: "),
        (viewed, "Your role in this room does not allow that: an investigator or a lead may."),
    ],
)
def test_who_can_add_nothing_is_told_why(become, why: str) -> None:
    room = become(make_room())
    for name in ("room", "evidence", "collect"):
        text = said(room, name)
        assert [words for words in INVITES if words in text] == [], name
        assert "0 of 0" not in text
        if name == "collect":
            assert "It writes one file. Each tool's output" in text
        else:
            assert f"Nothing can be added here. {why}" in text, name


def test_a_room_that_is_held_still_takes_evidence_and_says_that_it_stays() -> None:
    room = make_room()
    keeping.hold(room, "a court asks for it")
    text = said(again(room))
    assert "Drop files anywhere in this room" in text
    assert "appears here by itself. A legal hold is on this room: what you add stays." in text

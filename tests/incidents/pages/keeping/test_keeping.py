"""The page on how long a room is kept, and what other pages say of a hold and of a deletion."""

from __future__ import annotations

import html
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from incidents.access import Room
from incidents.actions import keeping
from incidents.models.people.membership import Role
from incidents.models.room.incident import Incident
from incidents.models.site.deletion import RoomDeletion
from incidents.models.site.site_record import SiteRecord
from incidents.work import deleting
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user
from tests.incidents.work.test_deleting import let_time_pass

pytestmark = pytest.mark.django_db


def client_of(room: Room) -> Client:
    client = Client()
    client.force_login(room.user)
    return client


def text_of(answer: Any) -> str:
    return " ".join(html.unescape(answer.content.decode()).split())


def url(room: Room, name: str = "keeping") -> str:
    return reverse(name, args=[room.incident.slug])


def post(room: Room, **data: str) -> Any:
    return client_of(room).post(url(room), data)


def fresh(room: Room) -> Incident:
    return Incident.objects.get(pk=room.incident.pk)


def test_it_says_what_goes_and_that_no_backups_are_made():
    room = make_room()
    make_artifact(room)
    text = text_of(client_of(room).get(url(room)))
    assert "With the room 1 artifact go" in text
    assert "No backups are made by themselves here." in text
    assert "kept for ever, unless somebody deletes it" in text


def test_it_says_when_the_last_backup_ends(settings):
    settings.EXHIBIT_BACKUP_ROOT, settings.EXHIBIT_BACKUP_HOURS, settings.EXHIBIT_BACKUPS_KEPT = Path("/b"), 24, 3
    room = make_room()
    deletion = keeping.announce(room, "by contract")
    ends = deletion.due_at + timedelta(days=3)
    assert f"{ends:%Y-%m-%d}" in text_of(client_of(room).get(url(room)))


def test_a_deletion_is_told_on_every_page_and_undone_with_one_press():
    room = make_room()
    viewer = make_member(room.incident, Role.VIEWER)
    assert post(room, do="delete", reason="by contract").status_code == 302
    for name in ("room", "evidence", "keeping", "notes"):
        assert "This room is deleted" in text_of(client_of(viewer).get(url(room, name)))
    assert "Undo" not in text_of(client_of(viewer).get(url(room)))
    assert "to be deleted on" in text_of(client_of(room).get(reverse("rooms") + "?status=all"))
    assert "Undo: keep the room" in text_of(client_of(room).get(url(room)))
    assert post(room, do="undo").status_code == 302
    assert "This room is deleted" not in text_of(client_of(viewer).get(url(room, "room")))
    assert not fresh(room).to_be_deleted


def test_a_hold_is_told_on_every_page_with_who_and_why_on_this_one():
    room = make_room()
    viewer = make_member(room.incident, Role.VIEWER)
    assert post(room, do="hold", reason="letter of the court <b>").status_code == 302
    for name in ("room", "evidence", "keeping"):
        assert "A legal hold is on this room" in text_of(client_of(viewer).get(url(room, name)))
    page = client_of(viewer).get(url(room))
    assert "letter of the court &lt;b&gt;" in page.content.decode()
    assert room.user.username in text_of(page)
    assert "Lift the hold" not in text_of(page)
    refused = post(room, do="delete", reason="by contract")
    assert refused.status_code == 409
    assert "legal hold" in text_of(refused)
    assert post(room, do="lift", reason="settled").status_code == 302
    assert not fresh(room).held


def test_days_are_set_and_nonsense_is_refused():
    room = make_room()
    assert post(room, do="days", which="days", days="30").status_code == 302
    assert fresh(room).keep_days == 30
    assert "kept for 30 days" in text_of(client_of(room).get(url(room)))
    assert post(room, do="days", which="ever").status_code == 302
    assert fresh(room).keep_days == 0
    assert post(room, do="days", which="site").status_code == 302
    assert fresh(room).keep_days is None
    for data in ({"which": "days"}, {"which": "days", "days": "0"}, {"which": "days", "days": "x"}, {"which": "no"}):
        assert post(room, do="days", **data).status_code == 400
    assert post(room, do="nothing").status_code == 400
    assert post(room, do="delete", reason=" ").status_code == 400
    assert fresh(room).keep_days is None


def test_administrators_see_what_goes_what_is_held_and_what_is_left():
    admin = Client()
    admin.force_login(make_user(is_superuser=True))
    going, held, gone = make_room(title="The one that goes"), make_room(title="The held one"), make_room(title="Secret")
    keeping.hold(held, "letter of the court")
    keeping.announce(going, "by contract")
    keeping.announce(gone, "by contract")
    let_time_pass(gone.incident.pk)
    assert "1 room should be deleted by now" in text_of(admin.get(reverse("site")))
    deleting.delete_due()
    page = text_of(admin.get(reverse("site-rooms")))
    assert "The one that goes" in page
    assert "letter of the court" in page
    assert f"deleted room {gone.incident.pk}" in page
    assert SiteRecord.objects.get().detail["last_hash"] in page
    assert "Secret" not in page
    assert "the chain is intact" in page
    assert "should be deleted by now" not in text_of(admin.get(reverse("site")))


def test_a_room_that_is_gone_is_gone_for_everybody():
    room = make_room()
    keeping.announce(room, "by contract")
    let_time_pass(room.incident.pk)
    deleting.begin(RoomDeletion.objects.get().pk)
    admin = Client()
    admin.force_login(make_user(is_superuser=True))
    for client in (client_of(room), admin):
        assert client.get(url(room)).status_code == 404
    assert room.incident.slug not in text_of(admin.get(reverse("rooms") + "?status=all"))

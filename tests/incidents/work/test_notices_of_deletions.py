"""Members of a room hear that it is to be deleted, and that this was taken back: in their list, by mail, by webhook."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from incidents import access
from incidents.access import Room
from incidents.actions import keeping, notices, webhooks
from incidents.content.webhook_words import body_of
from incidents.models.people.membership import Role
from incidents.models.people.notification import Notification, Told
from incidents.models.room.incident import Incident
from incidents.models.room.webhook import Delivery
from incidents.work import deleting, mails
from tests.incidents.conftest import make_member, make_room, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Room:
    return make_room(make_user("ada", email="ada@example.com"), title="Logins of a secret customer")


@pytest.fixture
def viewer(room: Room) -> Room:
    return make_member(room.incident, Role.VIEWER, make_user("vera", email="vera@example.com"))


def again(room: Room) -> Room:
    return access.enter(room.user, room.incident.slug)


def test_everybody_but_who_announced_it_is_told_with_the_day(room: Room, viewer: Room) -> None:
    keeping.announce(room, "it was an exercise")
    (row,) = Notification.objects.all()
    assert (row.user, row.kind, row.actor) == (viewer.user, Told.LEAVES, room.user)
    assert mails.send_waiting() == 1
    (sent,) = mail.outbox
    due = Incident.objects.get(pk=room.incident.pk).delete_at
    assert sent.to == ["vera@example.com"]
    assert sent.subject == f"ada will have a room of yours deleted on {due:%Y-%m-%d at %H:%M} UTC in Exhibit"
    assert reverse("keeping", args=[room.incident.slug]) in sent.body
    assert "secret customer" not in sent.subject + sent.body.replace(room.incident.slug, ""), (
        "who and where, never what"
    )


def test_taking_it_back_is_told_too_and_a_second_announcement_anew(room: Room, viewer: Room) -> None:
    keeping.announce(room, "it was an exercise")
    mails.send_waiting()
    keeping.undo(again(room))
    mails.send_waiting()
    assert mail.outbox[-1].subject == "ada took back that a room of yours is deleted in Exhibit"
    keeping.announce(again(room), "it was one after all")
    mails.send_waiting()
    assert [row.kind for row in Notification.objects.order_by("pk")] == ["leaves", "stays", "leaves"]
    assert len(mail.outbox) == 3


def test_a_hold_takes_it_back_as_well(room: Room, viewer: Room) -> None:
    keeping.announce(room, "it was an exercise")
    keeping.hold(again(room), "a court asks for it")
    assert list(Notification.objects.order_by("pk").values_list("kind", flat=True)) == ["leaves", "stays"]


def test_what_exhibit_itself_announces_is_told_to_the_lead(room: Room, viewer: Room, settings) -> None:
    settings.EXHIBIT_KEEP_DAYS = 1
    keeping.announce(room, "for the closing")
    keeping.undo(again(room))
    Notification.objects.all().delete()
    past = timezone.now() - timedelta(days=9)
    Incident.objects.filter(pk=room.incident.pk).update(closed_at=past, kept_since=past)
    assert deleting.announce_what_is_past() == 1
    assert {(row.user.username, row.actor) for row in Notification.objects.all()} == {("ada", None), ("vera", None)}
    mails.send_waiting()
    assert {sent.subject.split(" will ")[0] for sent in mail.outbox[-2:]} == {"Exhibit"}


def test_who_wants_no_mails_finds_it_in_the_list(room: Room, viewer: Room) -> None:
    notices.choose_mail(viewer.user, False)
    keeping.announce(room, "it was an exercise")
    assert mails.send_waiting() == 0
    client = Client()
    client.force_login(viewer.user)
    text = " ".join(client.get(reverse("notifications")).content.decode().split())
    assert "announced a deletion in Logins of a secret customer" in text
    assert "unless a lead undoes that" in text
    assert reverse("keeping", args=[room.incident.slug]) in text


def test_a_webhook_for_the_status_says_the_day(room: Room) -> None:
    hook = webhooks.add(room, "https://chat.example.invalid/hooks/x", ["room"])
    keeping.announce(room, "it was an exercise")
    deliveries = Delivery.objects.filter(webhook__incident=room.incident, kind="room")
    assert deliveries, hook
    said = json.loads(body_of(deliveries.latest("created_at")) or "")
    due = Incident.objects.get(pk=room.incident.pk).delete_at
    assert f"The room is deleted {due:%Y-%m-%d %H:%M} UTC" in said["text"]
    assert said["delete_at"] == due.isoformat(timespec="seconds")

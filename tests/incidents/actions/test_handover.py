"""Tests of handing over the lead: offered, accepted, declined; a room always has a lead."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections
from django.urls import reverse

from incidents import access
from incidents.access import Room
from incidents.actions import handover, members, rooms
from incidents.errors import IncidentError, NotAllowed, Refused
from incidents.models.people.handover import HandOver
from incidents.models.people.membership import Membership, Role
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import client_of

pytestmark = pytest.mark.django_db


def role_of(room: Room) -> str:
    return Membership.objects.get(incident=room.incident, user=room.user).role


def leads(room: Room) -> int:
    return room.incident.memberships.filter(role=Role.LEAD).count()


def test_accepted_it_makes_one_a_lead_and_the_other_an_investigator(published: Any, on_commit: None) -> None:
    room = make_room()
    guest = make_member(room.incident, Role.VIEWER)
    handover.offer(room, guest.user.pk, "The DBA team is on the phone.")
    assert (role_of(room), role_of(guest)) == (Role.LEAD, Role.VIEWER)
    handover.accept(guest)
    assert (role_of(room), role_of(guest)) == (Role.INVESTIGATOR, Role.LEAD)
    verbs = list(room.incident.activity.values_list("verb", "object").order_by("seq"))
    assert verbs[-2:] == [("offered", "lead"), ("took over", "lead")]


def test_both_hear_that_their_pages_are_those_of_another_role(
    published: list[dict[str, Any]], django_capture_on_commit_callbacks: Any
) -> None:
    room = make_room()
    guest = make_member(room.incident)
    handover.offer(room, guest.user.pk)
    with django_capture_on_commit_callbacks(execute=True):
        handover.accept(guest)
    assert {said["end"] for said in published if "end" in said} == {room.user.pk, guest.user.pk}


def test_declined_and_taken_back_it_changes_nothing() -> None:
    room = make_room()
    guest = make_member(room.incident)
    handover.offer(room, guest.user.pk)
    handover.decline(guest)
    handover.offer(room, guest.user.pk)
    handover.withdraw(room)
    with pytest.raises(Refused, match="not offered to you"):
        handover.accept(guest)
    assert (role_of(room), role_of(guest)) == (Role.LEAD, Role.INVESTIGATOR)
    assert list(HandOver.objects.order_by("pk").values_list("answer", flat=True)) == ["declined", "withdrawn"]


def test_one_offer_at_a_time_and_not_to_oneself() -> None:
    room = make_room()
    one, two = make_member(room.incident), make_member(room.incident)
    handover.offer(room, one.user.pk)
    with pytest.raises(Refused, match="already"):
        handover.offer(room, two.user.pk)
    with pytest.raises(Refused, match="somebody else"):
        handover.offer(room, room.user.pk)
    with pytest.raises(Refused, match="not a member"):
        handover.offer(room, make_user().pk)
    with pytest.raises(NotAllowed):
        handover.offer(one, two.user.pk)


def test_who_leaves_takes_the_offer_along() -> None:
    room = make_room()
    guest = make_member(room.incident)
    handover.offer(room, guest.user.pk)
    members.remove(room, guest.user.pk)
    assert not HandOver.objects.filter(answer__isnull=True).exists()


def test_an_offer_of_one_who_leads_no_more_is_worth_nothing() -> None:
    room = make_room()
    guest = make_member(room.incident)
    other = make_member(room.incident, Role.LEAD)
    handover.offer(room, guest.user.pk)
    members.change(other, room.user.pk, Role.VIEWER, "dba")
    with pytest.raises(Refused, match="not offered to you"):
        handover.accept(guest)
    assert leads(room) == 1


def test_an_archived_room_keeps_its_people() -> None:
    room = make_room()
    guest = make_member(room.incident)
    handover.offer(room, guest.user.pk)
    rooms.close(room)
    rooms.archive(room)
    with pytest.raises(Refused, match="archived"):
        handover.accept(guest)


@pytest.mark.django_db(transaction=True)
def test_accepting_and_stepping_down_at_once_leaves_a_lead() -> None:
    """Accept the offer while the only lead tries to become a viewer: in either order, somebody leads afterwards."""
    for _ in range(3):
        room = make_room()
        guest = make_member(room.incident)
        handover.offer(room, guest.user.pk)
        deeds = (
            lambda guest=guest: handover.accept(guest),
            lambda room=room: members.change(room, room.user.pk, Role.VIEWER, "dba"),
            lambda room=room: members.remove(room, room.user.pk),
        )

        def run(deed: Any) -> None:
            try:
                deed()
            except IncidentError:
                pass
            finally:
                connections.close_all()

        threads = [threading.Thread(target=run, args=(deed,)) for deed in deeds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert leads(room) == 1


def test_the_page_offers_and_asks() -> None:
    room = make_room()
    guest = make_member(room.incident)
    address, page = reverse("handover", args=[room.incident.slug]), reverse("members", args=[room.incident.slug])
    assert "Hand over the lead" in client_of(room).get(page).content.decode()
    data = {"do": "offer", "to": guest.user.pk, "words": "<b>Careful</b> with db1"}
    assert client_of(room).post(address, data).status_code == 302
    asked = client_of(guest).get(page).content.decode()
    assert "offers you the lead" in asked
    assert "&lt;b&gt;Careful&lt;/b&gt;" in asked
    assert "Take the offer back" in client_of(room).get(page).content.decode()
    assert client_of(guest).post(address, {"do": "accept"}).status_code == 302
    assert access.enter(guest.user, room.incident.slug).role == Role.LEAD

"""Tests of severity and duties: set on the status page, shown in the room and in the list of rooms."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from incidents.actions import handover, members, standing
from incidents.content.milestones import header
from incidents.errors import NotAllowed, Refused
from incidents.models.people.duty import Duty
from incidents.models.room.incident import Incident
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import Judged, client_of, judged  # noqa: F401
from tests.incidents.pages.filled import post_form
from tests.incidents.pages.pages import page_in

pytestmark = pytest.mark.django_db


def text_of(answer) -> str:
    return page_in(answer).text


@pytest.fixture
def room(judged: Judged) -> Judged:  # noqa: F811
    return judged


def test_both_are_seen_in_the_room_in_the_list_and_in_the_summary(room):
    nils = room.investigator.user
    standing.put(room.investigator, {"severity": 2, "communications": nils.pk, "scribe": room.lead.user.pk})
    client = client_of(room.viewer)
    for name in ("room", "status", "summary"):
        text = text_of(client.get(reverse(name, args=[room.slug]))).lower().replace("severity: 2", "severity 2")
        assert "severity 2" in text, name
        assert "communications: nils" in text, name
        assert "lead, scribe: anna" in text, name
    text = text_of(client.get(reverse("rooms")))
    assert "severity 2" in text
    assert "lead, scribe: anna ; communications: nils" in text


def test_they_are_set_on_the_status_page_and_the_record_names_who_did(room):
    client, address = client_of(room.investigator), reverse("status", args=[room.slug])
    sent = post_form(client, address, severity="1", scribe=str(room.investigator.user.pk))
    assert client.post(address, sent).status_code == 302
    row = room.lead.incident.activity.filter(verb="set status").get()
    assert (row.actor, row.detail) == (room.investigator.user, {"severity": 1, "scribe": room.investigator.user.pk})
    text = text_of(client.get(address))
    assert "severity 1, work has stopped" in text
    assert "scribe nils" in text


def test_a_viewer_neither_sets_them_nor_has_a_duty(room):
    with pytest.raises(NotAllowed):
        standing.put(room.viewer, {"severity": 1})
    with pytest.raises(Refused, match="an investigator or a lead"):
        standing.put(room.lead, {"scribe": room.viewer.user.pk})
    with pytest.raises(Refused, match="must be a lead"):
        standing.put(room.lead, {"lead": room.investigator.user.pk})
    with pytest.raises(Refused, match="from 1 to 4"):
        standing.put(room.lead, {"severity": 5})
    assert not Duty.objects.exists()


def test_of_two_leads_the_one_who_has_the_duty_leads(room):
    other = make_member(room.lead.incident, "lead", make_user("olga"))
    assert header(room.lead.incident)["lead"] == room.lead.user
    standing.put(room.investigator, {"lead": other.user.pk})
    assert header(room.lead.incident)["lead"] == other.user


def test_a_duty_rests_while_its_holder_cannot_do_it(room):
    nils = room.investigator.user
    standing.put(room.lead, {"communications": nils.pk})
    assert standing.values_of(room.lead.incident)["communications"] == nils.pk
    members.change(room.lead, nils.pk, "viewer", "dba")
    assert standing.values_of(room.lead.incident)["communications"] is None
    members.change(room.lead, nils.pk, "investigator", "dba")
    assert standing.values_of(room.lead.incident)["communications"] == nils.pk
    members.remove(room.lead, nils.pk)
    assert [one.duties for one in header(room.lead.incident)["on_duty"]] == ["lead"]


def test_who_takes_the_lead_over_leads(room):
    standing.put(room.lead, {"lead": room.lead.user.pk})
    handover.offer(room.lead, room.investigator.user.pk)
    handover.accept(room.investigator)
    assert header(room.lead.incident)["lead"] == room.investigator.user


class TestUndo:
    def test_it_puts_back_what_the_last_change_overwrote_and_nothing_else(self, room):
        now = timezone.now().replace(microsecond=0)
        standing.put(room.lead, {"severity": 3, "started": now - timedelta(hours=2)})
        standing.put(room.lead, {"mitigated": now, "scribe": room.lead.user.pk})
        standing.put(room.investigator, {"severity": 1, "scribe": None})
        client, address = client_of(room.investigator), reverse("status", args=[room.slug])
        seq = standing.undoable(room.lead.incident)
        assert page_in(client.get(address)).part("button[name=undo]")["value"] == str(seq)
        assert client.post(address, {"undo": seq}).status_code == 302
        values = standing.values_of(Incident.objects.get(slug=room.slug))
        assert (values["severity"], values["scribe"]) == (3, room.lead.user.pk)
        assert values["mitigated"] == now
        # A second undo restores the state before the first undo.
        assert client.post(address, {"undo": standing.undoable(room.lead.incident)}).status_code == 302
        assert Incident.objects.get(slug=room.slug).severity == 1

    def test_a_change_by_somebody_else_in_between_stays(self, room):
        standing.put(room.lead, {"severity": 3})
        seq = standing.undoable(room.lead.incident)
        assert seq is not None
        standing.put(room.investigator, {"severity": 1})
        with pytest.raises(Refused, match="changed it since"):
            standing.undo(room.lead, seq)
        assert Incident.objects.get(slug=room.slug).severity == 1

    def test_an_update_that_was_overdue_is_overdue_again(self, room):
        past = (timezone.now() - timedelta(hours=1)).replace(microsecond=0)
        standing.put(room.lead, {"next_update_at": timezone.now() + timedelta(minutes=1)})
        Incident.objects.update(next_update_at=past)
        row = room.lead.incident.activity.filter(verb="set status").get()
        standing.put(room.lead, {"next_update_at": timezone.now() + timedelta(hours=1)})
        standing.undo(room.lead, row.seq + 1)
        assert Incident.objects.get(slug=room.slug).next_update_at is not None


def test_the_list_of_rooms_begins_with_the_worst():
    lead = make_user()
    mild, unknown, worst = (make_room(lead, title) for title in ("Mild", "Nobody said", "Worst"))
    standing.put(mild, {"severity": 4})
    standing.put(worst, {"severity": 1})
    text = text_of(client_of(unknown).get(reverse("rooms")))
    assert text.index("Worst") < text.index("Mild") < text.index("Nobody said")
    text = text_of(client_of(unknown).get(reverse("rooms") + "?sort=-severity"))
    assert text.index("Mild") < text.index("Worst")


def test_the_page_asks_the_database_at_most_fifteen_times_whatever_is_set(room):
    now = timezone.now()
    nils = room.investigator.user.pk
    standing.put(room.lead, {"severity": 2, "communications": nils, "started": now, "detected": now})
    standing.put(room.lead, {"next_update_at": now + timedelta(hours=1), "next_update_duty": "communications"})
    client, address = client_of(room.lead), reverse("status", args=[room.slug])
    client.get(address)
    with CaptureQueriesContext(connection) as asked:
        client.get(address)
    assert len(asked.captured_queries) <= 15

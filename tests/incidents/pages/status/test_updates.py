"""Tests of the promised update: a reminder when it is due, giving or postponing it with one click, and undoing that."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from incidents import tasks
from incidents.actions import notices, rooms, standing, updates, webhooks
from incidents.content.webhook_words import body_of
from incidents.errors import NotAllowed, Refused
from incidents.models.people.notification import Mail, Notification
from incidents.models.plan.entry import Entry
from incidents.models.room.incident import Incident
from incidents.models.room.webhook import Delivery
from incidents.work import mails, reminders
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.filled import post_form
from tests.incidents.pages.pages import page_in

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def room():
    return make_room(make_user("anna", email="anna@example.com"))


@pytest.fixture
def nils(room):
    return make_member(room.incident, "investigator", make_user("nils", email="nils@example.com"))


def fresh(room) -> Incident:
    return Incident.objects.get(pk=room.incident.pk)


def promise(room, minutes: int, **more: object):
    """Promise an update `minutes` from now; a negative value makes one that is overdue."""
    at = (timezone.now() + minutes * MINUTE).replace(microsecond=0)
    standing.put(room, {"next_update_at": at, **more}, back=True)
    return at


def strip(room):
    return page_in(client_of(room).get(reverse("update", args=[room.incident.slug]), headers=HTMX)).part("#update")


class TestReminding:
    def test_whoever_promised_it_is_reminded_once_by_notification_mail_and_event(self, room, nils):
        at = promise(room, 4, next_update_by=nils.user.pk)
        assert reminders.remind_of_updates() == 1
        assert reminders.remind_of_updates() == 0
        row = Notification.objects.get()
        assert (row.user, row.kind, row.promised_at, row.actor) == (nils.user, "update", at, None)
        assert room.incident.events.filter(kind="update", object="due").count() == 1
        assert room.incident.activity.filter(verb="reminded", actor_name="Exhibit").exists()
        mails.send_waiting()
        assert [sent.subject for sent in mail.outbox] == [f"An update is due at {at:%H:%M} UTC"]
        assert mail.outbox[0].to == ["nils@example.com"]
        assert reverse("room", args=[room.incident.slug]) in mail.outbox[0].body
        assert room.incident.title not in mail.outbox[0].body
        text = page_in(client_of(nils).get(reverse("notifications"))).part("main").text
        assert "Exhibit reminds you of an update" in text
        assert f"due at {at:%Y-%m-%d %H:%M} UTC" in text

    def test_not_before_it_is_due_nor_when_the_incident_is_over(self, room):
        promise(room, 20)
        assert reminders.remind_of_updates() == 0
        promise(room, 2)
        standing.put(room, {"resolved": timezone.now()})
        assert reminders.remind_of_updates() == 0
        standing.put(room, {"resolved": None})
        rooms.close(room)
        assert reminders.remind_of_updates() == 0

    def test_the_sweep_does_it(self, room, hints):
        promise(room, 1)
        tasks.sweep()
        assert Notification.objects.get().user == room.user
        assert tasks.MAILS in hints

    def test_a_new_promise_is_reminded_of_anew_and_the_old_reminder_is_settled(self, room):
        promise(room, 1)
        reminders.remind_of_updates()
        promise(room, 60)
        old = Notification.objects.get()
        assert old.read_at is not None
        assert old.mail == Mail.NONE
        promise(room, 2)
        assert reminders.remind_of_updates() == 1
        assert Notification.objects.filter(read_at__isnull=True).count() == 1

    def test_who_wants_no_mails_gets_none(self, room):
        notices.choose_mail(room.user, False)
        promise(room, 1)
        reminders.remind_of_updates()
        assert Notification.objects.get().mail == Mail.NONE

    def test_a_webhook_hears_of_it_unless_it_was_given_meanwhile(self, room, nils):
        webhooks.add(room, "https://chat.example.com/hooks/x", ["update"])
        at = promise(room, 1, next_update_by=nils.user.pk)
        reminders.remind_of_updates()
        delivery = Delivery.objects.get()
        body = body_of(delivery)
        assert body is not None
        assert json.loads(body)["text"] == f"The next update is due at {at:%Y-%m-%d %H:%M} UTC, by nils."
        updates.give(room)
        assert body_of(Delivery.objects.get(pk=delivery.pk)) is None


class TestByDuty:
    def test_whoever_has_the_duty_gives_it_also_when_the_duty_changes_hands(self, room, nils):
        standing.put(room, {"communications": nils.user.pk})
        promise(room, 30, next_update_duty="communications")
        assert fresh(room).next_update_by == nils.user
        standing.put(room, {"communications": room.user.pk})
        assert fresh(room).next_update_by == room.user
        # A person who was named explicitly gives it, whoever has the duty.
        standing.put(room, {"next_update_by": nils.user.pk})
        assert fresh(room).next_update_duty is None
        standing.put(room, {"communications": None})
        assert fresh(room).next_update_by == nils.user

    def test_the_lead_is_the_lead_of_the_room_if_nobody_was_chosen(self, room, nils):
        promise(nils, 30, next_update_duty="lead")
        assert fresh(room).next_update_by == room.user
        with pytest.raises(Refused, match="duty from the list"):
            standing.put(room, {"next_update_duty": "cook"})

    def test_it_is_set_on_the_status_page(self, room):
        client, address = client_of(room), reverse("status", args=[room.incident.slug])
        at = f"{timezone.now() + 30 * MINUTE:%Y-%m-%dT%H:%M:%S}"
        sent = post_form(client, address, next_update_at=at, next_update_duty="lead", next_update_every="45")
        assert client.post(address, sent).status_code == 302
        text = page_in(client.get(address)).part("main").text
        assert "anna (lead), then every 45 minutes" in text
        assert "minutes between updates 45" in text


class TestClicks:
    def test_the_strip_is_there_only_when_it_is_due_and_without_buttons_for_viewers(self, room):
        viewer = make_member(room.incident, "viewer")
        promise(room, 30)
        assert strip(room).text == ""
        promise(room, 3)
        assert "An update is due" in strip(room).text
        assert "An update is due" in strip(viewer).text
        assert not strip(viewer).select("button")
        promise(room, -3)
        assert "overdue" in strip(room).text
        page = page_in(client_of(room).get(reverse("evidence", args=[room.incident.slug])))
        assert "overdue" in page.part("#update").text

    def test_given_it_stands_in_the_log_and_the_next_is_promised(self, room):
        promise(room, 1, next_update_every=45)
        button = next(one for one in strip(room).select("button") if "next in 45 min" in one.text)
        sent = {"do": "give", button["name"]: button["value"]}
        answer = client_of(room).post(reverse("update", args=[room.incident.slug]), sent, headers=HTMX)
        after = fresh(room).next_update_at
        assert after is not None
        assert 44 * MINUTE < after - timezone.now() <= 45 * MINUTE
        row = Entry.objects.get()
        assert (row.kind, row.who) == ("update", room.user)
        text = page_in(answer).part("#update").text
        assert "Update given" in text
        assert "Undo" in text

    def test_both_clicks_can_be_taken_back(self, room):
        client, address = client_of(room), reverse("update", args=[room.incident.slug])
        at = promise(room, -2)
        for sent in ({"do": "give"}, {"do": "give", "every": "30"}, {"do": "move", "minutes": "15"}):
            form = page_in(client.post(address, sent, headers=HTMX)).part("#update form")
            assert fresh(room).next_update_at != at
            fields = {one["name"]: one["value"] for one in form.select("input")} | {"do": "undo"}
            answer = client.post(address, fields, headers=HTMX)
            assert "Taken back" in page_in(answer).text
            assert fresh(room).next_update_at == at
            assert fresh(room).next_update_by == room.user
        assert not Entry.objects.filter(deleted_at__isnull=True).exists()

    def test_what_somebody_changed_since_is_not_undone(self, room, nils):
        promise(room, -2)
        entry = updates.give(room, 30)
        seq = standing.undoable(fresh(room))
        assert seq is not None
        updates.move_on(nils, 15)
        with pytest.raises(Refused, match="changed it since"):
            updates.take_back(room, seq, entry.pk)
        assert Entry.objects.get().deleted_at is None

    def test_moved_on_it_is_later_than_it_was_or_than_now(self, room):
        at = promise(room, 3)
        updates.move_on(room, 15)
        assert fresh(room).next_update_at == at + 15 * MINUTE
        promise(room, -60)
        updates.move_on(room, 15)
        after = fresh(room).next_update_at
        assert after is not None
        assert after > timezone.now() + 14 * MINUTE

    def test_two_clicks_at_once_give_one_update(self, room, nils):
        promise(room, 1)
        updates.give(nils)
        with pytest.raises(Refused, match="before you"):
            updates.give(room)
        with pytest.raises(Refused, match="before you"):
            updates.move_on(room, 15)
        assert Entry.objects.count() == 1

    def test_without_a_script_one_comes_back_to_where_one_was(self, room):
        promise(room, 1)
        here = reverse("evidence", args=[room.incident.slug])
        address = reverse("update", args=[room.incident.slug])
        answer = client_of(room).post(address, {"do": "move", "minutes": "30", "back": here}, follow=True)
        assert answer.redirect_chain == [(here, 302)]
        assert "Moved on: the update is due at" in page_in(answer).part("main").text
        answer = client_of(room).post(address, {"do": "move", "minutes": "30", "back": "https://example.com/"})
        assert answer.headers["Location"] == reverse("room", args=[room.incident.slug])

    @pytest.mark.parametrize(
        "sent", [{"do": "dance"}, {"do": "move"}, {"do": "move", "minutes": "soon"}, {"do": "move", "minutes": "0"}]
    )
    def test_nonsense_is_refused(self, room, sent):
        at = promise(room, 1)
        assert client_of(room).post(reverse("update", args=[room.incident.slug]), sent).status_code >= 400
        assert fresh(room).next_update_at == at

    def test_a_viewer_cannot(self, room):
        viewer = make_member(room.incident, "viewer")
        promise(room, 1)
        with pytest.raises(NotAllowed):
            updates.give(viewer)
        answer = client_of(viewer).post(reverse("update", args=[room.incident.slug]), {"do": "give"})
        assert answer.status_code == 403

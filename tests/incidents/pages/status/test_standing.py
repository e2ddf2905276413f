"""The status of the incident, and closing, opening and archiving its room, as people meet them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from incidents import tasks
from incidents.actions import members, rooms, standing
from incidents.content.milestones import header
from incidents.errors import NotAllowed, Refused, RoomClosed
from incidents.models.evidence.upload import Upload
from incidents.models.room.incident import Incident, Status
from incidents.storage import store
from incidents.work import closing
from tests.incidents.conftest import make_artifact, make_member, make_room, run_jobs
from tests.incidents.pages.conftest import Judged, client_of, judged  # noqa: F401
from tests.incidents.pages.filled import post_form

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def room(judged: Judged) -> Judged:  # noqa: F811
    return judged


def url(name: str, room: Judged) -> str:
    return reverse(name, args=[room.slug])


def text_of(answer) -> str:
    return " ".join(answer.content.decode().split())


def fresh(room: Judged) -> Incident:
    return Incident.objects.get(slug=room.slug)


class TestTimes:
    def test_the_status_follows_from_what_was_reached(self, room):
        now = timezone.now()
        standing.put(room.investigator, {"started": now - 3 * HOUR, "detected": now - 2 * HOUR})
        assert fresh(room).status == Status.OPEN
        standing.put(room.investigator, {"mitigated": now - HOUR})
        assert fresh(room).status == Status.MITIGATED
        standing.put(room.lead, {"resolved": now})
        assert fresh(room).status == Status.RESOLVED
        standing.put(room.lead, {"resolved": None})
        assert fresh(room).status == Status.MITIGATED

    def test_the_head_of_the_room_names_the_start_and_the_end_that_was_reached(self, room):
        now = timezone.now()
        times = {"started": now - 3 * HOUR, "detected": now - 2 * HOUR, "mitigated": now - HOUR}

        def named() -> list[str]:
            return [one.kind for one in header(fresh(room))["milestones"]]

        standing.put(room.investigator, {"detected": times["detected"]})
        assert named() == ["detected"], "nothing else is known"
        standing.put(room.investigator, {"started": times["started"]})
        assert named() == ["started"]
        standing.put(room.investigator, {"mitigated": times["mitigated"]})
        assert named() == ["started", "mitigated"]
        standing.put(room.lead, {"resolved": now})
        assert named() == ["started", "resolved"]

    def test_everybody_sees_it_in_the_header_and_in_the_list_of_rooms(self, room):
        now = timezone.now()
        standing.put(room.investigator, {"mitigated": now - HOUR, "next_update_at": now + HOUR})
        client = client_of(room.viewer)
        assert f"{now - HOUR:%Y-%m-%d %H:%M} UTC" in text_of(client.get(url("room", room)))
        for address in (url("room", room), reverse("rooms")):
            text = text_of(client.get(address))
            assert "mitigated" in text
            assert "next update" in text
            assert "nils" in text
            assert "overdue" not in text

    def test_an_overdue_update_says_so_until_the_incident_is_over(self, room):
        standing.put(room.lead, {"next_update_at": timezone.now() + HOUR})
        Incident.objects.update(next_update_at=timezone.now() - HOUR)
        client = client_of(room.viewer)
        assert "overdue" in text_of(client.get(url("room", room)))
        assert "overdue" in text_of(client.get(reverse("rooms")))
        standing.put(room.lead, {"resolved": timezone.now()})
        assert "overdue" not in text_of(client.get(url("room", room)))

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ({"started": timedelta(hours=2)}, "in the future"),
            ({"started": timedelta(days=-365 * 60)}, "before 1990"),
            ({"detected": -2 * HOUR, "mitigated": -3 * HOUR}, "lies before"),
            ({"next_update_at": -2 * HOUR}, "in the past"),
            ({"next_update_at": timedelta(days=400)}, "more than a year away"),
        ],
    )
    def test_a_time_that_cannot_be_is_refused(self, room, said, words):
        with pytest.raises(Refused, match=words):
            standing.put(room.lead, {name: timezone.now() + away for name, away in said.items()})
        assert not room.lead.incident.milestones.exists()

    def test_the_next_word_comes_from_a_member(self, room):
        with pytest.raises(Refused, match="must be a member"):
            standing.put(room.lead, {"next_update_at": timezone.now() + HOUR, "next_update_by": make_room().user.pk})

    def test_a_viewer_cannot_set_it(self, room):
        with pytest.raises(NotAllowed):
            standing.put(room.viewer, {"mitigated": timezone.now()})

    def test_one_button_says_now(self, room):
        assert client_of(room.investigator).post(url("status", room), {"now": "mitigated"}).status_code == 302
        row = room.lead.incident.milestones.get(kind="mitigated")
        assert row.set_by == room.investigator.user
        assert timezone.now() - row.at < timedelta(minutes=1)

    def test_two_people_setting_times_are_both_heard(self, room):
        first, second, address = client_of(room.investigator), client_of(room.lead), url("status", room)
        mine = post_form(second, address, mitigated="2016-04-14T08:10:00")
        theirs = post_form(first, address, mitigated="2016-04-14T08:30:00", started="2016-04-14T02:00:00")
        assert first.post(address, theirs).status_code == 302
        answer = second.post(address, mine)
        assert answer.status_code == 409
        text = text_of(answer)
        assert "nils changed it meanwhile to: 2016-04-14 08:30:00 UTC" in text
        assert 'value="2016-04-14T08:10:00"' in text
        # Saving again overwrites their value with mine, and keeps the values that only they set.
        again = {**mine, "initial-mitigated": "2016-04-14T08:30:00"}
        assert second.post(address, again).status_code == 302
        times = dict(room.lead.incident.milestones.values_list("kind", "at"))
        assert f"{times['mitigated']:%H:%M}" == "08:10"
        assert f"{times['started']:%H:%M}" == "02:00"

    def test_the_record_names_who_set_what(self, room):
        standing.put(room.investigator, {"detected": timezone.now() - HOUR})
        row = room.lead.incident.activity.filter(verb="set status").get()
        assert (row.actor, "detected" in row.detail) == (room.investigator.user, True)


class TestClosing:
    def test_two_leads_closing_at_once_get_a_clear_message(self, room):
        other = make_member(room.lead.incident, "lead")
        assert client_of(room.lead).post(url("close", room), {"do": "close"}).status_code == 302
        answer = client_of(other).post(url("close", room), {"do": "close"})
        assert answer.status_code == 409
        assert "anna closed this room before you" in text_of(answer)
        assert fresh(room).closed_by == room.lead.user
        assert room.lead.incident.activity.filter(verb="set status", object="closed").count() == 1

    def test_closed_means_read_only_and_opened_again_it_is_as_before(self, room):
        standing.put(room.lead, {"mitigated": timezone.now() - HOUR})
        rooms.close(room.lead)
        with pytest.raises(RoomClosed):
            standing.put(room.lead, {"resolved": timezone.now()})
        assert "This room is closed" in text_of(client_of(room.viewer).get(url("room", room)))
        assert client_of(room.lead).post(url("close", room), {"do": "reopen"}).status_code == 302
        assert (fresh(room).status, fresh(room).closed_at) == (Status.MITIGATED, None)
        answer = client_of(room.lead).post(url("close", room), {"do": "reopen"})
        assert answer.status_code == 409

    def test_it_says_what_is_under_way(self, room):
        text = text_of(client_of(room.lead).get(url("status", room)))
        assert "4 files being read" in text
        assert "Close when that is finished" in text

    def test_it_waits_for_what_is_being_read_and_then_closes_by_itself(self, room):
        assert client_of(room.lead).post(url("close", room), {"do": "wait"}).status_code == 302
        assert not fresh(room).closed
        guest = make_member(fresh(room))
        with pytest.raises(RoomClosed, match="being closed"):
            guest.require_more_evidence()
        run_jobs("small", "judge")
        tasks.sweep()
        assert fresh(room).closed
        assert fresh(room).closed_by == room.lead.user
        row = room.lead.incident.activity.filter(verb="set status", object="closed").get()
        assert row.detail["waited"] is True

    def test_a_waiting_one_can_be_taken_back(self, room):
        rooms.close(room.lead, wait=True)
        rooms.keep_open(room.lead)
        run_jobs()
        tasks.sweep()
        assert not fresh(room).closed

    def test_with_nothing_under_way_it_closes_at_once(self):
        room = make_room()
        rooms.close(room, wait=True)
        room.incident.refresh_from_db()
        assert room.incident.closed

    def test_an_upload_that_sends_is_waited_for_and_one_that_was_left_is_not(self):
        room = make_room()
        upload = Upload.objects.create(incident=room.incident, uploader=room.user, name="big.txt", size=10)
        incoming = store.Incoming(upload.pk)
        incoming.write(b"12345")
        incoming.flush()
        incoming.close()
        assert closing.under_way(room.incident.pk).uploads == 1
        rooms.close(room, wait=True)
        assert closing.close_what_waits() == 0
        import os

        path = store.incoming_path(upload.pk)
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - closing.SILENT_S - 1))
        assert closing.close_what_waits() == 1

    def test_what_is_judged_after_closing_waits_for_a_lead(self):
        room = make_room()
        make_artifact(room)
        rooms.close(room)
        run_jobs("small", "judge")
        evaluation = room.incident.evaluations.get()
        assert not evaluation.accepted


class TestArchive:
    def test_an_archived_room_leaves_the_list_and_is_for_reading(self, room):
        with pytest.raises(Refused, match="Close the room before"):
            rooms.archive(room.lead)
        rooms.close(room.lead)
        rooms.archive(room.lead)
        client = client_of(room.lead)
        title = room.lead.incident.title
        assert title not in text_of(client.get(reverse("rooms")))
        assert title in text_of(client.get(reverse("rooms") + "?status=archived"))
        assert client.get(url("room", room)).status_code == 200
        with pytest.raises(RoomClosed, match="archived"):
            members.invite(room.lead, "viewer")
        with pytest.raises(Refused, match="out of the archive"):
            rooms.reopen(room.lead)
        rooms.unarchive(room.lead)
        rooms.reopen(room.lead)
        assert title in text_of(client.get(reverse("rooms")))
        assert [row.verb for row in room.lead.incident.activity.order_by("-seq")[:3]] == [
            "set status",
            "took out of the archive",
            "archived",
        ]

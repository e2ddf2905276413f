"""Tests of the log: entries are written from any page, listed in the order of time, corrected and deleted."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import quote

import pytest
from django.urls import reverse
from django.utils import timezone

from incidents.actions import case, handover, plan, rooms, standing
from incidents.content.course import KINDS, course_of
from incidents.content.summary.gathering import gather
from incidents.errors import NotAllowed, Refused, RoomClosed
from incidents.models.plan.decision import Decision
from incidents.models.plan.entry import Entry
from incidents.pages.timeline import people as timeline_people
from incidents.pages.timeline.ranges import log_url
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.filled import post_form
from tests.incidents.pages.pages import page_in

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def room():
    return make_room(make_user("anna"))


@pytest.fixture
def nils(room):
    return make_member(room.incident, "investigator", make_user("nils"))


def url(name: str, room, *more: object) -> str:
    return reverse(name, args=[room.incident.slug, *more])


def ago(minutes: int):
    return (timezone.now() - minutes * MINUTE).replace(microsecond=0)


class TestCourse:
    def test_what_stands_in_several_tables_is_one_course_each_thing_once(self, room, nils, django_assert_num_queries):
        plan.put_decision(room, {"question": "Fail over?", "outcome": "Yes, at once.", "decided_at": ago(50)})
        plan.put_decision(room, {"question": "Still open?"})
        plan.put_entry(nils, {"kind": "change", "at": ago(40), "text": "Failed over to db2"})
        plan.put_entry(nils, {"kind": "step", "at": ago(45), "text": "Called the network team"})
        done = plan.put_action(room, {"text": "Raise the backlog"})
        plan.finish_action(room, done.pk, ago(30), ["somaxconn 4096"])
        looked = plan.put_action(room, {"text": "Look at the switch"})
        plan.finish_action(room, looked.pk, ago(20))
        case.put_marker(room, {"kind": "change", "label": "The vendor patched it", "at": ago(60)})
        standing.put(room, {"detected": ago(70)})
        handover.offer(room, nils.user.pk)
        handover.accept(nils)
        with django_assert_num_queries(1):
            course = course_of(room.incident)
        assert [(one.kind, one.text, one.who) for one in course] == [
            ("status", "Detected", "anna"),
            ("change", "The vendor patched it", "anna"),
            ("decision", "Yes, at once.", "anna"),
            ("step", "Called the network team", "nils"),
            ("change", "Failed over to db2", "nils"),
            ("change", "Raise the backlog", "anna"),
            ("step", "Look at the switch", "anna"),
            ("status", "took over the lead", "nils"),
        ]
        assert course[2].note == "Fail over?"
        assert [one.text for one in course_of(room.incident, ["step"])] == [
            "Called the network team",
            "Look at the switch",
        ]
        for kind in KINDS:
            assert course_of(room.incident, [kind]) == [one for one in course if one.kind == kind]

    def test_the_newest_are_kept_when_there_are_too_many(self, room):
        for minutes in (30, 20, 10):
            plan.put_entry(room, {"kind": "step", "at": ago(minutes), "text": f"{minutes} minutes ago"})
        assert [one.text for one in course_of(room.incident, most=2)] == ["20 minutes ago", "10 minutes ago"]


class TestWriting:
    def test_a_change_is_a_marker_of_the_case_that_moves_and_goes_with_it(self, room):
        first, later = ago(10), ago(9)
        row = plan.put_entry(room, {"kind": "change", "at": first, "text": "Restarted the listener\nIt took 4 s."})
        marker = room.incident.markers.get()
        assert (marker.at, marker.label, marker.kind) == (first, "Restarted the listener", "change")
        plan.put_entry(room, {"at": later}, row.pk)
        assert room.incident.markers.get().at == later
        plan.delete_entry(room, row.pk)
        assert not room.incident.markers.exists()
        plan.restore_entry(room, row.pk)
        assert room.incident.markers.get().label == "Restarted the listener"
        plan.put_entry(room, {"kind": "step"}, row.pk)
        assert not room.incident.markers.exists()

    def test_it_needs_words_a_known_kind_and_a_time_that_has_been(self, room):
        for said, words in (
            ({"kind": "step", "text": "  "}, "Say what was done"),
            ({"kind": "party", "text": "x"}, "Choose a kind"),
            ({"kind": "step", "text": "x", "at": timezone.now() + 10 * MINUTE}, "in the future"),
            ({"kind": "step", "text": "x", "who": make_user().pk}, "must be a member"),
        ):
            with pytest.raises(Refused, match=words):
                plan.put_entry(room, said)
        assert not Entry.objects.exists()

    def test_a_viewer_reads_and_a_closed_room_is_read_only(self, room):
        viewer = make_member(room.incident, "viewer")
        with pytest.raises(NotAllowed):
            plan.put_entry(viewer, {"kind": "step", "text": "x"})
        plan.put_entry(room, {"kind": "step", "text": "Looked at the switch"})
        page = page_in(client_of(viewer).get(url("log", room)))
        assert "Looked at the switch" in page.part("#log-list").text
        assert not page.select("main form[method=post]")
        rooms.close(room)
        with pytest.raises(RoomClosed):
            plan.put_entry(room, {"kind": "step", "text": "x"})

    def test_others_hear_of_it_and_the_record_names_it_without_its_words(self, room):
        row = plan.put_entry(room, {"kind": "step", "text": "Looked at the switch"})
        assert room.incident.activity.filter(verb="wrote down", object=f"entry {row.pk}", detail={}).exists()
        assert room.incident.events.filter(kind="entry", object=str(row.pk)).exists()

    def test_only_its_author_and_leads_take_it_away(self, room, nils):
        row = plan.put_entry(room, {"kind": "step", "text": "Looked"})
        with pytest.raises(NotAllowed):
            plan.delete_entry(nils, row.pk)
        own = plan.put_entry(nils, {"kind": "step", "text": "Looked twice"})
        plan.delete_entry(room, own.pk)
        assert [one.text for one in course_of(room.incident)] == ["Looked"]


class TestPages:
    def test_a_decision_is_a_decision_of_the_plan_even_without_a_question(self, room):
        client = client_of(room)
        sent = {"kind": "decision", "text": "We fail over", "at": "2016-04-14T08:30:00", "who": room.user.pk}
        assert client.post(url("log-new", room), sent).status_code == 302
        row = Decision.objects.get()
        assert (row.question, row.outcome, row.decided_by) == ("", "We fail over", room.user)
        assert f"{row.decided_at:%H:%M}" == "08:30"
        for name in ("log", "plan"):
            assert "We fail over" in page_in(client.get(url(name, room))).part("main").text
        # Edited as any other, it may stay without a question; without an outcome it may not.
        address = url("decision", room, row.pk)
        sent = post_form(client, address, outcome="We fail over now")
        assert client.post(address, sent).status_code == 302
        answer = client.post(address, post_form(client, address, outcome=""))
        assert answer.status_code == 422
        assert "what was decided" in page_in(answer).text

    def test_it_is_written_in_a_dialog_on_any_page_and_can_be_undone_at_once(self, room):
        client = client_of(room)
        link = page_in(client.get(url("evidence", room))).part("a[data-write-down]")
        part = page_in(client.get(link["href"], headers=HTMX))
        assert not part.select("header")
        form = part.part("form")
        assert form["hx-target"] == "#write-down"
        sent = {"kind": "step", "text": "Looked", "at": "2016-04-14T08:30:00", "who": room.user.pk}
        answer = client.post(url("log-new", room), {**sent, "text": ""}, headers=HTMX)
        assert answer.status_code == 422
        answer = client.post(url("log-new", room), sent, headers=HTMX)
        assert "Written down" in page_in(answer).text
        undo = page_in(answer).part("form")
        answer = client.post(undo["action"], {"next": "log"}, follow=True)
        page = page_in(answer).part("#log-list")
        assert "Looked" not in page.text
        client.post(page.part(".told form")["action"], {"next": "log"})
        assert "Looked" in page_in(client.get(url("log", room))).part("#log-list").text

    def test_without_a_script_one_comes_back_to_where_one_was_and_nowhere_else(self, room):
        client = client_of(room)
        sent = {"kind": "step", "text": "Looked", "at": "2016-04-14T08:30:00", "who": room.user.pk}
        here = url("evidence", room)
        assert f'value="{here}"' in client.get(f"{url('log-new', room)}?back={quote(here)}").content.decode()
        assert client.post(url("log-new", room), {**sent, "back": here}).headers["Location"] == here
        for elsewhere in ("https://example.com/", "//example.com", "/rooms/other-room/"):
            answer = client.post(url("log-new", room), {**sent, "back": elsewhere})
            assert answer.headers["Location"] == url("log", room)

    def test_a_time_of_the_timeline_is_filled_in(self, room):
        page = page_in(client_of(room).get(f"{url('log-new', room)}?at=1460622600.5&kind=change"))
        assert page.part("#log_at")["value"].startswith("2016-04-14T08:30")
        assert page.part("#log_kind option[selected]")["value"] == "change"
        assert client_of(room).get(f"{url('log-new', room)}?at=soon&kind=party").status_code == 200

    def test_two_people_editing_are_both_heard(self, room, nils):
        row = plan.put_entry(nils, {"kind": "step", "at": ago(5), "text": "Looked at the switch"})
        first, second, address = client_of(nils), client_of(room), url("log-entry", room, row.pk)
        mine = post_form(second, address, text="Looked at the core switch")
        theirs = post_form(first, address, text="Looked at the switch twice")
        assert first.post(address, theirs).status_code == 302
        answer = second.post(address, mine)
        assert answer.status_code == 409
        assert "nils changed it meanwhile" in page_in(answer).text
        assert Entry.objects.get().text == "Looked at the switch twice"

    def test_one_kind_can_be_looked_at(self, room):
        plan.put_entry(room, {"kind": "step", "text": "Looked"})
        plan.put_entry(room, {"kind": "update", "text": "Told the board"})
        page = page_in(client_of(room).get(url("log", room) + "?kind=update")).part("#log-list").text
        assert "Told the board" in page
        assert "Looked" not in page

    def test_it_can_be_found(self, room):
        plan.put_entry(room, {"kind": "step", "text": "Unplugged the bronze switch"})
        text = page_in(client_of(room).get(reverse("search") + "?q=bronze")).part("main").text
        assert "What people did" in text
        assert "bronze" in text


class TestElsewhere:
    def test_the_summary_names_decisions_and_changes(self, room):
        plan.put_entry(room, {"kind": "change", "at": ago(10), "text": "Failed over"})
        plan.put_entry(room, {"kind": "step", "at": ago(9), "text": "Looked"})
        plan.put_decision(room, {"question": "", "outcome": "Stay on db2", "decided_at": ago(5)})
        did = next(one for one in gather(room.incident).content["sections"] if one["key"] == "did")
        assert [(one["text"], one["by"]) for one in did["sentences"]] == [
            ("Change: Failed over", "anna"),
            ("Decision: Stay on db2", "anna"),
        ]

    def test_a_summary_without_any_has_no_such_section(self, room):
        assert "did" not in [one["key"] for one in gather(room.incident).content["sections"]]

    def test_a_stretch_of_the_timeline_fills_the_time_in_where_it_is_known(self, room):
        dated, undated = SimpleNamespace(epoch=1460622600.0), SimpleNamespace(epoch=None)
        address = log_url(room, dated, 5.5)  # type: ignore[arg-type]  # all that it looks at
        assert address is not None
        page = page_in(client_of(room).get(address))
        assert page.part("#log_at")["value"] == "2016-04-14T08:30:06"
        assert page.part("#log_kind option[selected]")["value"] == "change"
        assert log_url(room, undated, 5.5) is None  # type: ignore[arg-type]  # as above
        assert log_url(make_member(room.incident, "viewer"), dated, 5.5) is None  # type: ignore[arg-type]  # as above

    def test_the_timeline_marks_them(self, room):
        plan.put_entry(room, {"kind": "update", "at": ago(9), "text": "Told the board"})
        row = plan.put_decision(room, {"question": "Fail over?", "outcome": "Yes", "decided_at": ago(5)})
        frame = timeline_people.frame(room)
        assert frame is not None
        assert {lane["label"]: len(lane["spans"]) for lane in frame["lanes"]} == {
            "decisions": 1,
            "updates and steps": 1,
        }
        assert [(one["label"], one["kind"], one["at"]) for one in timeline_people.decided(room)] == [
            ("decided: Yes", "decision", row.decided_at)
        ]

"""The page of decisions and actions, their forms, and two people in one form."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from incidents.actions import members, plan
from incidents.models.plan.action import Action, ActionState
from incidents.models.plan.decision import Decision
from incidents.work import analysis
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import Judged, client_of, judged  # noqa: F401
from tests.incidents.pages.filled import post_form

KEY = reports.CAUSE_KEY
HOUR = timedelta(hours=1)


@pytest.fixture
def room(judged: Judged) -> Judged:  # noqa: F811
    return judged


def url(name: str, room: Judged, *args: object) -> str:
    return reverse(name, args=[room.slug, *args])


def text_of(answer) -> str:
    return " ".join(answer.content.decode().split())


class TestTheLists:
    def test_an_empty_plan_says_what_to_do(self, room):
        text = text_of(client_of(room.investigator).get(url("plan", room)))
        assert "Nothing is planned yet" in text
        assert url("action-new", room) in text

    def test_a_viewer_reads_and_is_offered_nothing(self, room):
        plan.put_action(room.lead, {"text": "Restart with other settings"})
        text = text_of(client_of(room.viewer).get(url("plan", room)))
        assert "Restart with other settings" in text
        assert url("action-new", room) not in text

    def test_what_is_due_first_stands_first_and_what_is_overdue_says_so(self, room):
        now = timezone.now()
        plan.put_action(room.lead, {"text": "later", "due_at": now + 5 * HOUR})
        plan.put_action(room.lead, {"text": "whenever"})
        plan.put_action(room.lead, {"text": "late one", "due_at": now - HOUR})
        done = plan.put_action(room.lead, {"text": "long done", "due_at": now - 9 * HOUR})
        plan.finish_action(room.lead, done.pk)
        text = text_of(client_of(room.viewer).get(url("plan", room)))
        places = [text.index(words) for words in ("late one", "later", "whenever", "long done")]
        assert places == sorted(places)
        assert text.count("overdue</span>") == 1
        overdue = text_of(client_of(room.viewer).get(url("plan", room) + "?show=overdue"))
        assert "late one" in overdue
        assert "later" not in overdue

    def test_both_lists_have_pages_of_their_own(self, room, django_assert_max_num_queries):
        for number in range(30):
            plan.put_action(room.lead, {"text": f"action {number}"})
            plan.put_decision(room.lead, {"question": f"question {number}"})
        client = client_of(room.lead)
        with django_assert_max_num_queries(15):
            text = text_of(client.get(url("plan", room) + "?actions=2"))
        assert "action 29" in text
        assert "question 0<" in text
        assert "question 29" not in text

    def test_the_drawer_shows_what_hangs_on_its_finding(self, room):
        plan.put_decision(room.lead, {"question": "Restart tonight?", "finding_key": KEY})
        plan.put_action(room.lead, {"text": "Lock the memory", "finding_key": KEY})
        plan.put_action(room.lead, {"text": "Something else"})
        client = client_of(room.viewer)
        part = f"{url('plan', room)}?part=finding&finding={KEY}"
        assert part.replace("&", "&amp;") in text_of(client.get(url("finding", room, KEY)))
        for address in (part, f"{url('plan', room)}?finding={KEY}"):
            text = text_of(client.get(address))
            assert "Restart tonight?" in text
            assert "Lock the memory" in text
            assert "Something else" not in text


class TestDecisions:
    def test_it_is_asked_and_then_decided_by_somebody(self, room):
        client = client_of(room.investigator)
        new = url("decision-new", room)
        data = post_form(client, new, new + f"?finding={KEY}", question="Restart with good settings?")
        assert data["finding_key"] == KEY
        assert client.post(new, data).status_code == 302
        row = Decision.objects.get()
        assert (row.outcome, row.decided_by) == (None, None)
        data = post_form(
            client, url("decision", room, row.pk), outcome="Yes, at six.", decided_by=str(room.lead.user.pk)
        )
        assert client.post(url("decision", room, row.pk), data).status_code == 302
        row.refresh_from_db()
        assert (row.outcome, row.decided_by) == ("Yes, at six.", room.lead.user)
        assert row.decided_at is not None
        text = text_of(client_of(room.viewer).get(url("plan", room)))
        assert "Yes, at six." in text
        verbs = list(room.lead.incident.activity.filter(object=f"decision {row.pk}").values_list("verb", flat=True))
        assert verbs == ["asked", "decided"]
        assert room.lead.incident.events.filter(kind="decision", object=str(row.pk)).count() == 2

    def test_a_form_sent_twice_is_entered_once(self, room):
        client = client_of(room.investigator)
        new = url("decision-new", room)
        data = post_form(client, new, question="Once?")
        assert client.post(new, data).status_code == client.post(new, data).status_code == 302
        assert Decision.objects.count() == 1

    def test_what_is_wrong_is_said_and_what_was_typed_is_kept(self, room):
        client = client_of(room.investigator)
        new = url("decision-new", room)
        future = (timezone.now() + 5 * HOUR).strftime("%Y-%m-%dT%H:%M:%S")
        data = post_form(client, new, question="Kept words", outcome="Yes", decided_at=future)
        answer = client.post(new, data)
        assert answer.status_code == 422
        assert "cannot be taken in the future" in text_of(answer)
        assert "Kept words" in text_of(answer)

    def test_two_people_in_one_form_lose_no_word(self, room):
        row = plan.put_decision(room.lead, {"question": "Restart the database or wait for the night"})
        first, second = client_of(room.investigator), client_of(room.lead)
        address = url("decision", room, row.pk)
        mine = post_form(second, address, question="Restart the database at once or wait for the night")
        theirs = post_form(
            first, address, question="Restart the database or wait for Sunday night", outcome="Wait.", needed_by=""
        )
        assert first.post(address, theirs).status_code == 302
        answer = second.post(address, mine)
        assert answer.status_code == 409
        text = text_of(answer)
        assert "nils changed it meanwhile to: Restart the database or wait for Sunday night" in text
        assert "Restart the database at once or wait for Sunday night</textarea>" in text
        row.refresh_from_db()
        assert row.question == "Restart the database or wait for Sunday night"
        # A field that only the first person changed stays as it is and gives no question.
        assert row.outcome == "Wait."
        data = {**mine, "question": "Restart the database at once or wait for Sunday night"}
        data["initial-question"] = "Restart the database or wait for Sunday night"
        assert second.post(address, data).status_code == 302
        row.refresh_from_db()
        assert (row.question, row.outcome) == ("Restart the database at once or wait for Sunday night", "Wait.")

    def test_taken_away_it_can_be_brought_back(self, room):
        row = plan.put_decision(room.investigator, {"question": "Needed?"})
        client = client_of(room.investigator)
        assert client.post(url("plan-delete", room, "decisions", row.pk)).status_code == 302
        assert "Undo" in text_of(client.get(url("plan", room)))
        assert "Needed?" not in text_of(client_of(room.viewer).get(url("plan", room)))
        assert client.get(url("decision", room, row.pk)).status_code == 409
        assert client.post(url("plan-restore", room, "decisions", row.pk)).status_code == 302
        assert "Needed?" in text_of(client_of(room.viewer).get(url("plan", room)))

    def test_somebody_elses_is_for_a_lead_to_take_away(self, room):
        row = plan.put_decision(room.lead, {"question": "Needed?"})
        assert client_of(room.investigator).post(url("plan-delete", room, "decisions", row.pk)).status_code == 403

    def test_one_of_another_room_does_not_exist(self, room):
        from tests.incidents.conftest import make_room

        other = plan.put_decision(make_room(), {"question": "Elsewhere?"})
        assert client_of(room.lead).get(url("decision", room, other.pk)).status_code == 404


class TestActions:
    def test_the_rule_offers_what_to_expect(self, room):
        verify = next(f for f in reports.report()["findings"] if f["key"] == KEY)["verify"]
        data = post_form(
            client_of(room.investigator), url("action-new", room), url("action-new", room) + f"?finding={KEY}"
        )
        assert data["expected"] == verify
        assert verify
        assert data["owner"] == str(room.investigator.user.pk)

    def test_done_it_puts_all_that_changed_into_the_case(self, room):
        client = client_of(room.investigator)
        row = plan.put_action(room.lead, {"text": "Set sga_target", "owner": room.investigator.user.pk})
        address = url("action-done", room, row.pk)
        data = post_form(
            client, address, changed="sga_target = 18G\nmemory_target = 0\n", from_phase="before", to_phase="after-1"
        )
        assert client.post(address, data).status_code == 302
        row.refresh_from_db()
        assert (row.state, row.done_by) == (ActionState.DONE, room.investigator.user)
        marker = row.marker
        assert marker is not None
        assert marker.changed == ["sga_target = 18G", "memory_target = 0"]
        assert (marker.from_phase, marker.to_phase, marker.at) == ("before", "after-1", row.done_at)
        (told,) = analysis.case_of(room.lead.incident).markers
        assert told.changed == ("sga_target = 18G", "memory_target = 0")
        assert told.between == ("before", "after-1")
        assert room.lead.incident.jobs.filter(kind="judge", state="queued").exists()
        assert "marker: 2 changes" in text_of(client.get(url("plan", room)))

    def test_done_twice_makes_one_marker(self, room):
        row = plan.put_action(room.lead, {"text": "Set sga_target"})
        plan.finish_action(room.lead, row.pk, changed=["a = 1"])
        plan.finish_action(room.lead, row.pk, changed=["a = 1"])
        assert room.lead.incident.markers.count() == 1

    def test_not_done_after_all_it_takes_its_marker_back(self, room):
        row = plan.put_action(room.lead, {"text": "Set sga_target"})
        plan.finish_action(room.lead, row.pk, changed=["a = 1"])
        client = client_of(room.lead)
        assert client.post(url("action-state", room, row.pk), {"state": "open"}).status_code == 302
        assert room.lead.incident.markers.count() == 0
        row.refresh_from_db()
        assert (row.state, row.done_at, row.marker) == (ActionState.OPEN, None, None)

    def test_a_state_is_not_done_without_its_time(self, room):
        row = plan.put_action(room.lead, {"text": "Set sga_target"})
        assert client_of(room.lead).post(url("action-state", room, row.pk), {"state": "done"}).status_code == 400

    def test_one_phase_alone_is_no_comparison(self, room):
        row = plan.put_action(room.lead, {"text": "Set sga_target"})
        client, address = client_of(room.lead), url("action-done", room, row.pk)
        answer = client.post(address, post_form(client, address, changed="a = 1", from_phase="before"))
        assert answer.status_code == 422
        assert "needs both phases" in text_of(answer)
        assert "a = 1" in text_of(answer)

    def test_only_members_own_one_and_who_left_stays_named(self, room):
        row = plan.put_action(room.lead, {"text": "Trace a login", "owner": room.investigator.user.pk})
        members.remove(room.lead, room.investigator.user.pk)
        assert "(former member)" in text_of(client_of(room.viewer).get(url("plan", room)))
        client = client_of(room.lead)
        data = post_form(client, url("action", room, row.pk), text="Trace one normal login")
        assert client.post(url("action", room, row.pk), data).status_code == 302
        row.refresh_from_db()
        assert (row.text, row.owner) == ("Trace one normal login", room.investigator.user)
        data = post_form(client, url("action-new", room), text="Another")
        data["owner"] = str(room.investigator.user.pk)
        assert client.post(url("action-new", room), data).status_code == 422

    def test_two_states_at_once_are_both_seen(self, room):
        row = plan.put_action(room.lead, {"text": "Trace", "owner": room.lead.user.pk})
        first, second, address = client_of(room.investigator), client_of(room.lead), url("action", room, row.pk)
        mine = post_form(second, address, owner=str(room.viewer.user.pk))
        assert first.post(address, post_form(first, address, owner=str(room.investigator.user.pk))).status_code == 302
        answer = second.post(address, mine)
        assert answer.status_code == 409
        assert "nils changed it meanwhile to: nils" in text_of(answer)
        row.refresh_from_db()
        assert row.owner == room.investigator.user

    def test_hostile_words_are_shown_as_they_are(self, room):
        plan.put_action(room.lead, {"text": "<script>alert(1)</script>\x1b[31m", "expected": "<img src=x onerror=y>"})
        text = text_of(client_of(room.viewer).get(url("plan", room)))
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "&lt;script&gt;" in text

    def test_a_closed_room_is_for_reading(self, room):
        from incidents.actions import rooms

        row = plan.put_action(room.lead, {"text": "Trace"})
        rooms.close(room.lead)
        assert client_of(room.lead).post(url("action-state", room, row.pk), {"state": "doing"}).status_code == 409
        assert "Trace" in text_of(client_of(room.lead).get(url("plan", room)))
        assert Action.objects.get().state == ActionState.OPEN

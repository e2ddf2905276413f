"""The plan, the log, the review and the summary by the REST API."""

from __future__ import annotations

from typing import Any

import pytest

from incidents.access import Room
from incidents.models.judging.case import Marker
from incidents.models.people.access_token import Scope
from incidents.models.people.membership import Role
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.doors.rest.programs import at, program, sent
from tests.incidents.pages.conftest import add_report

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Room:
    return make_room(make_user("anna", first_name="Anna", last_name="Berg"))


def reader(room: Room) -> Any:
    return program(room.user, Scope.READ, Scope.WRITE)


def test_a_decision_is_asked_for_and_taken(room: Room):
    make_member(room.incident, Role.INVESTIGATOR, make_user("nils", first_name="Nils", last_name="Holm"))
    client, lists = reader(room), at(room, "/decisions")
    asked = sent(client, lists, {"question": "Fail over?", "asked_of": "nils", "needed_by": "2016-04-14T08:00:00Z"})
    assert asked.status_code == 201, asked.content
    row = asked.json()
    assert (row["question"], row["asked_of"], row["outcome"]) == ("Fail over?", "Nils Holm", None)
    taken = client.patch(f"{lists}/{row['id']}", {"outcome": "Yes, to site B"}, "application/json").json()
    assert (taken["question"], taken["outcome"], taken["decided_by"]) == ("Fail over?", "Yes, to site B", "Anna Berg")
    assert [one["outcome"] for one in client.get(lists).json()["items"]] == ["Yes, to site B"]
    kinds = [one["text"] for one in client.get(at(room, "/log")).json()["items"]]
    assert "Yes, to site B" in kinds


def test_an_action_is_planned_begun_and_done_with_what_it_changed(room: Room):
    client, lists = reader(room), at(room, "/actions")
    planned = sent(client, lists, {"text": "Take cluster out of nsswitch", "owner": "anna"}).json()
    assert (planned["state"], planned["owner"]) == ("open", "Anna Berg")
    begun = client.patch(f"{lists}/{planned['id']}", {"state": "doing"}, "application/json").json()
    assert begun["state"] == "doing"
    refused = client.patch(f"{lists}/{planned['id']}", {"state": "done"}, "application/json")
    assert (refused.status_code, refused.json()["detail"]) == (
        400,
        "Say when it was done and what it changed: use “Done”.",
    )
    said = {"at": "2016-04-14T09:00:00Z", "changed": ["nsswitch.conf: hosts: files dns"]}
    done = sent(client, f"{lists}/{planned['id']}/finish", said).json()
    assert (done["state"], done["done_at"], done["done_by"]) == ("done", "2016-04-14T09:00:00Z", "Anna Berg")
    assert Marker.objects.get().changed == ["nsswitch.conf: hosts: files dns"]


def test_what_is_deleted_is_not_listed_and_comes_back(room: Room):
    client, lists = reader(room), at(room, "/follow-ups")
    id = sent(client, lists, {"text": "Watch the listener", "due_on": "2016-05-01"}).json()["id"]
    assert client.delete(f"{lists}/{id}").json()["deleted"] is True
    assert client.get(lists).json()["count"] == 0
    assert sent(client, f"{lists}/{id}/restore", {}).json()["deleted"] is False
    done = client.patch(f"{lists}/{id}", {"done": True}, "application/json").json()
    assert (done["due_on"], done["done_by"]) == ("2016-05-01", "Anna Berg")
    assert client.get(lists).json()["count"] == 1


def test_a_day_in_an_answer_is_kept_for_a_second_call(room: Room):
    client, lists, said = reader(room), at(room, "/follow-ups"), {"text": "Watch it", "due_on": "2016-05-01"}
    first, again = (sent(client, lists, said, key="k1") for _ in range(2))
    assert (first.status_code, again.json()) == (201, first.json())
    assert room.incident.follow_ups.count() == 1


def test_the_log_and_the_review_are_written(room: Room):
    client = reader(room)
    entries = at(room, "/log/entries")
    wrote = sent(client, entries, {"kind": "step", "text": "Looked at the listener"}).json()
    assert (wrote["kind"], wrote["who"]) == ("step", "Anna Berg")
    changed = client.patch(f"{entries}/{wrote['id']}", {"text": "Looked at both listeners"}, "application/json").json()
    assert (changed["kind"], changed["text"]) == ("step", "Looked at both listeners")
    assert client.get(at(room, "/review")).json()["helped"] is None
    client.patch(at(room, "/review"), {"helped": "The trace"}, "application/json")
    read = client.get(at(room, "/review")).json()
    assert (read["helped"], read["surprised"], read["edited_by"]) == ("The trace", None, "Anna Berg")


@pytest.mark.parametrize("name", ["nobody", ""])
def test_somebody_who_is_no_member_is_refused(room: Room, name: str):
    make_user("nobody")
    answer = sent(reader(room), at(room, "/actions"), {"text": "Restart", "owner": name})
    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json"), answer.content
    assert room.incident.actions.count() == 0


def test_a_nul_in_a_list_of_texts_is_refused(room: Room):
    client, lists = reader(room), at(room, "/actions")
    id = sent(client, lists, {"text": "Restart"}).json()["id"]
    answer = sent(client, f"{lists}/{id}/finish", {"changed": ["a\x00b"]})
    assert (answer.status_code, "NUL character" in answer.json()["detail"]) == (400, True)
    assert client.get(lists).json()["items"][0]["state"] == "open"


@pytest.mark.parametrize("noun", ["decisions", "actions", "follow-ups", "log/entries"])
def test_a_row_of_another_room_is_none(room: Room, noun: str):
    other = make_room(room.user)
    texts = {"decisions": {"question": "Fail over?"}, "log/entries": {"kind": "step", "text": "Looked"}}
    id = sent(reader(room), at(other, f"/{noun}"), texts.get(noun, {"text": "Restart"})).json()["id"]
    answer = reader(room).delete(f"{at(room, f'/{noun}')}/{id}")
    assert answer.status_code == 404


def test_the_summary_has_sentences_with_the_lines_they_rest_on(room: Room):
    add_report(room)
    read = reader(room).get(at(room, "/summary")).json()
    assert read["evaluation"] == 1
    sections = {one["key"]: one["sentences"] for one in read["content"]["sections"]}
    assert sections["cause"]
    sources = len(read["content"]["sources"])
    refs = [ref for sentences in sections.values() for one in sentences for ref in one["refs"]]
    assert refs
    assert all(1 <= ref <= sources for ref in refs)
    again = reader(room).get(at(room, "/summary")).json()
    assert again["digest"] == read["digest"]

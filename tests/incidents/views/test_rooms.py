"""The list of rooms and a new room."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.models.incident import Incident
from tests.incidents.conftest import make_room, make_user
from tests.incidents.views.conftest import add_report, client_of
from tests.incidents.views.test_room import connection

EMPTY = {"hosts-TOTAL_FORMS": 2, "hosts-INITIAL_FORMS": 0}


@pytest.fixture
def client(db):
    client: Any = Client()
    client.user = make_user("olga")
    client.force_login(client.user)
    return client


def test_without_rooms_it_says_what_to_do(client):
    text = client.get(reverse("rooms")).content.decode()
    assert "No rooms yet" in text
    assert "Open the sample room" in text


def test_each_room_shows_its_leading_cause_and_what_is_cleared(judged):
    text = client_of(judged.viewer).get(reverse("rooms")).content.decode()
    assert "New server processes wait up to 2.473 s" in text
    assert "good support" in text
    assert ">NW<" in text


def test_it_shows_only_rooms_that_one_may_know_of(client, judged):
    make_room(client.user, "My own room")
    text = client.get(reverse("rooms")).content.decode()
    assert "My own room" in text
    assert "QPROD" not in text
    assert "QPROD" not in client.get(reverse("rooms"), {"q": "QPROD"}).content.decode().replace('value="QPROD"', "")


def test_search_state_and_sort(client):
    make_room(client.user, "Batch runs late")
    make_room(client.user, "Logins are slow")
    text = client.get(reverse("rooms"), {"q": "batch"}).content.decode()
    assert "Batch runs late" in text
    assert "Logins are slow" not in text
    assert "No room matches" in client.get(reverse("rooms"), {"status": "closed"}).content.decode()
    by_title = client.get(reverse("rooms"), {"sort": "title"}).content.decode()
    assert by_title.index("Batch runs late") < by_title.index("Logins are slow")
    for nonsense in ({"sort": "password"}, {"page": "x"}, {"q": "\x00"}, {"status": "'"}):
        assert client.get(reverse("rooms"), nonsense).status_code == 200


def test_the_list_asks_no_more_when_it_holds_more(client):
    def queries():
        with CaptureQueriesContext(connection()) as caught:
            client.get(reverse("rooms"))
        return len(caught)

    add_report(make_room(client.user, "One"))
    before = queries()
    assert before <= 8
    for n in range(10):
        add_report(make_room(client.user, f"Room {n}"))
    assert queries() <= before


def test_a_room_needs_only_a_title(client):
    answer = client.post(reverse("room-new"), EMPTY | {"title": "Slow"})
    incident = Incident.objects.get()
    assert answer["Location"] == reverse("room", args=[incident.slug])
    assert incident.symptom_bad is None
    assert incident.symptom_text is None


def test_all_answers_are_kept(client):
    data = EMPTY | {"title": "Slow", "symptom_text": "logins", "symptom_bad": "3.9", "symptom_unit": "s"}
    data |= {"since": "2016-04-14T05:58", "ongoing": "false", "hosts-0-name": "db1", "hosts-0-os": "solaris"}
    data |= {"hosts-0-ncpu": "16", "hosts-0-mem_gib": "64"}
    assert client.post(reverse("room-new"), data).status_code == 302
    incident = Incident.objects.get()
    assert (incident.symptom_bad, incident.ongoing) == (3.9, False)
    assert incident.since.isoformat() == "2016-04-14T05:58:00+00:00"
    assert [(h.name, h.ncpu, h.mem_gib) for h in incident.hosts.all()] == [("db1", 16, 64.0)]


@pytest.mark.parametrize(
    "wrong", [{"title": ""}, {"title": "x", "symptom_bad": "slow"}, {"title": "x", "symptom_bad": "nan"}]
)
def test_errors_keep_what_was_typed(client, wrong):
    answer = client.post(reverse("room-new"), EMPTY | {"measured_how": "with a stop watch"} | wrong)
    assert answer.status_code == 422
    assert "with a stop watch" in answer.content.decode()
    assert not Incident.objects.exists()


def test_two_hosts_of_one_name_are_refused_in_the_form(client):
    answer = client.post(reverse("room-new"), EMPTY | {"title": "x", "hosts-0-name": "db1", "hosts-1-name": "db1"})
    assert answer.status_code == 422
    assert "Two hosts have the same name." in answer.content.decode()

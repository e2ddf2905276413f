"""Annotations as a dashboard asks for them: by a token of the room, for a window in milliseconds."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from incidents.access import Room
from incidents.actions import access_tokens, notes, purge
from incidents.doors.rest import dashboards as door
from tests.incidents.conftest import make_artifact, make_room
from tests.incidents.content.test_grafana import ZERO_MS, report
from tests.incidents.doors.rest.programs import at
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def room() -> Room:
    room = make_room()
    make_artifact(room, "".join(f"{line}\n" for line in reports.TRUSS).encode(), "truss-listener.txt")
    add_report(room, report())
    notes.add(room, "look here", clock="1.1:1", times=(30.0, 31.0))
    return room


def dashboard(room: Room, slug: str | None = None) -> Client:
    token = access_tokens.create(room.user, "grafana", ("read",), 1, slug or room.incident.slug)
    return Client(headers={"Authorization": f"Bearer {token}"})


def asked(room: Room, **window: Any) -> list[dict[str, Any]]:
    answer = dashboard(room).get(at(room, "/annotations"), window)
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()
    return found


def test_a_token_of_the_room_gets_an_array_by_time(room: Room):
    found = asked(room)
    assert [one["tags"][1] for one in found] == ["finding", "observation", "note"]
    assert all(type(one["time"]) is int and one["time"] <= one["timeEnd"] for one in found)
    assert f"http://testserver/rooms/{room.incident.slug}/#clock=" in found[0]["text"]


def test_a_window_leaves_out_what_lies_beside_it(room: Room):
    assert [one["text"].split("\n")[0] for one in asked(room, **{"from": ZERO_MS + 30_000})] == ["look here"]
    assert asked(room, to=ZERO_MS) == []
    assert len(asked(room, **{"from": ZERO_MS, "to": ZERO_MS + 25_000})) == 2


def test_tags_come_as_one_text_if_asked_for(room: Room):
    assert asked(room, tags="text")[2]["tags"] == "exhibit,note"


@pytest.mark.parametrize(
    "query", ["from=2&to=1", "from=x", "from=1e99", "to=999999999999999999", "tags=none", "from=1&from=2"]
)
def test_nonsense_is_refused_in_words(room: Room, query: str):
    answer = dashboard(room).get(at(room, f"/annotations?{query}"))
    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]


def test_a_token_of_another_room_sees_nothing(room: Room):
    other = make_room(room.user)
    answer = dashboard(room, other.incident.slug).get(at(room, "/annotations"))
    assert (answer.status_code, "look here" in answer.content.decode()) == (404, False)


def test_more_than_a_dashboard_can_show_is_refused(room: Room, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(door, "MOST", 2)
    answer = dashboard(room).get(at(room, "/annotations"))
    assert (answer.status_code, "Ask for a shorter time." in answer.json()["detail"]) == (413, True)


def test_a_room_that_was_not_judged_says_so():
    room = make_room()
    assert dashboard(room).get(at(room, "/annotations")).status_code == 409


def test_what_was_purged_and_what_was_deleted_does_not_come(room: Room):
    notes.delete(room, room.incident.notes.get().pk)
    purge.purge(room, 1, "by mistake")
    found = asked(room)
    assert "look here" not in str(found)
    assert not any(line in str(found) for line in reports.TRUSS)
    assert "DISM segment" not in str(found)


def test_it_asks_as_often_for_one_note_as_for_ten(room: Room):
    client = dashboard(room)

    def queries() -> int:
        client.get(at(room, "/annotations"))
        with CaptureQueriesContext(connection) as seen:
            client.get(at(room, "/annotations"))
        return len(seen)

    few = queries()
    for n in range(9):
        notes.add(room, f"note {n}", clock="1.1:1", times=(float(n), n + 1.0))
    assert queries() == few
    assert len(asked(room)) == 12


def test_the_file_of_the_export_page_says_the_same(room: Room):
    answer = client_of(room).get(f"/rooms/{room.incident.slug}/export/annotations.json")
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer.json() == asked(room)

"""`observations/`: pages of what stands out, with the verdict, for those who may see the room."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from incidents.access import Room
from incidents.actions import purge, rooms
from incidents.work import analysis
from rules.model import CaseSpec
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user
from tests.incidents.pages.conftest import add_report
from tests.incidents.pages.room import test_lead

pytestmark = pytest.mark.django_db


def address(room: Room) -> str:
    return f"/api/rooms/{room.incident.slug}/observations/"


def judged(n: int) -> Room:
    room = make_room()
    make_artifact(room, b"one\ntwo\n", "truss-listener.txt")
    add_report(room, report(n))
    return room


def report(n: int) -> dict[str, Any]:
    return {**test_lead.report(), "observations": [test_lead.observation(rank) for rank in range(1, n + 1)]}


def test_it_answers_the_observations_and_the_lead_as_the_report_has_them(client: Client) -> None:
    room = judged(9)
    client.force_login(make_member(room.incident, "viewer").user)
    answer = client.get(address(room))
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    expected = report(9)
    assert answer.json() == {
        "evaluation": 1,
        "verdict": expected["verdict"],
        "count": 9,
        "page": 1,
        "pages": 1,
        "observations": expected["observations"],
    }
    assert answer.json()["verdict"]["rival"] == "a filter drops packets"


def test_pages_follow_each_other_without_gap_or_repeat(client: Client) -> None:
    room = judged(45)
    client.force_login(room.user)
    pages = [client.get(address(room), {"page": page}).json() for page in (1, 2, 3)]
    assert [(one["page"], one["pages"], len(one["observations"])) for one in pages] == [
        (1, 3, 20),
        (2, 3, 20),
        (3, 3, 5),
    ]
    assert [o["rank"] for one in pages for o in one["observations"]] == list(range(1, 46))
    few = client.get(address(room), {"page": "23", "size": "2"}).json()
    assert ([o["rank"] for o in few["observations"]], few["pages"]) == ([45], 23)


def test_more_observations_cost_no_more_queries(client: Client) -> None:
    counts = []
    for n in (1, 10):
        room = judged(n)
        client.force_login(room.user)
        client.get(address(room))
        with CaptureQueriesContext(connection) as queries:
            client.get(address(room))
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"page": "0"}, 422, "page must be a whole number from 1"),
        ({"page": "-1"}, 422, "page must be"),
        ({"page": "two"}, 422, "page must be"),
        ({"page": "\u0661"}, 422, "page must be"),
        ({"page": "9" * 40}, 422, "page must be"),
        ({"page": ""}, 422, "page must be"),
        ({"size": "101"}, 422, "size must be at most 100"),
        ({"size": "x"}, 422, "size must be a whole number"),
        ({"page": "2"}, 404, "There is only 1 page"),
        ({"page": "8", "size": "5"}, 404, "There are only 2 pages"),
    ],
)
def test_it_refuses_nonsense_in_words(client: Client, asked: dict[str, str], status: int, words: str) -> None:
    room = judged(9)
    client.force_login(room.user)
    answer = client.get(address(room), asked)
    assert (answer.status_code, words in answer.json()["error"]) == (status, True)
    assert client.post(address(room)).status_code == 405


def test_a_room_without_a_judgement_or_without_observations_says_so(client: Client) -> None:
    room = make_room()
    client.force_login(room.user)
    early = client.get(address(room))
    assert (early.status_code, early.json()) == (409, {"error": "This room was not judged yet."})
    old = {"schema": 1, "findings": [], "verdict": {"state": "cannot tell"}, "artifacts": []}
    analysis.save_report(room.incident, CaseSpec(), old)
    answer = client.get(address(room)).json()
    assert (answer["observations"], answer["count"], answer["pages"]) == ([], 0, 1)


def test_a_judgement_that_nobody_took_over_is_not_shown(client: Client) -> None:
    room = judged(1)
    client.force_login(room.user)
    rooms.set_status(room, "closed")
    room.incident.refresh_from_db()
    analysis.save_report(room.incident, CaseSpec(), report(2))
    assert client.get(address(room)).json()["count"] == 1


def test_what_cites_purged_evidence_is_gone(client: Client) -> None:
    room = judged(3)
    client.force_login(room.user)
    purge.purge(room, 1, "uploaded by mistake")
    answer = client.get(address(room)).json()
    assert answer["observations"] == []
    assert "5.005" not in str(answer)


@pytest.mark.parametrize(("who", "status"), [("nobody", 401), ("a stranger", 404)])
def test_it_refuses_strangers_as_it_does_nonsense(client: Client, who: str, status: int) -> None:
    room = judged(1)
    if who == "a stranger":
        client.force_login(make_user())
    answers = [client.get(f"/api/rooms/{slug}/observations/") for slug in (room.incident.slug, "nonsense")]
    assert [answer.status_code for answer in answers] == [status, status]
    assert answers[0].content == answers[1].content

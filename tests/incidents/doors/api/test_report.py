"""`report.json`: the room's newest report, for those who may see the room."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client

from incidents.actions import rooms
from incidents.work import analysis
from rules.model import CaseSpec
from tests.incidents.conftest import make_member, make_room, make_user

pytestmark = pytest.mark.django_db
REPORT = {"schema": 1, "findings": [], "verdict": {"state": "cannot tell"}, "artifacts": [], "seconds": 0.1}


def test_it_answers_the_newest_report_that_the_room_shows(client: Client) -> None:
    room = make_room()
    client.force_login(make_member(room.incident, "viewer").user)
    address = f"/api/rooms/{room.incident.slug}/report.json"
    early = client.get(address)
    assert (early.status_code, early.json()) == (409, {"error": "This room was not judged yet."})
    analysis.save_report(room.incident, CaseSpec(), REPORT)
    answer = client.get(address)
    assert (answer.status_code, answer.json(), answer["Exhibit-Evaluation"]) == (200, REPORT, "1")
    assert "no-store" in answer["Cache-Control"]
    rooms.set_status(room, "closed")
    room.incident.refresh_from_db()
    analysis.save_report(room.incident, CaseSpec(), {**REPORT, "quiet": [str(datetime.now(UTC))]})
    assert client.get(address).json() == REPORT  # until a lead takes the new one over


@pytest.mark.parametrize(("who", "status"), [("nobody", 401), ("a token", 401), ("a stranger", 404)])
def test_it_refuses_strangers_as_it_does_nonsense(client: Client, who: str, status: int) -> None:
    room = make_room(title="Secret merger")
    if who == "a stranger":
        client.force_login(make_user())
    headers = {"Authorization": "Bearer invented"} if who == "a token" else {}
    slugs = (room.incident.slug, "nonsense")
    answers = [client.get(f"/api/rooms/{slug}/report.json", headers=headers) for slug in slugs]
    assert [answer.status_code for answer in answers] == [status, status]
    if status == 401:
        assert answers[0]["WWW-Authenticate"] == "Bearer"
        assert ("token" in answers[0].json()["error"]) == (who == "a token")
    assert answers[0].content == answers[1].content
    assert b"merger" not in answers[0].content.lower()


def test_it_refuses_nonsense(client: Client) -> None:
    room = make_room()
    client.force_login(room.user)
    assert client.post(f"/api/rooms/{room.incident.slug}/report.json").status_code == 405

"""Tests of the frame of every page: what it shows while the database is away."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from incidents import access
from tests.incidents.pages.conftest import Judged, client_of

WORDS = "The database does not answer just now."


@pytest.fixture
def away(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a member's client whose session was read just before the database went away."""
    client = client_of(judged.investigator)

    def enter(*_: object) -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(access, "enter", enter)
    return client


def test_a_page_says_so_and_comes_again_by_itself(away: Client, judged: Judged) -> None:
    answer = away.get(reverse("room", args=[judged.slug]))
    assert (answer.status_code, answer["Refresh"], answer["Retry-After"]) == (503, "5", "5")
    assert WORDS in answer.content.decode()
    assert "server closed" not in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]


def test_what_was_sent_is_not_sent_again_by_itself(away: Client, judged: Judged) -> None:
    for headers in ({}, {"HX-Request": "true"}):
        answer = away.post(reverse("notes", args=[judged.slug]), {"text": "a note"}, headers=headers)
        assert answer.status_code == 503
        assert "Refresh" not in answer
        assert WORDS in answer.content.decode()


def test_a_script_gets_json(away: Client, judged: Judged) -> None:
    answer = away.get(f"/api/rooms/{judged.slug}/report.json")
    assert answer.status_code == 503
    assert answer.json()["error"].startswith(WORDS)


def test_a_session_that_cannot_be_read_is_no_sign_out(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.contrib.sessions.backends.db import SessionStore

    client = client_of(judged.investigator)

    def load(_: SessionStore) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(SessionStore, "load", load)
    assert client.get(reverse("rooms")).status_code == 503


def test_a_refusal_leads_back_to_the_room_and_to_all_rooms(judged: Judged) -> None:
    """Webhooks are for leads: the page is refused, its room is not."""
    answer = client_of(judged.viewer).get(reverse("webhooks", args=[judged.slug]))
    assert answer.status_code == 403
    shown = answer.content.decode()
    assert f'<a class="small" href="{reverse("room", args=[judged.slug])}">Back to the room</a>' in shown
    assert f'<a class="small" href="{reverse("rooms")}">All your rooms</a>' in shown


def test_a_link_that_opens_nothing_leads_a_stranger_nowhere(judged: Judged) -> None:
    answer = Client().get(reverse("join", args=["nonsense"]))
    assert answer.status_code == 401
    assert "All your rooms" not in answer.content.decode()

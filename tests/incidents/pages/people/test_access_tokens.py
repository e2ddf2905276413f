"""Tests of the page of a person's access tokens: the secret is shown once, tokens of others are not listed."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from incidents import access
from incidents.actions import access_tokens, notes
from incidents.models.people.access_token import AccessToken, Scope
from incidents.models.people.membership import Membership
from tests.incidents.conftest import make_room, make_user

pytestmark = pytest.mark.django_db
ADDRESS = "/account/tokens/"


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_a_token_is_made_shown_once_and_revoked():
    room = make_room()
    client = browser(room.user)
    said = {"label": "the dashboard", "scopes": ["read", "ask"], "days": "30", "room": room.incident.slug}
    made = client.post(ADDRESS, said).content.decode()
    (secret,) = set(re.findall(r"exhibit_[\w-]{32}", made))
    row = AccessToken.objects.get()
    assert access.caller_with(secret).program == row
    assert (row.incident, row.scopes, row.owner) == (room.incident, ["read", "ask"], room.user)
    listed = client.get(ADDRESS).content.decode()
    assert secret not in listed
    for words in ("the dashboard", "read rooms, ask the evidence tables in SQL", room.incident.title, "Last used"):
        assert words in listed
    assert client.post(ADDRESS, {"do": "revoke", "token": row.pk}).status_code == 302
    assert "revoked" in client.get(ADDRESS).content.decode()
    assert not AccessToken.objects.get().usable


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"label": ""}, "required"),
        ({"scopes": []}, "required"),
        ({"scopes": ["everything"]}, "not one of the available choices"),
        ({"days": "400"}, "less than or equal to 366"),
        ({"room": "nonsense"}, "There is no such room."),
    ],
)
def test_it_keeps_what_was_typed(said: dict[str, object], words: str):
    answer = browser(make_user()).post(ADDRESS, {"label": "the watcher", "scopes": ["read"], "days": "30"} | said)
    assert (answer.status_code, words in answer.content.decode()) == (422, True)
    assert not AccessToken.objects.exists()


def test_a_room_of_others_cannot_be_told_from_nonsense():
    room = make_room()
    said = {"label": "x", "scopes": ["read"], "days": "30", "room": room.incident.slug}
    assert "There is no such room." in browser(make_user()).post(ADDRESS, said).content.decode()


def test_nobody_sees_or_revokes_others_tokens():
    owner, other = make_user(), make_user()
    access_tokens.create(owner, "the dashboard", [Scope.READ], 1)
    client = browser(other)
    assert "the dashboard" not in client.get(ADDRESS).content.decode()
    assert client.post(ADDRESS, {"do": "revoke", "token": AccessToken.objects.get().pk}).status_code == 404
    assert AccessToken.objects.get().usable


def test_the_title_of_a_room_that_is_closed_to_me_is_not_shown():
    room = make_room(title="Logins to QPROD")
    access_tokens.create(room.user, "x", [Scope.READ], 1, room.incident.slug)
    Membership.objects.all().delete()
    listed = browser(room.user).get(ADDRESS).content.decode()
    assert ("Logins to QPROD" in listed, "a room that you do not see any more" in listed) == (False, True)


def test_more_tokens_cost_no_more_queries():
    room = make_room()
    client, counts = browser(room.user), []
    for many in (1, 8):
        for n in range(many):
            access_tokens.create(room.user, f"program {n}", [Scope.READ], 1, room.incident.slug)
        client.get(ADDRESS)
        with CaptureQueriesContext(connection) as queries:
            client.get(ADDRESS)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_note_of_a_program_says_so_on_the_page():
    room = make_room()
    secret = access_tokens.create(room.user, "the watcher", [Scope.WRITE], 1)
    by_program = access.enter_as(access.caller_with(secret), room.incident.slug, access.Right.NOTE)
    notes.add(by_program, "Slow here.")
    notes.add(room, "By hand.")
    page = browser(room.user).get(f"/rooms/{room.incident.slug}/notes/").content.decode()
    assert page.count("program the watcher") == 1

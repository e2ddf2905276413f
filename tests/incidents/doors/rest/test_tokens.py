"""Who calls the API: scopes, expiry, one room; a token never gives more than its owner has."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from incidents import access
from incidents.access import Caller, Right
from incidents.actions import access_tokens, artifacts, closing_accounts, limits, members, notes
from incidents.doors.rest import api
from incidents.errors import NotAMember, Refused, ScopeMissing, WrongSecret
from incidents.models.people.access_token import AccessToken, Scope
from incidents.models.people.membership import Membership, Role
from incidents.models.room.activity import Activity
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.doors.rest.programs import at, program, sent

pytestmark = pytest.mark.django_db


def caller(secret: str) -> Caller:
    return access.caller_with(secret)


def test_a_token_reads_what_its_owner_reads_and_nothing_else():
    room, other = make_room(), make_room(title="Not theirs")
    viewer = make_member(room.incident, Role.VIEWER).user
    client = program(viewer)
    assert client.get(at(room)).json()["title"] == room.incident.title
    assert [one["slug"] for one in client.get("/api/v1/rooms").json()["items"]] == [room.incident.slug]
    assert client.get(at(other)).status_code == 404
    Membership.objects.filter(user=viewer).delete()
    assert client.get(at(room)).status_code == 404


@pytest.mark.parametrize("change", ["revoked", "expired", "unknown", "inactive"])
def test_a_token_that_is_over_opens_nothing(change: str):
    room = make_room()
    secret = access_tokens.create(room.user, "x", [Scope.READ], 1)
    if change == "revoked":
        access_tokens.revoke(room.user, AccessToken.objects.get().pk)
    elif change == "expired":
        AccessToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif change == "inactive":
        room.user.is_active = False
        room.user.save()
    else:
        secret += "x"
    with pytest.raises(WrongSecret):
        caller(secret)
    answer = Client(headers={"Authorization": f"Bearer {secret}"}).get(at(room))
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert answer["Content-Type"] == "application/problem+json"


def test_each_scope_gives_its_rights_and_no_other():
    room = make_room()
    given = {
        Scope.READ: {Right.READ},
        Scope.ASK: {Right.ASK},
        Scope.UPLOAD: {Right.UPLOAD},
        Scope.WRITE: {Right.NOTE, Right.PLAN, Right.CASE, Right.REVIEW},
        Scope.ROOMS: {Right.CLOSE},
    }
    assert set(given) == set(Scope)
    for scope, rights in given.items():
        who = caller(access_tokens.create(room.user, scope, [scope], 1))
        for right in Right:
            if right in rights:
                assert access.enter_as(who, room.incident.slug, right).may(right)
            else:
                with pytest.raises(ScopeMissing):
                    access.enter_as(who, room.incident.slug, right)


def test_no_scope_gives_what_only_people_may():
    room = make_room()
    who = caller(access_tokens.create(room.user, "all", list(Scope), 1))
    for right in (Right.PURGE, Right.UNMASK, Right.PEOPLE, Right.ORIGINAL, Right.HOOKS, Right.SHARE, Right.EXPORT):
        with pytest.raises(ScopeMissing) as refused:
            access.enter_as(who, room.incident.slug, right)
        assert "only a person may" in refused.value.message


def test_a_scope_gives_no_right_that_the_role_has_not():
    room = make_room()
    viewer = make_member(room.incident, Role.VIEWER).user
    answer = sent(program(viewer), at(room, "/notes"), {"text": "hello"})
    assert (answer.status_code, "an investigator or a lead" in answer.json()["detail"]) == (403, True)


def test_a_missing_scope_is_told_by_its_name():
    room = make_room()
    answer = sent(program(room.user, Scope.READ), at(room, "/notes"), {"text": "hello"})
    assert (answer.status_code, "“write”" in answer.json()["detail"]) == (403, True)
    assert program(room.user, Scope.WRITE).get("/api/v1/rooms").status_code == 403


def test_a_token_of_one_room_sees_no_other():
    room = make_room()
    other = make_room(room.user, title="Another of mine")
    client = program(room.user, room=room)
    assert [one["slug"] for one in client.get("/api/v1/rooms").json()["items"]] == [room.incident.slug]
    assert (client.get(at(room)).status_code, client.get(at(other)).status_code) == (200, 404)
    answer = sent(client, "/api/v1/rooms", {"title": "A third"})
    assert (answer.status_code, "for one room" in answer.json()["detail"]) == (403, True)


def test_rights_are_looked_at_again_when_something_is_written():
    room = make_room()
    investigator = make_member(room.incident)
    who = caller(access_tokens.create(investigator.user, "x", [Scope.WRITE], 1))
    seen = access.enter_as(who, room.incident.slug, Right.NOTE)
    members.change(room, investigator.user.pk, Role.VIEWER, "dba")
    with pytest.raises(Refused):
        notes.add(seen, "too late")
    AccessToken.objects.update(revoked_at=timezone.now())
    with pytest.raises(WrongSecret):
        access.again(seen)


def test_the_record_names_the_token_beside_the_person():
    room = make_room(make_user("ada"))
    sent(program(room.user, label="the dashboard"), at(room, "/notes"), {"text": "hello"})
    assert Activity.objects.latest("pk").actor_name == "ada (token the dashboard)"


def test_uploads_of_large_files_take_an_access_token_too():
    room = make_room()
    secret = access_tokens.create(room.user, "collector", [Scope.UPLOAD], 1)
    by_token = access.enter_with_token(room.incident.slug, secret)
    made = artifacts.receive_stream(by_token, "a.txt", [b"one line\n"])
    assert (made.uploader, made.token) == (room.user, None)
    with pytest.raises(ScopeMissing):
        access.enter_with_token(room.incident.slug, access_tokens.create(room.user, "x", [Scope.READ], 1))
    with pytest.raises(NotAMember):
        access.enter_with_token(make_room().incident.slug, secret)


def test_it_is_noted_when_a_token_was_used_but_not_at_every_call():
    room = make_room()
    secret = access_tokens.create(room.user, "x", [Scope.READ], 1)
    caller(secret)
    first = AccessToken.objects.get().last_used_at
    caller(secret)
    assert first is not None
    assert AccessToken.objects.get().last_used_at == first


def test_too_many_calls_are_refused_for_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(api, "MOST_CALLS", 2)
    room = make_room()
    client = program(room.user)
    assert [client.get(at(room)).status_code for _ in range(3)] == [200, 200, 429]
    answer = client.get(at(room))
    assert (answer["Retry-After"], answer.json()["title"]) == ("60", "Too Many Requests")


def test_wrong_tokens_are_counted_by_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(api, "count_try", lambda what, who, most: limits.count_try(what, who, 1))
    client = Client(headers={"Authorization": "Bearer exhibit_guessed"})
    assert [client.get("/api/v1/rooms").status_code for _ in range(2)] == [401, 429]


def test_the_session_of_a_browser_needs_the_csrf_header_to_write():
    room = make_room()
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(room.user)
    assert browser.get(at(room)).status_code == 200
    assert sent(browser, at(room, "/notes"), {"text": "forged"}).status_code == 403
    assert not room.incident.notes.exists()
    assert sent(Client(), at(room, "/notes"), {"text": "nobody"}).status_code == 401


def test_who_must_set_up_a_second_factor_does_that_first(settings):
    room = make_room()
    client = program(room.user)
    settings.EXHIBIT_SECOND_FACTOR = "everybody"
    assert client.get(at(room)).status_code == 403


def test_a_closed_account_takes_its_tokens_along():
    user = make_user()
    access_tokens.create(user, "x", [Scope.READ], 1)
    closing_accounts.close_account(user)
    assert not AccessToken.objects.exists()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"label": " "}, "which program"),
        ({"scopes": []}, "what the token is for"),
        ({"scopes": ["everything"]}, "what the token is for"),
        ({"days": 0}, "from 1 to"),
        ({"days": 367}, "from 1 to"),
    ],
)
def test_a_token_needs_a_program_a_scope_and_an_end(said: dict[str, object], words: str):
    fields: dict[str, Any] = {"label": "x", "scopes": [Scope.READ], "days": 1} | said
    with pytest.raises(Refused, match=words):
        access_tokens.create(make_user(), **fields)


def test_nobody_makes_tokens_without_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(access_tokens, "MOST", 1)
    user = make_user()
    access_tokens.create(user, "x", [Scope.READ], 1)
    with pytest.raises(Refused, match="already"):
        access_tokens.create(user, "y", [Scope.READ], 1)
    access_tokens.revoke(user, AccessToken.objects.get().pk)
    access_tokens.create(user, "y", [Scope.READ], 1)

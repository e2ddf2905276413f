"""Who may call which operation of the REST API, with a session and with a token: every operation, every kind of person.

An operation without a row fails, so that nobody adds one without saying who may call it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from incidents.actions import access_tokens, plan, requests, review
from incidents.doors.rest import description
from incidents.models.people.access_token import Scope
from incidents.models.people.membership import Role
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import NOTE, Judged
from tests.incidents.pages.test_permission_matrix import OUTSIDE, ROLES, SECRETS, judged, made  # noqa: F401

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Row:
    """`least`: the lowest role that may call it; None: any person. `scope`: that of the token. `ok`: the status."""

    least: str | None
    scope: str
    ok: int = 200
    id: Callable[[Judged], int] = lambda room: 1
    data: Any = field(default_factory=dict)


def asked(room: Judged) -> int:
    return requests.put(room.investigator, {"what": "A trace of one login"}).pk


def withdrawn(room: Judged) -> int:
    return requests.withdraw(room.investigator, asked(room)).pk


def noted(room: Judged) -> int:
    return room.note.pk


def decision(room: Judged) -> int:
    return plan.put_decision(room.investigator, {"question": "Fail over?"}).pk


def action(room: Judged) -> int:
    return plan.put_action(room.investigator, {"text": "Restart the listener"}).pk


def entry(room: Judged) -> int:
    return plan.put_entry(room.investigator, {"kind": "step", "text": "Looked at the listener"}).pk


def follow_up(room: Judged) -> int:
    return review.put_follow_up(room.investigator, {"text": "Watch the listener"}).pk


TEXT = {"text": "A remark."}
MATRIX = {
    "list_rooms": Row(None, "read"),
    "open_room": Row(None, "rooms", 201, data={"title": "Slow"}),
    "read_room": Row("viewer", "read"),
    "list_activity": Row("viewer", "read"),
    "list_log": Row("viewer", "read"),
    "close_room": Row("lead", "rooms"),
    "reopen_room": Row("lead", "rooms", 409),  # it is open
    "list_artifacts": Row("viewer", "read"),
    "read_artifact": Row("viewer", "read"),
    "read_lines": Row("viewer", "read", 409),  # not read yet
    "upload": Row("investigator", "upload", 201, data=b"a line"),
    "read_verdict": Row("viewer", "read"),
    "list_findings": Row("viewer", "read"),
    "list_observations": Row("viewer", "read"),
    "list_annotations": Row("viewer", "read"),
    "list_frames": Row("viewer", "read"),
    "list_rows": Row("viewer", "read", 404, data={"frame": "A"}),  # nothing is read, so there is no frame
    "list_notes": Row("viewer", "read"),
    "read_note": Row("viewer", "read", id=noted),
    "write_note": Row("investigator", "write", 201, data=TEXT),
    "reply_to_note": Row("investigator", "write", 201, id=noted, data=TEXT),
    # The investigator's own; test_writing.py has others'.
    "edit_note": Row("investigator", "write", id=noted, data=TEXT),
    "delete_note": Row("investigator", "write", id=noted),
    "resolve_note": Row("investigator", "write", id=noted),
    "reopen_note": Row("investigator", "write", id=noted),
    "list_requests": Row("viewer", "read"),
    "read_request": Row("viewer", "read", id=asked),
    "ask_for_evidence": Row("investigator", "write", 201, data={"what": "A trace"}),
    "change_request": Row("investigator", "write", id=asked, data={"what": "Another trace"}),
    "withdraw_request": Row("investigator", "write", id=asked),
    "reopen_request": Row("investigator", "write", id=withdrawn),
    "list_decisions": Row("viewer", "read"),
    "ask_for_decision": Row("investigator", "write", 201, data={"question": "Fail over?"}),
    "change_decision": Row("investigator", "write", id=decision, data={"outcome": "Yes"}),
    "delete_decision": Row("investigator", "write", id=decision),
    "restore_decision": Row("investigator", "write", id=decision),
    "list_actions": Row("viewer", "read"),
    "plan_action": Row("investigator", "write", 201, data=TEXT),
    "change_action": Row("investigator", "write", id=action, data={"state": "doing"}),
    "finish_action": Row("investigator", "write", id=action, data={}),
    "delete_action": Row("investigator", "write", id=action),
    "restore_action": Row("investigator", "write", id=action),
    "write_entry": Row("investigator", "write", 201, data=TEXT | {"kind": "step"}),
    "change_entry": Row("investigator", "write", id=entry, data=TEXT),
    "delete_entry": Row("investigator", "write", id=entry),
    "restore_entry": Row("investigator", "write", id=entry),
    "read_review": Row("viewer", "read"),
    "write_review": Row("investigator", "write", data={"helped": "The trace"}),
    "list_follow_ups": Row("viewer", "read"),
    "add_follow_up": Row("investigator", "write", 201, data=TEXT),
    "change_follow_up": Row("investigator", "write", id=follow_up, data={"done": True}),
    "delete_follow_up": Row("investigator", "write", id=follow_up),
    "restore_follow_up": Row("investigator", "write", id=follow_up),
    "read_summary": Row("viewer", "read"),
    "ask": Row("viewer", "ask", data={"sql": "select 1 as one"}),
}
#: Only who wrote it may, or who manages people, which no token does.
OWN = (
    *("edit_note", "delete_note", "withdraw_request", "reopen_request"),
    *("delete_decision", "delete_action", "delete_entry", "delete_follow_up"),
    *("restore_decision", "restore_action", "restore_entry", "restore_follow_up"),
)


def operations() -> dict[str, tuple[str, str]]:
    """Return method and address of each operation, by its name."""
    paths = description.document()["paths"]
    return {one["operationId"]: (method, address) for address, ways in paths.items() for method, one in ways.items()}


def test_every_operation_has_a_row():
    assert set(MATRIX) == set(operations())


def person(who: str, room: Judged) -> Any:
    match who:
        case "stranger":
            return make_user()
        case "other team":
            return make_room(title="Another team's room").user
        case "admin":
            return make_user(is_superuser=True, is_staff=True)
        case "lead":
            return make_member(room.lead.incident, Role.LEAD).user
        case "investigator":
            return room.investigator.user
    return room.viewer.user


def client_of(who: str, room: Judged, scopes: tuple[str, ...] | None) -> Client:
    """Return a client with a session if `scopes` is None, else with a token."""
    if who == "anonymous":
        return Client()
    user = person(who, room)
    if scopes is None:
        client = Client()
        client.force_login(user)
        return client
    return Client(headers={"Authorization": f"Bearer {access_tokens.create(user, who, scopes, 1)}"})


def call(name: str, client: Client, room: Judged) -> Any:
    row, (method, address) = MATRIX[name], operations()[name]
    address = address.format(slug=room.slug, number=1, id=row.id(room))
    if method == "get":
        return client.get(address, row.data)
    kind = "application/octet-stream" if isinstance(row.data, bytes) else "application/json"
    return getattr(client, method)(address, row.data, kind)


@pytest.mark.parametrize("by", ["session", "token"])
@pytest.mark.parametrize("name", sorted(MATRIX))
def test_who_may_call(name: str, by: str, judged: Judged):  # noqa: F811
    row = MATRIX[name]
    scopes = None if by == "session" else tuple(Scope.values)
    for who in (*OUTSIDE, *ROLES):
        with transaction.atomic():
            answer = call(name, client_of(who, judged, scopes), judged)
            where = f"{name} as {who}: {answer.status_code} {answer.content[:200]!r}"
            if who == "anonymous":
                expected = 401
            elif row.least is None:
                expected = row.ok
            elif who in OUTSIDE:
                expected = 404
            elif ROLES.index(who) < ROLES.index(row.least) or (by == "token" and name in OWN and who in ROLES[2:]):
                expected = 403
            else:
                expected = row.ok
            assert answer.status_code == expected, where
            if expected != row.ok or who in OUTSIDE:
                assert [text for text in SECRETS if text in answer.content.decode()] == [], where
            if answer.status_code >= 400:
                assert answer["Content-Type"] == "application/problem+json", where
            transaction.set_rollback(True)


@pytest.mark.parametrize("name", sorted(MATRIX))
def test_a_token_without_the_scope_may_not(name: str, judged: Judged):  # noqa: F811
    others = tuple(scope for scope in Scope.values if scope != MATRIX[name].scope)
    answer = call(name, client_of("admin", judged, others), judged)
    assert answer.status_code == 403
    assert f"“{MATRIX[name].scope}”" in answer.json()["detail"]
    assert [text for text in SECRETS if text in answer.content.decode()] == []


@pytest.mark.parametrize("name", sorted(name for name, row in MATRIX.items() if row.least))
def test_a_stranger_cannot_tell_a_room_from_nonsense(name: str, judged: Judged):  # noqa: F811
    client = client_of("stranger", judged, tuple(Scope.values))
    real = call(name, client, judged)
    slug = judged.slug
    try:
        judged.lead.incident.slug = "no-such-room-abcdefgh"
        nonsense = call(name, client, judged)
    finally:
        judged.lead.incident.slug = slug
    assert (real.status_code, real.content) == (nonsense.status_code, nonsense.content)


def test_the_texts_of_the_room_are_there_for_members(judged: Judged):  # noqa: F811
    """Check that members see the texts; otherwise the check that refused answers lack them would prove nothing."""
    answer = call("list_notes", client_of("viewer", judged, ("read",)), judged)
    assert NOTE in answer.content.decode()

"""`tokens/`: made, listed and revoked by leads; the secret is answered once."""

from __future__ import annotations

import pytest
from django.test import Client

from incidents import access
from incidents.errors import NotAMember
from incidents.models.people.link import UploadToken
from tests.incidents.conftest import make_member, make_room, make_user

pytestmark = pytest.mark.django_db


def test_a_lead_makes_lists_and_revokes(client: Client) -> None:
    room = make_room()
    client.force_login(room.user)
    address = f"/api/rooms/{room.incident.slug}/tokens/"
    made = client.post(address, {"label": "db1", "hours": "2"})
    assert made.status_code == 201
    secret = made.json()["token"]
    assert access.enter_with_token(room.incident.slug, secret).token == UploadToken.objects.get()
    listed = client.get(address)
    assert [(t["label"], t["usable"]) for t in listed.json()["tokens"]] == [("db1", True)]
    assert secret not in listed.content.decode()
    assert client.delete(f"{address}{made.json()['id']}/").status_code == 204
    with pytest.raises(NotAMember):
        access.enter_with_token(room.incident.slug, secret)
    assert client.delete(f"{address}{made.json()['id']}/").status_code == 404


@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_it_refuses_strangers_and_members_who_are_no_leads(client: Client, method: str) -> None:
    room = make_room()
    token = "1/" if method == "delete" else ""
    for person, status in (
        (None, 401),
        (make_user(), 404),
        (make_member(room.incident, "viewer").user, 403),
        (make_member(room.incident, "investigator").user, 403),
    ):
        if person:
            client.force_login(person)
        answer = getattr(client, method)(f"/api/rooms/{room.incident.slug}/tokens/{token}", {"label": "x"})
        assert answer.status_code == status
    assert not UploadToken.objects.exists()


@pytest.mark.parametrize("fields", [{}, {"label": " "}, {"label": "x", "hours": "-1"}, {"label": "x", "hours": "0"}])
def test_it_refuses_nonsense(client: Client, fields: dict[str, str]) -> None:
    room = make_room()
    client.force_login(room.user)
    answer = client.post(f"/api/rooms/{room.incident.slug}/tokens/", fields)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_it_wants_the_csrf_token() -> None:
    room = make_room()
    client = Client(enforce_csrf_checks=True)
    client.force_login(room.user)
    assert client.post(f"/api/rooms/{room.incident.slug}/tokens/", {"label": "x"}).status_code == 403
    assert not UploadToken.objects.exists()

"""Programs that call the API: a client with an access token."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from incidents.access import Room
from incidents.actions import access_tokens
from incidents.models.people.access_token import Scope


def program(user: User, *scopes: str, room: Room | None = None, label: str = "the dashboard") -> Client:
    """Return a client that shows a token of this person, with all scopes if none is named."""
    slug = room.incident.slug if room else None
    secret = access_tokens.create(user, label, scopes or tuple(Scope.values), 1, slug)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def at(room: Room, rest: str = "") -> str:
    return f"/api/v1/rooms/{room.incident.slug}{rest}"


def sent(client: Client, address: str, body: Any = None, method: str = "post", key: str | None = None) -> Any:
    """Send a JSON body, under an idempotency key if one is named."""
    headers = {} if key is None else {"Idempotency-Key": key}
    return getattr(client, method)(address, body if body is not None else {}, "application/json", headers=headers)

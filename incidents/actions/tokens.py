"""Create and revoke upload tokens, which `curl -T` on a server sends instead of a person's session."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import deed
from incidents.errors import Refused
from incidents.models.people.link import UploadToken, new_secret

LONGEST_HOURS = 30 * 24  # maximum validity of a token


def create(room: Room, label: str, hours: int = 24) -> str:
    """Create a token for this room; return its secret, which is shown once and stored hashed."""
    label = label.strip()
    if not label:
        raise Refused("Say what the token is for: the server that will send, for instance.")
    if not 1 <= hours <= LONGEST_HOURS:
        raise Refused(f"A token lasts from 1 to {LONGEST_HOURS} hours.")
    with deed(room, Right.PEOPLE) as doing:
        secret, hashed = new_secret()
        token = UploadToken.objects.create(
            incident=doing.incident,
            token_hash=hashed,
            label=label[:100],
            created_by=doing.room.user,
            expires_at=timezone.now() + timedelta(hours=hours),
        )
        doing.record("made", f"upload token {token.pk}", label=token.label, hours=hours)
        doing.tell("members")
    return secret


def revoke(room: Room, id: int) -> None:
    with deed(room, Right.PEOPLE) as doing:
        if not doing.incident.upload_tokens.filter(pk=id, revoked_at__isnull=True).update(revoked_at=timezone.now()):
            raise Refused("There is no such token.", 404)
        doing.record("revoked", f"upload token {id}")
        doing.tell("members")

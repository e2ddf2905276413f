"""Make and revoke access tokens: a person's own, for programs that act for this person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from incidents import access
from incidents.errors import Refused
from incidents.models.people.access_token import PREFIX, AccessToken, Scope
from incidents.models.people.link import hash_secret, new_secret

LONGEST_DAYS = 366  # maximum validity of a token
MOST = 50  # usable tokens of one person


def create(user: User, label: str, scopes: Sequence[str], days: int, slug: str | None = None) -> str:
    """Make a token, for one room if `slug` names it; return its secret, which is shown once and stored hashed."""
    label = label.strip()
    if not label:
        raise Refused("Say which program will use the token.", 422)
    if not scopes or set(scopes) - set(Scope.values):
        raise Refused("Choose what the token is for.", 422)
    if not 1 <= days <= LONGEST_DAYS:
        raise Refused(f"A token lasts from 1 to {LONGEST_DAYS} days.", 422)
    incident = access.enter(user, slug).incident if slug else None
    secret = PREFIX + new_secret()[0]
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # so that two simultaneous forms cannot exceed the maximum
        now = timezone.now()
        if AccessToken.objects.filter(owner=user, revoked_at__isnull=True, expires_at__gt=now).count() >= MOST:
            raise Refused(f"You have {MOST} access tokens already. Revoke those that no program uses.", 409)
        AccessToken.objects.create(
            owner=user,
            incident=incident,
            token_hash=hash_secret(secret),
            label=label[:100],
            scopes=[scope for scope in Scope.values if scope in scopes],
            expires_at=now + timedelta(days=days),
        )
    return secret


def revoke(user: User, id: int) -> None:
    """Revoke one of this person's own tokens: from now on it opens nothing."""
    held = AccessToken.objects.filter(owner=user, pk=id, revoked_at__isnull=True)
    if not held.update(revoked_at=timezone.now()):
        raise Refused("There is no such token.", 404)

"""List the browsers in which people are signed in, sign them out, and keep the record of sign-ins."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from allauth.account.adapter import get_adapter
from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from incidents.errors import Refused
from incidents.models.people.sign_in import KEPT, Outcome, SignIn, browser_name
from incidents.storage import live

log = structlog.get_logger(__name__)

SEEN_S = 600.0
"""A browser that goes on is noted as seen at most this often by one process."""
MOST_NOTED = 10_000
MOST_BROWSERS = 100
"""A script that signs in every minute would otherwise leave twenty thousand sessions."""
MOST_AGENT = 300
HALF = "half_signed_in"
"""Key in a session of the line in the record whose second factor is asked for."""
NO_ADDRESS = "0.0.0.0"
"""Noted where the server is told none."""

_noted: dict[str, float] = {}


@dataclass(frozen=True)
class Device:
    """A browser that is signed in. `name` is a short name, `agent` its User-Agent."""

    pk: int
    name: str
    agent: str
    address: str
    since: datetime
    seen: datetime
    here: bool


def note_signed_in(request: HttpRequest, user: User) -> None:
    """Note the browser of a request as one in which this person is signed in."""
    found = {"user": user, "ip": get_adapter().get_client_ip(request), "user_agent": agent_of(request)}
    key = request.session.session_key or ""
    UserSession.objects.update_or_create(session_key=key, defaults={**found, "last_seen_at": timezone.now()})
    _note(key)


def record_half(request: HttpRequest, user: User) -> None:
    """Record a right password before the second factor is asked for; `record_in` turns this row into a sign-in."""
    row = _record(request, user, Outcome.HALF)
    request.session[HALF] = row.pk if row else None


def record_in(request: HttpRequest, user: User) -> None:
    """Note and record that somebody signed in; of too many browsers, those seen longest ago are signed out."""
    note_signed_in(request, user)
    half = request.session.pop(HALF, None)
    if not SignIn.objects.filter(pk=half, user=user, outcome=Outcome.HALF).update(outcome=Outcome.IN):
        _record(request, user, Outcome.IN)
    rows = UserSession.objects.filter(user=user).order_by("-last_seen_at", "-pk")
    _end(user, list(rows.values_list("session_key", flat=True)[MOST_BROWSERS:]))


def record_wrong_code(request: HttpRequest, user: User) -> None:
    """Record that somebody knew the password and not the second factor."""
    _record(request, user, Outcome.CODE)


def _record(request: HttpRequest | None, user: User | None, outcome: Outcome) -> SignIn | None:
    if request is None:  # no browser asked, but a command of the operator's
        return None
    address = get_adapter().get_client_ip(request)
    return SignIn.objects.create(
        user=user, outcome=outcome, address=None if address == NO_ADDRESS else address, agent=agent_of(request)
    )


def record_refused(request: HttpRequest | None, typed: Mapping[str, Any]) -> None:
    """Add a wrong password to the record; `typed` has what was typed as user name or mail address."""
    named = Q(username=typed.get("username") or "")
    if email := typed.get("email"):
        named |= Q(email__iexact=email)
    _record(request, User.objects.filter(named).first(), Outcome.PASSWORD)


def agent_of(request: HttpRequest) -> str:
    """Return the User-Agent of a request, cut to the stored length."""
    return str(request.META.get("HTTP_USER_AGENT", ""))[:MOST_AGENT]


def note_seen(request: HttpRequest, user: User) -> None:
    """Update when the browser of a request was last seen, at most every `SEEN_S`; add a browser that has no row yet."""
    key = request.session.session_key or ""
    if time.monotonic() - _noted.get(key, -SEEN_S) < SEEN_S:
        return
    _note(key)
    if not UserSession.objects.filter(session_key=key).update(last_seen_at=timezone.now()):
        note_signed_in(request, user)


def _note(key: str) -> None:
    if len(_noted) >= MOST_NOTED:
        _noted.clear()
    _noted[key] = time.monotonic()


def sign_ins(user: User | None = None, refused: bool = False, name: str = "") -> QuerySet[SignIn]:
    """Return the record, newest first: all of it or a person's, all tries or the refused, of user names that hold `name`."""
    rows = SignIn.objects.select_related("user")
    if user is not None:
        rows = rows.filter(user=user)
    if refused:
        rows = rows.exclude(outcome=Outcome.IN)
    return rows.filter(user__username__icontains=name) if name else rows


def devices(user: User, current: str) -> list[Device]:
    """Return where a person is signed in, the browser with the session `current` first, then the one seen last."""
    rows = list(UserSession.objects.filter(user=user))
    valid = _valid(user, [row.session_key for row in rows])
    made = [
        Device(
            row.pk,
            browser_name(row.user_agent),
            row.user_agent,
            "" if row.ip == NO_ADDRESS else row.ip,
            row.created_at,
            row.last_seen_at,
            row.session_key == current,
        )
        for row in rows
        if row.session_key in valid
    ]
    return sorted(made, key=lambda device: (device.here, device.seen), reverse=True)


def end(user: User, pk: int, current: str) -> None:
    """Sign one browser out; Refused if it is this one, or signed out already."""
    row = UserSession.objects.filter(user=user, pk=pk).first()
    if row is None:
        raise Refused("That browser is signed out already.", 404)
    if row.session_key == current:
        raise Refused("This is the browser you are using: sign out in the menu instead.", 409)
    _end(user, [row.session_key])


def end_others(user: User, current: str) -> int:
    """Sign out all browsers but the one with the session `current`; return how many."""
    keys = list(
        UserSession.objects.filter(user=user).exclude(session_key=current).values_list("session_key", flat=True)
    )
    valid = _valid(user, keys)
    _end(user, keys)
    return len(valid)


def forget_ended() -> None:
    """Delete expired sessions, browsers without a session, and old rows of the record of sign-ins."""
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    gone = ~Exists(Session.objects.filter(session_key=OuterRef("session_key")))
    UserSession.objects.filter(gone).delete()
    SignIn.objects.filter(at__lt=timezone.now() - KEPT).delete()


def _end(user: User, keys: Sequence[str]) -> None:
    if not keys:
        return
    with transaction.atomic():
        Session.objects.filter(session_key__in=keys).delete()
        UserSession.objects.filter(session_key__in=keys).delete()
        for key in keys:
            live.end_streams(user.pk, session=key)
    log.info("account.signed_out_elsewhere", user=user.pk, browsers=len(keys))


def _valid(user: User, keys: Sequence[str]) -> set[str]:
    """Return the keys of sessions in which this person is signed in; a new password ends the others."""
    live_sessions = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    expected = user.get_session_auth_hash()
    made = set()
    for session in live_sessions:
        held = session.get_decoded()
        if held.get(SESSION_KEY) == str(user.pk) and constant_time_compare(held.get(HASH_SESSION_KEY, ""), expected):
            made.add(session.session_key)
    return made

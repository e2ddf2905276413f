"""Where a person is signed in: the browsers, when each was seen last, and an end to any of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog
from allauth.account.adapter import get_adapter
from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from incidents.errors import Refused
from incidents.storage import live

log = structlog.get_logger(__name__)

SEEN_S = 600.0
"""A browser that goes on is noted as seen at most this often by one process."""
MOST_NOTED = 10_000
NO_ADDRESS = "0.0.0.0"
"""Noted where the server is told none."""

_BROWSERS = (
    ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
    ("curl/", "curl"), ("Wget/", "wget"),
)  # fmt: skip
"""Marks in the order in which they decide: Edge calls itself Chrome, and Chrome Safari."""
_SYSTEMS = (
    ("Windows", "Windows"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Mac OS X", "macOS"),
    ("SunOS", "Solaris"), ("Linux", "Linux"),
)  # fmt: skip

_noted: dict[str, float] = {}


@dataclass(frozen=True)
class Device:
    """A browser that is signed in. `name` is short, `agent` what the browser calls itself."""

    pk: int
    name: str
    agent: str
    address: str
    since: datetime
    seen: datetime
    here: bool


def name_of(agent: str) -> str:
    """Return a short name for what a browser calls itself.

    >>> name_of("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"), name_of("")
    ('Firefox on Linux', 'Unknown browser')
    """
    browser = next((name for mark, name in _BROWSERS if mark in agent), "Unknown browser")
    system = next((name for mark, name in _SYSTEMS if mark in agent), "")
    return f"{browser} on {system}" if system else browser


def note_signed_in(request: HttpRequest, user: User) -> None:
    """Note the browser of a request as one in which this person is signed in."""
    agent = request.META.get("HTTP_USER_AGENT", "")[: UserSession._meta.get_field("user_agent").max_length]
    found = {"user": user, "ip": get_adapter().get_client_ip(request), "user_agent": agent}
    key = request.session.session_key or ""
    UserSession.objects.update_or_create(session_key=key, defaults={**found, "last_seen_at": timezone.now()})
    _note(key)


def note_seen(request: HttpRequest, user: User) -> None:
    """Note that the browser of a request is in use, now and then; one that signed in before this was noted is added."""
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


def devices(user: User, current: str) -> list[Device]:
    """Return where a person is signed in, the browser with the session `current` first, then the one seen last."""
    rows = list(UserSession.objects.filter(user=user))
    valid = _valid(user, [row.session_key for row in rows])
    made = [
        Device(
            row.pk,
            name_of(row.user_agent),
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
    """Delete expired sessions, and what was noted of sessions that are no more."""
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    gone = ~Exists(Session.objects.filter(session_key=OuterRef("session_key")))
    UserSession.objects.filter(gone).delete()


def _end(user: User, keys: Iterable[str]) -> None:
    with transaction.atomic():
        for key in keys:
            Session.objects.filter(session_key=key).delete()
            UserSession.objects.filter(session_key=key).delete()
            live.end_streams(user.pk, session=key)
            log.info("account.signed_out_elsewhere", user=user.pk)


def _valid(user: User, keys: Iterable[str]) -> set[str]:
    """Return the keys of sessions in which this person is signed in; a new password ends the others."""
    live_sessions = Session.objects.filter(session_key__in=list(keys), expire_date__gt=timezone.now())
    expected = user.get_session_auth_hash()
    made = set()
    for session in live_sessions:
        held = session.get_decoded()
        if held.get(SESSION_KEY) == str(user.pk) and constant_time_compare(held.get(HASH_SESSION_KEY, ""), expected):
            made.add(session.session_key)
    return made

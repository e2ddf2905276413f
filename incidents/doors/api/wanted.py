"""`GET /api/rooms/<slug>/wanted/?os=&release=&host=`: what a collector is to run on a host, and the server's time.

Plain text, one word and its value a line, since a shell reads it:

    exhibit 1
    time 2016-04-14T07:12:03.250000Z
    want 1f828fd4
    by-hand 2

`want` names a step of the collector by its code (`rules/collecting/collector.py`); a command itself is never sent, and
no other word of the room. `by-hand` counts wishes that only a person can fulfil.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

from django.db.models.fields.json import KeyTransform
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_GET

from incidents.access import Right, Room
from incidents.doors.api.answers import entered, resource_for_tokens
from incidents.models.evidence.request import RequestState
from rules.collecting.collector import wanted_of
from rules.collecting.commands import KIN, for_version


@resource_for_tokens
@require_GET
def wanted(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer the open requests of the room and the few best wishes of its newest report, for one host."""
    room = entered(request, slug, Right.UPLOAD)
    os, release, host = (request.GET.get(name, "")[:100] for name in ("os", "release", "host"))
    found = wanted_of(for_version(text, os or None, release) for text in _texts(room, os, host))
    now = timezone.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    lines = ["exhibit 1", f"time {now}", *(f"want {code}" for code in found.codes), f"by-hand {found.by_hand}"]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


def _texts(room: Room, os: str, host: str) -> Iterator[str]:
    """Yield the commands that are asked for on this host, or on no host in particular."""
    for row in room.incident.requests.filter(state=RequestState.OPEN).exclude(command=""):
        if _is_here(row.host, host) and _is_of(row.os, os):
            yield row.command
    newest = room.incident.evaluations.filter(accepted=True).order_by("-number")
    for ask in newest.values_list(KeyTransform("asks", "report"), flat=True).first() or []:
        if ask.get("ask") and _is_here(ask.get("host") or "", host) and _is_of(ask.get("os") or "", os):
            yield ask["ask"]


def _is_here(asked: str, host: str) -> bool:
    return not asked or asked.split(".")[0].lower() == host.split(".")[0].lower()


def _is_of(asked: str, os: str) -> bool:
    return not asked or KIN.get(asked, asked) == KIN.get(os, os)


urlpatterns = [path("rooms/<slug:slug>/wanted/", wanted, name="api-wanted")]

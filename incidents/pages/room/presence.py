"""Who is in the room and which page they look at."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_POST

from incidents import access
from incidents.access import Room
from incidents.errors import Refused
from incidents.storage import live

# Names of the room's pages; any other page is shown as "the room".
WORDS = {
    "room": "the room",
    "finding": "a finding",
    "evidence": "evidence",
    "evidence-add": "adding evidence",
    "lines": "lines of artifact {number}",
    "questions": "questions",
    "board": "the board",
    "board-say": "a new row of the board",
    "board-said": "a row of the board",
    "board-cause-new": "a new cause of the board",
    "board-cause": "a cause of the board",
    "case": "the case",
    "compare": "the comparison",
    "compare-border": "a border of phases",
    "clocks": "clocks",
    "notes": "notes",
    "log": "what people did",
    "log-new": "a new entry of the log",
    "log-entry": "an entry of the log",
    "review": "the review",
    "review-edit": "the text of the review",
    "follow-up": "a follow-up",
    "follow-up-new": "a new follow-up",
    "plan": "decisions and actions",
    "similar": "similar rooms",
    "decision": "a decision",
    "decision-new": "a new decision",
    "action": "an action",
    "action-new": "a new action",
    "action-done": "an action",
    "ask": "questions to the tables",
    "thresholds": "thresholds of rules",
    "requests": "requests",
    "request": "a request",
    "request-new": "a new request",
    "request-edit": "a request",
    "collect": "what to collect",
    "summary": "the summary",
    "summary-version": "a version of the summary",
    "summary-versions": "versions of the summary",
    "summary-changes": "changes of the summary",
    "summary-edit": "a text of the summary",
    "summary-links": "links to the summary",
    "status": "the status",
    "members": "members",
    "activity": "activity",
    "export": "exports",
    "export-names": "names of an export",
    "origin": "where the room came from",
    "webhooks": "webhooks",
    "webhook": "a webhook",
}


@dataclass(frozen=True)
class Person:
    """Somebody in the room now. `href` is the page they look at, empty while it is unknown."""

    user: User
    page: str
    href: str


@require_POST
def here(request: HttpRequest, slug: str) -> HttpResponse:
    """Record the page that this person looks at; addresses outside this room are refused."""
    room = access.enter(request.user, slug)
    path = request.POST.get("path", "")
    if not _page(path, slug):
        raise Refused("This is no page of the room.")
    live.look_at(room.incident.pk, room.user.pk, path)
    return HttpResponse(status=204)


def people(room: Room) -> list[Person]:
    """Return who is in the room: members and site administrators, without people who were removed."""
    present = live.present_in([room.incident.pk])[room.incident.pk]
    ids = [one.user_id for one in present]
    users = {user.pk: user for user in User.objects.filter(pk__in=ids, is_active=True)} if ids else {}
    members = set(room.incident.memberships.filter(user__in=ids).values_list("user_id", flat=True)) if ids else set()
    found = []
    for one in present:
        user = users.get(one.user_id)
        if user is not None and (user.pk in members or user.is_superuser):
            words = _page(one.path, room.incident.slug)
            found.append(Person(user, words, one.path if words else ""))
    return found


def _page(path: str, slug: str) -> str:
    """Name an address of this room; empty for any other."""
    if not path.startswith(f"/rooms/{slug}/") or len(path) > 200:
        return ""
    try:
        match = resolve(path)
    except Resolver404:
        return ""
    return WORDS.get(match.url_name or "", "the room").format(**match.kwargs)

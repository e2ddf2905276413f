"""A person's notifications from all rooms: the list, the bell, and the choice of mails."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from incidents.actions import notices
from incidents.content import inbox
from incidents.content.markup import plain
from incidents.content.references import short
from incidents.errors import Refused
from incidents.models.people.notification import Notification, Told
from incidents.pages.rooms.views import request_user
from incidents.pages.shell import is_part
from incidents.work import mails

A_PAGE = 40


@dataclass(frozen=True)
class Line:
    row: Notification
    href: str
    words: str


@require_http_methods(["GET", "POST"])
def notifications(request: HttpRequest) -> HttpResponse:
    """List a person's notifications, newest first. A POST marks one or all as read, or turns mails on or off."""
    user = request_user(request)
    if request.method == "POST":
        match request.POST.get("do"):
            case "read":
                id = request.POST.get("id", "")
                if not (id.isascii() and id.isdigit() and len(id) < 19):
                    raise Refused("There is no such notification.", 404)
                notices.mark_read(user, [int(id)])
            case "all":
                notices.mark_read(user)
            case "mail":
                notices.choose_mail(user, "mentions" in request.POST)
            case _:
                raise Refused("There is no such action here.")
        return redirect("notifications")
    if is_part(request) and request.GET.get("part") == "bell":
        return render(request, "notifications/_bell.html")
    found = inbox.notifications_of(user)
    only_unread = request.GET.get("show") == "unread"
    if only_unread:
        found = found.filter(read_at__isnull=True)
    rows = found.select_related("incident", "actor", "note", "dispute__finding", "request", "deletion")
    paged = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    context = {
        "paged": paged,
        "lines": [Line(row, mails.address(row), _words(row)) for row in paged],
        "only_unread": only_unread,
        "any_unread": inbox.unread_count(user) > 0,
        "wants_mail": notices.wants_mail(user),
        "query": "show=unread&" if only_unread else "",
    }
    return render(request, "notifications/notifications.html", context)


def _words(row: Notification) -> str:
    """Quote the beginning of a notification's text, which the reader may see, since they may see its room."""
    if row.note is not None:
        return short(plain(row.note.text))
    if row.promised_at is not None:
        return f"due at {row.promised_at:%Y-%m-%d %H:%M} UTC"
    if row.deletion is not None:
        if row.kind == Told.STAYS:
            return "the room stays, and is closed"
        return f"the room is deleted {row.deletion.due_at:%Y-%m-%d %H:%M} UTC, unless a lead undoes that"
    if row.request is not None:
        return short(row.request.changed if row.kind == Told.CHANGED and row.request.changed else row.request.what)
    return short(plain((row.dispute.answer or row.dispute.reason) if row.dispute else ""))

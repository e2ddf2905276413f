"""The incident's log: what people did, and forms to write it down from any page of the room."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import plan as actions
from incidents.content.course import DECISION, KINDS, MOST, course_of
from incidents.content.names import known_as
from incidents.content.visible import visible
from incidents.errors import Overtaken, Refused
from incidents.models.plan.decision import Decision
from incidents.models.plan.entry import Entry
from incidents.pages.log.forms import EntryForm, WriteForm
from incidents.pages.plan.views import UNDO_FOR, People, in_words
from incidents.pages.shell import is_part, shell


@require_GET
def log(request: HttpRequest, slug: str) -> HttpResponse:
    """List what people did, the newest first; `?kind=`: only that kind."""
    room = access.enter(request.user, slug)
    kind = request.GET.get("kind", "")
    kind = kind if kind in KINDS else ""
    rows = course_of(room.incident, [kind] if kind else KINDS)
    own = dict(room.incident.entries.filter(deleted_at__isnull=True).values_list("pk", "author"))
    own_decisions = dict(room.incident.decisions.filter(deleted_at__isnull=True).values_list("pk", "author"))
    context = shell(room, "log") | {
        "rows": [
            {
                "row": row,
                "href": row.href(slug),
                "author": {"entry": own, "decision": own_decisions}.get(row.source, {}).get(row.pk),
            }
            for row in reversed(rows)
        ],
        "kind": kind,
        "kinds": KINDS.items(),
        "most": MOST if len(rows) == MOST else None,
        "taken_away": [
            *_just_deleted(room.incident.entries.all(), room),
            *_just_deleted(room.incident.decisions.all(), room),
        ],
        "form": _form(request, room) if room.may(Right.PLAN) else None,
    }
    return render(request, "log/log.html", context)


@require_http_methods(["GET", "POST"])
def write(request: HttpRequest, slug: str) -> HttpResponse:
    """Write down what somebody did: as a part for the dialog, as a page otherwise. `?at=`: seconds since 1970."""
    room = access.enter(request.user, slug, Right.PLAN)
    form = _form(request, room)
    if request.method == "GET":
        return _show(request, room, form)
    if form.is_valid():
        try:
            row = _put(room, form.cleaned_data)
        except Refused as refused:
            if refused.status in (403, 404, 409):
                raise
            form.add_error(None, refused.message)
        else:
            if is_part(request):
                told = {"room": room, "row": row, "what": _list_of(row), "text": form.cleaned_data["text"]}
                return render(request, "log/_written.html", told)
            return redirect(_back(form.cleaned_data["back"], slug))
    return _show(request, room, form, 422)


@require_http_methods(["GET", "POST"])
def entry(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Correct an entry. The person who saves second sees both texts before anything is written."""
    room = access.enter(request.user, slug, Right.PLAN)
    row = room.incident.entries.select_related("who", "edited_by").filter(pk=id).first()
    if row is None:
        raise Refused("There is no such entry.", 404)
    if row.deleted_at is not None:
        raise Refused("This entry was taken away. Bring it back first.", 409)
    people = People.of(room)
    form: Any = EntryForm(
        request.POST or None,
        initial=actions.entry_values(row),
        auto_id="entry_%s",
        people=people.choices(row.who),
    )
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            fields = {name: value for name, value in form.cleaned_data.items() if name != "client_id"}
            try:
                actions.put_entry(room, fields, id, form.seen)
                return redirect(f"{reverse('log', args=[slug])}#entry-{id}")
            except Overtaken as beaten:
                row.refresh_from_db()
                who = visible(known_as(row.edited_by)) if row.edited_by else "Somebody"
                form = form.beside(beaten.now, who, in_words(beaten.now, form))
                status = 409
            except Refused as refused:
                if refused.status in (403, 404, 409):
                    raise
                form.add_error(None, refused.message)
    context = shell(room, "log") | {"form": form, "row": row}
    return render(request, "log/entry.html", context, status=status)


def _form(request: HttpRequest, room: Room) -> WriteForm:
    kind, back = request.GET.get("kind", ""), request.GET.get("back", "")
    initial = {
        "client_id": uuid.uuid4(),
        "at": _asked_at(request.GET.get("at", "")) or timezone.now(),
        "who": room.user.pk,
        "back": back,
    }
    initial |= {"kind": kind} if kind in KINDS else {}
    people = People.of(room).choices(room.user)
    # The dialog may lie over the log itself, which has the same form.
    auto_id = "write_%s" if is_part(request) else "log_%s"
    return WriteForm(request.POST or None, initial=initial, auto_id=auto_id, people=people)


def _put(room: Room, fields: dict[str, Any]) -> Decision | Entry:
    at, who, text, client_id = fields["at"], fields["who"], fields["text"], fields["client_id"]
    if fields["kind"] == DECISION:
        said = {"outcome": text, "decided_at": at, "decided_by": who}
        return actions.put_decision(room, said, client_id=client_id)
    return actions.put_entry(room, {"kind": fields["kind"], "at": at, "who": who, "text": text}, client_id=client_id)


def _show(request: HttpRequest, room: Room, form: WriteForm, status: int = 200) -> HttpResponse:
    if is_part(request):
        return render(request, "log/_write.html", {"room": room, "form": form, "in_dialog": True}, status=status)
    return render(request, "log/write.html", shell(room, "log") | {"form": form}, status=status)


def _back(path: str | None, slug: str) -> str:
    """Return the page of this room on which somebody wrote something down, else the log."""
    return path if path and path.startswith(reverse("room", args=[slug])) else reverse("log", args=[slug])


def _asked_at(text: str) -> datetime | None:
    """Read seconds since 1970, as the timeline has them; None for anything else."""
    try:
        return datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _list_of(row: Decision | Entry) -> str:
    return "decisions" if isinstance(row, Decision) else "entries"


def _just_deleted(rows: QuerySet[Any], room: Room) -> list[dict[str, Any]]:
    """Return the rows that the reader has just deleted, for undo."""
    gone = rows.filter(deleted_by=room.user, deleted_at__gt=timezone.now() - UNDO_FOR).select_related("deleted_by")
    return [{"row": row, "what": _list_of(row), "name": row._meta.verbose_name} for row in gone.order_by("-deleted_at")]

"""The status of the incident, and closing, reopening and archiving its room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db.models import OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import rooms
from incidents.actions import standing as actions
from incidents.content.milestones import lead_and_duties, people_of, standing
from incidents.content.names import known_as
from incidents.content.visible import visible
from incidents.errors import Overtaken, Refused
from incidents.models.people.duty import HOLDERS, DutyKind
from incidents.models.room.incident import Incident, RoomSeverity
from incidents.models.room.standing import Moment
from incidents.pages.plan.forms import StatusForm
from incidents.pages.plan.views import People
from incidents.pages.shell import people_named, shell
from incidents.work import closing

LATEST = 20
WORDS = {
    **{name: name for name in ("severity", *DutyKind.values, *Moment.values)},
    "next_update_at": "next update",
    "next_update_by": "next update by",
    "next_update_duty": "next update by duty",
    "next_update_every": "minutes between updates",
}
_TIMES = frozenset((*Moment.values, "next_update_at"))
_PEOPLE = frozenset((*DutyKind.values, "next_update_by"))


@dataclass(frozen=True)
class Told:
    """One change of the status: the fields that were set, each with a time or a text."""

    seq: int
    at: datetime
    who: str
    status: str
    said: list[tuple[str, datetime | None, str]]


@require_http_methods(["GET", "POST"])
def status(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the state of the incident and who set it; a POST sets it.

    `now`: set one of the moments to this second; `undo`: put back what the last change overwrote.
    """
    room = access.enter(request.user, slug)
    if request.method == "POST":
        room.require(Right.PLAN)
        if "undo" in request.POST:
            return _undo(request, room)
        return _now(room, request.POST["now"]) if "now" in request.POST else _save(request, room)
    return _show(request, room, _form(room))


@require_POST
def close(request: HttpRequest, slug: str) -> HttpResponse:
    """Close the room, keep it open, reopen it, archive it, or take it out of the archive."""
    room = access.enter(request.user, slug, Right.CLOSE)
    deeds: dict[str, Callable[[Room], Incident]] = {
        "close": rooms.close,
        "wait": lambda room: rooms.close(room, wait=True),
        "keep-open": rooms.keep_open,
        "reopen": rooms.reopen,
        "archive": rooms.archive,
        "unarchive": rooms.unarchive,
    }
    deed = deeds.get(request.POST.get("do", ""))
    if deed is None:
        raise Refused("There is no such action here.")
    incident = deed(room)
    if incident.closing_at is not None:
        messages.info(request, "The room closes by itself as soon as the work under way is finished.")
    return redirect("status", slug)


def _now(room: Room, kind: str) -> HttpResponse:
    if kind not in Moment.values:
        raise Refused("Choose a moment from the list.")
    actions.put(room, {kind: timezone.now()})
    return redirect("status", room.incident.slug)


def _undo(request: HttpRequest, room: Room) -> HttpResponse:
    seq = request.POST["undo"]
    if not (seq.isascii() and seq.isdigit() and len(seq) < 19):
        raise Refused("There is no such change.", 404)
    actions.undo(room, int(seq))
    messages.success(request, "Put back as it was before.")
    return redirect("status", room.incident.slug)


def _save(request: HttpRequest, room: Room) -> HttpResponse:
    form = _form(room, request.POST)
    if not form.is_valid():
        return _show(request, room, form, 422)
    assert isinstance(form, StatusForm)
    try:
        actions.put(room, form.cleaned_data, form.seen)
    except Overtaken as beaten:
        last = room.incident.activity.filter(verb="set status").order_by("-seq").first()
        who = visible(last.actor_name) if last else "Somebody"
        people = dict(People.of(room).choices(room.incident.next_update_by))
        words = {name: _word(name, value, people) for name, value in beaten.now.items() if value is not None}
        return _show(request, room, form.beside(beaten.now, who, words), 409)
    except Refused as refused:
        if refused.status in (403, 404, 409):
            raise
        form.add_error(None, refused.message)
        return _show(request, room, form, 422)
    return redirect("status", room.incident.slug)


def _word(name: str, value: Any, people: Mapping[int, str]) -> str:
    """Write one value of the standing as the page does."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    if name == "severity":
        return f"{value}, {RoomSeverity(value).label}"
    return people.get(value, "") if name in _PEOPLE else str(value)


def _form(room: Room, data: Any = None) -> Any:
    incident = room.incident
    people = People.of(room)
    return StatusForm(
        data,
        initial=actions.values_of(incident),
        auto_id="status_%s",
        people=people.choices(incident.next_update_by, room.user),
        holders={duty: people.choices(roles=roles) for duty, roles in HOLDERS.items()},
    )


def _show(request: HttpRequest, room: Room, form: Any, status: int = 200) -> HttpResponse:
    incident = room.incident
    reached, history = standing(incident), _history(incident)
    context = (
        shell(room, "status")
        | reached
        | {
            "form": form,
            "under_way": closing.under_way(incident.pk),
            **_people(incident),
            "history": history,
            "undoable": history[0].seq if history and history[0].said and room.may(Right.PLAN) else None,
            "reached": {row.kind for row in reached["milestones"]},
            "moments": Moment.choices,
        }
    )
    return render(request, "status/status.html", context, status=status)


def _people(incident: Incident) -> dict[str, Any]:
    rows = Incident.objects.filter(pk=incident.pk).values(**people_of(OuterRef("pk")))
    return lead_and_duties(rows.get())


def _history(incident: Incident) -> list[Told]:
    """Put the last changes into words: times as times, people by name."""
    rows = list(incident.activity.filter(verb="set status").order_by("-seq")[:LATEST])
    ids = {row.detail[name] for row in rows for name in _PEOPLE if row.detail.get(name)}
    people = {user.pk: known_as(user) for user in people_named(sorted(ids))}
    changes = []
    for row in rows:
        fields: list[tuple[str, datetime | None, str]] = []
        for name, words in WORDS.items():
            if name not in row.detail:
                continue
            value = row.detail[name]
            if value is None:
                fields.append((words, None, "taken back"))
            elif name in _TIMES:
                fields.append((words, datetime.fromisoformat(value), ""))
            else:
                fields.append((words, None, _word(name, value, people)))
        changes.append(Told(row.seq, row.at, row.actor_name, row.object, fields))
    return changes

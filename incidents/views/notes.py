"""Notes on findings, lines, times and the room: written, edited, deleted, brought back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import notes as actions
from incidents.errors import Refused
from incidents.forms import NoteEditForm, NoteForm
from incidents.models.note import Note
from incidents.views.shell import is_part, shell

UNDO_FOR = timedelta(minutes=10)


@dataclass(frozen=True)
class Place:
    """Where a note hangs: an address and words for it."""

    href: str
    text: str


def room_notes(room: Room) -> list[Note]:
    """Return all notes of the room, oldest first, each with its place."""
    return placed(room, _living(room))


def finding_notes(room: Room, key: str) -> QuerySet[Note]:
    return _living(room).filter(finding_key=key)


def line_notes(room: Room, sha256: str) -> QuerySet[Note]:
    return _living(room).filter(sha256=sha256).order_by("line_from", "created_at")


def placed(room: Room, notes: QuerySet[Note]) -> list[Note]:
    """Give each note its `place` (None: the room) and `mine` (this person may edit it), in one more query at most."""
    found = list(notes)
    hashes = {note.sha256 for note in found if note.sha256}
    held = (
        {
            sha256: (number, name)
            for sha256, number, name in room.incident.artifacts.filter(sha256__in=hashes).values_list(
                "sha256", "number", "name"
            )
        }
        if hashes
        else {}
    )
    for note in found:
        own = note.author_id == room.user.pk or room.may(Right.PEOPLE)
        # For the template alone: what this reader may do with it, and where it stands.
        note.mine = own  # type: ignore[attr-defined]  # no column of the model
        note.place = _place(room, note, held)  # type: ignore[attr-defined]  # as above
    return found


@require_http_methods(["GET", "POST"])
def notes(request: HttpRequest, slug: str) -> HttpResponse:
    """List the notes; a POST writes one and answers with the list in which it appears."""
    room = access.enter(request.user, slug)
    if request.method == "GET":
        if not is_part(request):
            return redirect(reverse("room", args=[slug]) + "#notes")
        return _list(request, room, NoteForm(auto_id="note_%s"))
    form = NoteForm(request.POST, auto_id="note_%s")
    if form.is_valid():
        said = form.cleaned_data
        note = actions.add(
            room,
            said["text"],
            finding_key=said["finding_key"],
            artifact=said["artifact"],
            lines=(said["line_from"], said["line_to"]) if said["artifact"] is not None else None,
            clock=said["clock"],
            times=(said["t_from"], said["t_to"]) if said["clock"] is not None else None,
        )
        if not is_part(request):
            place = _place(room, note, {note.sha256: (said["artifact"], "")} if note.sha256 else {})
            return redirect(place.href if place else reverse("room", args=[slug]) + f"#note-{note.pk}")
        form = NoteForm(auto_id="note_%s")
    return _list(request, room, form, said=NoteForm(request.POST))


def _list(request: HttpRequest, room: Room, form: NoteForm, said: NoteForm | None = None) -> HttpResponse:
    """Answer with the part in which the note was written: the room's list, the drawer's, or the margin of lines."""
    status = 422 if form.errors else 200
    context: dict[str, Any] = shell(room, "room") | {"note_form": form}
    target = request.headers.get("HX-Target", "")
    if said is not None and target == "finding-notes" and said.data.get("finding_key"):
        key = str(said.data["finding_key"])
        context |= {"finding_notes": placed(room, finding_notes(room, key)), "key": key}
        return render(request, "incidents/_finding_notes.html", context, status=status)
    if said is not None and target == "margin-notes" and not form.errors:
        artifact = room.incident.artifacts.filter(number=said.data["artifact"]).first()
        sha256 = artifact.sha256 if artifact else ""
        context |= {"line_notes": placed(room, line_notes(room, sha256))}
        return render(request, "incidents/_margin_notes.html", context)
    if not is_part(request):
        context |= {"part_name": "incidents/_note_new.html"}
        return render(request, "incidents/one_form.html", context, status=status)
    return render(request, "incidents/_notes.html", context | {"notes": room_notes(room)}, status=status)


@require_http_methods(["GET", "POST"])
def note(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Show a note's form, or save what was typed into it. Somebody else's change in between is said, not overwritten."""
    room = access.enter(request.user, slug)
    row = _one(room, id)
    if request.method == "GET":
        if "show" in request.GET:
            return _note(request, room, row)
        room.require(Right.NOTE)
        form = NoteEditForm({"text": row.text, "version": row.version}, auto_id=f"note-{row.pk}-%s")
        return _edit(request, room, row, form)
    room.require(Right.NOTE)
    form = NoteEditForm(request.POST, auto_id=f"note-{row.pk}-%s")
    if form.is_valid() and form.cleaned_data["version"] not in (None, row.version):
        data = request.POST.copy()
        data["version"] = str(row.version)
        form = NoteEditForm(data, auto_id=f"note-{row.pk}-%s")
        form.add_error("text", f"Somebody changed it meanwhile. It now says: {row.text}")
    if form.is_valid():
        row = actions.edit(room, id, form.cleaned_data["text"])
        return _note(request, room, row)
    return _edit(request, room, row, form, 422)


@require_POST
def delete(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Delete a note; the answer offers to undo it."""
    room = access.enter(request.user, slug, Right.NOTE)
    return _note(request, room, actions.delete(room, id))


@require_POST
def restore(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    room = access.enter(request.user, slug, Right.NOTE)
    return _note(request, room, actions.restore(room, id))


def _edit(request: HttpRequest, room: Room, row: Note, form: NoteEditForm, status: int = 200) -> HttpResponse:
    context = shell(room, "room") | {"note": row, "form": form, "part_name": "incidents/_note_edit.html"}
    template = "incidents/_note_edit.html" if is_part(request) else "incidents/one_form.html"
    return render(request, template, context, status=status)


def _note(request: HttpRequest, room: Room, row: Note) -> HttpResponse:
    shown = placed(room, Note.objects.filter(pk=row.pk).select_related("author", "edited_by", "deleted_by"))[0]
    context = shell(room, "room") | {"note": shown, "part_name": "incidents/_note.html"}
    if is_part(request):
        return render(request, "incidents/_note.html", context)
    if shown.deleted_at is not None:
        return render(request, "incidents/one_form.html", context)
    return redirect(reverse("room", args=[room.incident.slug]) + f"#note-{row.pk}")


def _one(room: Room, id: int) -> Note:
    row = room.incident.notes.select_related("author").filter(pk=id).first()
    if row is None:
        raise Refused("There is no such note.", 404)
    return row


def _living(room: Room) -> QuerySet[Note]:
    """The notes to be shown; who has just deleted one still sees its place, with the undo in it."""
    just_now = Q(deleted_by=room.user, deleted_at__gt=timezone.now() - UNDO_FOR)
    shown = room.incident.notes.filter(Q(deleted_at__isnull=True) | just_now)
    return shown.select_related("author", "edited_by", "deleted_by")


def _place(
    room: Room, note: Note, held: dict[str | None, tuple[int, str]] | dict[str, tuple[int, str]]
) -> Place | None:
    slug = room.incident.slug
    if note.finding_key:
        return Place(reverse("finding", args=[slug, note.finding_key]), "on a finding")
    if note.sha256 and note.sha256 in held:
        number, name = held[note.sha256]
        anchor = f"L{note.line_from}" + (f"-L{note.line_to}" if note.line_to != note.line_from else "")
        where = f"{note.line_from}" + (f"–{note.line_to}" if note.line_to != note.line_from else "")
        return Place(f"{reverse('lines', args=[slug, number])}?at={note.line_from}#{anchor}", f"{name} {where}")
    if note.clock:
        return Place(
            f"{reverse('room', args=[slug])}#clock={note.clock}&from={note.t_from}&to={note.t_to}",
            f"clock {note.clock}, {note.t_from:.3f} to {note.t_to:.3f} s",
        )
    return None

"""Notes: read, written, answered, edited, resolved. What a program writes is marked as a program's."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Prefetch, Q
from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router, Status

from incidents.access import Right, Room
from incidents.actions import notes as actions
from incidents.content.names import known_as
from incidents.doors.rest.api import entered
from incidents.doors.rest.limits import Body, Finite, Id, bounded
from incidents.doors.rest.once import once
from incidents.doors.rest.paging import Page, Paging, paged
from incidents.doors.rest.shapes import NoteShape
from incidents.errors import Refused
from incidents.models.words.note import Note

router = Router(tags=["notes"])


class NewNote(Body):
    """A note on a finding, an artifact or lines of it, a time of a clock, a lane; without any of these on the room."""

    text: str = bounded(Note, "text", most=actions.LONGEST)
    finding: str | None = bounded(Note, "finding_key", None)
    artifact: Id | None = None
    line_from: Id | None = None
    line_to: Id | None = None
    clock: str | None = bounded(Note, "clock", None)
    time_from: Finite | None = None
    time_to: Finite | None = None
    lane: str | None = bounded(Note, "lane", None)


class NewText(Body):
    text: str = bounded(Note, "text", most=actions.LONGEST)


@router.get("/rooms/{slug}/notes", response=Page[NoteShape], summary="List notes")
def list_notes(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """Notes in the order in which they were written, each with its replies."""
    room = entered(request, slug)
    alive = Note.objects.filter(reply_to=OuterRef("pk"), deleted_at__isnull=True)
    roots = room.incident.notes.filter(reply_to__isnull=True).filter(Q(deleted_at__isnull=True) | Exists(alive))
    rows = _with_replies(roots).order_by("created_at", "id")
    return paged(rows, asked, _Shaper(room))


@router.get("/rooms/{slug}/notes/{id}", response=NoteShape, summary="Read a note")
def read_note(request: HttpRequest, slug: str, id: Path[Id]) -> dict[str, Any]:
    """The discussion that the note belongs to."""
    room = entered(request, slug)
    return _discussion(room, id)


@router.post("/rooms/{slug}/notes", response={201: NoteShape}, summary="Write a note")
@once
def write_note(request: HttpRequest, slug: str, said: NewNote, response: HttpResponse) -> Status[Any]:
    """Write a note. It never is a verdict: rules judge, and people argue on the board."""
    room = entered(request, slug, Right.NOTE)
    place: dict[str, Any] = {
        "finding_key": said.finding,
        "artifact": said.artifact,
        "lines": _range("line", said.line_from, said.line_to),
        "clock": said.clock,
        "times": _range("time", said.time_from, said.time_to),
        "lane": said.lane,
    }
    return Status(201, _discussion(room, actions.add(room, said.text, **place).pk))


@router.post("/rooms/{slug}/notes/{id}/replies", response={201: NoteShape}, summary="Reply to a note")
@once
def reply_to_note(request: HttpRequest, slug: str, id: Path[Id], said: NewText, response: HttpResponse) -> Status[Any]:
    """Reply; the answer is the whole discussion."""
    room = entered(request, slug, Right.NOTE)
    return Status(201, _discussion(room, actions.reply(room, id, said.text).pk))


@router.patch("/rooms/{slug}/notes/{id}", response=NoteShape, summary="Edit a note")
@once
def edit_note(request: HttpRequest, slug: str, id: Path[Id], said: NewText, response: HttpResponse) -> Status[Any]:
    """Change the text of one's own note; earlier texts are kept."""
    room = entered(request, slug, Right.NOTE)
    return Status(200, _discussion(room, actions.edit(room, id, said.text).pk))


@router.delete("/rooms/{slug}/notes/{id}", response=NoteShape, summary="Delete a note")
@once
def delete_note(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Delete one's own note; members can bring it back on its page."""
    room = entered(request, slug, Right.NOTE)
    return Status(200, _discussion(room, actions.delete(room, id).pk))


@router.post("/rooms/{slug}/notes/{id}/resolve", response=NoteShape, summary="Resolve a discussion")
@once
def resolve_note(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Mark a discussion as resolved, at its first note."""
    room = entered(request, slug, Right.NOTE)
    return Status(200, _discussion(room, actions.resolve(room, id).pk))


@router.post("/rooms/{slug}/notes/{id}/reopen", response=NoteShape, summary="Reopen a discussion")
@once
def reopen_note(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Open a resolved discussion again."""
    room = entered(request, slug, Right.NOTE)
    return Status(200, _discussion(room, actions.reopen(room, id).pk))


def _range(what: str, first: Any, last: Any) -> tuple[Any, Any] | None:
    if first is None and last is None:
        return None
    if first is None or last is None:
        raise Refused(f"A note on a range of {what}s names {what}_from and {what}_to.", 422)
    return first, last


def _with_replies(roots: Any) -> Any:
    replies = Note.objects.filter(deleted_at__isnull=True).select_related("author").order_by("created_at", "id")
    return roots.select_related("author").prefetch_related(Prefetch("replies", replies))


def _discussion(room: Room, id: int) -> dict[str, Any]:
    """Return the discussion with this note, deleted or not."""
    root = _with_replies(room.incident.notes.filter(Q(pk=id) | Q(replies=id), reply_to__isnull=True)).first()
    if root is None:
        raise Refused("There is no such note.", 404)
    return _Shaper(room)(root)


class _Shaper:
    """Shapes notes of one room; it looks up the numbers of artifacts once, for notes know only their content."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._numbers: dict[str, int] | None = None

    def __call__(self, note: Note) -> dict[str, Any]:
        return _written(note) | {
            "deleted": note.deleted_at is not None,
            "resolved_at": note.resolved_at,
            "finding": note.finding_key,
            "artifact": self._number(note.sha256) if note.sha256 else None,
            "line_from": note.line_from,
            "line_to": note.line_to,
            "clock": note.clock,
            "time_from": note.t_from,
            "time_to": note.t_to,
            "lane": note.lane,
            "replies": [_written(reply) for reply in note.replies.all()],
        }

    def _number(self, sha256: str) -> int | None:
        if self._numbers is None:
            self._numbers = dict(self._room.incident.artifacts.order_by("number").values_list("sha256", "number"))
        return self._numbers.get(sha256)


def _written(note: Note) -> dict[str, Any]:
    return {
        "id": note.pk,
        "text": "" if note.deleted_at else note.text,
        "author": known_as(note.author),
        "program": note.program,
        "created_at": note.created_at,
        "edited_at": note.edited_at,
    }

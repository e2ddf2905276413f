"""Write, edit, delete and restore notes."""

from __future__ import annotations

import math

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.errors import Refused
from incidents.models.note import Note

LONGEST = 20_000


def add(
    room: Room,
    text: str,
    *,
    finding_key: str | None = None,
    artifact: int | None = None,
    lines: tuple[int, int] | None = None,
    clock: str | None = None,
    times: tuple[float, float] | None = None,
) -> Note:
    """Write a note on a finding, on lines of an artifact, on a stretch of a clock, or on the room as a whole."""
    if (artifact is None) != (lines is None) or (clock is None) != (times is None):
        raise Refused("A note on lines names artifact and lines; one on a time names clock and times.")
    if lines and not 1 <= lines[0] <= lines[1]:
        raise Refused("The lines must be first to last, from 1.")
    if times and not (math.isfinite(times[0]) and math.isfinite(times[1]) and times[0] <= times[1]):
        raise Refused("The times must be from first to last.")
    text = _checked(text)
    with deed(room, Right.NOTE) as doing:
        note = Note(incident=doing.incident, author=doing.room.user, text=text, clock=clock)
        if finding_key is not None:
            if not doing.incident.findings.filter(key=finding_key).exists():
                raise Refused("There is no such finding.", 404)
            note.finding_key = finding_key
        if artifact is not None and lines is not None:
            cited = doing.incident.artifacts.filter(number=artifact).first()
            if cited is None or cited.purged:
                raise Refused("There is no such artifact.", 404)
            note.sha256, (note.line_from, note.line_to) = cited.sha256, lines
        if times is not None:
            note.t_from, note.t_to = times
        note.save()
        _told(doing, "wrote", note)
        return note


def edit(room: Room, id: int, text: str) -> Note:
    """Change a note's text. Members edit their own notes, leads all; who and when is kept."""
    text = _checked(text)
    with deed(room, Right.NOTE) as doing:
        note = _own(doing, id)
        if note.deleted_at is not None:
            raise Refused("This note was deleted. Restore it first.", 409)
        note.text, note.edited_by, note.edited_at = text, doing.room.user, timezone.now()
        _told(doing, "edited", note)
        return note


def delete(room: Room, id: int) -> Note:
    """Take a note away; `restore` brings it back."""
    with deed(room, Right.NOTE) as doing:
        note = _own(doing, id)
        note.deleted_by, note.deleted_at = doing.room.user, timezone.now()
        _told(doing, "deleted", note)
        return note


def restore(room: Room, id: int) -> Note:
    with deed(room, Right.NOTE) as doing:
        note = _own(doing, id)
        note.deleted_by, note.deleted_at = None, None
        _told(doing, "restored", note)
        return note


def _checked(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if not text:
        raise Refused("The note is empty.")
    if len(text) > LONGEST:
        raise Refused(f"A note has at most {LONGEST} characters; upload longer texts as evidence.", 413)
    return text


def _own(doing: Deed, id: int) -> Note:
    note = doing.incident.notes.filter(pk=id).first()
    if note is None:
        raise Refused("There is no such note.", 404)
    if note.author_id != doing.room.user.pk:
        doing.room.require(Right.PEOPLE)
    return note


def _told(doing: Deed, verb: str, note: Note) -> None:
    if verb != "wrote":
        note.version += 1
        note.save()
    # Not the text: the record cannot be changed, and what was deleted must not live on in it.
    doing.record(verb, f"note {note.pk}")
    doing.tell("note", note.pk, note.version)

"""Write, edit, delete and restore notes; reply to, resolve and reopen discussions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions import notices
from incidents.actions.record import Deed, deed
from incidents.content.names import known_as
from incidents.errors import Refused
from incidents.models.words.note import Note, NoteVersion

LONGEST = 10_000  # characters
LONGEST_CLIENT_ID = 36  # characters: a UUID


class Conflict(Refused):
    """Somebody changed the text meanwhile. Holds the base text and the newer note, for a merge by the second writer."""

    status = 409

    def __init__(self, note: Note, base: str, name: str) -> None:
        super().__init__(f"{name} changed this note while you wrote.")
        self.note = note
        self.base = base
        self.name = name


@dataclass(frozen=True)
class Place:
    """What a discussion is about: a finding, an artifact or lines of it, a time range of a clock, a lane.

    All empty: the room.
    """

    finding_key: str | None = None
    artifact: int | None = None
    lines: tuple[int, int] | None = None
    clock: str | None = None
    times: tuple[float, float] | None = None
    lane: str | None = None
    lane_label: str | None = None

    def check(self) -> None:
        if self.lines is not None and self.artifact is None:
            raise Refused("A note on lines names their artifact.")
        if self.times is not None and self.clock is None:
            raise Refused("A note on a time names its clock.")
        if self.lines and not 1 <= self.lines[0] <= self.lines[1]:
            raise Refused("The lines must be first to last, from 1.")
        if self.times and not (math.isfinite(self.times[0]) and self.times[0] <= self.times[1] < math.inf):
            raise Refused("The times must be from first to last.")
        if self.lane is not None and (not self.lane.strip() or len(self.lane) > 200 or set(self.lane) & set("()\n\0")):
            raise Refused("A lane is named by at most 200 characters on one line, without brackets.")


def add(
    room: Room,
    text: str,
    *,
    client_id: str | None = None,
    again: bool = False,
    **place: Any,
) -> Note:
    """Begin a discussion at a `Place` (its fields by name).

    `client_id` is the writer's page's id of the note: a post repeated with the same text returns the stored note.
    `again` says that it *is* a repetition, so a different text is that note's newer text.
    """
    where = Place(**place)
    where.check()
    text = checked(text)
    with deed(room, Right.NOTE) as doing:
        sent = _sent_before(doing, text, client_id, again)
        if sent is not None:
            return sent
        note = Note(incident=doing.incident, author=doing.room.user, text=text)
        note.client_id = _unused(doing, client_id)
        note.clock, note.lane, note.lane_label = where.clock, where.lane, (where.lane_label or None)
        if where.lane_label:
            note.lane_label = where.lane_label[:200]
        if where.finding_key is not None:
            if not doing.incident.findings.filter(key=where.finding_key).exists():
                raise Refused("There is no such finding.", 404)
            note.finding_key = where.finding_key
        if where.artifact is not None:
            cited = doing.incident.artifacts.filter(number=where.artifact).first()
            if cited is None or cited.purged:
                raise Refused("There is no such artifact.", 404)
            note.sha256 = cited.sha256
            note.line_from, note.line_to = where.lines or (None, None)
        if where.times is not None:
            note.t_from, note.t_to = where.times
        return _written(doing, note)


def reply(room: Room, id: int, text: str, *, client_id: str | None = None, again: bool = False) -> Note:
    """Reply to a note. A reply to a reply belongs to the same discussion."""
    text = checked(text)
    with deed(room, Right.NOTE) as doing:
        sent = _sent_before(doing, text, client_id, again)
        if sent is not None:
            return sent
        root = _one(doing, id)
        root = root.reply_to or root
        note = Note(incident=doing.incident, author=doing.room.user, text=text, reply_to=root)
        note.client_id = _unused(doing, client_id)
        return _written(doing, note)


def edit(room: Room, id: int, text: str, version: int | None = None) -> Note:
    """Change a note's text. Members edit their own notes, leads all; every earlier text is kept.

    `version` is the one that the writer began from. Raises `Conflict` if the text has changed since.
    """
    text = checked(text)
    with deed(room, Right.NOTE) as doing:
        note = _own(doing, id)
        if note.deleted_at is not None:
            raise Refused("This note was deleted. Restore it first.", 409)
        if text == note.text:
            return note  # a repetition after a lost response, or no change
        newest = note.versions.order_by("-number").first()
        if version is not None and newest is not None and version < newest.number:
            began = note.versions.filter(number__lte=version).order_by("-number").first()
            raise Conflict(note, began.text if began else "", known_as(newest.author))
        _reworded(doing, note, text)
        return note


def delete(room: Room, id: int) -> Note:
    """Delete a note; `restore` brings it back."""
    with deed(room, Right.NOTE) as doing:
        note = _own(doing, id)
        if note.deleted_at is None:
            note.deleted_by, note.deleted_at = doing.room.user, timezone.now()
            _told(doing, "deleted", note)
        return note


def restore(room: Room, id: int) -> Note:
    with deed(room, Right.NOTE) as doing:
        note = _own(doing, id)
        if note.deleted_at is not None:
            note.deleted_by, note.deleted_at = None, None
            _told(doing, "restored", note)
        return note


def resolve(room: Room, id: int) -> Note:
    """Mark a discussion as resolved. Every member who may write notes may resolve and reopen it."""
    with deed(room, Right.NOTE) as doing:
        note = _root(doing, id)
        if note.resolved_at is None:
            note.resolved_by, note.resolved_at = doing.room.user, timezone.now()
            _told(doing, "resolved", note)
        return note


def reopen(room: Room, id: int) -> Note:
    with deed(room, Right.NOTE) as doing:
        note = _root(doing, id)
        if note.resolved_at is not None:
            note.resolved_by, note.resolved_at = None, None
            _told(doing, "reopened", note)
        return note


def checked(text: str) -> str:
    """Return a text as it is stored. Raises `Refused` if it is empty or too long."""
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if not text:
        raise Refused("The note is empty.")
    if len(text) > LONGEST:
        raise Refused(f"A note has at most {LONGEST} characters; upload longer texts as evidence.", 413)
    return text


def _sent_before(doing: Deed, text: str, client_id: str | None, again: bool) -> Note | None:
    """Find the note of an earlier try whose response got lost on the way."""
    if not client_id:
        return None
    note = doing.incident.notes.filter(author=doing.room.user, client_id=client_id).first()
    if note is None or (text != note.text and not (again and note.version == 1)):
        return None
    if text != note.text:
        _reworded(doing, note, text)
    return note


def _unused(doing: Deed, client_id: str | None) -> str | None:
    """Return the client id, or None if it is used by another note, as by a page reopened from the browser's history."""
    if not client_id or len(client_id) > LONGEST_CLIENT_ID:
        return None
    return None if doing.incident.notes.filter(author=doing.room.user, client_id=client_id).exists() else client_id


def _written(doing: Deed, note: Note) -> Note:
    note.program = doing.room.program.label if doing.room.program else None
    note.save()
    NoteVersion.objects.create(
        note=note, number=note.version, text=note.text, author=note.author, made_at=note.created_at
    )
    notices.of_note(doing, note)
    _told(doing, "wrote", note)
    return note


def _reworded(doing: Deed, note: Note, text: str) -> None:
    before, note.text = note.text, text
    note.edited_by, note.edited_at = doing.room.user, timezone.now()
    _told(doing, "edited", note)
    NoteVersion.objects.create(
        note=note, number=note.version, text=text, author=doing.room.user, made_at=note.edited_at
    )
    notices.of_note(doing, note, before)


def _one(doing: Deed, id: int) -> Note:
    note = doing.incident.notes.select_related("reply_to").filter(pk=id).first()
    if note is None:
        raise Refused("There is no such note.", 404)
    return note


def _own(doing: Deed, id: int) -> Note:
    note = _one(doing, id)
    if note.author_id != doing.room.user.pk:
        doing.room.require(Right.PEOPLE)
    return note


def _root(doing: Deed, id: int) -> Note:
    note = _one(doing, id)
    if note.reply_to_id is not None:
        raise Refused("A thread is resolved as a whole, at its first note.")
    return note


def _told(doing: Deed, verb: str, note: Note) -> None:
    if verb != "wrote":
        note.version += 1
        note.save()
    # Without the text: the record cannot be changed, and deleted text must not stay in it.
    doing.record(verb, f"note {note.pk}")
    doing.tell("note", note.pk, note.version)

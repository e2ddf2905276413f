"""Write the review of an incident, and its follow-ups: also after the room was closed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions import rows
from incidents.actions.record import Deed, deed
from incidents.actions.revise import settled
from incidents.errors import Refused
from incidents.models.plan.review import FollowUp, Review
from incidents.models.room.incident import Incident

TEXTS = ("surprised", "helped", "hindered")
FOLLOW_UP = ("text", "owner", "due_on")


def values_of(incident: Incident) -> dict[str, Any]:
    """Return the texts of the review, None for an empty one."""
    row = Review.objects.filter(incident=incident).first()
    return {name: (getattr(row, name) or None) if row else None for name in TEXTS}


def put(room: Room, said: Mapping[str, Any], seen: Mapping[str, Any] | None = None) -> None:
    """Write texts of the review; `seen`: the values that the person saw (`revise.settled`)."""
    said = rows.checked(said, TEXTS, TEXTS)
    with deed(room, Right.REVIEW) as doing:
        current = values_of(doing.incident)
        changed = settled(current, said, seen)
        if not changed:
            return
        row = Review.objects.filter(incident=doing.incident).first() or Review(incident=doing.incident, version=0)
        for name, text in changed.items():
            setattr(row, name, text or "")
        row.version += 1
        row.edited_by, row.edited_at = doing.room.user, timezone.now()
        row.save()
        doing.record("wrote", "review", parts=sorted(changed))
        doing.tell("review", "", row.version)


def follow_up_values(row: FollowUp) -> dict[str, Any]:
    """Return the fields as forms use them: the owner by id."""
    return {"text": row.text, "owner": row.owner_id, "due_on": row.due_on}


def put_follow_up(
    room: Room,
    said: Mapping[str, Any],
    id: int | None = None,
    seen: Mapping[str, Any] | None = None,
    client_id: uuid.UUID | None = None,
) -> FollowUp:
    """Add a follow-up, or change one."""
    said = rows.checked(said, FOLLOW_UP, ("text",))
    with deed(room, Right.REVIEW) as doing:
        sent = doing.incident.follow_ups.filter(author=doing.room.user, client_id=client_id) if client_id else None
        if sent is not None and id is None and (before := sent.first()):
            return before
        new = FollowUp(incident=doing.incident, author=doing.room.user, client_id=client_id)
        row = _follow_up(doing, id) if id else new
        changed = settled(follow_up_values(row), said, seen)
        if id and not changed:
            return row
        after = follow_up_values(row) | changed
        if not after["text"]:
            raise Refused("Say what is to be done.")
        rows.require_member(doing, after["owner"], row.owner_id, "The owner")
        row.text, row.owner_id, row.due_on = after["text"], after["owner"], after["due_on"]
        rows.written(doing, "edited" if id else "planned", row, new=id is None)
        return row


def set_done(room: Room, id: int, done: bool = True) -> FollowUp:
    """Mark a follow-up as done, or as not done after all."""
    with deed(room, Right.REVIEW) as doing:
        row = _follow_up(doing, id)
        if (row.done_at is not None) != done:
            row.done_at, row.done_by = (timezone.now(), doing.room.user) if done else (None, None)
            rows.written(doing, "finished" if done else "opened again", row)
        return row


def delete_follow_up(room: Room, id: int) -> FollowUp:
    """Delete a follow-up; `restore_follow_up` brings it back. Authors may delete their own, leads all."""
    with deed(room, Right.REVIEW) as doing:
        row = _follow_up(doing, id, gone=True)
        rows.take_away(doing, row)
        return row


def restore_follow_up(room: Room, id: int) -> FollowUp:
    with deed(room, Right.REVIEW) as doing:
        row = _follow_up(doing, id, gone=True)
        rows.bring_back(doing, row)
        return row


def _follow_up(doing: Deed, id: int, gone: bool = False) -> FollowUp:
    row = doing.incident.follow_ups.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such follow-up.", 404)
    if row.deleted_at is not None and not gone:
        raise Refused("This follow-up was taken away. Bring it back first.", 409)
    return row

"""Give a promised update, or move it on: one click each, and each can be taken back."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions import plan, standing
from incidents.actions.record import deed
from incidents.errors import Refused
from incidents.models.plan.entry import Entry, EntryKind

GIVEN = "Update given."


def give(room: Room, every: int | None = None, text: str = "") -> Entry:
    """Log that the update was given. The next one is due after `every` minutes; with None, none is promised."""
    _check(every)
    with deed(room, Right.PLAN) as doing:
        if doing.incident.next_update_at is None:
            raise Refused("No update is promised: somebody gave it before you, or took the promise back.", 409)
        row = plan.put_entry(room, {"kind": EntryKind.UPDATE, "text": text.strip() or GIVEN})
        later = timezone.now() + timedelta(minutes=every) if every else None
        standing.put(room, {"next_update_at": later})
        return row


def move_on(room: Room, minutes: int) -> None:
    """Promise the update some minutes later: after its time or, if it is overdue, from now on."""
    _check(minutes)
    with deed(room, Right.PLAN) as doing:
        promised = doing.incident.next_update_at
        if promised is None:
            raise Refused("No update is promised: somebody gave it before you, or took the promise back.", 409)
        standing.put(room, {"next_update_at": max(promised, timezone.now()) + timedelta(minutes=minutes)})


def take_back(room: Room, seq: int, entry: int | None = None) -> None:
    """Undo `give` (with its entry) or `move_on`, if `seq` is still the room's last change of its standing."""
    with deed(room, Right.PLAN):
        standing.undo(room, seq)
        if entry is not None:
            plan.delete_entry(room, entry)


def _check(minutes: int | None) -> None:
    if minutes is not None and not 1 <= minutes <= standing.MOST_MINUTES:
        raise Refused("Choose a time from one minute to a week.")

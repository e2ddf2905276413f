"""What verbs on rows that people write have in common: check their fields, store, delete softly, restore.

It holds for decisions, actions, entries of the log and follow-ups: each has an author, a version, who edited and who
deleted it. Call all of it inside a deed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from incidents.access import Right
from incidents.actions.record import Deed
from incidents.errors import Refused
from incidents.models.plan.action import Action
from incidents.models.plan.decision import Decision
from incidents.models.plan.entry import Entry
from incidents.models.plan.review import FollowUp

LONGEST = 5_000  # characters
Row = Decision | Action | Entry | FollowUp
#: Kind of row -> its name in the record, and the event that pages hear.
_NAMES: dict[type[Row], tuple[str, str]] = {
    Decision: ("decision", "decision"),
    Action: ("action", "action"),
    Entry: ("entry", "entry"),
    FollowUp: ("follow-up", "review"),
}


def checked(said: Mapping[str, Any], known: Collection[str], texts: Collection[str]) -> dict[str, Any]:
    """Return the fields as they are stored: texts stripped, None for an empty one; times to the second."""
    unknown = set(said) - set(known)
    if unknown:
        raise ValueError(f"no such fields: {sorted(unknown)}")
    cleaned = dict(said)
    for name in set(texts) & set(said):
        text = str(said[name] or "").replace("\r\n", "\n").replace("\x00", "").strip()
        if len(text) > LONGEST:
            raise Refused(f"At most {LONGEST} characters; upload longer texts as evidence.", 413)
        cleaned[name] = text or None
    return {
        name: value.replace(microsecond=0) if isinstance(value, datetime) else value for name, value in cleaned.items()
    }


def now() -> datetime:
    """Return this second."""
    return timezone.now().replace(microsecond=0)


def require_member(doing: Deed, user_id: int | None, before: int | None, who: str) -> None:
    """Check that a newly named person is a member; a person named before may have left."""
    if user_id in (None, before) or user_id == doing.room.user.pk:
        return
    if not doing.incident.memberships.filter(user_id=user_id, user__is_active=True).exists():
        raise Refused(f"{who} must be a member of the room.")


def take_away(doing: Deed, row: Row) -> None:
    """Delete a row softly. Authors may delete their own, leads all."""
    if row.author_id != doing.room.user.pk:
        doing.room.require(Right.PEOPLE)
    if row.deleted_at is not None:
        return
    row.deleted_by, row.deleted_at = doing.room.user, timezone.now()
    written(doing, "deleted", row)


def bring_back(doing: Deed, row: Row) -> None:
    """Restore a row. Its author may, whoever deleted it, and leads."""
    if row.author_id != doing.room.user.pk and row.deleted_by_id != doing.room.user.pk:
        doing.room.require(Right.PEOPLE)
    if row.deleted_at is None:
        return
    row.deleted_by, row.deleted_at = None, None
    written(doing, "restored", row)


def written(doing: Deed, verb: str, row: Row, new: bool = False, **detail: Any) -> None:
    """Save a row, record it and tell the room."""
    if not new:
        row.version += 1
        if verb not in ("deleted", "restored"):
            row.edited_by, row.edited_at = doing.room.user, timezone.now()
    row.save()
    name, event = _NAMES[type(row)]
    # Without the text: the record cannot be changed, and deleted text must not stay in it.
    doing.record(verb, f"{name} {row.pk}", **detail)
    doing.tell(event, row.pk, row.version)

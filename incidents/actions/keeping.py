"""How long a room is kept: its days, a legal hold, an announced deletion and its undoing."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.errors import NotAllowed, Refused
from incidents.models.room.incident import Incident
from incidents.models.site.deletion import DeletionState, RoomDeletion
from incidents.work import deleting

MOST_DAYS = 100 * 366
LONGEST = 1000


def set_days(room: Room, days: int | None) -> Incident:
    """Set for how many days the room is kept after it was closed: None as the site says, 0 for ever.

    Longer than the site says only an administrator may set; a lead who needs evidence for longer puts a hold on the room.
    """
    if days is not None and not 0 <= days <= MOST_DAYS:
        raise Refused(f"Say a number of days from 1 to {MOST_DAYS}, or for ever.")
    with deed(room, Right.DELETE) as doing:
        site: int = settings.EXHIBIT_KEEP_DAYS
        if site and days is not None and (days == 0 or days > site) and not doing.room.user.is_superuser:
            raise Refused(f"This site keeps closed rooms for {site} days. Only an administrator may set more.", 403)
        incident = doing.incident
        if incident.to_be_deleted:
            raise Refused("The room is to be deleted. Undo that first.", 409)
        if incident.keep_days != days:
            before, incident.keep_days = incident.keep_days, days
            incident.save(update_fields=("keep_days",))
            doing.record("set", "days that the room is kept", days=days, before=before)
            _told(doing)
        return incident


def hold(room: Room, why: str) -> Incident:
    """Put a legal hold on the room: nothing of it is deleted until it is lifted. It undoes an announced deletion."""
    why = _reason(why, "Say why: everybody in the room sees it.")
    with deed(room, Right.HOLD) as doing:
        incident, person = doing.incident, doing.room.user
        if incident.held:
            raise Refused("A legal hold is on this room already.", 409)
        if incident.to_be_deleted:
            deleting.undo(incident, person.pk, doing.room.actor_name, hold=True)
        incident.held_at, incident.held_by, incident.held_why = timezone.now(), person, why
        incident.held_by_site = person.is_superuser
        _save_hold(doing)
        doing.record("put", "legal hold", why=why, by_site=incident.held_by_site)
        return incident


def lift(room: Room, why: str) -> Incident:
    """Lift the legal hold. One that an administrator put, only an administrator lifts."""
    why = _reason(why, "Say why it is lifted: the record keeps it.")
    with deed(room, Right.HOLD) as doing:
        incident = doing.incident
        if not incident.held:
            raise Refused("No legal hold is on this room.", 409)
        if incident.held_by_site and not doing.room.user.is_superuser:
            raise NotAllowed("an administrator, for an administrator put this hold")
        incident.held_at, incident.held_by, incident.held_why, incident.held_by_site = None, None, "", False
        incident.kept_since = timezone.now()  # a room that was kept for its time meanwhile is not announced at once
        _save_hold(doing)
        doing.record("lifted", "legal hold", why=why)
        return incident


def announce(room: Room, reason: str) -> RoomDeletion:
    """Announce that the room will be deleted: it is closed to writing, and for some days a lead may undo it."""
    reason = _reason(reason, "Say why it is deleted: everybody in the room sees it.")
    with deed(room, Right.DELETE) as doing:
        doing.require_no_hold()
        if doing.incident.to_be_deleted:
            raise Refused("The room is to be deleted already.", 409)
        return deleting.announce(doing.incident, doing.room.user.pk, doing.room.actor_name, reason)


def undo(room: Room) -> Incident:
    """Undo an announced deletion. The room stays closed; a lead can open it again."""
    with deed(room, Right.DELETE) as doing:
        if not doing.incident.to_be_deleted:
            raise Refused("The room is not to be deleted.", 409)
        deleting.undo(doing.incident, doing.room.user.pk, doing.room.actor_name)
        return doing.incident


def announced(incident: Incident) -> RoomDeletion | None:
    return RoomDeletion.objects.filter(room_id=incident.pk, state=DeletionState.ANNOUNCED).first()


def _reason(text: str, words: str) -> str:
    text = text.strip()[:LONGEST]
    if not text:
        raise Refused(words)
    return text


def _save_hold(doing: Deed) -> None:
    doing.incident.save(update_fields=("held_at", "held_by", "held_why", "held_by_site", "kept_since"))
    _told(doing)


def _told(doing: Deed) -> None:
    incident = doing.incident
    incident.standing_version += 1
    incident.save(update_fields=("standing_version",))
    doing.tell("room", "", incident.standing_version)

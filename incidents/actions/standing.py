"""Set the incident's milestones (started, detected, mitigated, resolved) and when and by whom the next update comes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import deed
from incidents.actions.revise import settled
from incidents.errors import Refused
from incidents.models.room.incident import Incident, Status
from incidents.models.room.standing import Milestone, Moment

FIELDS = (*Moment.values, "next_update_at", "next_update_by")
# Clocks of browsers and servers differ: a time at most this far ahead counts as now.
AHEAD = timedelta(minutes=5)
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)


def values_of(incident: Incident) -> dict[str, Any]:
    """Return the present times, to the second, and the id of the person who gives the next update."""
    times = dict(incident.milestones.values_list("kind", "at"))
    values: dict[str, Any] = {kind: _second(times.get(kind)) for kind in Moment.values}
    return values | {
        "next_update_at": _second(incident.next_update_at),
        "next_update_by": incident.next_update_by_id,
    }


def put(room: Room, said: Mapping[str, Any], seen: Mapping[str, Any] | None = None) -> Incident:
    """Set some of `FIELDS`; None removes a time. The room's status follows from the milestones reached.

    `seen`: the values that the person saw (`revise.settled`).
    """
    unknown = set(said) - set(FIELDS)
    if unknown:
        raise ValueError(f"no such fields: {sorted(unknown)}")
    with deed(room, Right.PLAN) as doing:
        incident = doing.incident
        current = values_of(incident)
        changed = settled(current, {name: _second(value) for name, value in said.items()}, seen)
        if changed.get("next_update_at") and not (current | changed)["next_update_by"]:
            changed["next_update_by"] = doing.room.user.pk
        after = current | changed
        if after["next_update_at"] is None and after["next_update_by"] is not None:
            changed["next_update_by"] = after["next_update_by"] = None
        if not changed:
            return incident
        _check(incident, after, changed)
        for kind in Moment.values:
            if kind in changed and changed[kind] is None:
                incident.milestones.filter(kind=kind).delete()
            elif kind in changed:
                Milestone.objects.update_or_create(
                    incident=incident, kind=kind, defaults={"at": changed[kind], "set_by": doing.room.user}
                )
        incident.next_update_at, incident.next_update_by_id = after["next_update_at"], after["next_update_by"]
        incident.status = status_of(after)
        incident.standing_version += 1
        incident.save(update_fields=("next_update_at", "next_update_by", "status", "standing_version"))
        doing.record("set status", incident.status, **{name: _plain(value) for name, value in changed.items()})
        doing.tell("room", "", incident.standing_version)
        return incident


def status_of(values: Mapping[str, Any]) -> str:
    """Return the status of an open room: resolved, mitigated or open, by the latest milestone reached."""
    if values[Moment.RESOLVED]:
        return Status.RESOLVED
    return Status.MITIGATED if values[Moment.MITIGATED] else Status.OPEN


def _check(incident: Incident, after: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
    now = timezone.now()
    for kind in Moment.values:
        if changed.get(kind) and changed[kind] > now + AHEAD:
            raise Refused(f"“{kind.capitalize()}” lies in the future: it is {now:%Y-%m-%d %H:%M} UTC now.")
        if changed.get(kind) and changed[kind] < EARLIEST:
            raise Refused(f"“{kind.capitalize()}” lies before 1990. Is the year right?")
    reached = [(kind, after[kind]) for kind in Moment.values if after[kind]]
    for (earlier, first), (later, second) in pairwise(reached):
        if second < first:
            raise Refused(f"“{later.capitalize()}” lies before “{earlier}” ({first:%Y-%m-%d %H:%M:%S} UTC).")
    if changed.get("next_update_at"):
        if changed["next_update_at"] < now - AHEAD:
            raise Refused(f"The next update lies in the past: it is {now:%Y-%m-%d %H:%M} UTC now.")
        if changed["next_update_at"] > now + timedelta(days=366):
            raise Refused("The next update is more than a year away. Is the date right?")
    owner = changed.get("next_update_by")
    # A site administrator may be responsible for the update without being a member; nobody else may.
    if owner is not None and not (_is_member(incident, owner) or _is_administrator(owner)):
        raise Refused("Whoever gives the next update must be a member of the room.")


def _is_member(incident: Incident, user_id: int) -> bool:
    return incident.memberships.filter(user_id=user_id, user__is_active=True).exists()


def _is_administrator(user_id: int) -> bool:
    return User.objects.filter(pk=user_id, is_superuser=True, is_active=True).exists()


def _second(value: Any) -> Any:
    return value.replace(microsecond=0) if isinstance(value, datetime) else value


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value

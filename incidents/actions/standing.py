"""Set the incident's severity, duties and milestones, and when and by whom the next update comes; undo the last change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.actions.revise import settled
from incidents.content.milestones import leads_of
from incidents.errors import Refused
from incidents.models.people.duty import HOLDERS, Duty, DutyKind
from incidents.models.people.membership import Role
from incidents.models.people.notification import Mail, Notification, Told
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomSeverity, Status
from incidents.models.room.standing import Milestone, Moment

VERB = "set status"
UPDATE = ("next_update_at", "next_update_by", "next_update_duty", "next_update_every")
FIELDS = ("severity", *DutyKind.values, *Moment.values, *UPDATE)
_MOMENTS = frozenset((*Moment.values, "next_update_at"))
# Clocks of browsers and servers differ: a time at most this far ahead counts as now.
AHEAD = timedelta(minutes=5)
MOST_MINUTES = 7 * 24 * 60
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)


def values_of(incident: Incident) -> dict[str, Any]:
    """Return the severity, the present times, to the second, and people by their id."""
    times = dict(incident.milestones.values_list("kind", "at"))
    holders = dict(Duty.objects.held().filter(incident=incident).values_list("kind", "user"))
    values: dict[str, Any] = {"severity": incident.severity} | {kind: holders.get(kind) for kind in DutyKind.values}
    values |= {kind: _second(times.get(kind)) for kind in Moment.values}
    return values | {
        "next_update_at": _second(incident.next_update_at),
        "next_update_by": incident.next_update_by_id,
        "next_update_duty": incident.next_update_duty,
        "next_update_every": incident.next_update_every,
    }


def put(room: Room, said: Mapping[str, Any], seen: Mapping[str, Any] | None = None, back: bool = False) -> Incident:
    """Set some of `FIELDS`; None removes a value. The room's status follows from the milestones reached.

    `back`: it puts an earlier value back, so a promised update may lie in the past.

    `seen`: the values that the person saw (`revise.settled`).
    """
    unknown = set(said) - set(FIELDS)
    if unknown:
        raise ValueError(f"no such fields: {sorted(unknown)}")
    with deed(room, Right.PLAN) as doing:
        incident = doing.incident
        current = values_of(incident)
        changed = settled(current, {name: _second(value) for name, value in said.items()}, seen)
        changed |= _promise(doing, current, changed)
        if not changed:
            return incident
        after = current | changed
        _check(incident, after, changed, back)
        incident.severity = after["severity"]
        for duty in DutyKind.values:
            if duty in changed and changed[duty] is None:
                incident.duties.filter(kind=duty).delete()
            elif duty in changed:
                Duty.objects.update_or_create(incident=incident, kind=duty, defaults={"user_id": changed[duty]})
        for kind in Moment.values:
            if kind in changed and changed[kind] is None:
                incident.milestones.filter(kind=kind).delete()
            elif kind in changed:
                Milestone.objects.update_or_create(
                    incident=incident, kind=kind, defaults={"at": changed[kind], "set_by": doing.room.user}
                )
        incident.next_update_at, incident.next_update_by_id = after["next_update_at"], after["next_update_by"]
        incident.next_update_duty, incident.next_update_every = after["next_update_duty"], after["next_update_every"]
        if "next_update_at" in changed:
            _quiet_reminders(incident)
        incident.status = status_of(after)
        incident.standing_version += 1
        incident.save(update_fields=("severity", *UPDATE, "status", "standing_version"))
        doing.record(VERB, incident.status, **{name: _plain(value) for name, value in changed.items()})
        doing.tell("room", "", incident.standing_version)
        return incident


def _promise(doing: Deed, current: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return further changes to the promised update: the holder of its duty gives it, else the present person."""
    stated = {**current, **changed}
    after = dict(stated)
    if after["next_update_at"] is None:
        # How often updates come stays, for the next promise.
        after |= {"next_update_by": None, "next_update_duty": None}
    else:
        if "next_update_by" in changed and "next_update_duty" not in changed:
            after["next_update_duty"] = None  # this person, whoever has the duty
        if (duty := after["next_update_duty"]) is not None:
            if duty not in DutyKind.values:
                raise Refused("Choose a duty from the list.")
            holder = after[duty]
            if holder is None and duty == DutyKind.LEAD:
                holder = leads_of(doing.incident.pk).values_list("user", flat=True).first()
            after["next_update_by"] = holder or after["next_update_by"]
        after["next_update_by"] = after["next_update_by"] or doing.room.user.pk
    return {name: after[name] for name in UPDATE if after[name] != stated[name]}


def require_severity(severity: int | None) -> None:
    """Refuse a severity that is not in the list; None (not stated) is allowed."""
    if severity is not None and severity not in RoomSeverity.values:
        raise Refused("Choose a severity from 1 to 4.")


def _quiet_reminders(incident: Incident) -> None:
    """Mark reminders of earlier promises as read and cancel their waiting mails."""
    reminders = Notification.objects.filter(incident=incident, kind=Told.UPDATE)
    reminders.filter(mail=Mail.WAITING).update(mail=Mail.NONE)
    reminders.filter(read_at__isnull=True).update(read_at=timezone.now())


def undo(room: Room, seq: int) -> Incident:
    """Restore the values that the room's last change of the standing overwrote: that of row `seq` of the activity."""
    changes = room.incident.activity.filter(verb=VERB).order_by("-seq")
    last = changes.first()
    if last is None or last.seq != seq:
        raise Refused("Somebody changed it since: look at the list first.", 409)
    set_to = _set_by(last)
    if not set_to:
        raise Refused("There is nothing to put back: the room was closed or opened.", 409)
    before: dict[str, Any] = dict.fromkeys(set_to)
    open_ones = set(set_to)
    for row in changes.filter(seq__lt=seq).iterator():
        earlier = _set_by(row)
        before |= {name: earlier[name] for name in open_ones & earlier.keys()}
        open_ones -= earlier.keys()
        if not open_ones:
            break
    return put(room, before, set_to, back=True)


def undoable(incident: Incident) -> int | None:
    """Return the number of the row of activity that `undo` takes; None if the last change cannot be put back."""
    last = incident.activity.filter(verb=VERB).order_by("-seq").first()
    return last.seq if last is not None and _set_by(last) else None


def _set_by(row: Activity) -> dict[str, Any]:
    """Return the fields that a change set, with their values as `values_of` has them."""
    return {
        name: datetime.fromisoformat(value) if name in _MOMENTS and value else value
        for name, value in row.detail.items()
        if name in FIELDS
    }


def status_of(values: Mapping[str, Any]) -> str:
    """Return the status of an open room: resolved, mitigated or open, by the latest milestone reached."""
    if values[Moment.RESOLVED]:
        return Status.RESOLVED
    return Status.MITIGATED if values[Moment.MITIGATED] else Status.OPEN


def _check(incident: Incident, after: Mapping[str, Any], changed: Mapping[str, Any], back: bool) -> None:
    now = timezone.now()
    every = changed.get("next_update_every")
    if every is not None and not 1 <= every <= MOST_MINUTES:
        raise Refused("The next update comes after one minute to a week.")
    require_severity(changed.get("severity"))
    for duty, roles in HOLDERS.items():
        if changed.get(duty) and not _is_member(incident, changed[duty], roles):
            who = "a lead of the room" if roles == (Role.LEAD,) else "an investigator or a lead of the room"
            raise Refused(f"Whoever has the duty “{duty}” must be {who}.")
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
        if changed["next_update_at"] < now - AHEAD and not back:
            raise Refused(f"The next update lies in the past: it is {now:%Y-%m-%d %H:%M} UTC now.")
        if changed["next_update_at"] > now + timedelta(days=366):
            raise Refused("The next update is more than a year away. Is the date right?")
    owner = changed.get("next_update_by")
    # A site administrator may be responsible for the update without being a member; nobody else may.
    if owner is not None and not (_is_member(incident, owner) or _is_administrator(owner)):
        raise Refused("Whoever gives the next update must be a member of the room.")


def _is_member(incident: Incident, user_id: int, roles: tuple[str, ...] = tuple(Role.values)) -> bool:
    return incident.memberships.filter(user_id=user_id, user__is_active=True, role__in=roles).exists()


def _is_administrator(user_id: int) -> bool:
    return User.objects.filter(pk=user_id, is_superuser=True, is_active=True).exists()


def _second(value: Any) -> Any:
    return value.replace(microsecond=0) if isinstance(value, datetime) else value


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value

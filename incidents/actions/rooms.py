"""Create a room, edit its symptom and status, close, reopen and archive it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from incidents import tasks
from incidents.access import Right, Room, again
from incidents.actions import standing
from incidents.actions.record import Deed, deed
from incidents.content.names import known_as
from incidents.content.summary import gathering as summary
from incidents.errors import Refused
from incidents.models.judging.case import Host
from incidents.models.people.membership import Membership, Role, Team
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter, Status
from incidents.models.room.standing import Moment
from incidents.storage import quotas
from incidents.work import analysis, closing

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # no letters or digits that are easily confused
SYMPTOM = frozenset(
    {
        *("title", "symptom_text", "symptom_unit", "symptom_bad", "symptom_normal"),
        *("measured_how", "since", "ongoing", "affected", "last_change"),
    }
)
# Where the symptom is seen on the timeline.
RANGE = frozenset({"symptom_clock", "symptom_from", "symptom_to"})
# Answers that the rules use; the others are for people.
_JUDGED = frozenset({"title", "symptom_text", "symptom_unit", "symptom_bad", "symptom_normal", "since"})


@dataclass(frozen=True)
class HostAnswer:
    name: str
    os: str | None = None
    os_release: str | None = None
    role: str | None = None
    ncpu: int | None = None
    mem_gib: float | None = None
    tz: str | None = None


@dataclass(frozen=True)
class Answers:
    """Answers of the form for a new room. Everything but the title may be left open."""

    title: str
    symptom_text: str | None = None
    symptom_unit: str | None = None
    symptom_bad: float | None = None
    symptom_normal: float | None = None
    measured_how: str | None = None
    since: datetime | None = None
    ongoing: bool | None = None
    affected: str | None = None
    last_change: str | None = None
    severity: int | None = None
    team: str = Team.OTHER
    hosts: tuple[HostAnswer, ...] = field(default=())


def create(user: User, answers: Answers) -> Incident:
    """Create a room with its creator as lead. Everybody with an account may."""
    if not user.is_active:
        raise Refused("Sign in to open a room.", 403)
    title = " ".join(answers.title.split())
    if not title:
        raise Refused("Give the room a title: what is slow?")
    if len({host.name for host in answers.hosts}) < len(answers.hosts):
        raise Refused("Two hosts have the same name.")
    standing.require_severity(answers.severity)
    quotas.require_room(user.pk)
    with transaction.atomic():
        asked = {name: getattr(answers, name) for name in SYMPTOM - {"title"}}
        incident = Incident.objects.create(
            slug=new_slug(title), title=title, created_by=user, t_zero=answers.since, severity=answers.severity, **asked
        )
        RoomCounter.objects.create(incident=incident)
        Membership.objects.create(incident=incident, user=user, role=Role.LEAD, team=answers.team)
        Host.objects.bulk_create(Host(incident=incident, **asdict(host)) for host in answers.hosts)
        name = user.get_full_name() or user.get_username()
        Activity.objects.append(incident.pk, user.pk, name, "opened", "room", title=title)
        if answers.severity is not None:  # as a change of its own: undoing a later one puts it back
            Activity.objects.append(
                incident.pk, user.pk, name, standing.VERB, incident.status, severity=answers.severity
            )
    return incident


def new_slug(title: str) -> str:
    """Return the title's words and 8 random characters (40 bits): nobody finds a room by guessing its title."""
    tail = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"{slugify(title)[:60].strip('-') or 'room'}-{tail}"


def edit(room: Room, fields: Mapping[str, Any]) -> Incident:
    """Change the title or answers about the symptom; a change that the rules use has the room judged again."""
    unknown = set(fields) - SYMPTOM - RANGE
    if unknown:
        raise ValueError(f"no such answers: {sorted(unknown)}")
    with deed(room, Right.CASE) as doing:
        incident = doing.incident
        changed = {name: value for name, value in fields.items() if getattr(incident, name) != value}
        if not changed:
            return incident
        if "title" in changed and not str(changed["title"]).strip():
            raise Refused("The room needs a title.")
        for name, value in changed.items():
            setattr(incident, name, value)
        if incident.t_zero is None and incident.since is not None:
            incident.t_zero = incident.since  # set once: later answers must not move times that somebody has quoted
            changed["t_zero"] = incident.t_zero
        incident.save(update_fields=tuple(changed))
        doing.record("edited", "symptom", **{name: _plain(value) for name, value in changed.items()})
        doing.tell("case")
        if _JUDGED & set(changed):
            doing.rejudge()
        return incident


def set_status(room: Room, status: str) -> Incident:
    """Set the status: open, mitigated, resolved or closed. Only a lead may close a room and reopen a closed one."""
    if status not in Status.values:
        raise ValueError(f"no such status: {status}")
    if status == Status.CLOSED:
        return close(room)
    room = again(room)
    if room.incident.closed:
        return reopen(room, status)
    now = timezone.now()
    values = standing.values_of(room.incident)
    wanted: dict[str, datetime | None] = {Moment.MITIGATED.value: None, Moment.RESOLVED.value: None}
    if status != Status.OPEN:
        wanted[status] = values[status] or now
    if status == Status.RESOLVED:
        wanted[Moment.MITIGATED] = values[Moment.MITIGATED]
    return standing.put(room, wanted)


def close(room: Room, wait: bool = False) -> Incident:
    """Close the room at once or, with `wait`, when uploads and jobs under way are finished.

    At once: an upload under way pauses and continues when the room is reopened; files are read to their end, and later
    judgements wait until a lead accepts them.
    """
    with deed(room, Right.CLOSE) as doing:
        incident = doing.incident
        if incident.closed:
            raise Refused(_closed_already(incident, doing.room.user), 409)
        if wait and closing.under_way(incident.pk):
            if incident.closing_at is not None and incident.closing_by is not None:
                name = known_as(incident.closing_by)
                raise Refused(f"{name} has it closed already, as soon as what is under way is through.", 409)
            incident.closing_at, incident.closing_by = timezone.now(), doing.room.user
            incident.standing_version += 1
            incident.save(update_fields=("closing_at", "closing_by", "standing_version"))
            doing.record("set status", "closing")
            doing.tell("room", "", incident.standing_version)
            return incident
        closing.close(incident, doing.room.user.pk, doing.room.actor_name)
        tasks.hint_hooks_on_commit()
        return incident


def keep_open(room: Room) -> Incident:
    """Cancel a closing that is waiting."""
    with deed(room, Right.CLOSE) as doing:
        incident = doing.incident
        if incident.closed:
            raise Refused("The room is closed already. Open it again.", 409)
        if incident.closing_at is None:
            raise Refused("Nobody is closing this room.", 409)
        incident.closing_at, incident.closing_by = None, None
        incident.standing_version += 1
        incident.save(update_fields=("closing_at", "closing_by", "standing_version"))
        doing.record("set status", incident.status, before="closing")
        doing.tell("room", "", incident.standing_version)
        return incident


def reopen(room: Room, status: str | None = None) -> Incident:
    """Reopen a closed room with `status`, by default the status that its milestones imply."""
    with deed(room, Right.CLOSE) as doing:
        incident = doing.incident
        if not incident.closed:
            raise Refused("The room is open.", 409)
        if incident.to_be_deleted:
            raise Refused("The room is to be deleted. Undo that first, on the page Keeping.", 409)
        if incident.archived:
            raise Refused("Take the room out of the archive first.", 409)
        incident.status = status or standing.status_of(standing.values_of(incident))
        incident.closed_at, incident.closed_by = None, None
        incident.standing_version += 1
        incident.save(update_fields=("status", "closed_at", "closed_by", "standing_version"))
        doing.record("set status", incident.status, before=Status.CLOSED.value)
        doing.tell("room", "", incident.standing_version)
        return incident


def archive(room: Room) -> Incident:
    """Archive a closed room: it leaves the list of rooms and can only be read."""
    with deed(room, Right.CLOSE) as doing:
        incident = doing.incident
        if not incident.closed:
            raise Refused("Close the room before you archive it.", 409)
        if not incident.archived:
            incident.archived_at, incident.archived_by = timezone.now(), doing.room.user
            _archived(doing, "archived")
        return incident


def unarchive(room: Room) -> Incident:
    """Take a room out of the archive; it stays closed."""
    with deed(room, Right.CLOSE) as doing:
        incident = doing.incident
        if incident.archived:
            incident.archived_at, incident.archived_by = None, None
            _archived(doing, "took out of the archive")
        return incident


def _archived(doing: Deed, verb: str) -> None:
    incident = doing.incident
    incident.standing_version += 1
    incident.save(update_fields=("archived_at", "archived_by", "standing_version"))
    doing.record(verb, "room")
    doing.tell("room", "", incident.standing_version)


def _closed_already(incident: Incident, user: User) -> str:
    when = f"{incident.closed_at:%Y-%m-%d %H:%M:%S} UTC" if incident.closed_at else ""
    if incident.closed_by is None:
        return f"The room was closed already, {when}."
    if incident.closed_by_id == user.pk:
        return f"You closed this room already, {when}."
    return f"{known_as(incident.closed_by)} closed this room before you, {when}. There is nothing more to do."


def accept_evaluation(room: Room) -> None:
    """Accept the judgement that was made after the room was closed."""
    with deed(room, Right.CLOSE) as doing:
        waiting = doing.incident.evaluations.filter(accepted=False).order_by("-number").first()
        if waiting is None:
            raise Refused("Nothing waits to be taken over.", 409)
        doing.incident.evaluations.filter(accepted=False).update(accepted=True)
        analysis.save_findings(waiting)
        doing.record("took over", f"evaluation {waiting.number}")
        doing.tell("verdict", waiting.number)
        summary.freeze(doing.incident, doing.room.user.pk, doing.room.actor_name, "A newer judgement was taken over.")


def rejudge(room: Room) -> None:
    """Judge the room again as it is: the "try again" of a judgement that failed."""
    with deed(room, Right.CORRECT) as doing:
        doing.rejudge()


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value

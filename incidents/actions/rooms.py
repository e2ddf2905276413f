"""Open a room, describe its symptom, close and open it."""

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

from incidents import analysis
from incidents.access import Right, Room
from incidents.actions.record import deed
from incidents.errors import Refused
from incidents.models.activity import Activity
from incidents.models.case import Host
from incidents.models.incident import Incident, RoomCounter, Status
from incidents.models.membership import Membership, Role, Team

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # none that are mistaken for another when read aloud
SYMPTOM = frozenset(
    {
        *("title", "symptom_text", "symptom_unit", "symptom_bad", "symptom_normal"),
        *("measured_how", "since", "ongoing", "affected", "last_change"),
    }
)
# What the rules see; the other answers are for people.
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
    """What a new room asks. Everything but the title may be left open."""

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
    team: str = Team.OTHER
    hosts: tuple[HostAnswer, ...] = field(default=())


def create(user: User, answers: Answers) -> Incident:
    """Open a room with its creator as lead. Anybody with an account may."""
    if not user.is_active:
        raise Refused("Sign in to open a room.", 403)
    title = " ".join(answers.title.split())
    if not title:
        raise Refused("Give the room a title: what is slow?")
    if len({host.name for host in answers.hosts}) < len(answers.hosts):
        raise Refused("Two hosts have the same name.")
    with transaction.atomic():
        asked = {name: getattr(answers, name) for name in SYMPTOM - {"title"}}
        incident = Incident.objects.create(
            slug=new_slug(title), title=title, created_by=user, t_zero=answers.since, **asked
        )
        RoomCounter.objects.create(incident=incident)
        Membership.objects.create(incident=incident, user=user, role=Role.LEAD, team=answers.team)
        Host.objects.bulk_create(Host(incident=incident, **asdict(host)) for host in answers.hosts)
        name = user.get_full_name() or user.get_username()
        Activity.objects.append(incident.pk, user.pk, name, "opened", "room", title=title)
    return incident


def new_slug(title: str) -> str:
    """Return the title's words and 8 random characters (40 bits): nobody finds a room by guessing its title."""
    tail = "".join(secrets.choice(_LETTERS) for _ in range(8))
    return f"{slugify(title)[:60].strip('-') or 'room'}-{tail}"


def edit(room: Room, fields: Mapping[str, Any]) -> Incident:
    """Change the title or answers about the symptom; what the rules see has the room judged again."""
    unknown = set(fields) - SYMPTOM
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
            incident.t_zero = incident.since  # set once: later answers move no time that somebody has quoted
            changed["t_zero"] = incident.t_zero
        incident.save(update_fields=tuple(changed))
        doing.record("edited", "symptom", **{name: _plain(value) for name, value in changed.items()})
        doing.tell("case")
        if _JUDGED & set(changed):
            doing.rejudge()
        return incident


def set_status(room: Room, status: str) -> Incident:
    """Open, mitigated or closed. Only a lead closes a room and opens a closed one."""
    if status not in Status.values:
        raise ValueError(f"no such status: {status}")
    with deed(room, Right.READ) as doing:
        incident = doing.incident
        doing.room.require(Right.CLOSE if incident.closed or status == Status.CLOSED else Right.CASE)
        if incident.status != status:
            before, incident.status = incident.status, status
            incident.closed_at = timezone.now() if incident.closed else None
            incident.save(update_fields=("status", "closed_at"))
            doing.record("set status", status, before=before)
            doing.tell("room")
        return incident


def accept_evaluation(room: Room) -> None:
    """Take over what was judged after the room was closed."""
    with deed(room, Right.CLOSE) as doing:
        waiting = doing.incident.evaluations.filter(accepted=False).order_by("-number").first()
        if waiting is None:
            raise Refused("Nothing waits to be taken over.", 409)
        doing.incident.evaluations.filter(accepted=False).update(accepted=True)
        analysis.save_findings(waiting)
        doing.record("took over", f"evaluation {waiting.number}")
        doing.tell("verdict", waiting.number)


def rejudge(room: Room) -> None:
    """Judge the room again as it is: the "try again" of a judgement that failed."""
    with deed(room, Right.CORRECT) as doing:
        doing.rejudge()


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value

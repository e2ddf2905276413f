"""Milestones of incidents, such as start and repair, and who has which duty, as headers and lists show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import JSONObject

from incidents.models.judging.finding import Evaluation
from incidents.models.people.duty import Duty, DutyKind
from incidents.models.people.membership import Membership, Role
from incidents.models.room.incident import Incident
from incidents.models.room.job import CHANGING, Job, JobKind, JobState
from incidents.models.room.standing import Milestone, Moment

_NAME = ("id", "username", "first_name", "last_name", "is_active")
_ORDER = {kind: place for place, kind in enumerate(Moment.values)}
_ENDS = (Moment.MITIGATED, Moment.RESOLVED)


@dataclass(frozen=True)
class Reached:
    """A milestone as a page shows it; `set_by` holds only names."""

    kind: str
    at: datetime
    set_by: User


@dataclass(frozen=True)
class OnDuty:
    """A person with their duties in words ("lead, scribe") as a page shows them; `user` holds only names."""

    duties: str
    user: User


def leads_of(incident_id: int | OuterRef) -> QuerySet[Membership]:
    """Return the leads of a room: first the one with the duty of the lead, the others by the time of joining."""
    chosen = Duty.objects.filter(kind=DutyKind.LEAD, incident=OuterRef("incident"), user=OuterRef("user"))
    leads = Membership.objects.filter(incident=incident_id, role=Role.LEAD)
    return leads.order_by(Exists(chosen).desc(), "joined_at", "pk")


def people_of(incident_id: OuterRef) -> dict[str, ArraySubquery]:
    """Return the sub-queries `leads` (only the first lead) and `on_duty` for a query of rooms.

    `lead_and_duties` reads their results.
    """
    names = {name: F(f"user__{name}") for name in _NAME}
    duties = Duty.objects.held().filter(incident=incident_id).exclude(kind=DutyKind.LEAD).order_by("kind")
    return {
        "leads": ArraySubquery(leads_of(incident_id)[:1].values(made=JSONObject(**names))),
        "on_duty": ArraySubquery(duties.values(made=JSONObject(kind="kind", **names))),
    }


def lead_and_duties(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return who leads, and each person with their duties, the lead first; `row` has the columns of `people_of`."""
    lead = named(row["leads"][0]) if row["leads"] else None
    duties: dict[User, list[str]] = {lead: [DutyKind.LEAD.value]} if lead else {}
    for one in row["on_duty"]:
        duties.setdefault(named(one), []).append(one["kind"])
    return {"lead": lead, "on_duty": [OnDuty(", ".join(kinds), user) for user, kinds in duties.items()]}


def header(incident: Incident) -> dict[str, Any]:
    """Return what the head of a room shows beside its verdict, in one query: milestones, duties, jobs under way.

    `pending`: the room was judged again since it was closed, and a lead has to accept the result.
    """
    of_room = {"incident": OuterRef("pk")}
    jobs = Job.objects.filter(**of_room, kind__in=CHANGING, state__in=(JobState.QUEUED, JobState.RUNNING))
    milestones = Milestone.objects.filter(**of_room).order_by()
    row = (
        Incident.objects.filter(pk=incident.pk)
        .values(
            judging=Exists(jobs.filter(kind=JobKind.JUDGE)),
            reading_now=Exists(jobs),
            waits=Exists(Evaluation.objects.filter(**of_room, accepted=False)),
            reached=ArraySubquery(
                milestones.values(
                    made=JSONObject(kind="kind", at="at", **{name: F(f"set_by__{name}") for name in _NAME})
                )
            ),
            **people_of(OuterRef("pk")),
        )
        .get()
    )
    reached = [Reached(one["kind"], datetime.fromisoformat(one["at"]), named(one)) for one in row["reached"]]
    return {
        "judging": row["judging"],
        "reading_now": row["reading_now"],
        "pending": row["waits"] and incident.closed,
        "milestones": _for_head(sorted(reached, key=lambda one: _ORDER[one.kind])),
        **lead_and_duties(row),
        "update_by": incident.next_update_by,
    }


def _for_head(reached: list[Reached]) -> list[Reached]:
    """Leave the first milestone and the end that was reached: the head is one line, the page Status has them all."""
    return [one for n, one in enumerate(reached) if n == 0 or (one is reached[-1] and one.kind in _ENDS)]


def severity_words(incident: Incident) -> str:
    """Return the room's severity in words with its number, "" if nobody has stated it."""
    return f"{incident.severity}, {incident.get_severity_display()}" if incident.severity else ""


def standing(incident: Incident) -> dict[str, Any]:
    """Return the milestones reached, with who set them and when."""
    milestones = sorted(incident.milestones.select_related("set_by"), key=lambda row: _ORDER[row.kind])
    return {"milestones": milestones, "update_by": incident.next_update_by}


def standings(incidents: list[Incident]) -> dict[int, list[Milestone]]:
    """Return the milestones of many rooms in one query, for the list of rooms."""
    found: dict[int, list[Milestone]] = {incident.pk: [] for incident in incidents}
    for row in Milestone.objects.filter(incident__in=incidents).select_related("set_by").order_by("incident", "at"):
        found[row.incident_id].append(row)
    return found


def named(told: Mapping[str, Any]) -> User:
    """Return a person with names only, from the columns of `people_of`."""
    return User(**{name: told[name] for name in _NAME})

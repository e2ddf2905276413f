"""Milestones of incidents, such as start and repair, as headers and lists show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, F, OuterRef
from django.db.models.functions import JSONObject

from incidents.models.judging.finding import Evaluation
from incidents.models.people.membership import Membership, Role
from incidents.models.room.incident import Incident
from incidents.models.room.job import CHANGING, Job, JobKind, JobState
from incidents.models.room.standing import Milestone, Moment

_NAME = ("id", "username", "first_name", "last_name", "is_active")
_ORDER = {kind: place for place, kind in enumerate(Moment.values)}


@dataclass(frozen=True)
class Reached:
    """A milestone as a page shows it; `set_by` holds only names."""

    kind: str
    at: datetime
    set_by: User


def header(incident: Incident) -> dict[str, Any]:
    """Return what the head of a room shows beside its verdict, in one query: milestones, lead, jobs under way.

    `pending`: the room was judged again since it was closed, and a lead has to accept the result.
    """
    of_room = {"incident": OuterRef("pk")}
    jobs = Job.objects.filter(**of_room, kind__in=CHANGING, state__in=(JobState.QUEUED, JobState.RUNNING))
    milestones = Milestone.objects.filter(**of_room).order_by()
    leads = Membership.objects.filter(**of_room, role=Role.LEAD).order_by("joined_at", "pk")[:1]
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
            leads=ArraySubquery(leads.values(made=JSONObject(**{name: F(f"user__{name}") for name in _NAME}))),
        )
        .get()
    )
    reached = [Reached(one["kind"], datetime.fromisoformat(one["at"]), _named(one)) for one in row["reached"]]
    return {
        "judging": row["judging"],
        "reading_now": row["reading_now"],
        "pending": row["waits"] and incident.closed,
        "milestones": sorted(reached, key=lambda one: _ORDER[one.kind]),
        "lead": _named(row["leads"][0]) if row["leads"] else None,
        "update_by": incident.next_update_by,
    }


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


def _named(told: dict[str, str]) -> User:
    return User(**{name: told[name] for name in _NAME})

"""Gather a room's summary from its tables in a few queries, and freeze it as a version."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, F, OuterRef, Subquery
from django.db.models.functions import JSONObject

from incidents.content.course import TURNING, course_of
from incidents.content.milestones import lead_and_duties, named, people_of, severity_words
from incidents.content.names import known_as
from incidents.content.report import Held, Outlook
from incidents.content.summary import words as summary_words
from incidents.content.summary.content import (
    Asked,
    Change,
    Figure,
    Json,
    Objection,
    People,
    Step,
    Told,
    Words,
    digest,
)
from incidents.models.evidence.artifact import ArtifactState
from incidents.models.judging.case import MarkerKind
from incidents.models.judging.finding import OPEN_DISPUTE, Evaluation
from incidents.models.plan.action import ActionState
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, Status
from incidents.models.room.job import CHANGING, Job, JobState
from incidents.models.room.standing import Milestone, Moment
from incidents.models.words.summary import SummaryVersion
from incidents.storage import live

_NAME = ("id", "username", "first_name", "last_name", "is_active")
_ORDER = {kind: place for place, kind in enumerate(Moment.values)}
IMPACT = "impact"  # the statement that says who is affected


@dataclass(frozen=True)
class Gathered:
    """The current content, the evaluation it shows, and the counts that the room's frame shows."""

    content: Json
    evaluation: Evaluation | None
    counts: dict[str, int]


def gather(incident: Incident) -> Gathered:
    """Read the whole current summary of a room."""
    rows = list(incident.artifacts.values_list("number", "name", "sha256", "state", "reading").order_by("number"))
    there = [(state, reading) for *_, state, reading in rows if state != ArtifactState.PURGED]
    counts = {
        "total": len(there),
        "read": sum(reading is not None or state == ArtifactState.UNPACKED for state, reading in there),
        "failed": sum(state == ArtifactState.FAILED for state, _ in there),
    }
    held = [Held(number, name, sha256, state == ArtifactState.PURGED) for number, name, sha256, state, _ in rows]
    evaluation = incident.evaluations.filter(accepted=True).order_by("-number").first()
    report = evaluation.report if evaluation else None
    objections = [
        Objection(row.finding.key, row.reason, known_as(row.author), row.created_at)
        for row in incident.disputes.filter(OPEN_DISPUTE).select_related("finding", "author")
    ]
    disputes: dict[str, int] = {}
    for one in objections:
        disputes[one.key] = disputes.get(one.key, 0) + 1
    outlook = Outlook(report, incident.slug, held, disputes)
    people = _people(incident, held, counts, objections)
    judged = None
    if evaluation is not None:
        judged = {
            "number": evaluation.number,
            "rules": evaluation.version,
            "inputs_hash": evaluation.inputs_hash,
            "made_at": evaluation.made_at.isoformat(timespec="seconds"),
        }
    return Gathered(summary_words.content(outlook, people, judged), evaluation, counts)


def freeze(incident: Incident, user_id: int, name: str, why: str) -> tuple[SummaryVersion, bool]:
    """Store the current summary as a version; call it in the action that holds the room's lock.

    Return the version, and whether it is new: if nothing reads differently, the last version is returned.
    """
    gathered = gather(incident)
    hashed = digest(gathered.content)
    last = incident.summary_versions.order_by("-number").first()
    if last is not None and last.content_hash == hashed:
        return last, False
    version = SummaryVersion.objects.create(
        incident=incident,
        number=last.number + 1 if last else 1,
        content=gathered.content,
        content_hash=hashed,
        evaluation=gathered.evaluation,
        made_by_id=user_id,
        made_by_name=name,
        why=why[:300],
    )
    Activity.objects.append(
        incident.pk, user_id, name, "froze", f"summary version {version.number}", sha256=hashed, why=version.why
    )
    live.tell(incident.pk, "summary", version.number)
    return version, True


def _people(incident: Incident, held: list[Held], counts: dict[str, int], objections: list[Objection]) -> People:
    head = _head(incident)
    people = lead_and_duties(head)
    milestones = sorted(
        ((one["kind"], datetime.fromisoformat(one["at"])) for one in head["reached"]), key=lambda one: _ORDER[one[0]]
    )
    statements = list(incident.statements.all())
    settled = incident.status in (Status.RESOLVED, Status.CLOSED)
    return People(
        title=incident.title,
        status=incident.get_status_display(),
        status_at=incident.closed_at or dict(milestones).get(incident.status),
        milestones=[one for one in reversed(milestones) if one[0] != incident.status],
        lead=known_as(people["lead"]) if people["lead"] else "",
        duties=[(one.duties, known_as(one.user)) for one in people["on_duty"]],
        severity=severity_words(incident),
        settled=settled,
        impact=_impact(incident, head, [row for row in statements if row.name == IMPACT]),
        asked=_asked(incident),
        update_at=None if settled else incident.next_update_at,
        update_by=known_as(incident.next_update_by) if incident.next_update_by else "",
        update_late=incident.update_late,
        steps=_steps(incident),
        changes=[
            Change(row.label, [str(text) for text in row.changed], row.to_phase or "", row.at, known_as(row.author))
            for row in incident.markers.filter(kind=MarkerKind.CHANGE).select_related("author")
        ],
        turning=[
            Told(f"{one.kind_name.capitalize()}: {one.text}", one.who, one.at) for one in course_of(incident, TURNING)
        ],
        figures=[
            Figure(row.name, row.subject, row.num, row.unit or "", row.author_label)
            for row in statements
            if row.num is not None and row.subject
        ],
        objections=objections,
        words=_words(incident),
        symptom=(incident.symptom_bad, incident.symptom_normal, incident.symptom_unit or ""),
        artifacts=[
            {"number": one.number, "name": one.name, "sha256": one.sha256, "withdrawn": one.withdrawn} for one in held
        ],
        counts=counts,
        pending=head["waits"] and incident.closed,
        reading=head["reading"],
    )


def _head(incident: Incident) -> dict[str, Any]:
    """Return milestones, duties, jobs under way, and who last stated who is affected, in one query."""
    of_room = {"incident": OuterRef("pk")}
    said = Activity.objects.filter(**of_room, verb="edited", object="symptom", detail__has_key="affected")
    said = said.order_by("-seq")
    head: dict[str, Any] = dict(
        Incident.objects.filter(pk=incident.pk)
        .values(
            reading=Exists(
                Job.objects.filter(**of_room, kind__in=CHANGING, state__in=(JobState.QUEUED, JobState.RUNNING))
            ),
            waits=Exists(Evaluation.objects.filter(**of_room, accepted=False)),
            reached=ArraySubquery(
                Milestone.objects.filter(**of_room).order_by().values(made=JSONObject(kind="kind", at="at"))
            ),
            **people_of(OuterRef("pk")),
            said_by=Subquery(said.values("actor_name")[:1]),
            said_at=Subquery(said.values("at")[:1]),
            opened_by=JSONObject(**{name: F(f"created_by__{name}") for name in _NAME}),
        )
        .get()
    )
    return head


def _impact(incident: Incident, head: dict[str, Any], stated: list[Any]) -> list[Told]:
    if stated:
        return [Told(row.text, row.author_label, row.created_at) for row in reversed(stated)]
    if not incident.affected:
        return []
    by = head["said_by"] or _named(head["opened_by"])
    return [Told(incident.affected, by, head["said_at"] or incident.created_at)]


def _asked(incident: Incident) -> Asked | None:
    waiting = incident.decisions.filter(outcome__isnull=True, deleted_at__isnull=True)
    rows = list(waiting.select_related("author", "asked_of").order_by(F("needed_by").asc(nulls_last=True), "pk")[:50])
    if not rows:
        return None
    first = rows[0]
    return Asked(
        first.question,
        known_as(first.author),
        known_as(first.asked_of) if first.asked_of else "",
        first.needed_by,
        first.late,
        len(rows) - 1,
    )


def _steps(incident: Incident) -> list[Step]:
    rows = incident.actions.filter(state__in=(ActionState.OPEN, ActionState.DOING), deleted_at__isnull=True)
    rows = rows.select_related("owner").order_by(F("due_at").asc(nulls_last=True), "pk")
    return [
        Step(row.text, known_as(row.owner) if row.owner else "", row.due_at, row.state == ActionState.DOING, row.late)
        for row in rows[:50]
    ]


def _words(incident: Incident) -> dict[str, Words]:
    """Return the newest text of each section; an empty text means that the words were taken back."""
    rows = incident.summary_texts.order_by("section", "-number").distinct("section").select_related("author")
    return {
        row.section: Words(row.text, row.way, known_as(row.author), row.made_at, row.number, row.machine)
        for row in rows
        if row.text
    }


def _named(told: dict[str, Any]) -> str:
    return known_as(named(told))

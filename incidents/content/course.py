"""What people did, in the order of time: decisions, changes, updates given, steps, and how the incident's status went.

It joins rows of several tables, each event once: a decision of the plan, an action done, an entry of the log, a marker
of the case that belongs to neither, a milestone, a lead handed over. It takes one query, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, CharField, Exists, F, OuterRef, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, JSONObject
from django.urls import reverse

from incidents.content.milestones import named
from incidents.content.names import known_as
from incidents.models.judging.case import Marker, MarkerKind
from incidents.models.people.handover import Answer, HandOver
from incidents.models.plan.action import Action, ActionState
from incidents.models.plan.decision import Decision
from incidents.models.plan.entry import Entry, EntryKind
from incidents.models.room.incident import Incident
from incidents.models.room.standing import Milestone

DECISION, STATUS = "decision", "status"
#: Kinds of rows -> their names.
KINDS: dict[str, str] = {DECISION: "decision", **dict(EntryKind.choices), STATUS: "status"}
#: Kinds that the summary shows: what turned the incident.
TURNING = (DECISION, EntryKind.CHANGE.value)
#: Maximum number of rows; the newest are shown.
MOST = 500


@dataclass(frozen=True)
class Done:
    """One thing that was done. `source` and `pk` name its row; `note` is the question of a decision or what changed."""

    source: str
    pk: int
    at: datetime
    kind: str
    text: str
    note: str
    who: str

    @property
    def kind_name(self) -> str:
        return KINDS[self.kind]

    @property
    def turning(self) -> bool:
        return self.kind in TURNING

    def href(self, slug: str) -> str:
        """Return the address of the page that has the row."""
        if self.source == "decision" or self.source == "action":
            return f"{reverse('plan', args=[slug])}#{self.source}-{self.pk}"
        if self.source == "entry":
            return f"{reverse('log', args=[slug])}#entry-{self.pk}"
        page = {"marker": "case", "milestone": "status", "handover": "members"}[self.source]
        return reverse(page, args=[slug])


def course_of(incident: Incident, kinds: Iterable[str] = tuple(KINDS), most: int = MOST) -> list[Done]:
    """Return the newest `most` things of these kinds, in the order of time."""
    wanted = frozenset(kinds)
    parts: list[QuerySet[Any, dict[str, Any]]] = []
    if DECISION in wanted:
        rows = Decision.objects.filter(incident=incident, deleted_at__isnull=True, outcome__isnull=False)
        parts.append(_columns(rows, "decision", "decided_at", DECISION, F("outcome"), F("question"), "decided_by"))
    if own := wanted & set(EntryKind.values):
        entries = Entry.objects.filter(incident=incident, deleted_at__isnull=True, kind__in=own)
        parts.append(_columns(entries, "entry", "at", F("kind"), F("text"), Value(""), "who"))
        parts.append(_actions(incident, own))
    if EntryKind.CHANGE in wanted:
        parts.append(_markers(incident))
    if STATUS in wanted:
        milestones = Milestone.objects.filter(incident=incident)
        parts.append(_columns(milestones, "milestone", "at", STATUS, F("kind"), Value(""), "set_by"))
        taken = HandOver.objects.filter(incident=incident, answer=Answer.ACCEPTED)
        words = Value("took over the lead")
        parts.append(_columns(taken, "handover", "answered_at", STATUS, words, Value(""), "offered_to"))
    if not parts:
        return []
    rows_of_all = parts[0].union(*parts[1:], all=True).order_by("-c_at", "-c_source", "-c_pk")[:most]
    return [
        Done(
            source=row["c_source"],
            pk=row["c_pk"],
            at=row["c_at"],
            kind=row["c_kind"],
            text=row["c_text"].capitalize() if row["c_source"] == "milestone" else row["c_text"],
            note=row["c_note"],
            who=known_as(named(row["c_who"])),
        )
        for row in reversed(rows_of_all)
    ]


def _actions(incident: Incident, kinds: Iterable[str]) -> QuerySet[Any, dict[str, Any]]:
    """Return the actions done: those that changed something are changes, the others steps."""
    done = Action.objects.filter(incident=incident, deleted_at__isnull=True, state=ActionState.DONE)
    change, step = Value(EntryKind.CHANGE.value), Value(EntryKind.STEP.value)
    kind = Case(When(marker__isnull=False, then=change), default=step, output_field=CharField())
    if EntryKind.CHANGE not in kinds:
        done = done.filter(marker__isnull=True)
    if EntryKind.STEP not in kinds:
        done = done.filter(marker__isnull=False)
    if not {EntryKind.CHANGE, EntryKind.STEP} & set(kinds):
        done = done.none()
    return _columns(done, "action", "done_at", kind, F("text"), Value(""), "done_by")


def _markers(incident: Incident) -> QuerySet[Any, dict[str, Any]]:
    """Return the change markers of the case that belong to no action and no entry of the log."""
    alone = Marker.objects.filter(incident=incident, kind=MarkerKind.CHANGE, at__isnull=False)
    for model in (Action, Entry):
        alone = alone.exclude(Exists(model.objects.filter(marker=OuterRef("pk"))))
    return _columns(alone, "marker", "at", EntryKind.CHANGE.value, F("label"), Value(""), "author")


def _columns(
    rows: QuerySet[Any], source: str, at: str, kind: Any, text: Any, note: Any, who: str
) -> QuerySet[Any, dict[str, Any]]:
    names = ("id", "username", "first_name", "last_name", "is_active")
    return rows.order_by().values(
        c_source=Value(source, output_field=CharField()),
        c_pk=F("pk"),
        c_at=F(at),
        c_kind=Cast(Value(kind) if isinstance(kind, str) else kind, CharField()),
        c_text=Cast(text, TextField()),
        c_note=Cast(note, TextField()),
        c_who=JSONObject(**{name: F(f"{who}__{name}") for name in names}),
    )

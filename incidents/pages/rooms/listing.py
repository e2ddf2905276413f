"""The list of rooms: which rooms a person may see, in which order, and which of their causes occurred before.

"Time to verdict" runs from the opening of the room to its first verdict of state cause or suspect (`Verdict.first_at`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, cast

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import (
    Case,
    CharField,
    Count,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, JSONObject, Lower, TruncQuarter
from django.utils import timezone

from incidents.access import visible_to
from incidents.content.milestones import people_of
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.evidence.request import EvidenceRequest, RequestState
from incidents.models.judging.case import Host
from incidents.models.judging.verdict import Verdict
from incidents.models.people.membership import Membership, Role
from incidents.models.people.notification import Notification
from incidents.models.plan.action import Action, ActionState
from incidents.models.plan.review import FollowUp
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, Status
from incidents.storage import live

GOING, ALL, MINE, NEEDED, ARCHIVED = "going", "all", "mine", "needed", "archived"
#: Filters shown as links, in their order, and every state that an address may name.
FILTERS = {
    GOING: "Open",
    MINE: "Mine",
    NEEDED: "Needs me",
    Status.CLOSED.value: "Closed",
    ARCHIVED: "Archived",
    ALL: "All",
}
STATES = (*FILTERS, *(value for value in Status.values if value not in FILTERS))
URGENCY = "urgency"
#: What rooms are sorted by -> its words. Each goes upwards and, with "-", downwards; unknown values come last.
COLUMNS = {
    "last_event": "last change",
    "created_at": "opened",
    "title": "title",
    "status": "state",
    "severity": "severity",
    "cause": "support of the cause",
    "cleared": "layers cleared",
    "took": "time to verdict",
    "next": "next update",
    "artifacts": "artifacts",
    "inside": "people inside",
}
BURNING, WATCHED, QUIET = "burning", "watched", "quiet"
GROUPS = {BURNING: "Burning", WATCHED: "Being watched", QUIET: "Quiet"}
#: How long nothing may happen in a room before it no longer burns, and before it is quiet.
FRESH, STALE = timedelta(days=1), timedelta(days=7)
_SEVERITIES = ("critical", "major", "minor", "info")
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_DURATION = DurationField()
_MOST_LOOKED_INTO = 2_000  # maximum number of rooms checked for people inside


@dataclass(frozen=True)
class Wanted:
    """What somebody asked for in the list. Meaningless values are ignored.

    Without a state it is the rooms that are not closed, or all but archived ones if something is searched for.
    """

    q: str = ""
    status: str = ""
    layer: str = ""
    same: str = ""  # slug of a room: show rooms with the same cause at the same place
    sort: str = URGENCY

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Wanted:
        q, status, layer, same, sort = (
            (asked.get(name) or "").replace("\x00", "").strip()[:200]
            for name in ("q", "status", "layer", "same", "sort")
        )
        known = sort.removeprefix("-") in COLUMNS
        return cls(q, status if status in STATES else "", layer, same, sort if known else URGENCY)

    @property
    def column(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def down(self) -> bool:
        return self.sort.startswith("-")

    @property
    def shown(self) -> str:
        """Return the state that the list is filtered by."""
        return self.status or (ALL if self.q or self.layer or self.same else GOING)


@dataclass(frozen=True)
class Again:
    """A cause that occurred before: this room is the nth with it in its quarter, of `in_all` visible rooms with it."""

    nth: int
    quarter: datetime
    in_all: int

    @property
    def words(self) -> str:
        """Say how often the cause occurred, in words for a manager."""
        if self.nth < 2:
            return f"one of {self.in_all} rooms with this cause" if self.in_all > 1 else ""
        nth = _ORDINALS[self.nth] if self.nth < len(_ORDINALS) else f"{self.nth}th"
        now = timezone.now().astimezone(self.quarter.tzinfo)
        number = (self.quarter.month + 2) // 3
        current = (now.year, (now.month + 2) // 3) == (self.quarter.year, number)
        return f"{nth} time this quarter" if current else f"{nth} time in quarter {number} of {self.quarter.year}"


@dataclass(frozen=True)
class Tally:
    """Counts over all rooms that a person may see: how many each filter would show, and what burns."""

    by_filter: dict[str, int]
    burning: int
    critical: int
    next_update: datetime | None


def found(user: User | AnonymousUser, wanted: Wanted) -> QuerySet[Incident]:
    """Return the rooms asked for, in order, each with what `Listed` names."""
    last = Activity.objects.filter(incident=OuterRef("pk")).order_by("-seq")
    counted = Artifact.objects.filter(incident=OuterRef("pk")).exclude(state=ArtifactState.PURGED).order_by()
    rooms = _grouped(visible_to(user)).select_related("next_update_by", "verdict").defer("verdict__compared")
    rooms = rooms.annotate(
        # Counted only for the rooms of this page: sub-queries are computed after the page is cut out.
        artifact_count=Coalesce(Subquery(counted.values("incident").annotate(n=Count("pk")).values("n")), 0),
        changed=Subquery(last.values(made=JSONObject(verb="verb", object="object"))[:1]),
        took=ExpressionWrapper(F("verdict__first_at") - F("created_at"), output_field=_DURATION),
        **people_of(OuterRef("pk")),
    )
    return _ordered(_narrowed(rooms, user, wanted), wanted)


class Listed(Protocol):
    """What `found` adds to each room."""

    group: str
    artifact_count: int
    changed: dict[str, str] | None
    last_event: datetime | None
    took: timedelta | None
    leads: list[dict[str, Any]]
    on_duty: list[dict[str, Any]]


def listed(room: Incident) -> Listed:
    """Cast a room that `found` returned to `Listed`: the type of the model lacks the added columns."""
    return cast(Listed, room)


def group_counts(user: User | AnonymousUser, wanted: Wanted) -> dict[str, int]:
    """Count the rooms asked for by group, in one query."""
    rooms = _narrowed(_grouped(visible_to(user)), user, wanted).order_by()
    counts = rooms.values("group").annotate(n=Count("pk"))  # type: ignore[misc]  # annotated by _grouped
    return dict(counts.values_list("group", "n"))


def tally(user: User | AnonymousUser) -> Tally:
    """Count what every filter would show, in one query."""
    there = Q(archived_at__isnull=True)
    burning = there & Q(group=BURNING)
    counts = _grouped(visible_to(user)).aggregate(
        **{f"n_{name}": Count("pk", filter=_state(user, name)) for name in FILTERS},
        burning=Count("pk", filter=burning),
        critical=Count("pk", filter=burning & Q(verdict__severity="critical")),
        next_update=Min("next_update_at", filter=burning & Q(next_update_at__gte=timezone.now())),
    )
    by_filter = {name: counts[f"n_{name}"] for name in FILTERS}
    return Tally(by_filter, counts["burning"], counts["critical"], counts["next_update"])


def _grouped(rooms: QuerySet[Incident]) -> QuerySet[Incident]:
    """Annotate `last_event` and the group: a room burns while it is open, without a cause, and had a recent event."""
    now = timezone.now()
    last = Activity.objects.filter(incident=OuterRef("pk")).order_by("-seq").values("at")[:1]
    stale = Q(last_event__lt=now - STALE) | Q(last_event__lt=now - FRESH, verdict__state="nothing wrong seen")
    no_cause = Q(verdict__isnull=True) | ~Q(verdict__state="cause")
    return rooms.annotate(last_event=Subquery(last, output_field=DateTimeField())).annotate(
        group=Case(
            When(status=Status.MITIGATED, then=Value(WATCHED)),
            When(~Q(status=Status.OPEN) | stale, then=Value(QUIET)),
            When(no_cause & Q(last_event__gte=now - FRESH), then=Value(BURNING)),
            default=Value(WATCHED),
            output_field=CharField(),
        )
    )


def _state(user: User | AnonymousUser, name: str) -> Q:
    """Return the condition of one filter; archived rooms match only the filter for archived rooms."""
    if name == ARCHIVED:
        return Q(archived_at__isnull=False)
    there = Q(archived_at__isnull=True)
    if name == ALL:
        return there
    if name in Status.values:
        return there & Q(status=name)
    going = there & ~Q(status=Status.CLOSED)
    of_room = {"incident": OuterRef("pk")}
    if name == MINE:
        return going & Q(Exists(Membership.objects.filter(**of_room, user=user.pk, role=Role.LEAD)))
    if name == NEEDED:
        told = Notification.objects.filter(**of_room, user=user.pk, read_at__isnull=True, note__deleted_at__isnull=True)
        actions = Action.objects.filter(**of_room, owner=user.pk, deleted_at__isnull=True)
        asked = EvidenceRequest.objects.filter(**of_room, asked_of=user.pk, state=RequestState.OPEN)
        open_ones = actions.filter(state__in=(ActionState.OPEN, ActionState.DOING))
        # A follow-up is done after its incident, so it needs its owner in a closed room too.
        follow_ups = FollowUp.objects.filter(**of_room, owner=user.pk, done_at__isnull=True, deleted_at__isnull=True)
        now = going & (Q(Exists(told)) | Q(Exists(open_ones)) | Q(Exists(asked)))
        return now | (there & Q(Exists(follow_ups)))
    return going


def _narrowed(rooms: QuerySet[Incident], user: User | AnonymousUser, wanted: Wanted) -> QuerySet[Incident]:
    # An earlier room with the same cause may be archived by now.
    if not wanted.same or wanted.status:
        rooms = rooms.filter(_state(user, wanted.shown))
    if wanted.q:
        hosts = Host.objects.filter(name__icontains=wanted.q, incident__in=visible_to(user))
        texts = Q(title__icontains=wanted.q) | Q(symptom_text__icontains=wanted.q)
        rooms = rooms.filter(texts | Q(verdict__sentence__icontains=wanted.q) | Q(pk__in=hosts.values("incident")))
    if wanted.layer:
        rooms = rooms.filter(verdict__layer=wanted.layer)
    if wanted.same:
        like = visible_to(user).filter(slug=wanted.same).order_by().values("verdict__recurs_by")
        rooms = rooms.filter(pk__in=Verdict.objects.exclude(recurs_by="").filter(recurs_by__in=like).values("pk"))
    return rooms


def _place(field: str, values: Iterable[str], default: int) -> Case:
    """Return the place of a column's value among some values, to sort by."""
    cases = (When(**{field: one}, then=Value(n)) for n, one in enumerate(values))
    return Case(*cases, default=Value(default), output_field=IntegerField())


def _ordered(rooms: QuerySet[Incident], wanted: Wanted) -> QuerySet[Incident]:
    if wanted.sort == URGENCY:
        severity = _place("verdict__severity", _SEVERITIES, len(_SEVERITIES))
        return rooms.order_by(
            _place("group", GROUPS, len(GROUPS)),
            F("severity").asc(nulls_last=True),
            severity,
            F("last_event").desc(nulls_last=True),
            "-pk",
        )
    by: dict[str, Any] = {
        "title": Lower("title"),
        "status": _place("status", Status.values, 9),
        "severity": F("severity"),
        "cause": F("verdict__support_step"),
        "cleared": F("verdict__cleared_count"),
        "took": F("took"),
        "next": F("next_update_at"),
        "artifacts": F("artifact_count"),
        "last_event": F("last_event"),
        "created_at": F("created_at"),
    }
    if wanted.column == "inside":
        ids = list(rooms.values_list("pk", flat=True)[:_MOST_LOOKED_INTO])
        inside = {id: len(people) for id, people in live.present_in(ids).items() if people}
        cases = (When(pk=id, then=Value(n)) for id, n in inside.items())
        # If nobody is in any room, the newest event comes first.
        everywhere = Case(*cases, default=Value(0), output_field=IntegerField())
        by["inside"] = everywhere if inside else F("last_event")
    key = by[wanted.column]
    order = key.desc(nulls_last=True) if wanted.down else key.asc(nulls_last=True)
    return rooms.order_by(order, "-pk")


def again(user: User | AnonymousUser, rooms: Iterable[Incident]) -> dict[int, Again]:
    """Return for each room whether its cause came before in rooms that this person may see; one query for all."""
    mine = visible_to(user)
    same = Verdict.objects.filter(recurs_by=OuterRef("recurs_by"), incident__in=mine).exclude(recurs_by="").order_by()
    quarter = TruncQuarter("incident__created_at", tzinfo=UTC)
    upto = same.annotate(quarter=quarter).filter(
        quarter=OuterRef("quarter"), incident__created_at__lte=OuterRef("incident__created_at")
    )
    rows = (
        Verdict.objects.filter(incident__in=[room.pk for room in rooms])
        .exclude(recurs_by="")
        .annotate(quarter=quarter)
        .annotate(nth=_count(upto), in_all=_count(same))
        .values_list("pk", "nth", "quarter", "in_all")
    )
    return {pk: Again(nth, quarter, in_all) for pk, nth, quarter, in_all in rows if in_all > 1}


def _count(rows: QuerySet[Verdict]) -> Subquery:
    return Subquery(rows.values("recurs_by").annotate(n=Count("pk")).values("n"), output_field=IntegerField())


def age(since: datetime) -> str:
    """Write how long ago something was, in its largest unit.

    >>> now = timezone.now()
    >>> [age(now - timedelta(seconds=s)) for s in (2, 125, 7_400, 200_000)]
    ['now', '2 min', '2 h', '2 days']
    """
    seconds = max((timezone.now() - since).total_seconds(), 0)
    for name, size in (("day", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}" + ("s" if name == "day" and count > 1 else "")
    return "now"


def ago(since: datetime) -> str:
    """Write how long ago something was, in a form that follows a verb.

    >>> ago(timezone.now()), ago(timezone.now() - timedelta(minutes=5))
    ('just now', '5 min ago')
    """
    since_words = age(since)
    return "just now" if since_words == "now" else f"{since_words} ago"


def change_words(changed: Mapping[str, str] | None) -> str:
    """Describe the last change in a room, without ids of findings, which mean nothing to a reader.

    >>> change_words({"verb": "uploaded", "object": "artifact 5"}), change_words({"verb": "disputed", "object": "finding 567a2367f67fd405"})
    ('uploaded artifact 5', 'disputed finding')
    """
    if not changed:
        return ""
    return re.sub(r"\s*\b[0-9a-f]{16}\b", "", f"{changed['verb']} {changed['object']}").strip()

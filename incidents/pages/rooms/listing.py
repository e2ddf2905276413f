"""The list of rooms: which rooms a person may know of, in which order, and which of their causes came before.

"Time to verdict" runs from the opening of the room to its first verdict of state cause or suspect (`Verdict.first_at`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import (
    Case,
    Count,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Lower, TruncQuarter
from django.utils import timezone

from incidents.access import visible_to
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.judging.case import Host
from incidents.models.judging.verdict import Verdict
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, Status
from incidents.storage import live

ARCHIVED, GOING = "archived", "going"
STATES = ((GOING, "not closed"), *Status.choices, (ARCHIVED, "archived"))
NEWEST = "-last_event"
#: Column -> its heading. Each can be sorted upwards and, with "-", downwards; unknown values come last.
COLUMNS = {
    "title": "room",
    "status": "state",
    "cause": "support of the cause",
    "cleared": "layers cleared",
    "took": "time to verdict",
    "next": "next update",
    "artifacts": "artifacts",
    "inside": "people inside",
    "last_event": "last event",
    "created_at": "opened",
}
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_DURATION = DurationField()
_MOST_LOOKED_INTO = 2_000  # maximum number of rooms checked for people inside


@dataclass(frozen=True)
class Wanted:
    """What somebody asked for in the list. Meaningless values are ignored."""

    q: str = ""
    status: str = ""
    layer: str = ""
    same: str = ""  # slug of a room: show rooms with the same cause at the same place
    sort: str = NEWEST

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Wanted:
        q, status, layer, same, sort = (
            (asked.get(name) or "").replace("\x00", "").strip()[:200]
            for name in ("q", "status", "layer", "same", "sort")
        )
        known = sort.removeprefix("-") in COLUMNS
        return cls(q, status if status in dict(STATES) else "", layer, same, sort if known else NEWEST)

    @property
    def column(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def down(self) -> bool:
        return self.sort.startswith("-")

    @property
    def narrows(self) -> bool:
        return bool(self.q or self.status or self.layer or self.same)


@dataclass(frozen=True)
class Again:
    """A cause that came before: this room is the nth with it in its quarter, of `in_all` visible ones."""

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


def found(user: User | AnonymousUser, wanted: Wanted) -> QuerySet[Incident]:
    """Return the rooms asked for, in order, each with `artifact_count`, `last_event`, `took` and its verdict."""
    last = Activity.objects.filter(incident=OuterRef("pk")).order_by("-seq").values("at")[:1]
    counted = Artifact.objects.filter(incident=OuterRef("pk")).exclude(state=ArtifactState.PURGED).order_by()
    rooms = visible_to(user).select_related("next_update_by", "verdict").defer("verdict__compared")
    rooms = rooms.annotate(
        # Counted only for the rooms of this page: sub-queries are computed after the page is cut out.
        artifact_count=Coalesce(Subquery(counted.values("incident").annotate(n=Count("pk")).values("n")), 0),
        last_event=Subquery(last, output_field=DateTimeField()),
        took=ExpressionWrapper(F("verdict__first_at") - F("created_at"), output_field=_DURATION),
    )
    return _ordered(_narrowed(rooms, user, wanted), wanted)


def _narrowed(rooms: QuerySet[Incident], user: User | AnonymousUser, wanted: Wanted) -> QuerySet[Incident]:
    # An earlier room with the same cause may be archived by now.
    if wanted.status == ARCHIVED:
        rooms = rooms.filter(archived_at__isnull=False)
    elif not wanted.same or wanted.status:
        rooms = rooms.filter(archived_at__isnull=True)
    if wanted.status == GOING:
        rooms = rooms.exclude(status=Status.CLOSED)
    elif wanted.status in Status.values:
        rooms = rooms.filter(status=wanted.status)
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


def _ordered(rooms: QuerySet[Incident], wanted: Wanted) -> QuerySet[Incident]:
    by: dict[str, Any] = {
        "title": Lower("title"),
        "status": Case(*(When(status=one, then=Value(n)) for n, one in enumerate(Status.values)), default=Value(9)),
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


def length(took: timedelta | None) -> str:
    """Write a duration in its two largest units.

    >>> [length(timedelta(seconds=s)) for s in (31, 95, 7_400, 200_000)]
    ['31 s', '1 min 35 s', '2 h 3 min', '2 d 7 h']
    >>> length(None)
    ''
    """
    if took is None:
        return ""
    seconds = max(int(took.total_seconds()), 0)
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    for place, (name, size) in enumerate(units):
        if seconds >= size or size == 1:
            rest = units[place + 1] if place + 1 < len(units) else None
            more = seconds % size // rest[1] if rest else 0
            return f"{seconds // size} {name}" + (f" {more} {rest[0]}" if rest and more else "")
    return ""

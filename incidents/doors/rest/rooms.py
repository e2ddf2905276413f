"""Rooms: the list, one of them, its record, what people did; opening, closing and reopening."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status
from pydantic import Field

from incidents import access
from incidents.access import Right, Room
from incidents.actions import rooms as actions
from incidents.content import course
from incidents.content.course import course_of
from incidents.doors.rest.api import caller_of, entered
from incidents.doors.rest.limits import Body, Finite, Moment, bounded
from incidents.doors.rest.once import once
from incidents.doors.rest.paging import Page, Paging, paged
from incidents.doors.rest.shapes import ActivityShape, DoneShape, RoomShape, RoomWhole
from incidents.errors import Refused
from incidents.models.judging.case import Host
from incidents.models.judging.verdict import Verdict
from incidents.models.people.access_token import Scope
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident
from incidents.models.room.job import CHANGING, Job, JobState

router = Router(tags=["rooms"])

#: Maximum number of hosts named when a room is opened.
MOST_HOSTS = 200


@router.get("/rooms", response=Page[RoomShape], summary="List rooms")
def list_rooms(request: HttpRequest, asked: Query[Paging], archived: bool = False) -> dict[str, Any]:
    """Rooms that the caller may read, the newest first; archived ones only if asked for."""
    rooms = access.visible_as(caller_of(request)).filter(archived_at__isnull=not archived)
    return paged(rooms.select_related("verdict").order_by("-pk"), asked, room_of)


@router.get("/rooms/{slug}", response=RoomWhole, summary="Read a room")
def read_room(request: HttpRequest, slug: str) -> dict[str, Any]:
    """One room, its symptom, and what the caller may do in it."""
    return whole(entered(request, slug))


@router.get("/rooms/{slug}/activity", response=Page[ActivityShape], summary="List activity")
def list_activity(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """The record of who did what and when, the newest first."""
    room = entered(request, slug)
    return paged(Activity.objects.filter(incident=room.incident).order_by("-seq"), asked, _activity_of)


@router.get("/rooms/{slug}/log", response=Page[DoneShape], summary="List the log")
def list_log(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """What people did, in the order of time: decisions, changes, updates, steps, the status. The newest 500."""
    room = entered(request, slug)
    return paged(course_of(room.incident, course.KINDS), asked, _done_of)


class NewHost(Body):
    name: str = bounded(Host, "name")
    os: str | None = bounded(Host, "os", None)
    os_release: str | None = bounded(Host, "os_release", None)
    role: str | None = bounded(Host, "role", None)
    ncpu: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    mem_gib: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    tz: str | None = bounded(Host, "tz", None)


class NewRoom(Body):
    """What is slow, and what is known about it; everything but the title may be left out."""

    title: str = bounded(Incident, "title")
    symptom_text: str | None = bounded(Incident, "symptom_text", None)
    symptom_unit: str | None = bounded(Incident, "symptom_unit", None)
    symptom_bad: Finite | None = None
    symptom_normal: Finite | None = None
    measured_how: str | None = bounded(Incident, "measured_how", None, most=2000)
    since: Moment | None = None
    ongoing: bool | None = None
    affected: str | None = bounded(Incident, "affected", None)
    last_change: str | None = bounded(Incident, "last_change", None, most=2000)
    hosts: list[NewHost] = Field(default_factory=list, max_length=MOST_HOSTS)


class Closing(Body):
    wait: bool = Field(False, description="Close it when uploads and jobs under way are finished, not at once.")


@router.post("/rooms", response={201: RoomWhole}, summary="Open a room")
@once
def open_room(request: HttpRequest, said: NewRoom, response: HttpResponse) -> Status[Any]:
    """Open a room; the caller leads it. A token of one room opens no others."""
    caller = caller_of(request)
    caller.require_scope(Scope.ROOMS)
    if caller.program is not None and caller.program.incident_id is not None:
        raise Refused("This token is for one room and opens no others.", 403)
    hosts = tuple(actions.HostAnswer(**host.model_dump()) for host in said.hosts)
    incident = actions.create(caller.user, actions.Answers(**said.model_dump(exclude={"hosts"}), hosts=hosts))
    return Status(201, whole(access.enter_as(caller, incident.slug, Right.CLOSE)))


@router.post("/rooms/{slug}/close", response=RoomWhole, summary="Close a room")
@once
def close_room(request: HttpRequest, slug: str, said: Closing, response: HttpResponse) -> Status[Any]:
    """Close a room at once, or when what is under way is finished."""
    room = entered(request, slug, Right.CLOSE)
    actions.close(room, wait=said.wait)
    return Status(200, whole(access.enter_as(caller_of(request), slug, Right.CLOSE)))


@router.post("/rooms/{slug}/reopen", response=RoomWhole, summary="Reopen a room")
@once
def reopen_room(request: HttpRequest, slug: str, response: HttpResponse) -> Status[Any]:
    """Open a closed room again."""
    room = entered(request, slug, Right.CLOSE)
    actions.reopen(room)
    return Status(200, whole(access.enter_as(caller_of(request), slug, Right.CLOSE)))


def room_of(incident: Incident) -> dict[str, Any]:
    verdict: Verdict | None = getattr(incident, "verdict", None)
    return {
        "slug": incident.slug,
        "title": incident.title,
        "status": incident.status,
        "severity": incident.severity,
        "archived": incident.archived,
        "opened_at": incident.created_at,
        "closed_at": incident.closed_at,
        "closing": incident.closing_at is not None,
        "verdict": verdict
        and {
            "state": verdict.state,
            "sentence": verdict.sentence,
            "layer": verdict.layer or None,
            "severity": verdict.severity or None,
            "judged_at": verdict.judged_at,
        },
    }


def whole(room: Room) -> dict[str, Any]:
    incident = room.incident
    symptom = {name: getattr(incident, f"symptom_{name}") for name in ("text", "unit", "bad", "normal")}
    others = ("since", "ongoing", "affected", "measured_how", "last_change")
    under_way = Job.objects.filter(incident=incident, kind__in=CHANGING, state__in=(JobState.QUEUED, JobState.RUNNING))
    return room_of(incident) | {
        "busy": under_way.exists(),
        "symptom": symptom | {name: getattr(incident, name) for name in others},
        "role": room.role,
        "may": sorted(right for right in access.Right if room.may(right)),
    }


def _activity_of(row: Activity) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "at": row.at,
        "who": row.actor_name,
        "verb": row.verb,
        "object": row.object,
        "detail": row.detail,
        "hash": row.hash,
    }


def _done_of(row: course.Done) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("at", "kind", "text", "note", "who")}

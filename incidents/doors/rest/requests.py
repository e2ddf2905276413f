"""Evidence requests: read, made, changed, withdrawn and opened again."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router, Status

from incidents.access import Right, Room
from incidents.actions import requests as actions
from incidents.content.names import known_as
from incidents.doors.rest.api import entered
from incidents.doors.rest.limits import Body, Id, Moment, bounded
from incidents.doors.rest.once import once
from incidents.doors.rest.paging import Page, Paging, paged
from incidents.doors.rest.shapes import RequestShape
from incidents.errors import Refused
from incidents.models.evidence.request import EvidenceRequest, RequestAnswer

router = Router(tags=["requests"])


class NewRequest(Body):
    """What to collect; everything but `what` may be left out."""

    what: str = bounded(EvidenceRequest, "what")
    command: str = bounded(EvidenceRequest, "command", "", actions.LONGEST)
    decides: str = bounded(EvidenceRequest, "decides", "", actions.LONGEST)
    who: str = bounded(EvidenceRequest, "who", "")
    host: str = bounded(EvidenceRequest, "host", "")
    os: str = bounded(EvidenceRequest, "os", "")
    os_release: str = bounded(EvidenceRequest, "os_release", "")
    due_at: Moment | None = None


class ChangedRequest(NewRequest):
    """What changes; what is left out stays."""

    what: str | None = bounded(EvidenceRequest, "what", None)  # type: ignore[assignment]  # here it may be left out


@router.get("/rooms/{slug}/requests", response=Page[RequestShape], summary="List evidence requests")
def list_requests(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """Evidence requests in every state, those that settle most first."""
    return paged(_rows(entered(request, slug)).order_by("-worth", "id"), asked, _request_of)


@router.get("/rooms/{slug}/requests/{id}", response=RequestShape, summary="Read an evidence request")
def read_request(request: HttpRequest, slug: str, id: Path[Id]) -> dict[str, Any]:
    """One evidence request, with the artifacts that answer it."""
    return _one(entered(request, slug), id)


@router.post("/rooms/{slug}/requests", response={201: RequestShape}, summary="Ask for evidence")
@once
def ask_for_evidence(request: HttpRequest, slug: str, said: NewRequest, response: HttpResponse) -> Status[Any]:
    """Ask for evidence. The answer says what its command costs a production host."""
    room = entered(request, slug, Right.PLAN)
    return Status(201, _one(room, actions.put(room, said.model_dump(exclude_unset=True)).pk))


@router.patch("/rooms/{slug}/requests/{id}", response=RequestShape, summary="Change an evidence request")
@once
def change_request(
    request: HttpRequest, slug: str, id: Path[Id], said: ChangedRequest, response: HttpResponse
) -> Status[Any]:
    """Change an open evidence request."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _one(room, actions.put(room, said.model_dump(exclude_unset=True), id).pk))


@router.post("/rooms/{slug}/requests/{id}/withdraw", response=RequestShape, summary="Withdraw an evidence request")
@once
def withdraw_request(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Withdraw one's own evidence request; its links stop working."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _one(room, actions.withdraw(room, id).pk))


@router.post("/rooms/{slug}/requests/{id}/reopen", response=RequestShape, summary="Reopen an evidence request")
@once
def reopen_request(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Open one's own evidence request again."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _one(room, actions.reopen(room, id).pk))


def _rows(room: Room) -> Any:
    answers = RequestAnswer.objects.filter(taken=True).select_related("artifact").order_by("id")
    rows = room.incident.requests.select_related("asked_by", "asked_of")
    return rows.prefetch_related(Prefetch("answers", answers))


def _one(room: Room, id: int) -> dict[str, Any]:
    row = _rows(room).filter(pk=id).first()
    if row is None:
        raise Refused("There is no such request.", 404)
    return _request_of(row)


def _request_of(row: EvidenceRequest) -> dict[str, Any]:
    same = ("what", "command", "cost", "decides", "who", "host", "os", "os_release", "rule", "worth", "state")
    return {name: getattr(row, name) for name in (*same, "created_at", "due_at", "settled_at")} | {
        "id": row.pk,
        "asked_by": known_as(row.asked_by),
        "asked_of": known_as(row.asked_of) if row.asked_of else None,
        "answers": [answer.artifact.number for answer in row.answers.all()],
    }

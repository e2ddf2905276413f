"""Evidence: artifacts with their states, their lines."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router, Schema, Status
from pydantic import Field

from incidents.access import Right, Room
from incidents.actions import artifacts
from incidents.content.names import known_as
from incidents.content.visible import visible
from incidents.doors.rest.api import entered
from incidents.doors.rest.limits import bounded
from incidents.doors.rest.once import once
from incidents.doors.rest.paging import Page, Paging, paged
from incidents.doors.rest.shapes import ArtifactShape, Lines
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact, Correction, Way
from incidents.storage import store
from parsers.errors import ParserError

router = Router(tags=["evidence"])

Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
BYTES = "application/octet-stream"
#: Maximum number of lines of one answer, and of characters of one line.
MOST_LINES = 2000
LONGEST_LINE = 4000


@router.get("/rooms/{slug}/artifacts", response=Page[ArtifactShape], summary="List artifacts")
def list_artifacts(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """Artifacts by their numbers, purged ones too: their tombstones say who took them away."""
    room = entered(request, slug)
    rows = room.incident.artifacts.select_related("reading", "uploader").order_by("number")
    return paged(rows, asked, artifact_of)


@router.get("/rooms/{slug}/artifacts/{number}", response=ArtifactShape, summary="Read an artifact")
def read_artifact(request: HttpRequest, slug: str, number: Path[Number]) -> dict[str, Any]:
    """One artifact, with its state."""
    return artifact_of(_found(entered(request, slug), number))


class Stretch(Schema):
    """Lines from `first` on, at most `most` of them."""

    first: int = Field(1, ge=1, le=2**53)
    most: int = Field(200, ge=1, le=MOST_LINES)


@router.get("/rooms/{slug}/artifacts/{number}/lines", response=Lines, summary="Read lines")
def read_lines(
    request: HttpRequest,
    slug: str,
    number: Path[Number],
    asked: Query[Stretch],
) -> dict[str, Any]:
    """At most `most` lines from `first`, as pages show them: secrets are masked, long lines cut."""
    artifact = _found(entered(request, slug), number)
    if artifact.purged or not artifact.has_original:
        raise Refused("This artifact was purged." if artifact.purged else store.WITHOUT_ORIGINAL, 410)
    try:
        reader = store.lines_of(artifact)
        if reader is None:
            raise Refused("The lines of this artifact are not read yet.", 409)
        found = reader.lines(asked.first, asked.first + asked.most - 1)
    except (OSError, ParserError) as error:
        raise Refused("The lines cannot be read just now. They are kept; try again in a moment.", 503) from error
    shown = [{"line": line.line_no, "text": line.text[:LONGEST_LINE]} for line in found]
    return {"artifact": artifact.number, "count": reader.count, "lines": shown}


class Said(Schema):
    """What the sender says of a file; it overrides every guess. docs/interfaces.md has the words."""

    name: str = bounded(Artifact, "name", "unnamed")
    kind: str | None = bounded(Correction, "value", None)
    host: str | None = bounded(Correction, "value", None)
    os: str | None = bounded(Correction, "value", None)
    role: str | None = bounded(Correction, "value", None)
    phase: str | None = bounded(Correction, "value", None)
    tz: str | None = bounded(Correction, "value", None)
    year: str | None = bounded(Correction, "value", None)
    interval_s: str | None = bounded(Correction, "value", None)


@router.post(
    "/rooms/{slug}/artifacts",
    response={201: ArtifactShape},
    summary="Upload evidence",
    openapi_extra={
        "requestBody": {"required": True, "content": {BYTES: {"schema": {"type": "string", "minLength": 1}}}}
    },
)
@once
def upload(request: HttpRequest, slug: str, said: Query[Said], response: HttpResponse) -> Status[Any]:
    """Put the bytes of the body into the room, as they are. 409 names the artifact that has the same content.

    For more than a few MB use tus 1.0 or PUT at `/api/rooms/{slug}/uploads/`, which take an access token too.
    """
    room = entered(request, slug, Right.UPLOAD)
    room.require_more_evidence()
    words = {name: value for name, value in said.model_dump(exclude={"name"}).items() if value}
    made = artifacts.receive_stream(room, said.name, [request.body], Way.PUT, words)
    return Status(201, artifact_of(_found(room, made.number)))


def _found(room: Room, number: int) -> Artifact:
    found = room.incident.artifacts.select_related("reading", "uploader").filter(number=number).first()
    if found is None:
        raise Refused("There is no such artifact.", 404)
    return found


def artifact_of(row: Artifact) -> dict[str, Any]:
    reading = None if row.purged else row.reading
    return {
        "number": row.number,
        "name": visible(row.name),
        "size": row.size,
        "sha256": row.sha256,
        "way": row.way,
        "uploader": known_as(row.uploader),
        "received_at": row.received_at,
        "state": row.state,
        "cause": row.cause,
        "kind": reading and reading.kind,
        "variant": reading and reading.variant,
        "lines": reading and reading.lines,
        "lines_read": row.lines_read,
        "account": reading and reading.account,
        "purged_at": row.purged_at,
    }

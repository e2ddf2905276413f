"""Annotations of a dashboard: what a room found and noted, with its times, as Grafana's data sources read it."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from incidents.content import grafana
from incidents.doors.rest.api import entered
from incidents.doors.rest.judging import NOT_JUDGED
from incidents.doors.rest.shapes import AnnotationShape
from incidents.errors import Refused
from incidents.work.drawable import newest_report

router = Router(tags=["judgement"])

#: Maximum number of annotations of one answer; no dashboard can show as many.
MOST = 5000
#: Milliseconds of the year 1 and of the year 10000, within which dashboards look.
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_800_000


class Window(Schema):
    """A window in milliseconds since 1970, such as `${__from}` and `${__to}` of a dashboard; open where none is named."""

    begin: int | None = Field(None, alias="from", ge=FIRST_MS, le=LAST_MS)
    end: int | None = Field(None, alias="to", ge=FIRST_MS, le=LAST_MS)
    tags: Literal["list", "text"] = Field("list", description="`text`: tags as one text with commas between them.")


@router.get("/rooms/{slug}/annotations", response=list[AnnotationShape], summary="List annotations")
def list_annotations(request: HttpRequest, slug: str, asked: Query[Window]) -> list[dict[str, Any]]:
    """Findings, observations of a mechanism, and notes that overlap the window, by time; what has no date stays out."""
    room = entered(request, slug)
    report = newest_report(room.incident)
    if report is None:
        raise Refused(NOT_JUDGED, 409)
    if asked.begin is not None and asked.end is not None and asked.end < asked.begin:
        raise Refused("The end of the window must not come before its beginning.", 422)
    links = grafana.Links(request.build_absolute_uri("/").rstrip("/"), slug)
    found = grafana.annotations_of(report, grafana.notes_of(room.incident), links, asked.begin, asked.end)
    if len(found) > MOST:
        raise Refused(f"These are {len(found):,} annotations, at most {MOST:,} are sent. Ask for a shorter time.", 413)
    return [one | {"tags": ",".join(one["tags"])} for one in found] if asked.tags == "text" else found

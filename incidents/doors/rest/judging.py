"""What the rules say: findings and observations with their lines, the verdict, rows of the timeline."""

from __future__ import annotations

import math
from typing import Any

from django.db.models import Exists, F, OuterRef
from django.db.models.fields.json import KeyTransform
from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from incidents.access import Room
from incidents.content.visible import visible
from incidents.doors.rest.api import entered
from incidents.doors.rest.paging import Page, Paging, first_of, page_of, paged
from incidents.doors.rest.shapes import FindingShape, FrameShape, Json, TimelineRow, VerdictShape
from incidents.drawing import frames, windows
from incidents.drawing.exports import flat
from incidents.drawing.frames import Frame
from incidents.drawing.lane import Window
from incidents.drawing.registry import lanes
from incidents.errors import Refused
from incidents.models.judging.finding import OPEN_DISPUTE, Dispute, Finding
from incidents.storage import store
from incidents.work.drawable import frames_named, newest_report, opened
from rules.engine.read import ReadOnly
from rules.errors import TablesBusy, TablesTooLarge

router = Router(tags=["judgement"])

NOT_JUDGED = "This room was not judged yet."


@router.get("/rooms/{slug}/verdict", response=VerdictShape, summary="Read the verdict")
def read_verdict(request: HttpRequest, slug: str) -> dict[str, Any]:
    """The verdict of the newest accepted evaluation; 409 before the first judgement."""
    room = entered(request, slug)
    newest = _newest(room, "verdict", "hypotheses", "cleared", "asks")
    disputed = room.incident.disputes.filter(OPEN_DISPUTE).order_by("finding__key")
    lists = {name: newest[name] or [] for name in ("hypotheses", "cleared", "asks")}
    return newest | lists | {"disputed": list(disputed.values_list("finding__key", flat=True).distinct())}


@router.get("/rooms/{slug}/findings", response=Page[FindingShape], summary="List findings")
def list_findings(request: HttpRequest, slug: str, asked: Query[Paging], gone: bool = False) -> dict[str, Any]:
    """Findings in the order of the report; those that are not found any more only if `gone`."""
    room = entered(request, slug)
    disputes = Dispute.objects.filter(OPEN_DISPUTE, finding=OuterRef("pk"))
    rows = room.incident.findings.filter(gone_since__isnull=not gone, withdrawn=False, current__isnull=False)
    return paged(
        rows.select_related("current").annotate(is_disputed=Exists(disputes)).order_by("rank", "id"), asked, _finding_of
    )


@router.get("/rooms/{slug}/observations", response=Page[Json], summary="List observations")
def list_observations(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """What stands out in the evidence, with the cited lines, as the newest accepted report has it."""
    return paged(_newest(entered(request, slug), "observations")["observations"] or [], asked, lambda one: one)


def _newest(room: Room, *members: str) -> dict[str, Any]:
    """Read some members of the newest accepted report, without the others."""
    newest = (
        room.incident.evaluations.filter(accepted=True)
        .order_by("-number")
        .values("made_at", evaluation=F("number"), **{name: KeyTransform(name, "report") for name in members})
        .first()
    )
    if newest is None:
        raise Refused(NOT_JUDGED, 409)
    return dict(newest)


def _finding_of(row: Finding) -> dict[str, Any]:
    return {
        "key": row.key,
        "rule": row.rule,
        "kind": row.kind,
        "group": row.group,
        "rank": row.rank,
        "version": row.current and row.current.number,
        "first_seen": row.first_seen,
        "gone_since": row.gone_since,
        "disputed": row.is_disputed,  # type: ignore[attr-defined]  # annotated above
        "content": row.current.content if row.current else {},
    }


# --- the timeline -------------------------------------------------------------------------------------------------


@router.get("/rooms/{slug}/timeline", response=Page[FrameShape], summary="List frames of the timeline")
def list_frames(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """Frames: clocks that were tied to each other share one."""
    room = entered(request, slug)
    report = newest_report(room.incident)
    if report is None:
        raise Refused(NOT_JUDGED, 409)
    with opened(room) as source:
        return paged(frames_named(report, source), asked, lambda frame: _frame_of(frame, report))


class Stretch(Schema):
    """A window of a frame, whole if no end is named; `lane` as the timeline names it in addresses."""

    frame: str = Field(max_length=200)
    begin: float | None = Field(None, allow_inf_nan=False)
    end: float | None = Field(None, allow_inf_nan=False)
    lane: str | None = Field(None, max_length=200)


@router.get("/rooms/{slug}/timeline/rows", response=Page[TimelineRow], summary="List rows of the timeline")
def list_rows(
    request: HttpRequest,
    slug: str,
    asked: Query[Paging],
    wanted: Query[Stretch],
) -> dict[str, Any]:
    """Rows of one frame by their times, each with its lines: of one lane, or of those that the page draws."""
    room = entered(request, slug)
    report = newest_report(room.incident)
    if report is None:
        raise Refused(NOT_JUDGED, 409)
    try:
        with opened(room) as source:
            found = frames_named(report, source, wanted.frame)
            if not found:
                raise Refused("There is no such frame.", 404)
            window = _window(found[0], wanted.begin, wanted.end)
            sql = flat.table(found[0], window, _chosen(wanted.lane), source, store.cache_dir(room.incident.pk))
            return page_of(_count(source, sql), asked, _rows(source, sql, asked))
    except (TablesTooLarge, TablesBusy) as error:
        raise Refused("The tables need more memory than there is now. Ask for a shorter time.", 503) from error


def _window(frame: Frame, begin: float | None, end: float | None) -> Window:
    first, last = frame.t0 if begin is None else begin, frame.t1 if end is None else end
    if last <= first:
        raise Refused("The end of the window must come after its beginning.", 422)
    return Window(first, last, 1000)


def _chosen(lane: str | None) -> list[windows.Choice]:
    names = [lane] if lane is not None else [name for name, (one, _) in lanes().items() if one.shown]
    chosen = [one for name in names if (one := windows.choice(name))]
    if not chosen:
        raise Refused("There is no such lane.", 404)
    return chosen


def _count(source: ReadOnly, sql: str) -> int:
    return int(source.query(f"select count(*) as n from ({sql})")[0]["n"])


def _rows(source: ReadOnly, sql: str, asked: Paging) -> list[dict[str, Any]]:
    """Read one page, in an order without ties: no row stands on two pages or on none."""
    order = ", ".join(sorted(flat.COLUMNS, key=lambda name: name != "begin_s"))
    page = source.query(f"select * from ({sql}) order by {order} limit {asked.size:d} offset {first_of(asked):d}")
    return [{name: _plain(value) for name, value in row.items()} for row in page]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _frame_of(frame: Frame, report: Json) -> dict[str, Any]:
    return {
        "frame": frame.name,
        "title": visible(frames.title(frame, report)),
        "axis": frame.axis,
        "begin_s": frame.t0,
        "end_s": frame.t1,
        "zero": frame.zero if frame.dated else None,
        "dated": frame.dated,
        "clocks": [clock["clock"] for clock in frame.clocks],
    }

"""What the timeline draws: frames thinned for the window that is seen, and the figure of connection times."""

from __future__ import annotations

import math
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from incidents import access, analysis, figures, frames
from incidents.errors import Refused
from incidents.lanes.drawing import Window
from incidents.models.incident import Incident
from incidents.visible import visible
from rules.engine.read import ReadOnly

LEAST_PX, MOST_PX = 100, 4000


@require_GET
@never_cache
@gzip_page
def data(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with frames as JSON (docs/interfaces.md 4): all of them whole, or one of them between `from` and `to`."""
    room = access.enter(request.user, slug)
    px = int(number(request, "px", 1000, LEAST_PX, MOST_PX))
    report = newest_report(room.incident)
    wanted = request.GET.get("frame")
    shown = [frame for frame in frames.frames_of(report or {}) if wanted in (None, frame.name)]
    answer: list[dict[str, Any]] = []
    if shown and report:
        noted = list(
            room.incident.notes.filter(deleted_at=None, clock__isnull=False).values(
                "id", "text", "clock", "t_from", "t_to"
            )
        )
        with ReadOnly(analysis.case_of(room.incident), frames.tables()) as source:
            for frame in shown:
                start = number(request, "from", frame.t0, -math.inf, math.inf)
                end = number(request, "to", frame.t1, -math.inf, math.inf)
                if end <= start:
                    raise Refused("The end of the window must come after its beginning.", 400)
                strips, in_all = frames.draw(frame, source, Window(start, end, px))
                answer.append(
                    {
                        "frame": frame.name,
                        "title": visible(frames.title(frame, report)),
                        "why": visible(frames.why(frame, report)),
                        "axis": frame.axis,
                        "unit": "s",
                        "t0": frame.t0,
                        "t1": frame.t1,
                        "clocks": [{"clock": c["clock"], "shift": float(c.get("add") or 0.0)} for c in frame.clocks],
                        "lanes": [strip.as_json() for strip in strips],
                        "more": max(0, in_all - len(strips)),
                        "bands": frames.bands(frame, report["findings"]),
                        "culprits": frames.culprits(report["findings"]),
                        "notes": frames.notes(frame, noted),
                    }
                )
    rows = sum(lane["rows"] for frame in answer for lane in frame["lanes"])
    return JsonResponse({"frames": answer, "rows": rows})


@require_GET
@never_cache
def connect_times(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with the Plotly figure of all connection times, or with `null` where there are none."""
    room = access.enter(request.user, slug)
    figure = None
    with ReadOnly(analysis.case_of(room.incident), ["conn_times"]) as source:
        if source.has("conn_times"):
            figure = figures.connect_times(
                source.query(
                    "select phase, series, artifact_id, line_no, elapsed_s from conn_times order by artifact_id, seq"
                )
            )
    return JsonResponse({"figure": figure, "lines": reverse("lines", args=[slug, 0])})


def newest_report(incident: Incident) -> dict[str, Any] | None:
    evaluation = incident.evaluations.filter(accepted=True).order_by("-number").first()
    return evaluation.report if evaluation else None


def number(request: HttpRequest, name: str, default: float, least: float, most: float) -> float:
    """Read a number from the address; `Refused` for what is none, the nearest allowed for what is too small or large."""
    text = request.GET.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        raise Refused(f"{name} must be a number.", 400) from None
    if not math.isfinite(value):
        raise Refused(f"{name} must be a finite number.", 400)
    return min(max(value, least), most)

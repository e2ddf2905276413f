"""What the timeline draws: frames thinned for the visible window, and the figure of timings."""

from __future__ import annotations

import json
import math
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from incidents import access
from incidents.access import Room
from incidents.content import figures
from incidents.content.visible import visible
from incidents.drawing import frames, strips
from incidents.drawing.frames import Frame
from incidents.drawing.heat import heat
from incidents.drawing.lane import Window
from incidents.errors import Refused
from incidents.pages import part_cache
from incidents.pages.timeline import people as said
from incidents.storage import store
from incidents.work import analysis
from incidents.work.drawable import frames_named, newest_report, opened
from rules.engine.read import ReadOnly

LEAST_PX, MOST_PX = 100, 4000
#: Maximum number of frames whose strips come with the first answer.
AT_ONCE = 8
#: Maximum number of lanes that one address may add.
MOST_ADDED = 30

Json = dict[str, Any]


@require_GET
@never_cache
@gzip_page
def data(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with frames as JSON (docs/interfaces.md 4): all of them whole, or one of them between `from` and `to`."""
    room = access.enter(request.user, slug)
    drawn = part_cache.text_of(request, room, "timeline", lambda: json.dumps(frames_drawn(request, room)))
    # Chosen lanes are personal, so they are not cached.
    layouts = {} if request.GET.get("frame") else kept_lanes(room)
    return HttpResponse(
        drawn if not layouts else f"{drawn[:-1]}, {json.dumps(layouts)[1:]}", content_type="application/json"
    )


def frames_drawn(request: HttpRequest, room: Room) -> Json:
    """Draw the frames that the address asks for; the same for everybody who sees the room."""
    px = int(number(request, "px", 1000, LEAST_PX, MOST_PX))
    report = newest_report(room.incident)
    answer: list[Json] = []
    if report:
        noted = list(
            room.incident.notes.filter(
                deleted_at=None, reply_to=None, clock__isnull=False, t_from__isnull=False
            ).values("id", "text", "clock", "t_from", "t_to")
        )
        marked = [
            *room.incident.markers.filter(at__isnull=False).values("id", "label", "kind", "at"),
            *said.decided(room),
        ]
        with opened(room) as source:
            for place, frame in enumerate(asked_frames(request, report, source)):
                window = asked_window(request, frame, px)
                if place >= AT_ONCE:
                    answer.append(later(frame, report))
                    continue
                add, hide = request.GET.getlist("add")[:MOST_ADDED], request.GET.getlist("hide")
                with frames.alone(frame, source):
                    drawn, in_all = frames.draw(frame, source, window, store.cache_dir(room.incident.pk), add, hide)
                    bands = strips.cited(frames.bands(frame, report["findings"]), report["findings"], frame, source)
                    dense = None if "heat" in hide else heat(frame, window, source, store.cache_dir(room.incident.pk))
                shown = frame if "from" in request.GET or "to" in request.GET else frames.fitted(frame, drawn)
                if shown is None:
                    continue
                answer.append(
                    head(shown, report)
                    | {
                        "clocks": [{"clock": c["clock"], "shift": float(c.get("add") or 0.0), "err": float(c.get("err") or 0.0)} for c in frame.clocks],
                        "lanes": [strip.as_json() for strip in drawn] + ([dense] if dense else []),
                        "more": max(0, in_all - len(drawn)),
                        "bands": bands,
                        "culprits": frames.culprits(report["findings"]),
                        "notes": frames.notes(frame, noted),
                        "markers": frames.markers(frame, marked),
                        "bad": frames.bad(frame, room.incident),
                    }
                )  # fmt: skip
    rows = sum(lane["rows"] for frame in answer for lane in frame["lanes"])
    if request.GET.get("frame") in (None, said.NAME) and (people := said.frame(room)):
        answer.append(people)
    return {"frames": answer, "rows": rows}


def head(frame: Frame, report: Json) -> Json:
    """Return the description of a frame: name, reasons, axis, and how its times are written."""
    return {
        "frame": frame.name,
        "title": visible(frames.title(frame, report)),
        "reason": visible(frames.reason(frame, report)),
        "why": visible(frames.why(frame, report)),
        "axis": frame.axis,
        "unit": "" if frame.ordered else "s",
        "t0": frame.t0,
        "t1": frame.t1,
        "zero": frame.zero,
        "dated": frame.dated,
        "when": visible(frame.when),
        "at": visible(frame.moment()) if frame.axis == "value" else None,
    }


def later(frame: Frame, report: Json) -> Json:
    """Return a frame without its strips: with many frames, the page asks for those that come into view."""
    empty: Json = {name: [] for name in ("clocks", "lanes", "bands", "culprits", "notes", "markers")}
    return head(frame, report) | empty | {"more": 0, "bad": None, "later": True}


def kept_lanes(room: Room) -> Json:
    """Return the choices of lanes for this person: the person's own and the room's."""
    rows = room.incident.layouts.filter(Q(owner=None) | Q(owner=room.user)).values_list("owner", "lanes")
    kept = {"room" if owner is None else "mine": lanes for owner, lanes in rows}
    return {"layouts": kept} if kept else {}


@require_GET
@never_cache
def offered(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with the lanes that one frame could show: name, title, group, whether it is shown by default."""
    room = access.enter(request.user, slug)
    listed = part_cache.text_of(request, room, "lanes", lambda: json.dumps({"lanes": lanes_offered(request, room)}))
    return HttpResponse(listed, content_type="application/json")


def lanes_offered(request: HttpRequest, room: Room) -> list[Json]:
    """Return the lanes that the frames of the address could show."""
    report = newest_report(room.incident)
    found: list[Json] = []
    if report:
        with opened(room) as source:
            for frame in asked_frames(request, report, source):
                with frames.alone(frame, source):
                    found += frames.offered(frame, source)
    return [offer | {"title": visible(offer["title"])} for offer in found]


@require_GET
@never_cache
def waits(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with the waits of a frame that were followed to the other side: arrows between strips (`waits`).

    Waits that lead to another clock are described in words (`elsewhere`).
    """
    room = access.enter(request.user, slug)
    drawn = part_cache.text_of(request, room, "waits", lambda: json.dumps(waits_drawn(request, room)))
    return HttpResponse(drawn, content_type="application/json")


def waits_drawn(request: HttpRequest, room: Room) -> Json:
    """Return the waits of the frames of the address: see `waits`."""
    report = newest_report(room.incident)
    found: list[Json] = []
    if report:
        with opened(room) as source:
            for frame in asked_frames(request, report, source):
                if frames.tables_of(frame, source) & set(strips.CALLS):
                    with frames.alone(frame, source):
                        found += strips.waits(frame, source)
    drawn = [edge for edge in found if edge["to"] is not None]
    return {"waits": drawn, "elsewhere": [visible(line) for line in strips.elsewhere(found)]}


@require_GET
@never_cache
def connect_times(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with the Plotly figure of all timings, or with `null` if there are none."""
    room = access.enter(request.user, slug)
    figure = None
    with ReadOnly(analysis.case_of(room.incident, judged=False), ["conn_times"]) as source:
        if source.has("conn_times"):
            figure = figures.connect_times(
                source.query(
                    "select phase, series, artifact_id, line_no, elapsed_s from conn_times order by artifact_id, seq"
                )
            )
    return JsonResponse({"figure": figure, "lines": reverse("lines", args=[slug, 0])})


def asked_frames(request: HttpRequest, report: Json, source: ReadOnly) -> list[Frame]:
    """Return the frame that the address names, or all of them; none for an unknown name."""
    return frames_named(report, source, request.GET.get("frame"))


def asked_window(request: HttpRequest, frame: Frame, px: int = 1000) -> Window:
    start = number(request, "from", frame.t0, -math.inf, math.inf)
    end = number(request, "to", frame.t1, -math.inf, math.inf)
    if end <= start:
        raise Refused("The end of the window must come after its beginning.", 400)
    return Window(start, end, px)


def number(request: HttpRequest, name: str, default: float, least: float, most: float) -> float:
    """Read a number from the address, limited to the allowed range; raise `Refused` if it is not a number."""
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

"""Selections on the timeline: a range of time or the lines of a span, and marking or keeping what was selected."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.datastructures import MultiValueDictKeyError
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import timeline as actions
from incidents.content.report import quantity
from incidents.drawing import ranges
from incidents.drawing.frames import Frame
from incidents.errors import Refused
from incidents.pages.shell import is_part, shell
from incidents.pages.timeline.views import asked_frames, asked_window, newest_report, number, opened
from incidents.storage import store
from parsers.errors import ParserError

#: Maximum number of quoted lines of a span: its first ones, and its last.
MOST_LINES = 14


@require_GET
@never_cache
def look(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer what happened between `from` and `to` of one frame: a part for the timeline, a page otherwise."""
    room = access.enter(request.user, slug)
    report = newest_report(room.incident)
    if report is None or not request.GET.get("frame"):
        raise Refused("Select a range of the timeline first.", 404)
    with opened(room) as source:
        found = asked_frames(request, report, source)
        if not found:
            raise Refused("There is no such frame any more. Load the room again.", 404)
        window = asked_window(request, found[0])
        seen = ranges.look(found[0], window.start, window.end, source, report, store.cache_dir(room.incident.pk))
    context = shell(room, "room") | shown(room, seen) | {"part_name": "timeline/_range.html"}
    return render(request, "timeline/_range.html" if is_part(request) else "timeline/range.html", context)


def shown(room: Room, seen: ranges.Range) -> dict[str, Any]:
    """Return what the panel shows of a range."""
    frame, slug = seen.frame, room.incident.slug
    clock, shift = next(iter(frame.laid.shifts.items()))
    place = {"clock": clock, "from": round(seen.start - shift, 7), "to": round(seen.end - shift, 7)}
    longest = max(seen.calls, key=lambda call: call.worst_s, default=None)
    return {
        "seen": seen,
        "from_text": stamp(frame, seen.start, seen.length),
        "to_text": stamp(frame, seen.end, seen.length),
        "length_text": f"{seen.length:g} places" if frame.ordered else length(seen.length),
        "calls": [
            (call, length(call.seconds, call.at_most), length(call.worst_s, call.at_most), line_url(slug, call.artifact, call.line, call.line))
            for call in seen.calls
        ],
        "pieces": [(share, kind, f"{share.label} {length(share.amount, at_most)}") for share, kind, at_most in seen.seconds.pieces] if seen.seconds else [],
        "differences": [compared(one) for one in ranges.holm(seen.differences, seen.compared)],
        "mixes": [(one, chance(one.p)) for one in seen.mixes],
        "found": [(finding, reverse("finding", args=[slug, finding["key"]])) for finding in seen.findings],
        "told": [(one, stamp(frame, one.at, seen.length), line_url(slug, one.artifact, one.line, one.line)) for one in seen.told],
        "lines": [(one, line_url(slug, one.artifact, one.first, one.last)) for one in seen.lines],
        "note_url": f"{reverse('note-new', args=[slug])}?{urlencode(place)}",
        "exports": f"frame={frame.name}&from={seen.start!r}&to={seen.end!r}",
        "place": place,
        "compare": urlencode({"a": f"range:{frame.name}:{seen.start!r},{seen.end!r}"}),
        "may_mark": room.may(Right.CASE),
        "marked": frame.add(room.incident.symptom_clock) is not None and room.incident.symptom_from is not None,
        "symptom": {
            "text": room.incident.symptom_text or "",
            "unit": room.incident.symptom_unit or "s",
            "bad": room.incident.symptom_bad if room.incident.symptom_bad is not None else round(longest.worst_s, 4) if longest else "",
        },
    }  # fmt: skip


def stamp(frame: Frame, at: float, length: float) -> str:
    """Write a place on the axis: a time of day, seconds since the trace began, or a place in the order.

    >>> stamp(Frame("A", ({"kind": "trace-relative", "clock": "1.1:1", "t_end": 2.0},), 0, 1), 9.31874, 2.0)
    '9.3187 s'
    >>> stamp(Frame("A", ({"kind": "wall-local", "clock": "1.1:1", "t_end": 2.0},), 0, 1), 39.3291, 2.0)
    '00:00:39.3291'
    """
    return frame.written(at, 6 if length < 0.01 else 4 if length < 10 else 3)


def length(seconds: float, at_most: bool = False) -> str:
    """Write a duration so that short ones keep their digits.

    >>> length(2.4734, True), length(0.0004), length(0.0000021)
    ('≤ 2.473 s', '0.4 ms', '2 µs')
    """
    sign = "≤ " if at_most else ""
    if seconds >= 1:
        return f"{sign}{seconds:.3f} s"
    return f"{sign}{seconds * 1e3:.1f} ms" if seconds >= 1e-4 else f"{sign}{seconds * 1e6:.0f} µs"


def compared(one: ranges.Difference) -> tuple[ranges.Difference, str, str, str]:
    """Return a counter's comparison with its medians and its p in words."""
    p = "too few" if one.few else chance(one.p)
    return one, quantity(one.inside, one.unit), quantity(one.rest, one.unit), p


def chance(p: float | None) -> str:
    """Write a p value.


    >>> chance(None), chance(0.00000001), chance(0.0312), chance(1.0)
    ('–', '< 0.0001', '0.0312', '1')
    """
    if p is None:
        return "–"
    return "< 0.0001" if p < 0.0001 else f"{p:.3g}"


def line_url(slug: str, artifact: int, first: int, last: int) -> str:
    return reverse("lines", args=[slug, artifact]) + (f"#L{first}" if first == last else f"#L{first}-L{last}")


@require_GET
@never_cache
def span(request: HttpRequest, slug: str) -> HttpResponse:
    """Quote the lines of one span: its first and last lines, and as many between as fit."""
    room = access.enter(request.user, slug)
    wanted = int(number(request, "artifact", 0, 0, 2**31))
    first = int(number(request, "from", 1, 1, 2**53))
    last = max(first, int(number(request, "to", first, 1, 2**53)))
    artifact = room.incident.artifacts.select_related("reading").filter(number=wanted).first()
    if artifact is None or artifact.purged:
        raise Refused("There is no such artifact.", 404)
    try:
        reader = store.lines_of(artifact)
    except (OSError, ParserError):
        reader = None
    if reader is None:
        raise Refused("This artifact is not read yet.", 409)
    if last - first < MOST_LINES:
        quoted, left_out = reader.lines(first, last), 0
    else:  # the lines between belong to other calls, since a call ends at its stamp
        quoted = [*reader.lines(first, first + MOST_LINES // 2 - 1), *reader.lines(last - MOST_LINES // 2 + 1, last)]
        left_out = last - first + 1 - len(quoted)
    context = shell(room, "room") | {
        "artifact": artifact,
        "first": first,
        "last": last,
        "quoted": quoted,
        "left_out": left_out,
        "half": MOST_LINES // 2,
        "href": line_url(slug, artifact.number, first, last),
        "part_name": "timeline/_span.html",
    }
    return render(request, "timeline/_span.html" if is_part(request) else "timeline/range.html", context)


@require_POST
def bad(request: HttpRequest, slug: str) -> HttpResponse:
    """Mark a range of a clock as the symptom; with `clear`, remove the mark."""
    room = access.enter(request.user, slug, Right.CASE)
    if "clear" in request.POST:
        actions.unmark_bad(room)
        return render(request, "timeline/_marked.html", {"room": room}) if is_part(request) else redirect("room", slug)
    try:
        clock, start, end = request.POST["clock"], float(request.POST["from"]), float(request.POST["to"])
        value = float(request.POST["bad"]) if request.POST.get("bad") else None
    except (MultiValueDictKeyError, ValueError):
        raise Refused("A bad range needs a clock, a beginning and an end, and its value must be a number.") from None
    symptom = {
        "symptom_text": request.POST.get("text", "").strip()[:300],
        "symptom_unit": request.POST.get("unit", "").strip()[:20],
        "symptom_bad": value,
    }
    actions.mark_bad(room, clock[:60], start, end, symptom)
    if is_part(request):
        return render(request, "timeline/_marked.html", {"room": room, "marked": True})
    return redirect("room", slug)


@require_POST
def keep(request: HttpRequest, slug: str) -> HttpResponse:
    """Save a choice of lanes (JSON in `lanes`): one's own, or with `shared` the room's. Empty deletes it."""
    room = access.enter(request.user, slug)
    try:
        lanes = json.loads(request.POST.get("lanes", ""))
    except ValueError:
        return HttpResponseBadRequest("lanes must be JSON")
    if not isinstance(lanes, dict):
        return HttpResponseBadRequest("lanes must be an object")
    actions.keep_lanes(room, lanes, request.POST.get("shared") == "true")
    return JsonResponse({"kept": bool(lanes)})

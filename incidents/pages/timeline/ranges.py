"""Selections on the timeline: a range of time or the lines of a span; mark a range as the symptom, save lanes."""

from __future__ import annotations

import json
import math
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
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
from incidents.drawing import frames, ranges
from incidents.drawing.frames import Frame
from incidents.drawing.lane import Window
from incidents.drawing.lanes import syscalls
from incidents.errors import Refused
from incidents.models.plan.entry import EntryKind
from incidents.pages.shell import is_part, shell
from incidents.pages.timeline.views import asked_frames, asked_window, number
from incidents.storage import store
from incidents.work.drawable import newest_report, opened
from parsers.errors import ParserError

#: Maximum number of quoted lines of a span: its first ones, and its last.
MOST_LINES = 14


#: What the table of calls can be grouped by, with the words of its links.
BY = {"call": "Call", "target": "Target", "thread": "Thread", "host": "Host", "duration": "Duration"}


@require_GET
@never_cache
def calls(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer the table of calls between `from` and `to` of one frame: grouped `by`, one `page` of it.

    `band` (`3` or `3-5`) leaves only calls with these durations; see `incidents.drawing.ranges.band_s`.
    """
    room = access.enter(request.user, slug)
    frame, window, table, bands = _calls(request, room)
    context = (
        shell(room, "room")
        | table_shown(room, frame, window, table, bands, request)
        | {"part_name": "timeline/_calls.html"}
    )
    return render(request, "timeline/_calls.html" if is_part(request) else "timeline/range.html", context)


def _calls(request: HttpRequest, room: Room) -> tuple[Frame, Window, ranges.Table, tuple[int, int] | None]:
    report = newest_report(room.incident)
    if report is None or not request.GET.get("frame"):
        raise Refused("Select a range of the timeline first.", 404)
    by, bands = request.GET.get("by", "call"), asked_bands(request.GET.get("band", ""))
    if by not in ranges.GROUPS:
        raise Refused(f"Calls can be grouped by {', '.join(ranges.GROUPS)}.", 400)
    page = int(number(request, "page", 1, 1, 100_000))
    with opened(room) as source:
        found = asked_frames(request, report, source)
        if not found:
            raise Refused("There is no such frame any more. Load the room again.", 404)
        window = asked_window(request, found[0])
        with frames.alone(found[0], source):
            table = ranges.table(found[0], window, source, store.cache_dir(room.incident.pk), by, bands, page)
    return found[0], window, table, bands


def asked_bands(text: str) -> tuple[int, int] | None:
    """Read `3` or `3-5`, the first and last band of durations; None for an empty text.

    >>> asked_bands("3"), asked_bands("3-5"), asked_bands("")
    ((3, 3), (3, 5), None)
    """
    if not text:
        return None
    first, _, last = text.partition("-")
    if len(text) > 9 or not first.isdecimal() or not (last or first).isdecimal():
        raise Refused("A band of durations is a number or two.", 400)
    return min(int(first), ranges.BANDS - 1), min(int(last or first), ranges.BANDS - 1)


def table_shown(
    room: Room,
    frame: Frame,
    window: Window,
    table: ranges.Table,
    bands: tuple[int, int] | None,
    request: HttpRequest,
) -> dict[str, Any]:
    """Return what the table of calls shows."""
    slug, whole = room.incident.slug, window.end - window.start
    asked = {"frame": frame.name, "from": repr(window.start), "to": repr(window.end)}
    banded = {"band": f"{bands[0]}-{bands[1]}"} if bands else {}
    paged = Paginator(range(table.in_all), ranges.A_PAGE).get_page(request.GET.get("page"))
    clock, shift = next(iter(frame.laid.shifts.items()))
    place = {"clock": clock, "from": round(window.start - shift, 7), "to": round(window.end - shift, 7)}
    return {
        "frame": frame,
        "table": table,
        "range_text": f"{stamp(frame, window.start, whole)} – {stamp(frame, window.end, whole)}",
        "length_text": f"{whole:g} places" if frame.ordered else length(whole),
        "bands_text": f"{band_words(bands[0], bands[1])} only" if bands else "",
        "rows": [
            {
                "group": group,
                "names": group_names(group),
                "total": length(group.seconds, group.at_most),
                "mean": length(group.mean_s, group.at_most),
                "worst": length(group.worst_s, group.at_most),
                "bar": f"{min(100.0, group.share):.2f}%",
                "href": line_url(slug, group.artifact, group.line_from, group.line),
                "lane": thread_label(group) if table.by == "thread" else "",
            }
            for group in table.groups
        ],
        "by": [(key, words, urlencode(asked | banded | {"by": key})) for key, words in BY.items()],
        "query": urlencode(asked | banded | {"by": table.by}) + "&",
        "rest": urlencode(asked | {"part": "rest"}),
        "paged": paged,
        "foot": table_foot(table, whole),
        "note_url": f"{reverse('note-new', args=[slug])}?{urlencode(place)}",
        "log_url": log_url(room, frame, window.start),
        "place": place,
    }  # fmt: skip


def log_url(room: Room, frame: Frame, at: float) -> str | None:
    """Return the address of the form that logs a change at a time of a frame; None if the date is unknown."""
    if frame.epoch is None or not room.may(Right.PLAN):
        return None
    asked = {
        "kind": EntryKind.CHANGE.value,
        "at": f"{frame.epoch + at:.0f}",
        "back": reverse("room", args=[room.incident.slug]),
    }
    return f"{reverse('log-new', args=[room.incident.slug])}?{urlencode(asked)}"


def group_names(group: ranges.Group) -> list[str]:
    """Return the words of the first columns of a row: call and target, a thread, a host or a band of durations."""
    keys = group.keys
    if "band" in keys:
        return [band_words(keys["band"], keys["band"])]
    if "process" in keys:
        return [" ".join(filter(None, (keys["host"], thread_label(group))))]
    if "host" in keys:
        return [keys["host"] or "host not named"]
    target = keys["target"] or ""
    return [keys["name"] or "call with a lost name", target] if "name" in keys else [target or "no target shown"]


def thread_label(group: ranges.Group) -> str:
    """Return the label of the strip of a group's thread, as the lanes of calls name it."""
    process, lwp = group.keys["process"], group.keys["lwp"]
    if process is None or process.isdecimal():
        return syscalls.thread(None if process is None else int(process), lwp)
    return " ".join(str(part) for part in (process, lwp) if part is not None)


def band_words(first: int, last: int) -> str:
    """Write from which to which duration calls are.

    >>> band_words(3, 4), band_words(0, 0), band_words(11, 11)
    ('0.3 ms to 3.2 ms', 'under 32 µs', '3.162 s and more')
    """
    low, high = ranges.band_s(first)[0], ranges.band_s(last)[1]
    if math.isinf(high):
        return f"{length(low)} and more"
    return f"{length(low)} to {length(high)}" if low else f"under {length(high)}"


def table_foot(table: ranges.Table, whole: float) -> list[str]:
    """Say what the totals of a table mean: whether they add up to the range, and what they leave out."""
    said = []
    if table.threads > 1:
        exceed = "exceed" if table.seconds > whole else "do not add up to"
        said.append(f"{table.threads} threads side by side: totals {exceed} the range.")
    if table.at_most:
        said.append("≤: the tool shows only the end of these calls.")
    if table.untraced_s:
        said.append(f"Not traced: at most {length(table.untraced_s)}.")
    return said


@require_GET
@never_cache
def look(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer what happened between `from` and `to` of one frame: a part for the timeline, a page otherwise.

    `part=rest` leaves out the table of calls, which the page shows already.
    """
    room = access.enter(request.user, slug)
    report = newest_report(room.incident)
    if report is None or not request.GET.get("frame"):
        raise Refused("Select a range of the timeline first.", 404)
    with opened(room) as source:
        found = asked_frames(request, report, source)
        if not found:
            raise Refused("There is no such frame any more. Load the room again.", 404)
        window = asked_window(request, found[0])
        cache = store.cache_dir(room.incident.pk)
        seen = ranges.look(found[0], window.start, window.end, source, report, cache)
        table = ranges.table(found[0], window, source, cache)
    context = shell(room, "room") | table_shown(room, found[0], window, table, None, request) | shown(room, seen, table)
    context |= {"part_name": "timeline/_range.html", "rest": request.GET.get("part") == "rest"}
    return render(request, "timeline/_range.html" if is_part(request) else "timeline/range.html", context)


def shown(room: Room, seen: ranges.Range, table: ranges.Table) -> dict[str, Any]:
    """Return what the panel shows of a range."""
    frame, slug = seen.frame, room.incident.slug
    clock, shift = next(iter(frame.laid.shifts.items()))
    place = {"clock": clock, "from": round(seen.start - shift, 7), "to": round(seen.end - shift, 7)}
    longest = max((group.worst_s for group in table.groups), default=None)
    return {
        "seen": seen,
        "from_text": stamp(frame, seen.start, seen.length),
        "to_text": stamp(frame, seen.end, seen.length),
        "length_text": f"{seen.length:g} places" if frame.ordered else length(seen.length),
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
            "bad": room.incident.symptom_bad if room.incident.symptom_bad is not None else round(longest, 4) if longest else "",
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

"""Export the timeline: rows as CSV or Parquet, traces for Perfetto and OpenTelemetry, rows for Timesketch, a picture.

For members only.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from incidents import access
from incidents.access import Room
from incidents.content import pictures
from incidents.drawing import frames, strips, windows
from incidents.drawing.exports import flat, spans, timesketch, trace
from incidents.drawing.frames import Frame
from incidents.drawing.lane import Window
from incidents.drawing.registry import lanes
from incidents.errors import Refused
from incidents.pages import part_cache
from incidents.pages.timeline.views import MOST_ADDED, Json, asked_frames, asked_window, number
from incidents.storage import store
from incidents.work.drawable import newest_report, opened
from rules.engine.read import ReadOnly

#: Files of one axis, and files that hold all frames unless one is named: media type and ending.
OF_ONE = {
    "csv": ("text/csv; charset=utf-8", "csv"),
    "parquet": ("application/vnd.apache.parquet", "parquet"),
    "trace": ("application/json", "trace.json"),
}
OF_ALL = {
    "jsonl": ("application/x-ndjson", "timesketch.jsonl"),
    "otlp": ("application/json", "otlp.json"),
}


@require_GET
@never_cache
def rows(request: HttpRequest, slug: str, form: str) -> HttpResponseBase:
    """Hand out the rows of a window of one frame: `csv`, `parquet`, `trace` (trace event JSON), `jsonl` (Timesketch) or
    `otlp` (OTLP JSON, of lanes with spans only). The last two are of all frames, whole, if none is named.
    """
    room = access.enter(request.user, slug)
    report = newest_report(room.incident)
    if form in OF_ONE and (report is None or not request.GET.get("frame")):
        raise Refused("Name the frame whose rows you want.", 404)
    if report is None:
        raise Refused("This room was not judged yet.", 409)
    judged = room.incident.evaluations.filter(accepted=True).order_by("-number").values_list("made_at", flat=True)
    judged_at = judged[0]
    source = opened(room)
    try:
        parts = _parts(request, room, report, source, form)
        many = 0
        for part in parts:
            with frames.alone(part.frame, source):
                many += flat.count(part, source)
        if many > flat.MOST_ROWS:
            raise Refused(f"These are {many:,} rows; at most {flat.MOST_ROWS:,} can be exported at once. Select a shorter range.", 413)  # fmt: skip
        if form == "parquet":
            return _parquet(source, parts[0].sql, room)
        if form == "csv":
            texts = _csv(source, parts[0].sql)
        elif form == "trace":
            texts = _trace(source, parts[0], room)
        elif form == "jsonl":
            texts = timesketch.lines(parts, source, report, judged_at)
        else:
            texts = spans.documents(parts, source, report, room.incident.slug)
    except BaseException:
        source.__exit__(None, None, None)
        raise
    kind, ending = (OF_ONE | OF_ALL)[form]
    answer = StreamingHttpResponse(_until_end(source, texts), content_type=kind)
    return _attached(answer, f"{room.incident.slug}.{ending}")


def _parts(request: HttpRequest, room: Room, report: Json, source: ReadOnly, form: str) -> list[flat.Export]:
    """Return what leaves of each frame that the address asks for; a window is of the one frame that is named."""
    found = asked_frames(request, report, source)
    named = bool(request.GET.get("frame"))
    if not found and (named or form in OF_ONE):
        raise Refused("There is no such frame any more. Load the room again.", 404)
    chosen = [one for one in _chosen(request) if form != "otlp" or one.lane.kind == "span"]
    cache = store.cache_dir(room.incident.pk)
    return [
        flat.export(frame, asked_window(request, frame) if named else Window(frame.t0, frame.t1, 1000), chosen, source, cache)
        for frame in found
    ]  # fmt: skip


def _chosen(request: HttpRequest) -> list[windows.Choice]:
    """Return the lanes named in the address, else those shown by default."""
    named = request.GET.getlist("lane")[:MOST_ADDED]
    shown = [name for name, (lane, _) in lanes().items() if lane.shown]
    return [one for name in dict.fromkeys([*(named or shown), *request.GET.getlist("add")[:MOST_ADDED]]) if (one := windows.choice(name))]  # fmt: skip


def _parquet(source: ReadOnly, sql: str, room: Room) -> HttpResponseBase:
    with source, tempfile.TemporaryDirectory(prefix="exhibit-rows-") as folder:
        file = Path(folder) / "rows.parquet"
        source.copy(sql, file)
        handed = file.open("rb")  # the name goes with the folder, the bytes stay until they are sent
    kind, ending = OF_ONE["parquet"]
    return _attached(FileResponse(handed, content_type=kind), f"{room.incident.slug}.{ending}")


def _csv(source: ReadOnly, sql: str) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(flat.COLUMNS)
    for _, piece in source.rows(sql):
        writer.writerows([flat.guarded(cell) for cell in row] for row in piece)
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _trace(source: ReadOnly, part: flat.Export, room: Room) -> Iterator[str]:
    frame = part.frame
    clocks = {c["clock"]: {"added_s": frame.laid.shifts[c["clock"]], "err_s": float(c.get("err") or 0.0), "host": c["host"]} for c in frame.clocks}  # fmt: skip
    about = {"room": room.incident.title, "frame": frame.name, "axis": frame.axis, "when": frame.when, "clocks": clocks}
    found = (dict(zip(names, row, strict=True)) for names, piece in source.rows(part.sql) for row in piece)
    return trace.events(frame, found, about)


def _until_end(source: ReadOnly, texts: Iterator[str]) -> Iterator[str]:
    with source:
        yield from texts


def _attached(answer: Any, name: str) -> HttpResponseBase:
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    handed: HttpResponseBase = answer
    return handed


MOST_DRAWN = 24
"""Maximum number of frames in one picture; the page draws each when it comes into view."""


@require_GET
@never_cache
def picture(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Draw one frame's window, or all frames whole, as SVG; `save` hands it out as a file."""
    room = access.enter(request.user, slug)
    drawn = part_cache.text_of(request, room, "picture", lambda: _drawn(request, room))
    answer = HttpResponse(drawn, content_type="image/svg+xml")
    answer["X-Content-Type-Options"] = "nosniff"
    return _attached(answer, f"{room.incident.slug}.svg") if "save" in request.GET else answer


def _drawn(request: HttpRequest, room: Room) -> str:
    width = int(number(request, "px", 1280, 320, 4000))
    report = newest_report(room.incident)
    chosen: list[Frame] = []
    shown: list[pictures.Picture] = []
    if report:
        add, hide = request.GET.getlist("add")[:MOST_ADDED], request.GET.getlist("hide")
        with opened(room) as source:
            chosen = asked_frames(request, report, source)
            for frame in chosen[:MOST_DRAWN]:
                asked = asked_window(request, frame)
                window = Window(asked.start, asked.end, max(100, width - pictures.NAMES - 2 * pictures.MARGIN))
                with frames.alone(frame, source):
                    drawn, _ = frames.draw(frame, source, window, store.cache_dir(room.incident.pk), add, hide)
                    bands = strips.cited(frames.bands(frame, report["findings"]), report["findings"], frame, source)
                fit = frame if "from" in request.GET or "to" in request.GET else frames.fitted(frame, drawn)
                if fit is None:
                    continue
                shown.append(
                    pictures.Picture(
                        frames.title(frame, report),
                        "; ".join(filter(None, (frames.why(frame, report), fit.when))),
                        fit.axis,
                        window if fit is frame else Window(fit.t0, fit.t1, window.px),
                        drawn,
                        bands,
                        frames.culprits(report["findings"]),
                        fit.zero,
                        fit.moment() if fit.axis == "value" else "",
                    )
                )
    return pictures.svg(shown, width, max(0, len(chosen) - MOST_DRAWN))

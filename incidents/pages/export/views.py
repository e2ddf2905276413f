"""What leaves a room: bundles for another Exhibit."""

from __future__ import annotations

import json
import uuid
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import exports as actions
from incidents.content import found_files, grafana
from incidents.drawing.exports.instants import zero_of
from incidents.drawing.frames import frames_of
from incidents.errors import Refused, StoreError
from incidents.models.room.bundle import Holds
from incidents.pages.shell import shell
from incidents.storage import bundles, signing, store
from parsers.secrets import pseudonyms

A_PAGE = 40
SHOWN = 20
"""Maximum number of bundles listed: those that are gone too, newest first."""

FOUND = {("findings", "csv"), ("observations", "csv"), ("found", "sarif"), ("annotations", "json")}
MOST_FRAMES = 24
"""Maximum number of frames whose traces are offered; the timeline has the others."""


@require_http_methods(["GET", "POST"])
def export(request: HttpRequest, slug: str) -> HttpResponse:
    """List what can leave the room; a POST of a lead has a bundle made or removed."""
    room = access.enter(request.user, slug, Right.EXPORT if request.method == "POST" else Right.READ)
    if request.method == "POST":
        if request.POST.get("do") == "remove":
            actions.remove(room, _id(request.POST.get("bundle", "")))
        else:
            also = [name for line in request.POST.get("also", "").splitlines() if (name := line.strip())]
            actions.ask(room, request.POST.get("holds", ""), also)
        return redirect("export", slug)
    newest = room.incident.evaluations.filter(accepted=True).order_by("-number").first()
    report = newest.report if newest else None
    context = (
        shell(room, "export")
        | _bundles(room)
        | _frames(report)
        | {
            "judged": report is not None,
            "dashboard": request.build_absolute_uri(reverse("list_annotations", args=[slug])),
            "dated": bool(report and grafana.annotations_of(report, [], None)),
        }
    )
    return render(request, "export/export.html", context)


@require_GET
def bundle(request: HttpRequest, slug: str, id: uuid.UUID) -> FileResponse:
    """Hand out a bundle to a lead; the download is recorded."""
    room = access.enter(request.user, slug, Right.EXPORT)
    row = actions.note_download(room, id)
    try:
        file = store.bring_bundle(room.incident.pk, row.pk, row.sha256).open("rb")
    except OSError as error:
        raise StoreError(f"bundle {row.pk}: {error.strerror}") from error
    name = f"{slug}-{row.holds}{'.tar' if row.holds in (Holds.PARQUET, Holds.REDACTED) else bundles.ENDING}"
    answer = FileResponse(file, as_attachment=True, filename=name, content_type="application/x-tar")
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


@require_http_methods(["GET", "POST"])
def names(request: HttpRequest, slug: str, id: uuid.UUID) -> HttpResponse:
    """Show a lead which names an export replaced, and translate a text that came from it."""
    room = access.enter(request.user, slug, Right.EXPORT)
    row = actions.look_up(room, id)
    q, text = request.GET.get("q", "").strip().lower(), request.POST.get("text", "").replace("\0", "")
    replaced = {word: (kind, name) for word, (kind, name) in row.names.items()}
    listed = sorted((kind, name, word) for word, (kind, name) in replaced.items())
    listed = [one for one in listed if q in one[1].lower() or q in one[2].lower()]
    context = shell(room, "export") | {
        "export": row,
        "paged": Paginator(listed, A_PAGE).get_page(request.GET.get("page")),
        "query": f"{urlencode({'q': q})}&" if q else "",
        "q": q,
        "text": text,
        "translated": pseudonyms.translated(text, replaced) if text else "",
    }
    return render(request, "export/names.html", context)


@require_GET
def found(request: HttpRequest, slug: str, what: str, form: str) -> HttpResponse:
    """Hand out what the newest accepted judgement found: `findings.csv`, `observations.csv`, `found.sarif`
    or `annotations.json`.
    """
    room = access.enter(request.user, slug)
    if (what, form) not in FOUND:
        raise Refused("There is no such export.", 404)
    newest = room.incident.evaluations.filter(accepted=True).order_by("-number").first()
    if newest is None:
        raise Refused("This room was not judged yet.", 409)
    if form == "csv":
        write = found_files.findings_csv if what == "findings" else found_files.observations_csv
        text, kind = write(newest.report), "text/csv; charset=utf-8"
    elif form == "json":
        links = grafana.Links(request.build_absolute_uri("/").rstrip("/"), slug)
        told = grafana.annotations_of(newest.report, grafana.notes_of(room.incident), links)
        text, kind = json.dumps(told, ensure_ascii=False, indent=1), "application/json"
    else:
        address = request.build_absolute_uri(reverse("room", args=[slug]))
        log = found_files.sarif(newest.report, room.incident.title, address, f"1.0.{newest.number}")
        text, kind = json.dumps(log, ensure_ascii=False, indent=1), "application/sarif+json"
    answer = HttpResponse(text, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="{slug}-{what}.{form}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _frames(report: dict[str, Any] | None) -> dict[str, Any]:
    """Return the frames of the timeline that have an axis, with the hosts whose clocks they hold, and those without a date."""
    timed = sorted(frames_of(report or {}), key=lambda frame: frame.name)[:MOST_FRAMES]
    return {
        "frames": [
            {"name": frame.name, "hosts": sorted({clock.get("host") or "unknown host" for clock in frame.clocks})}
            for frame in timed
        ],
        "undated": [frame.name for frame in timed if zero_of(frame).at is None],
    }


def _bundles(room: Room) -> dict[str, Any]:
    if not room.may(Right.EXPORT):
        return {"bundles": []}
    rows = list(room.incident.exports.select_related("made_by")[:SHOWN])
    return {
        "bundles": rows,
        "going": any(row.going for row in rows),
        "choices": Holds.choices,
        "key": signing.public_key(),
        "without": room.incident.artifacts.filter(has_original=False).exists(),
    }


def _id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Refused("There is no such bundle.", 404) from None

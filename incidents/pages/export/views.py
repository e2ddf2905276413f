"""What leaves a room: bundles for another Exhibit."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import exports as actions
from incidents.errors import Refused, StoreError
from incidents.models.room.bundle import Holds
from incidents.pages.shell import shell
from incidents.storage import bundles, signing, store

SHOWN = 20
"""Maximum number of bundles listed: those that are gone too, newest first."""


@require_http_methods(["GET", "POST"])
def export(request: HttpRequest, slug: str) -> HttpResponse:
    """List what can leave the room; a POST of a lead has a bundle made or removed."""
    room = access.enter(request.user, slug, Right.EXPORT if request.method == "POST" else Right.READ)
    if request.method == "POST":
        if request.POST.get("do") == "remove":
            actions.remove(room, _id(request.POST.get("bundle", "")))
        else:
            actions.ask(room, request.POST.get("holds", ""))
        return redirect("export", slug)
    return render(request, "export/export.html", shell(room, "export") | _bundles(room))


@require_GET
def bundle(request: HttpRequest, slug: str, id: uuid.UUID) -> FileResponse:
    """Hand out a bundle to a lead; the download is recorded."""
    room = access.enter(request.user, slug, Right.EXPORT)
    row = actions.note_download(room, id)
    try:
        file = store.bundle_path(room.incident.pk, row.pk).open("rb")
    except OSError as error:
        raise StoreError(f"bundle {row.pk}: {error.strerror}") from error
    name = f"{slug}-{row.holds}{bundles.ENDING}"
    answer = FileResponse(file, as_attachment=True, filename=name, content_type="application/x-tar")
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


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

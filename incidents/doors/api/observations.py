"""`GET /api/rooms/<slug>/observations/`: what stands out in the room's evidence, and the verdict with its lead.

Both are as `report.json` has them, in its order; a page of them needs no reading of the whole report.
"""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.db.models.fields.json import KeyTransform
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_GET

from incidents import access
from incidents.doors.api.answers import resource
from incidents.errors import Refused

A_PAGE = 20
MOST_A_PAGE = 100


@resource
@require_GET
def collection(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer one page (`page`, from 1) of `size` observations; 409 if the room was never judged, 404 after the last."""
    room = access.enter(request.user, slug)
    page, size = _number(request, "page", 1, None), _number(request, "size", A_PAGE, MOST_A_PAGE)
    newest = (
        room.incident.evaluations.filter(accepted=True)
        .order_by("-number")
        .values(
            evaluation=F("number"),
            verdict=KeyTransform("verdict", "report"),
            observations=KeyTransform("observations", "report"),
        )
        .first()
    )
    if newest is None:
        raise Refused("This room was not judged yet.", 409)
    observations: list[dict[str, Any]] = newest["observations"] or []
    pages = max(1, -(-len(observations) // size))
    if page > pages:
        raise Refused(f"There {'is only 1 page' if pages == 1 else f'are only {pages} pages'} of them.", 404)
    return JsonResponse(
        {
            "evaluation": newest["evaluation"],
            "verdict": newest["verdict"],
            "count": len(observations),
            "page": page,
            "pages": pages,
            "observations": observations[(page - 1) * size : page * size],
        }
    )


def _number(request: HttpRequest, name: str, usual: int, most: int | None) -> int:
    """Read a whole number from 1 from the address; raise `Refused` for anything else."""
    typed = request.GET.get(name, str(usual))
    if not (typed.isascii() and typed.isdigit() and len(typed) < 7 and int(typed) >= 1):
        raise Refused(f"{name} must be a whole number from 1.", 422)
    if most is not None and int(typed) > most:
        raise Refused(f"{name} must be at most {most}.", 422)
    return int(typed)


urlpatterns = [path("rooms/<slug:slug>/observations/", collection, name="api-observations")]

"""`/api/rooms/<slug>/tokens/`: upload tokens of a room. GET lists, POST makes one, DELETE of `<id>/` revokes it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_http_methods

from incidents import access
from incidents.access import Right
from incidents.actions import tokens
from incidents.doors.api.answers import resource
from incidents.errors import Refused
from incidents.models.people.link import UploadToken, hash_secret


@resource
@require_http_methods(["GET", "POST"])
def collection(request: HttpRequest, slug: str) -> HttpResponse:
    """List the tokens without their secrets, or make one from `label` and `hours`; its secret is answered only once."""
    room = access.enter(request.user, slug, Right.PEOPLE)
    if request.method == "GET":
        held = room.incident.upload_tokens.select_related("created_by")
        return JsonResponse({"tokens": [_shown(token) for token in held]})
    hours = request.POST.get("hours", "24")
    if not (hours.isascii() and hours.isdigit() and len(hours) < 6):
        raise Refused("hours must be a whole number.")
    secret = tokens.create(room, request.POST.get("label", ""), int(hours))
    made = UploadToken.objects.get(token_hash=hash_secret(secret))
    return JsonResponse({**_shown(made), "token": secret}, status=201)


@resource
@require_http_methods(["DELETE"])
def one(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    tokens.revoke(access.enter(request.user, slug, Right.PEOPLE), id)
    return HttpResponse(status=204)


def _shown(token: UploadToken) -> dict[str, Any]:
    return {
        "id": token.pk,
        "label": token.label,
        "made_by": token.created_by.get_username(),
        "made_at": token.created_at.isoformat(),
        "expires_at": token.expires_at.isoformat(),
        "last_used_at": token.last_used_at.isoformat() if token.last_used_at else None,
        "usable": token.usable,
    }


urlpatterns = [
    path("rooms/<slug:slug>/tokens/", collection, name="api-tokens"),
    path("rooms/<slug:slug>/tokens/<int:id>/", one, name="api-token"),
]

"""Offer completions for `#` and `@` in this room while somebody types."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from incidents import access
from incidents.content import references
from incidents.errors import Refused

LONGEST = 100


@require_GET
def complete(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer `{"offers": [{"insert", "text", "detail", "kind"}]}` for `?sign=#&q=...` or `?sign=@&q=...`.

    `#` offers findings, artifacts, notes and lanes; `@` offers people.
    """
    room = access.enter(request.user, slug)
    typed = request.GET.get("q", "").replace("\x00", "").strip()[:LONGEST]
    match request.GET.get("sign"):
        case "#":
            offers = references.things(room, typed)
        case "@":
            offers = references.people(room, typed)
        case _:
            raise Refused("Say what is completed: sign=# or sign=@.")
    return JsonResponse({"offers": [asdict(offer) for offer in offers]})

"""Rooms like this one, as a page and as a part of the room's page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from incidents import access
from incidents.pages.shell import is_part, shell
from incidents.pages.similar.ranking import similar as rooms_like


@require_GET
def similar(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the rooms that share rules and places with this one, and what was done there."""
    room = access.enter(request.user, slug)
    found = {"similar": rooms_like(room)}
    if is_part(request):
        return render(request, "similar/_similar.html", found)
    return render(request, "similar/similar.html", shell(room, "similar") | found)

"""The installation itself, for its administrators: does everything run, is there room, is there a backup."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from incidents import access
from incidents.content import site as content


@require_GET
def site(request: HttpRequest) -> HttpResponse:
    """Show how this installation fares. For administrators of the site only."""
    access.require_administrator(request.user)
    files, held = content.originals()
    context = {
        "site": content.look(),
        "database": content.database_bytes(),
        "files": files,
        "held": held,
        "largest": content.largest_rooms(),
        "limits": content.limits(),
    }
    return render(request, "site/site.html", context)

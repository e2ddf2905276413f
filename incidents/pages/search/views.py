"""The search page: what the database holds by kind, and lines of artifacts by a scan that can be continued."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from incidents import access
from incidents.access import Room
from incidents.errors import Refused
from incidents.pages.search import line_scan, rooms_search
from incidents.pages.search.rooms_search import KINDS, NAMES, Found, Kind, Query
from incidents.pages.shell import is_part, shell

FEW = 5
A_PAGE = 20
LINES = "line"


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """Search what this person may see: everything, one room (`room`, set by a search begun in one), one kind."""
    typed = request.GET.get("q", "")[: 10 * rooms_search.LONGEST]
    kind = request.GET.get("kind", "")
    kind = kind if kind in (*NAMES, LINES) else ""
    slug = request.GET.get("room", "").strip()[:80]
    room = access.enter(request.user, slug) if slug else None
    asked = {name: value for name, value in (("q", typed), ("room", slug)) if value}
    context: dict[str, Any] = {
        "typed": typed,
        "room_asked": room,
        "everywhere": request.GET.get("from", "").strip()[:80],
        "kind": kind,
        "asked": urlencode(asked),
        "base": "room_base.html" if room else "base.html",
        "longest": rooms_search.LONGEST,
    }
    status = 200
    try:
        query = Query.of(typed)
        if not query.empty:
            query.check()
            context |= {"query": query} | _found(request, room, query, kind)
        elif typed.strip():
            raise Refused("Also enter something to find: a search cannot consist only of exclusions.", 422)
    except Refused as refused:
        context["refused"], status = refused.message, refused.status
    if is_part(request) and kind == LINES:
        return render(request, "search/_lines.html", context, status=status)
    if room is not None:
        context |= shell(room, "search")
    return render(request, "search/search.html", context, status=status)


def _found(request: HttpRequest, room: Room | None, query: Query, kind: str) -> dict[str, Any]:
    rooms = rooms_search.scope(request.user, room)
    if kind == LINES:
        return {"scan": line_scan.scan(rooms, query, line_scan.Place.of(request.GET.get("after", "")))}

    def search(kinds: Sequence[Kind], first: int, count: int) -> list[Found]:
        if room is not None:
            return rooms_search.search_room(room, query, kinds, first, count)
        return rooms_search.search(rooms, query, kinds, first, count)

    if not kind:
        found = search(KINDS, 0, FEW)
        return {"found": [one for one in found if one.hits], "any": any(one.hits for one in found)}
    page = request.GET.get("page", "1")
    number = min(max(int(page), 1), rooms_search.MOST // A_PAGE) if page.isdecimal() and len(page) < 6 else 1
    chosen = [one for one in KINDS if one.name == kind]
    found = search(chosen, (number - 1) * A_PAGE, A_PAGE)
    reached = (number - 1) * A_PAGE + len(found[0].hits)
    more = bool(found[0].hits) and reached < found[0].count
    return {
        "found": [one for one in found if one.hits],
        "any": bool(found[0].hits),
        "number": number,
        "previous": number - 1,
        "following": number + 1 if more else 0,
    }

"""The room's activity: who did what and when, and whether the chain of hashes is intact."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from incidents import access
from incidents.access import Room
from incidents.models.room.activity import Activity
from incidents.pages.shell import is_part, shell

A_PAGE = 100


@require_GET
def activity(request: HttpRequest, slug: str) -> HttpResponse:
    """List the rows, newest first, filtered by person, verb and text."""
    room = access.enter(request.user, slug)
    return _show(request, room, {})


@require_POST
def verify(request: HttpRequest, slug: str) -> HttpResponse:
    """Recompute the whole chain and say where it breaks, if it does."""
    room = access.enter(request.user, slug)
    result = {"verified": True, "broken": Activity.objects.first_broken(room.incident.pk)}
    if is_part(request):
        return render(request, "people/_verified.html", result)
    return _show(request, room, result)


def _show(request: HttpRequest, room: Room, more: Mapping[str, object]) -> HttpResponse:
    rows = Activity.objects.filter(incident=room.incident)
    actors = sorted(set(rows.order_by().values_list("actor_id", "actor_name").distinct()), key=lambda actor: actor[1])
    verbs = sorted(set(rows.order_by().values_list("verb", flat=True).distinct()))
    who, verb = request.GET.get("who", ""), request.GET.get("verb", "")
    q = request.GET.get("q", "").replace("\x00", "").strip()
    if who.isascii() and who.isdigit():
        rows = rows.filter(actor_id=int(who[:18]))
    if verb in verbs:
        rows = rows.filter(verb=verb)
    if q:
        rows = rows.filter(Q(object__icontains=q) | Q(actor_name__icontains=q) | Q(detail__icontains=q))
    paged = Paginator(rows.order_by("-seq"), A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = shell(room, "activity") | {
        "rows": paged,
        "actors": [(str(id), name) for id, name in actors if id is not None],
        "verbs": verbs,
        "who": who,
        "verb": verb,
        "q": q,
        "filtered": bool(who or verb or q),
        "query": f"{query.urlencode()}&" if query else "",
    }
    return render(request, "people/activity.html", {**context, **more})

"""Saved queries: save, change, delete, restore."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from incidents import access
from incidents.access import Right
from incidents.actions import queries as actions
from incidents.errors import Overtaken, Refused
from incidents.pages.ask.views import page, typed
from incidents.work import queries


@require_POST
def save(request: HttpRequest, slug: str) -> HttpResponse:
    """Save the query of the form, as a new one or over the one it came from; errors keep what was typed."""
    room = access.enter(request.user, slug, Right.ASK)
    queries.switched_on()
    sql, title = typed(request), request.POST.get("title", "")
    shared = "shared" in request.POST
    number = request.POST.get("saved", "")
    id = int(number) if number.isdigit() and len(number) < 18 and "as_new" not in request.POST else None
    version = request.POST.get("version", "")
    chart = {name: request.POST.get(f"chart_{name}", "") for name in ("kind", "x", "y")}
    client = _client(request.POST.get("client", ""))
    try:
        row = actions.save(
            room,
            title,
            sql,
            shared,
            chart,
            id,
            int(version) if version.isdigit() and len(version) < 10 else None,
            client,
        )
    except Refused as refused:
        if refused.status in (403, 404):
            raise
        saved = queries.saved(room).filter(pk=id).first() if id else None
        context = page(request, room, {"sql": sql, "saved": saved})
        context |= {"save_problem": refused.message, "title": title, "shared": shared, "save_open": True}
        if isinstance(refused, Overtaken):
            context |= {"theirs": refused.now}
        return render(request, "ask/ask.html", context, status=refused.status)
    messages.success(request, "Saved for the room." if row.shared else "Saved. Only you see it.")
    return redirect(f"{reverse('ask', args=[slug])}?saved={row.pk}")


@require_POST
def saved(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Delete a saved query, or restore it (`do`)."""
    room = access.enter(request.user, slug, Right.ASK)
    if request.POST.get("do") == "restore":
        actions.restore(room, id)
    else:
        actions.delete(room, id)
    return redirect(f"{reverse('ask', args=[slug])}#saved")


def _client(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None

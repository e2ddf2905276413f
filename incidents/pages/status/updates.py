"""The promised update: the strip that reminds of it on every page of the room, and its buttons."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import standing, updates
from incidents.errors import Refused
from incidents.pages.shell import is_part, shell


@require_http_methods(["GET", "POST"])
def update(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the strip; a POST says that the update was given, moves it on, or takes either back.

    `do`: `give`, with `every` the minutes until the next one; `move`, with `minutes`; `undo`, with the `seq` of what is
    undone and perhaps the `entry` of the log.
    """
    room = access.enter(request.user, slug)
    if request.method == "GET":
        return _strip(request, room)
    room.require(Right.PLAN)
    told = _do(request, room)
    room = access.enter(request.user, slug)
    if is_part(request):
        return _strip(request, room, told)
    messages.success(request, told["done"])
    back = request.POST.get("back", "")
    return redirect(back if back.startswith(reverse("room", args=[slug])) else reverse("room", args=[slug]))


def _do(request: HttpRequest, room: Room) -> dict[str, Any]:
    """Carry out a button's action; return the context for the strip's message."""
    match request.POST.get("do"):
        case "give":
            entry = updates.give(room, _number(request, "every"))
            at = access.again(room).incident.next_update_at
            done = (
                f"Update given; the next one is due at {at:%H:%M} UTC." if at else "Update given; none is promised now."
            )
            return {"done": done, "seq": standing.undoable(room.incident), "entry": entry.pk}
        case "move":
            minutes = _number(request, "minutes")
            if minutes is None:
                raise Refused("Say by how many minutes.")
            updates.move_on(room, minutes)
            at = access.again(room).incident.next_update_at
            return {"done": f"Moved on: the update is due at {at:%H:%M} UTC.", "seq": standing.undoable(room.incident)}
        case "undo":
            seq = _number(request, "seq")
            if seq is None:
                raise Refused("There is no such change.", 404)
            updates.take_back(room, seq, _number(request, "entry"))
            return {"done": "Taken back."}
    raise Refused("There is no such action here.")


def _strip(request: HttpRequest, room: Room, told: dict[str, Any] | None = None) -> HttpResponse:
    context = {"room": room, "may": {"plan": room.may(Right.PLAN)}} | (told or {})
    if is_part(request):
        return render(request, "room/_update.html", context)
    return render(request, "status/update.html", shell(room, "status") | context)


def _number(request: HttpRequest, name: str) -> int | None:
    text = request.POST.get(name, "")
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused("This is no number.")
    return int(text) if text else None

"""How long a room is kept: its days, a legal hold, and its deletion. Every member may look; leads and administrators act."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from incidents import access
from incidents.access import Room
from incidents.actions import keeping as actions
from incidents.errors import Refused
from incidents.pages.shell import shell
from incidents.work import deleting


class DaysForm(forms.Form):
    """`which` says whether `days` counts."""

    which = forms.ChoiceField(
        label="A closed room is kept",
        choices=(("site", "as this site says"), ("days", "for so many days"), ("ever", "for ever")),
    )
    days = forms.IntegerField(label="Days", required=False, min_value=1, max_value=actions.MOST_DAYS)

    def value(self) -> int | None:
        """Return the days as the room has them; raise `Refused` if they are missing."""
        which, days = self.cleaned_data["which"], self.cleaned_data["days"]
        if which == "days" and days is None:
            raise Refused("Say for how many days.")
        return {"site": None, "ever": 0}.get(which, days)


class ReasonForm(forms.Form):
    reason = forms.CharField(label="Why", max_length=actions.LONGEST, widget=forms.Textarea(attrs={"rows": 2}))


@require_http_methods(["GET", "POST"])
def keeping(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how long the room is kept and what a deletion takes; a POST sets the days, a hold, or a deletion."""
    room = access.enter(request.user, slug)
    if request.method == "GET":
        return _show(request, room)
    try:
        _do(request, room)
    except Refused as refused:
        if refused.status in (403, 404):
            raise
        return _show(request, room, refused)
    return redirect("keeping", slug)


def _do(request: HttpRequest, room: Room) -> None:
    reason = request.POST.get("reason", "")
    match request.POST.get("do"):
        case "days":
            form = DaysForm(request.POST)
            room.require(access.Right.DELETE)
            if not form.is_valid():
                raise Refused("Say for how many days, as a number.")
            actions.set_days(room, form.value())
        case "hold":
            actions.hold(room, reason)
        case "lift":
            actions.lift(room, reason)
        case "delete":
            actions.announce(room, reason)
        case "undo":
            actions.undo(room)
        case _:
            raise Refused("There is no such action here.")


def _show(request: HttpRequest, room: Room, refused: Refused | None = None) -> HttpResponse:
    incident = room.incident
    kept = incident.keep_days
    days = {None: "site", 0: "ever"}.get(kept, "days")
    due = incident.delete_at or timezone.now() + timedelta(days=settings.EXHIBIT_UNDO_DAYS)
    context = shell(room, "keeping") | {
        "refused": refused.message if refused else "",
        "days": deleting.days_kept(incident),
        "site_days": settings.EXHIBIT_KEEP_DAYS,
        "undo_days": settings.EXHIBIT_UNDO_DAYS,
        "goes": deleting.counts(incident),
        "deletion": actions.announced(incident),
        "backup_ends": deleting.outlived_by(due),
        "days_form": DaysForm(initial={"which": days, "days": kept or None}, auto_id="days_%s"),
        "hold_form": ReasonForm(auto_id="hold_%s"),
        "delete_form": ReasonForm(auto_id="delete_%s"),
    }
    return render(request, "keeping/keeping.html", context, status=refused.status if refused else 200)

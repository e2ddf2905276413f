"""The clocks of a room: what each is, what ties it to others, which ties were refused; people may state an offset."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import case as actions
from incidents.errors import Refused
from incidents.pages.clocks import words
from incidents.pages.clocks.words import FAR_S, is_wall
from incidents.pages.evidence.questions import open_questions
from incidents.pages.shell import shell
from incidents.work.drawable import newest_report
from rules.clocks.readings import epoch

MOST_S = 100 * 366 * FAR_S


class OffsetForm(forms.Form):
    """How far one clock is ahead of another, or when a trace's zero was on a clock that shows times of day."""

    clock = forms.ChoiceField(label="This clock")
    ref = forms.ChoiceField(label="against this one")
    ahead = forms.CharField(label="is ahead by", max_length=40)
    err = forms.FloatField(label="give or take, s", min_value=0, max_value=MOST_S, initial=1.0)
    text = forms.CharField(
        label="How is that known?", max_length=2000, widget=forms.Textarea(attrs={"rows": 2, "class": "wide"})
    )
    far = forms.BooleanField(label="Yes, more than a day apart", required=False)

    def __init__(self, report: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.clocks = {clock["clock"]: clock for clock in reversed(report.get("clocks", ()))}
        choices = [(d.clock, d.name) for d in words.tellers(report)]
        for name in ("clock", "ref"):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = choices
        self.fields["ref"].initial = choices[1][0] if len(choices) > 1 else None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not {"clock", "ref", "ahead", "err"} <= cleaned.keys():
            return cleaned
        if cleaned["clock"] == cleaned["ref"]:
            self.add_error("ref", "Choose a clock other than the first.")
            return cleaned
        ours, theirs = self.clocks[cleaned["clock"]], self.clocks[cleaned["ref"]]
        middle = self._seconds(cleaned["ahead"].strip(), ours, theirs)
        if middle is None:
            return cleaned
        cleaned["lo"], cleaned["hi"] = middle - cleaned["err"], middle + cleaned["err"]
        if is_wall(ours) == is_wall(theirs) and abs(middle) > FAR_S and not cleaned.get("far"):
            days = abs(middle) / FAR_S
            self.add_error("far", f"That is {days:.1f} days. Tick this if it is meant.")
        return cleaned

    def _seconds(self, text: str, ours: dict[str, Any], theirs: dict[str, Any]) -> float | None:
        """Read an offset in seconds; if one clock shows times of day, also the time of the other's zero."""
        try:
            middle = float(text.replace(",", "."))
        except ValueError:
            middle = float("nan")
        zero = epoch(text)
        if zero is not None and is_wall(ours) != is_wall(theirs):
            middle = zero if is_wall(ours) else -zero
        elif is_wall(ours) != is_wall(theirs):
            self.add_error(
                "ahead", "One of them counts seconds of its own: say when its zero was, as 2016-04-14 05:58:29.3"
            )
            return None
        if not abs(middle) <= MOST_S:
            self.add_error("ahead", "Write seconds as a number, such as 0.2 or -3600.")
            return None
        return middle


@require_http_methods(["GET", "POST"])
def clocks(request: HttpRequest, slug: str) -> HttpResponse:
    """Show clocks, offsets, jumps; a POST checks or states an offset, or takes one back.

    `?clock=&ref=&at=` moves the slider of one tie (`part=try`: only its result), `?clock=&ref=&ahead=&err=` fills in
    the form.
    """
    room = access.enter(request.user, slug)
    report = newest_report(room.incident) or {}
    moved = _moved(request)
    if request.GET.get("part") == "try":
        return _tried(request, room, report, moved)
    asked = {name: request.GET[name] for name in ("clock", "ref", "ahead", "err") if name in request.GET}
    form, contradicted, checked = OffsetForm(report, initial=asked), list[str](), False
    if request.method == "POST":
        room.require(Right.CASE)
        if request.POST.get("do") == "remove":
            actions.remove_offset(room, _id(request))
            return redirect("clocks", slug)
        form = OffsetForm(report, request.POST)
        if form.is_valid():
            fields = form.cleaned_data
            if request.POST.get("do") != "check":
                actions.put_offset(room, fields["clock"], fields["ref"], fields["lo"], fields["hi"], fields["text"])
                return redirect("clocks", slug)
            contradicted = words.against(report, fields["clock"], fields["ref"], fields["lo"], fields["hi"])
            checked = True
    found = words.domains(report)
    context = shell(room, "clocks") | {
        "frames": words.frames_of(found),
        "offsets": words.offsets(report, moved),
        "checks": words.checks(report),
        "undecidable": words.undecidable(report),
        "stated": _stated(room, report),
        "zones": len(open_questions(room).zones),
        "form": form,
        "enough": len(words.tellers(report)) > 1,
        "contradicted": contradicted,
        "checked": checked,
    }
    return render(request, "clocks/clocks.html", context, status=422 if form.errors else 200)


def _moved(request: HttpRequest) -> dict[tuple[str, str], int]:
    """Return the position of the one slider that an address moves."""
    at = request.GET.get("at")
    if at is None:
        return {}
    if not (at.isascii() and at.isdigit() and len(at) < 6):
        raise Refused("The position of the slider must be a whole number.", 400)
    return {(request.GET.get("clock", ""), request.GET.get("ref", "")): int(at)}


def _tried(request: HttpRequest, room: Room, report: dict[str, Any], moved: dict[tuple[str, str], int]) -> HttpResponse:
    """Answer with the result of the moved slider; 404 for clocks without a tie."""
    found = [(ids, words.tried(report, *ids, at)) for ids, at in moved.items()]
    if not found or found[0][1] is None:
        raise Refused("Nothing ties these two clocks any more.", 404)
    [(ids, tried)] = found
    context = {"room": room, "ids": ids, "tried": tried, "may": {"case": room.may(Right.CASE)}}
    return render(request, "clocks/_offset_tried.html", context)


def _stated(room: Room, report: dict[str, Any]) -> list[dict[str, Any]]:
    """List the offsets that people stated, in words, and whether they were accepted."""
    names = words.named(report)
    by_id = {clock["clock"]: clock for clock in report.get("clocks", ())}
    refused = {
        (row["clock"], row["ref"]): row["reason"]
        for row in report.get("clock_map", ())
        if row["method"] == "statement" and not row["accepted"]
    }
    return [
        {
            "row": row,
            "clock": names.get(row.clock, row.clock),
            "ref": names.get(row.ref, row.ref),
            "says": words.says(by_id.get(row.clock), by_id.get(row.ref), row.lo, row.hi),
            "gone": row.clock not in by_id or row.ref not in by_id,
            "refused": refused.get((row.clock, row.ref), ""),
        }
        for row in room.incident.clock_offsets.select_related("author")
    ]


def _id(request: HttpRequest) -> int:
    text = request.POST.get("offset", "")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused("There is no such offset.", 404)
    return int(text)

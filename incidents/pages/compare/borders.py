"""A border between two phases: show what it would separate, make it, take it back."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import compare as actions
from incidents.errors import Refused
from incidents.models.evidence.artifact import ArtifactState
from incidents.pages.shell import shell
from incidents.pages.timeline.ranges import line_url
from incidents.storage import store
from incidents.work import analysis, comparisons
from parsers.errors import ParserError
from rules.case.case import Case

Json = dict[str, Any]
AROUND = 3


class BorderForm(forms.Form):
    """Names of the phases on both sides of a border, and what changed there if somebody knows."""

    artifact = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)
    line = forms.IntegerField(min_value=1, max_value=2**53, widget=forms.HiddenInput)
    first = forms.CharField(max_length=40, label="Phase before it")
    second = forms.CharField(max_length=40, label="Phase from it on")
    label = forms.CharField(
        max_length=300, required=False, label="What was done there", help_text="Empty if nobody knows: the border then has no reason."
    )  # fmt: skip
    changed = forms.CharField(
        required=False,
        max_length=5000,
        label="Everything that changed",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One thing per line. Where a change needs a restart, the restart is added by itself.",
    )


@require_http_methods(["GET", "POST"])
@never_cache
def border(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what a border before a line would separate; a POST makes it, or with `do=undo` takes it back."""
    room = access.enter(request.user, slug, Right.CASE)
    if request.POST.get("do") == "undo":
        made = actions.read_made(request.POST.get("made", "")[:500])
        if made is None:
            raise Refused("Nothing says which border to take back. Remove it on the Case page.", 404)
        actions.undo_border(room, made)
        return redirect("compare", slug)
    form = BorderForm(request.POST or None, initial=_place(request), auto_id="border_%s")
    if request.method == "POST" and form.is_valid():
        fields = form.cleaned_data
        try:
            done = actions.make_border(
                room, fields["artifact"], fields["line"], fields["first"], fields["second"], fields["label"], fields["changed"].splitlines()
            )  # fmt: skip
        except Refused as refused:
            if refused.status in (403, 404, 409):
                raise
            form.add_error(None, refused.message)
        else:
            sides = {
                "a": f"phase:{fields['first'].strip()}",
                "b": f"phase:{fields['second'].strip()}",
                "made": done.text,
            }
            return redirect(f"{reverse('compare', args=[slug])}?{urlencode(sides)}")
    spec = analysis.case_of(room.incident)
    place = form.cleaned_data if form.is_bound and {"artifact", "line"} <= form.cleaned_data.keys() else form.initial
    number_, line = int(place["artifact"]), int(place["line"])
    cut = comparisons.cut_at(Case(spec), number_, line)
    if cut is None:
        raise Refused("There is no such line, or nothing of the same kind before it that a border could separate.", 404)
    if not form.is_bound:
        form.initial = {**form.initial, "first": cut.first, "second": cut.second}
    quoted = _quoted(room, number_, line)
    context = shell(room, "compare") | {
        "form": form,
        "cut": cut,
        "number": number_,
        "line": line,
        "before": [one for one in quoted if one.line_no < line],
        "after": [one for one in quoted if one.line_no >= line],
        "href": line_url(slug, number_, line, line),
        "why": request.GET.get("why", "")[:100],
    }
    return render(request, "compare/border.html", context, status=422 if form.errors else 200)


def _place(request: HttpRequest) -> Json:
    found: Json = {}
    for name, most in (("artifact", 2**31 - 1), ("line", 2**53)):
        text = request.POST.get(name) or request.GET.get(name) or ""
        if not (text.isascii() and text.isdigit() and len(text) < 17 and 1 <= int(text) <= most):
            raise Refused("A border lies before a line of an artifact: begin with a proposal on the Compare page.", 404)
        found[name] = int(text)
    return found


def _quoted(room: Room, number_: int, line: int) -> list[Any]:
    artifact = room.incident.artifacts.select_related("reading").filter(number=number_).first()
    if artifact is None or artifact.state == ArtifactState.PURGED:
        raise Refused("There is no such artifact.", 404)
    try:
        reader = store.lines_of(artifact)
    except (OSError, ParserError):
        reader = None
    return reader.lines(max(1, line - AROUND), line + AROUND - 1) if reader else []

"""Findings: parts that a new evaluation changes, disputes, and findings and the verdict as text to copy."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from incidents import access
from incidents.access import Right
from incidents.actions import findings as actions
from incidents.actions import rooms
from incidents.content import citations
from incidents.errors import Refused
from incidents.pages import part_cache
from incidents.pages.forms import AnswerForm, ReasonForm
from incidents.pages.room.views import claim_of, drawer, judged, middle, newest
from incidents.pages.shell import is_part


@require_GET
def findings(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with verdict, seconds and column, to be swapped into the page; without htmx, redirect to the room."""
    room = access.enter(request.user, slug)
    if not is_part(request):
        return redirect("room", slug)

    def context() -> dict[str, Any]:
        found = judged(room)
        selected, outlook = request.GET.get("selected", ""), found["outlook"]
        return found | {"claim": outlook.claim(selected), "observation": outlook.observation(selected), "oob": True}

    return HttpResponse(part_cache.part_of(request, room, "findings/_judged.html", context))


@require_POST
def dispute(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Dispute a finding, or withdraw the dispute; errors keep what was typed."""
    room = access.enter(request.user, slug, Right.DISPUTE)
    form = ReasonForm(request.POST, auto_id="dispute_%s")
    if "withdraw" in request.POST:
        actions.withdraw(room, key)
    elif form.is_valid():
        try:
            actions.dispute(room, key, form.cleaned_data["reason"])
        except Refused as refused:
            if refused.status == 404:
                raise
            form.add_error(None, refused.message)
    if form.errors and "withdraw" not in request.POST:
        context = judged(room)
        claim, row = claim_of(room, context["outlook"], key)
        context |= drawer(room, claim, row, context) | {"dispute_form": form}
        if is_part(request):
            return render(request, "findings/_finding.html", context, status=422)
        return render(request, "room/room.html", context | middle(room, context) | {"selected": True}, status=422)
    if not is_part(request):
        return redirect("finding", slug, key)
    context = judged(room)
    claim, row = claim_of(room, context["outlook"], key)
    return render(request, "findings/_finding.html", context | drawer(room, claim, row, context))


@require_POST
def answer(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Answer somebody's dispute; errors keep what was typed."""
    room = access.enter(request.user, slug, Right.DISPUTE)
    row = room.incident.disputes.select_related("finding").filter(pk=id).first()
    if row is None:
        raise Refused("There is no such dispute.", 404)
    form = AnswerForm(request.POST, auto_id="answer_%s")
    if form.is_valid():
        try:
            actions.answer(room, id, form.cleaned_data["answer"])
        except Refused as refused:
            if is_part(request) or refused.status == 404:
                raise
            form.add_error(None, refused.message)
        else:
            if not is_part(request):
                return redirect("finding", slug, row.finding.key)
    context = judged(room)
    claim, finding = claim_of(room, context["outlook"], row.finding.key)
    context |= drawer(room, claim, finding, context)
    if form.errors:
        context |= {"answer_form": form, "answering": id}
    status = 422 if form.errors else 200
    if is_part(request):
        return render(request, "findings/_finding.html", context, status=status)
    return render(request, "room/room.html", context | middle(room, context) | {"selected": True}, status=status)


@require_GET
def finding_copy(request: HttpRequest, slug: str, key: str, form: str) -> HttpResponse:
    """Answer with a finding as 80-column text or Markdown."""
    room = access.enter(request.user, slug)
    outlook, _, _ = newest(room)
    claim, _ = claim_of(room, outlook, key)
    link = request.build_absolute_uri(reverse("finding", args=[slug, key]))
    write = citations.claim_markdown if form == "markdown" else citations.claim_text
    return as_text(write(claim, link), form)


@require_GET
def verdict_copy(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """Answer with the verdict as 80-column text or Markdown."""
    room = access.enter(request.user, slug)
    outlook, evaluation, _ = newest(room)
    if evaluation is None:
        raise Refused("Nothing was judged yet, so there is no verdict to copy.", 409)
    link = request.build_absolute_uri(reverse("room", args=[slug]))
    write = citations.verdict_markdown if form == "markdown" else citations.verdict_text
    return as_text(write(outlook, room.incident.title, link), form)


@require_POST
def take_over(request: HttpRequest, slug: str) -> HttpResponse:
    """Let a lead accept an evaluation made after the room was closed."""
    room = access.enter(request.user, slug, Right.CLOSE)
    rooms.accept_evaluation(room)
    return redirect("room", slug)


def as_text(text: str, form: str) -> HttpResponse:
    """Answer with plain text that no browser renders as a page."""
    kind = "text/markdown" if form == "markdown" else "text/plain"
    answer = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    answer["X-Content-Type-Options"] = "nosniff"
    return answer

"""The review after an incident: the whole of it on one page, its texts and follow-ups, and as a file."""

from __future__ import annotations

import uuid
from datetime import UTC
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import review as actions
from incidents.content import follow_ups as listed
from incidents.content import pdf
from incidents.content.names import known_as
from incidents.content.review import gather, markdown
from incidents.content.summary.page import sheet_style
from incidents.content.visible import visible
from incidents.errors import Overtaken, Refused
from incidents.models.plan.review import FollowUp, Review
from incidents.pages.plan.forms import SeenForm
from incidents.pages.plan.views import UNDO_FOR, People, in_words
from incidents.pages.review.forms import FollowUpForm, ReviewForm
from incidents.pages.rooms.views import request_user
from incidents.pages.shell import shell

A_PAGE = 40
KINDS = {"pdf": "application/pdf", "md": "text/markdown; charset=utf-8"}


@require_GET
def review(request: HttpRequest, slug: str) -> HttpResponse:
    """Show verdict, people, review, follow-ups and what people did."""
    room = access.enter(request.user, slug)
    gone = room.incident.follow_ups.filter(deleted_by=room.user, deleted_at__gt=timezone.now() - UNDO_FOR)
    context = shell(room, "review") | {
        "paper": gather(room.incident),
        "taken_away": list(gone.select_related("deleted_by")),
    }
    return render(request, "review/review.html", context)


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Write the texts. The person who saves second sees both versions before anything is written."""
    room = access.enter(request.user, slug, Right.REVIEW)
    form: SeenForm = ReviewForm(request.POST or None, initial=actions.values_of(room.incident), auto_id="review_%s")
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                actions.put(room, form.cleaned_data, form.seen)
                return redirect("review", slug)
            except Overtaken as beaten:
                row = Review.objects.select_related("edited_by").get(incident=room.incident)
                form = form.beside(beaten.now, visible(known_as(row.edited_by)), in_words(beaten.now, form))
                status = 409
    context = shell(room, "review") | {"form": form, "what": "review"}
    return render(request, "review/form.html", context, status=status)


@require_http_methods(["GET", "POST"])
def follow_up_new(request: HttpRequest, slug: str) -> HttpResponse:
    return _edit(request, access.enter(request.user, slug, Right.REVIEW), None)


@require_http_methods(["GET", "POST"])
def follow_up(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    room = access.enter(request.user, slug, Right.REVIEW)
    row = room.incident.follow_ups.select_related("owner").filter(pk=id).first()
    if row is None:
        raise Refused("There is no such follow-up.", 404)
    if row.deleted_at is not None:
        raise Refused("This follow-up was taken away. Bring it back first.", 409)
    return _edit(request, room, row)


@require_POST
def follow_up_do(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Mark a follow-up as done or not done, take it away, or bring it back."""
    room = access.enter(request.user, slug, Right.REVIEW)
    match request.POST.get("do"):
        case "done":
            actions.set_done(room, id)
        case "open":
            actions.set_done(room, id, done=False)
        case "delete":
            actions.delete_follow_up(room, id)
        case "restore":
            actions.restore_follow_up(room, id)
        case _:
            raise Refused("There is no such action here.")
    if (shown := request.POST.get("next")) in listed.SHOWN:  # it was done in the list over all rooms
        return redirect(f"{reverse('follow-ups')}?show={shown}")
    return redirect(f"{reverse('review', args=[slug])}#follow-up-{id}")


@require_GET
def follow_ups(request: HttpRequest) -> HttpResponse:
    """List follow-ups of all rooms that this person sees, their own open ones unless they ask for others."""
    user = request_user(request)
    show = request.GET.get("show", "")
    show = show if show in listed.SHOWN else listed.MINE
    q = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    paged = Paginator(listed.follow_ups(user, show, q), A_PAGE).get_page(request.GET.get("page"))
    context = {
        "paged": paged,
        "show": show,
        "q": q,
        "shown": listed.SHOWN.items(),
        "review_in": access.rooms_with(user, Right.REVIEW, (row.incident for row in paged)),
        "query": f"{urlencode({'show': show} | ({'q': q} if q else {}))}&",
    }
    return render(request, "review/follow_ups.html", context)


@require_GET
def export(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """Hand out the page as a file."""
    room = access.enter(request.user, slug)
    paper, now = gather(room.incident), timezone.now()
    if form == "md":
        body = markdown(paper, now, request.build_absolute_uri(reverse("review", args=[slug]))).encode()
    else:
        with timezone.override(UTC):  # on paper all times are in the zone that it names
            page = render_to_string("review/alone.html", {"paper": paper, "at": now, "style": sheet_style()})
        body = pdf.pdf_of(page)
    answer = HttpResponse(body, content_type=KINDS[form])
    answer["Content-Disposition"] = f'attachment; filename="review-{slug}.{form}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _edit(request: HttpRequest, room: Room, row: FollowUp | None) -> HttpResponse:
    people = People.of(room).choices(row.owner if row else None, None if row else room.user)
    initial: dict[str, Any] = actions.follow_up_values(row) if row else {"client_id": uuid.uuid4()}
    form: SeenForm = FollowUpForm(request.POST or None, initial=initial, auto_id="follow_up_%s", people=people)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            fields = {name: value for name, value in form.cleaned_data.items() if name != "client_id"}
            client_id = form.cleaned_data["client_id"]
            try:
                seen = form.seen if row else None
                done = actions.put_follow_up(room, fields, row.pk if row else None, seen, client_id)
                return redirect(f"{reverse('review', args=[room.incident.slug])}#follow-up-{done.pk}")
            except Overtaken as beaten:
                now = room.incident.follow_ups.select_related("edited_by").get(pk=row.pk) if row else None
                who = visible(known_as(now.edited_by)) if now and now.edited_by else "Somebody"
                form = form.beside(beaten.now, who, in_words(beaten.now, form))
                status = 409
            except Refused as refused:
                if refused.status in (403, 404, 409):
                    raise
                form.add_error(None, refused.message)
    context = shell(room, "review") | {"form": form, "row": row, "what": "follow-up"}
    return render(request, "review/form.html", context, status=status)

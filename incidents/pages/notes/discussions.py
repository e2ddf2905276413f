"""One discussion on a page of its own, the earlier texts of a note, and resolving."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import notes as actions
from incidents.actions import notices
from incidents.content import discussions, merging
from incidents.errors import Refused
from incidents.models.words.note import Note
from incidents.pages.forms import ReplyForm
from incidents.pages.notes.views import one
from incidents.pages.shell import is_part, shell

A_PAGE = 50
VERSIONS_A_PAGE = 20


@dataclass(frozen=True)
class Change:
    """One text of a note, and how it differs from the one before."""

    author: User
    at: datetime
    pieces: list[merging.Piece]
    first: bool


@require_http_methods(["GET", "POST"])
def thread(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Show a whole discussion, named by any of its notes; a POST adds a reply. For htmx: as lists show it."""
    room = access.enter(request.user, slug)
    row = one(room, id)
    root = one(room, row.reply_to_id) if row.reply_to_id else row
    form = ReplyForm(request.POST if request.method == "POST" else None, auto_id=f"reply-{root.pk}-%s")
    if request.method == "POST":
        if form.is_valid():
            fields = form.cleaned_data
            try:
                written = actions.reply(
                    room, root.pk, fields["text"], client_id=fields["client"], again=fields["again"]
                )
            except Refused as refused:
                if is_part(request) or refused.status in (403, 404):
                    raise
                form.add_error(None, refused.message)
            else:
                if not is_part(request):
                    return redirect(
                        reverse("note-thread", args=[slug, root.pk]) + f"?at={written.pk}#note-{written.pk}"
                    )
                return _part(request, room, root)
        return _part(request, room, root, form) if is_part(request) else _page(request, room, row, root, form)
    if is_part(request):
        return _part(request, room, root)
    notices.seen(room, thread=root.pk)
    return _page(request, room, row, root, form)


@require_GET
def history(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Show every text that a note had: who, when, and what changed. Nothing is shown of a deleted note."""
    room = access.enter(request.user, slug)
    row = one(room, id)
    if row.deleted_at is not None:
        raise Refused("This note was deleted.", 410)
    paged = Paginator(row.versions.select_related("author").order_by("-number"), VERSIONS_A_PAGE).get_page(
        request.GET.get("page")
    )
    shown = list(paged)
    older = row.versions.filter(number__lt=shown[-1].number).order_by("-number").first() if shown else None
    before = [*shown[1:], older]
    changes = [
        Change(
            version.author,
            version.made_at,
            merging.differences(last.text, version.text) if last else [merging.Piece("same", version.text)],
            last is None,
        )
        for version, last in zip(shown, before, strict=True)
    ]
    context = shell(room, "notes") | {"note": row, "changes": changes, "paged": paged, "query": ""}
    return render(request, "notes/note_history.html", context)


@require_POST
def resolve(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    room = access.enter(request.user, slug, Right.NOTE)
    return _after(request, room, actions.resolve(room, id))


@require_POST
def reopen(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    room = access.enter(request.user, slug, Right.NOTE)
    return _after(request, room, actions.reopen(room, id))


def _after(request: HttpRequest, room: Room, row: Note) -> HttpResponse:
    if is_part(request):
        return _part(request, room, one(room, row.pk))
    return redirect("note-thread", room.incident.slug, row.pk)


def _part(request: HttpRequest, room: Room, root: Note, form: ReplyForm | None = None) -> HttpResponse:
    """Answer with the discussion as lists show it; empty if this reader may see none of it any more."""
    shown = discussions.threads(room, list(discussions.roots(room).filter(pk=root.pk)))
    if not shown:
        return HttpResponse("", status=200)
    context = shell(room, "notes") | {"thread": shown[0], "reply_form": form if form and form.errors else None}
    context |= {"whole": request.GET.get("whole") == "1"}
    return render(request, "notes/_thread.html", context, status=422 if form and form.errors else 200)


def _page(request: HttpRequest, room: Room, row: Note, root: Note, form: ReplyForm) -> HttpResponse:
    if root.deleted_at is not None and not discussions.roots(room).filter(pk=root.pk).exists():
        raise Refused("This note was deleted.", 410)
    found = discussions.replies(room, root)
    paginator = Paginator(found, A_PAGE)
    at = request.GET.get("at", "") or (str(row.pk) if row.pk != root.pk else "")
    page = request.GET.get("page")
    if page is None and at.isascii() and at.isdigit() and len(at) < 16:
        page = str(max(found.filter(pk__lt=int(at)).count(), 0) // A_PAGE + 1)
    paged = paginator.get_page(page)
    context = shell(room, "notes") | {
        "thread": discussions.whole(room, root, paged),
        "paged": paged,
        "query": "",
        "reply_form": form if form.errors else None,
        "whole": True,
    }
    return render(request, "notes/thread.html", context, status=422 if form.errors else 200)

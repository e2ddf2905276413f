"""The summary: one page for people with two minutes. Live, frozen, edited, exported."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import summary as actions
from incidents.content import merging, pdf
from incidents.content.summary import (
    content as summary_content,
)
from incidents.content.summary import (
    gathering as summary,
)
from incidents.content.summary import (
    markdown as summary_markdown,
)
from incidents.content.summary import (
    page as summary_page,
)
from incidents.content.summary.content import EDITABLE, TITLES, Json
from incidents.errors import Refused
from incidents.models.words.summary import SummaryText, SummaryVersion
from incidents.pages.shell import shell
from incidents.pages.summary.forms import WordsForm

A_PAGE = 20
EARLIER = 10
# Where to add what is missing, by section, and the right that this needs.
OFFERS = {
    "impact": (Right.CASE, "case", "Say it in the case"),
    "decision": (Right.PLAN, "decision-new", "Ask for one"),
    "update": (Right.PLAN, "status", "Promise one"),
    "next": (Right.PLAN, "action-new", "Plan a step"),
}
KINDS = {"pdf": "application/pdf", "html": "text/html; charset=utf-8", "md": "text/markdown; charset=utf-8"}


@dataclass(frozen=True)
class Earlier:
    """An earlier text of a section, as a difference to the one before it."""

    author: User
    at: datetime
    pieces: list[merging.Piece]


@require_GET
def live(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the current page, and whether it differs from the last version."""
    room = access.enter(request.user, slug)
    gathered = summary.gather(room.incident)
    last = room.incident.summary_versions.order_by("-number").first()
    moved = [title for title, _ in summary_content.changed(last.content, gathered.content)] if last else []
    context = shell(room, "summary", gathered.counts) | {
        "c": _offered(room, _in_room(room, gathered.content)),
        "slug": slug,
        "mode": "room",
        "number": 0,
        "last": last.number if last else None,
        "moved": moved,
    }
    return render(request, "summary/summary.html", context)


@require_GET
def version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show a frozen version with the lines that it cites."""
    room = access.enter(request.user, slug)
    row = _version(room, number)
    context = shell(room, "summary") | {
        "c": _in_room(room, row.content),
        "slug": slug,
        "mode": "room",
        "number": number,
        "version": row,
        "at": row.made_at.isoformat(),
    }
    return render(request, "summary/summary.html", context)


@require_http_methods(["GET", "POST"])
def versions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the versions; a POST freezes the current page."""
    room = access.enter(request.user, slug)
    if request.method == "POST":
        made = actions.freeze(room, request.POST.get("why", "")[:200])
        if request.POST.get("then") == "links":
            return redirect(reverse("summary-links", args=[slug]) + f"?version={made.number}")
        messages.success(request, f"Version {made.number} is frozen.")
        return redirect("summary-version", slug, made.number)
    rows = room.incident.summary_versions.defer("content").order_by("-number")
    context = shell(room, "summary") | {
        "slug": slug,
        "paged": Paginator(rows, A_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "summary/versions.html", context)


@require_GET
def changes(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what changed from one version to another; without `to`, to the current page."""
    room = access.enter(request.user, slug)
    before = _version(room, _number(request.GET.get("from", "")))
    after = _version(room, _number(request.GET["to"])) if request.GET.get("to") else None
    counts = None
    if after is None:
        gathered = summary.gather(room.incident)
        content, counts = gathered.content, gathered.counts
    else:
        content = after.content
    context = shell(room, "summary", counts) | {
        "slug": slug,
        "before": before,
        "after": after,
        "changes": summary_content.changed(before.content, content),
    }
    return render(request, "summary/changes.html", context)


@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, slug: str, section: str) -> HttpResponse:
    """Let the lead write a section's words. A change by somebody else in between is merged, not overwritten."""
    room = access.enter(request.user, slug, Right.SHARE)
    if section not in EDITABLE:
        raise Refused("There is no such section.", 404)
    if request.method == "GET":
        rows = _texts(room, section)
        initial = {"text": rows[0].text, "way": rows[0].way, "seen": rows[0].number} if rows else {"seen": 0}
        return _edit(request, room, section, WordsForm(initial=initial, auto_id="words_%s"), rows=rows)
    form = WordsForm(request.POST, auto_id="words_%s")
    if form.is_valid() and form.cleaned_data["merged"] and merging.undecided(form.cleaned_data["text"] or ""):
        form.add_error("text", "Decide the places marked ⟦ ‖ ⟧ first: keep one side of each, or write your own.")
    if form.is_valid():
        fields = form.cleaned_data
        try:
            actions.put_text(room, section, fields["text"] or "", fields["way"], fields["seen"] or 0)
        except actions.Conflict as conflict:
            return _conflict(request, room, section, conflict, fields)
        except Refused as refused:
            if refused.status in (403, 404, 409):
                raise
            form.add_error(None, refused.message)
        else:
            return redirect(reverse("summary", args=[slug]) + f"#s-{section}")
    return _edit(request, room, section, form, status=422)


@require_GET
def export(request: HttpRequest, slug: str, number: int, form: str) -> HttpResponse:
    """Answer with the page as a file that contains all it cites; `number` 0: the current page."""
    room = access.enter(request.user, slug)
    row = _version(room, number) if number else None
    content = row.content if row else summary.gather(room.incident).content
    at = (row.made_at if row else timezone.now()).isoformat(timespec="seconds")

    def lines(artifact: int, first: int, last: int) -> str:
        return request.build_absolute_uri(_lines(slug, artifact, first, last))

    made = summary_page.by_itself(content, lines)
    hashed = row.content_hash if row else summary_content.digest(content)
    if form == "md":
        link = request.build_absolute_uri(
            reverse("summary-version", args=[slug, number]) if row else reverse("summary", args=[slug])
        )
        body = summary_markdown.written(made, at, row.number if row else None, hashed, link).encode()
    else:
        context = {
            "c": made,
            "mode": "alone",
            "at": at,
            "version": row,
            "content_hash": hashed,
            "style": summary_page.style(made),
        }
        page = render_to_string("summary/alone.html", context)
        body = pdf.pdf_of(page) if form == "pdf" else page.encode()
    answer = HttpResponse(body, content_type=KINDS[form])
    name = f"summary-{slug}{f'-version-{number}' if row else ''}.{form}"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
    return answer


def _edit(
    request: HttpRequest,
    room: Room,
    section: str,
    form: WordsForm,
    status: int = 200,
    rows: list[SummaryText] | None = None,
    **more: Any,
) -> HttpResponse:
    """Show the form of a section; `rows` are its texts, if they are known."""
    slug = room.incident.slug
    gathered = summary.gather(room.incident)
    now = {one["key"]: one for one in summary_content.shown(_in_room(room, gathered.content))}
    context = shell(room, "summary", gathered.counts) | {
        "slug": slug,
        "key": section,
        "section": now.get(section),
        "section_title": TITLES[section],
        "mode": "room",
        "form": form,
        "earlier": _earlier(_texts(room, section) if rows is None else rows),
    }
    return render(request, "summary/edit.html", context | more, status=status)


def _conflict(
    request: HttpRequest, room: Room, section: str, conflict: actions.Conflict, said: dict[str, Any]
) -> HttpResponse:
    mine = said["text"] or ""
    merged = merging.merge(conflict.base, conflict.row.text, mine, conflict.name)
    form = WordsForm(
        {"text": merged.text, "way": said["way"], "seen": conflict.row.number, "merged": "1"}, auto_id="words_%s"
    )
    more: dict[str, Any] = {
        "conflict": conflict,
        "conflicts": merged.conflicts,
        "theirs": merging.differences(conflict.base, conflict.row.text),
        "mine": merging.differences(conflict.base, mine),
    }
    return _edit(request, room, section, form, 409, **more)


def _texts(room: Room, section: str) -> list[SummaryText]:
    """Return the last texts of a section, newest first."""
    texts = room.incident.summary_texts.filter(section=section).select_related("author")
    return list(texts.order_by("-number")[: EARLIER + 1])


def _earlier(rows: list[SummaryText]) -> list[Earlier]:
    texts = []
    for i, row in enumerate(rows[:EARLIER]):
        before = rows[i + 1].text if i + 1 < len(rows) else ""
        texts.append(Earlier(row.author, row.made_at, merging.differences(before, row.text)))
    return texts


def _in_room(room: Room, content: Json) -> Json:
    slug = room.incident.slug
    return summary_page.in_room(
        content,
        lambda key: reverse("finding", args=[slug, key]),
        lambda artifact, first, last: _lines(slug, artifact, first, last),
    )


def _offered(room: Room, made: Json) -> Json:
    """Add links to empty sections for people who may fill them in."""
    for section in summary_content.shown(made):
        right, name, text = OFFERS.get(section["key"], (None, "", ""))
        if (
            right
            and room.may(right)
            and "words" not in section
            and section["sentences"][:1]
            and section["sentences"][0]["missing"]
        ):
            section["offer"] = {"href": reverse(name, args=[room.incident.slug]), "text": text}
    return made


def _lines(slug: str, artifact: int, first: int, last: int) -> str:
    anchor = f"L{first}" if first == last else f"L{first}-L{last}"
    return f"{reverse('lines', args=[slug, artifact])}?at={first}#{anchor}"


def _version(room: Room, number: int) -> SummaryVersion:
    row: SummaryVersion | None = room.incident.summary_versions.filter(number=number).first()
    if row is None:
        raise Refused("There is no such version of this summary.", 404)
    return row


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise Refused("There is no such version of this summary.", 404)
    return int(text)

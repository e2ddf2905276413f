"""Links to a frozen summary: leads make, list and revoke them; people without an account open them."""

from __future__ import annotations

from functools import wraps
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import summary as actions
from incidents.content.summary import page as summary_page
from incidents.errors import Refused
from incidents.models.words.summary import ShareOpening
from incidents.pages.shell import View, answered, shell
from incidents.pages.summary.forms import LinkForm

A_PAGE = 20
MOST_OPENINGS = 50
MOST_VERSIONS = 100


def shared_page(view: View) -> View:
    """Wrap a view whose address is a secret: no referrer leaks it to other sites, no search engine lists it."""

    @wraps(view)
    def outside(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        answer = answered(view, request, *args, **kwargs)
        answer["Referrer-Policy"] = "no-referrer"
        answer["X-Robots-Tag"] = "noindex, nofollow"
        return answer

    return outside


@require_http_methods(["GET", "POST"])
def links(request: HttpRequest, slug: str) -> HttpResponse:
    """List the links with who opened them; a POST makes one, shown only this once, or revokes one."""
    room = access.enter(request.user, slug)
    # An archived room makes no more links; its existing ones can be seen and revoked.
    if Right.SHARE not in room.rights:
        room.require(Right.SHARE)
    if request.method == "POST" and request.POST.get("do") == "revoke":
        actions.revoke(room, _id(request.POST.get("link", "")))
        return redirect("summary-links", slug)
    numbers = list(room.incident.summary_versions.order_by("-number").values_list("number", flat=True)[:MOST_VERSIONS])
    if request.method == "GET":
        asked = request.GET.get("version", "")
        initial = {"version": int(asked)} if asked.isascii() and asked.isdigit() and len(asked) < 9 else {}
        return _show(request, room, LinkForm(initial=initial, versions=numbers, auto_id="link_%s"), numbers)
    form = LinkForm(request.POST, versions=numbers, auto_id="link_%s")
    if not form.is_valid():
        room.require(Right.SHARE)
        return _show(request, room, form, numbers, status=422)
    fields = form.cleaned_data
    secret = actions.share(room, fields["version"], fields["label"], fields["days"])
    link = request.build_absolute_uri(reverse("shared-summary", args=[secret]))
    answer = _show(request, room, LinkForm(versions=numbers, auto_id="link_%s"), numbers, link=link)
    answer["Referrer-Policy"] = "strict-origin"
    return answer


@require_GET
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """Show the version that a link is pinned to, with its citations; no address on it leads into the room."""
    link = actions.open_link(token, request.META.get("REMOTE_ADDR", ""))
    newest = link.incident.summary_versions.order_by("-number").values_list("number", flat=True).first()
    context = {
        "c": summary_page.by_itself(link.version.content),
        "mode": "shared",
        "version": link.version,
        "at": link.version.made_at.isoformat(),
        "newer": newest is not None and newest > link.version.number,
        "expires": f"{link.expires_at:%Y-%m-%d %H:%M} UTC",
    }
    return render(request, "summary/shared.html", context)


def _show(
    request: HttpRequest, room: Room, form: LinkForm, numbers: list[int], status: int = 200, link: str = ""
) -> HttpResponse:
    rows = room.incident.share_links.select_related("version", "created_by", "revoked_by").defer("version__content")
    paged = Paginator(rows, A_PAGE).get_page(request.GET.get("page"))
    seen: dict[int, list[ShareOpening]] = {}
    for one in ShareOpening.objects.filter(link__in=list(paged)).order_by("-last_at")[: A_PAGE * MOST_OPENINGS]:
        seen.setdefault(one.link_id, []).append(one)
    for row in paged:
        # For the template only: the addresses from which it was opened.
        row.seen_from = seen.get(row.pk, [])[:MOST_OPENINGS]  # type: ignore[attr-defined]  # no column of the model
    context = shell(room, "summary") | {
        "slug": room.incident.slug,
        "form": form,
        "versions": numbers,
        "paged": paged,
        "link": link,
    }
    return render(request, "summary/links.html", context, status=status)


def _id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused("There is no such link.", 404)
    return int(text)

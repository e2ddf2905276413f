"""The installation itself, for its administrators: does everything run, is there room, is there a backup."""

from __future__ import annotations

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from incidents import access
from incidents.actions import policy_reports
from incidents.content import site as content
from incidents.models.site.policy_report import KEPT, PolicyReport
from incidents.models.site.site_record import SiteRecord
from incidents.storage import devices

A_PAGE = 100


@require_GET
def site(request: HttpRequest) -> HttpResponse:
    """Show how this installation fares. For administrators of the site only."""
    access.require_administrator(request.user)
    files, held = content.originals()
    seen = content.look()
    context = {
        "site": seen,
        "every": content.every_words(seen.backups.every),
        "age": content.age_words(seen.backups.age) if seen.backups.age else "",
        "database": content.database_bytes(),
        "files": files,
        "held": held,
        "largest": content.largest_rooms(),
        "limits": content.limits(),
    }
    return render(request, "site/site.html", context)


@require_GET
def sign_ins(request: HttpRequest) -> HttpResponse:
    """List who signed in and what was refused, newest first. For administrators of the site only."""
    access.require_administrator(request.user)
    name, only = request.GET.get("q", "").replace("\x00", "").strip(), request.GET.get("only", "")
    rows = devices.sign_ins(refused=only == "refused", name=name)
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "rows": Paginator(rows, A_PAGE).get_page(request.GET.get("page")),
        "q": name,
        "only": only,
        "query": f"{query.urlencode()}&" if query else "",
    }
    return render(request, "site/sign_ins.html", context)


@require_GET
def rooms(request: HttpRequest) -> HttpResponse:
    """List what the record of the site holds, and the rooms that are to be deleted or held. For administrators only."""
    access.require_administrator(request.user)
    context = {
        "lines": Paginator(SiteRecord.objects.all(), A_PAGE).get_page(request.GET.get("page")),
        "broken": SiteRecord.objects.first_broken(),
        "leaving": content.leaving(),
        "held": content.held(),
        "days": settings.EXHIBIT_KEEP_DAYS,
        "undo_days": settings.EXHIBIT_UNDO_DAYS,
        "query": "",
    }
    return render(request, "site/rooms.html", context)


@require_http_methods(["GET", "POST"])
def policy(request: HttpRequest) -> HttpResponse:
    """List what browsers report of the content policy; a POST forgets it. For administrators of the site only."""
    access.require_administrator(request.user)
    if request.method == "POST":
        policy_reports.forget_all(request.user)
        return redirect("policy")
    rows = Paginator(PolicyReport.objects.all(), A_PAGE).get_page(request.GET.get("page"))
    return render(request, "site/policy.html", {"rows": rows, "kept": KEPT})

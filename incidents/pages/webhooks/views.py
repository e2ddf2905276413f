"""Webhooks: addresses of other systems, and the log of what was sent to each."""

from __future__ import annotations

import uuid
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import webhooks as actions
from incidents.errors import Refused
from incidents.models.room.webhook import DeliveryState, HookKind, Webhook
from incidents.pages.plan.forms import WebhookForm
from incidents.pages.shell import shell

A_PAGE = 40


@require_http_methods(["GET", "POST"])
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """List the addresses; a POST adds one and shows its secret, once."""
    room = access.enter(request.user, slug, Right.HOOKS)
    if request.method == "GET":
        return _list(request, room, WebhookForm(auto_id="hook_%s"))
    form = WebhookForm(request.POST, auto_id="hook_%s")
    if form.is_valid():
        try:
            fields = form.cleaned_data
            made = actions.add(room, fields["url"], fields["kinds"], fields["form"] or "")
        except Refused as refused:
            if refused.status in (403, 404):
                raise
            form.add_error("url", refused.message)
        else:
            return _list(request, room, WebhookForm(auto_id="hook_%s"), made)
    return _list(request, room, form)


@require_http_methods(["GET", "POST"])
def webhook(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Show what was sent to an address and what came back; a POST tests, pauses, resumes, removes, sends again."""
    room = access.enter(request.user, slug, Right.HOOKS)
    if request.method == "POST":
        return _do(request, room, id)
    hook = room.incident.webhooks.select_related("created_by").filter(pk=id).first()
    if hook is None:
        raise Refused("There is no such webhook.", 404)
    log = Paginator(hook.deliveries.order_by("-created_at", "id"), A_PAGE).get_page(request.GET.get("page"))
    waiting = any(row.state == DeliveryState.QUEUED for row in log)
    context = shell(room, "webhooks") | {"hook": hook, "paged": log, "query": "", "waiting": waiting}
    return render(request, "webhooks/webhook.html", context)


def _do(request: HttpRequest, room: Room, id: int) -> HttpResponse:
    match request.POST.get("do"):
        case "test":
            actions.test(room, id)
        case "pause":
            actions.pause(room, id)
        case "resume":
            actions.pause(room, id, False)
        case "remove":
            actions.remove(room, id)
            return redirect("webhooks", room.incident.slug)
        case "bring-back":
            actions.bring_back(room, id)
        case "again":
            try:
                delivery = uuid.UUID(request.POST.get("delivery", ""))
            except ValueError:
                raise Refused("There is no such message.", 404) from None
            actions.again(room, id, delivery)
        case _:
            raise Refused("There is no such action here.")
    return redirect("webhook", room.incident.slug, id)


def _list(request: HttpRequest, room: Room, form: WebhookForm, made: Webhook | None = None) -> HttpResponse:
    rows = room.incident.webhooks.select_related("created_by").annotate(
        sent=Count("deliveries", filter=Q(deliveries__state=DeliveryState.SENT)),
        waiting=Count("deliveries", filter=Q(deliveries__state=DeliveryState.QUEUED)),
        failed=Count("deliveries", filter=Q(deliveries__state=DeliveryState.FAILED)),
        last=Max("deliveries__tried_at"),
    )
    names = dict(HookKind.choices)
    hooks: list[dict[str, Any]] = [
        {"row": row, "kinds": [names[kind] for kind in row.kinds if kind in names]} for row in rows
    ]
    context = shell(room, "webhooks") | {"hooks": hooks, "form": form, "made": made}
    answer = render(request, "webhooks/webhooks.html", context, status=422 if form.errors else 200)
    if made is not None:
        answer["Referrer-Policy"] = "strict-origin"
    return answer

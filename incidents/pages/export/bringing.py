"""A room that comes from a bundle: the form that takes it, and the page that says where a room came from."""

from __future__ import annotations

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from incidents import access
from incidents.actions import exports as actions
from incidents.content import judged_before
from incidents.errors import Refused
from incidents.models.room.bundle import Origin
from incidents.pages.rooms.views import request_user
from incidents.pages.shell import shell
from incidents.storage import signing, store

A_PAGE = 40


class BundleForm(forms.Form):
    """A bundle, and the key of the site that it must come from."""

    file = forms.FileField(label="Bundle", max_length=255)
    key = forms.CharField(
        label="Public key of the site that made it",
        max_length=60,
        required=False,
        strip=True,
        help_text=(
            "Its Export page shows the key. With it a bundle that anybody else signed is refused; without it the new"
            " room shows who signed."
        ),
    )


@require_http_methods(["GET", "POST"])
def bring(request: HttpRequest) -> HttpResponse:
    """Take a bundle and open a room from it. The file is checked to its last byte before there is a room."""
    user = request_user(request)
    form = BundleForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            incoming = store.receive_all(form.cleaned_data["file"].chunks())
            try:
                return redirect("origin", actions.bring(user, incoming, form.cleaned_data["key"]).slug)
            finally:
                incoming.discard()
        except Refused as refused:
            form.add_error("file", refused.message)
    return render(request, "export/import.html", {"form": form}, status=422 if request.method == "POST" else 200)


@require_GET
def origin(request: HttpRequest, slug: str) -> HttpResponse:
    """Say where a room came from, how far it is filled, and what differs now that it was judged here."""
    room = access.enter(request.user, slug)
    row = Origin.objects.select_related("brought_by").filter(incident=room.incident).first()
    if row is None:
        raise Refused("This room did not come from a bundle.", 404)
    newest = room.incident.evaluations.filter(accepted=True).order_by("-number").first()
    paged = Paginator(list(reversed(row.activity)), A_PAGE).get_page(request.GET.get("page"))
    context = shell(room, "origin") | {
        "origin": row,
        "difference": judged_before.difference(row.judged, newest.report) if newest and row.judged else None,
        "newest": newest,
        "ours": row.key == signing.public_key(),
        "paged": paged,
        "query": "",
    }
    return render(request, "export/origin.html", context)

"""A person's access tokens: made for a program, shown once, revoked."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from incidents.access import visible_to
from incidents.actions import access_tokens as actions
from incidents.errors import NotAMember, Refused
from incidents.models.people.access_token import AccessToken
from incidents.pages.forms import AccessTokenForm
from incidents.pages.rooms.views import request_user

A_PAGE = 20


@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """List one's own tokens; a POST makes one, whose secret this answer alone shows, or revokes one."""
    user = request_user(request)
    if request.method == "GET":
        return _page(request, AccessTokenForm())
    if request.POST.get("do") == "revoke":
        id = request.POST.get("token", "")
        actions.revoke(user, int(id) if id.isascii() and id.isdigit() else 0)
        messages.success(request, "The token is revoked.")
        return redirect("access-tokens")
    form = AccessTokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    said = form.cleaned_data
    try:
        secret = actions.create(user, said["label"], said["scopes"], said["days"], said["room"])
    except NotAMember:
        form.add_error("room", "There is no such room.")
        return _page(request, form, status=422)
    except Refused as refused:
        form.add_error(None, refused.message)
        return _page(request, form, status=refused.status)
    return _page(request, AccessTokenForm(), secret=secret)


def _page(request: HttpRequest, form: AccessTokenForm, secret: str = "", status: int = 200) -> HttpResponse:
    user = request_user(request)
    paged = Paginator(AccessToken.objects.filter(owner=user), A_PAGE).get_page(request.GET.get("page"))
    # Only rooms that this person still sees: a title must not outlive the membership.
    rooms = visible_to(user).in_bulk([row.incident_id for row in paged if row.incident_id])
    context = {
        "form": form,
        "secret": secret,
        "paged": paged,
        "rows": [(row, rooms.get(row.incident_id or 0)) for row in paged],
        "address": request.build_absolute_uri("/api/v1/rooms"),
    }
    return render(request, "people/access_tokens.html", context, status=status)

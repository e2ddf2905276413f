"""The first administrator, closing an account, and the health check of the server."""

from __future__ import annotations

from allauth.account.decorators import reauthentication_required
from django import forms
from django.conf import settings
from django.contrib.auth import login, logout
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from incidents.actions import accounts as actions
from incidents.actions import closing_accounts
from incidents.content import site
from incidents.errors import Refused, WrongSecret
from incidents.pages.rooms.views import request_user
from incidents.storage import pulse
from incidents.work import ingest, judge_process, queries


class FirstAdminForm(forms.Form):
    username = forms.CharField(
        max_length=150, label="User name", widget=forms.TextInput(attrs={"autocomplete": "username"})
    )
    email = forms.EmailField(required=False, label="Mail address")
    password = forms.CharField(
        label="Password",
        strip=False,
        help_text="At least ten characters. Four words that do not belong together are good.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


@require_http_methods(["GET", "POST"])
def first_admin(request: HttpRequest, token: str) -> HttpResponse:
    """Make the first administrator with the link that `up` printed, and sign them in; the link works only once."""
    actions.look_at_first(token, request.META.get("REMOTE_ADDR", ""))
    form = FirstAdminForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        fields = form.cleaned_data
        try:
            user = actions.first_admin(token, fields["username"], fields["password"], fields["email"])
        except WrongSecret:
            raise
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            return redirect("rooms")
    context = {
        "heading": "The first administrator",
        "words": ["This link works once. Whoever uses it administers this server and can invite the others."],
        "form": form,
        "button": "Make the account and sign in",
    }
    return render(request, "plain.html", context, status=422 if form.errors else 200)


class CloseForm(forms.Form):
    username = forms.CharField(max_length=150, label="Your user name, to be sure")

    def __init__(self, data: QueryDict | None, expected: str) -> None:
        super().__init__(data)
        self.expected = expected

    def clean_username(self) -> str:
        if self.cleaned_data["username"] != self.expected:
            raise forms.ValidationError("That is not your user name.")
        return self.expected


@require_http_methods(["GET", "POST"])
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no types
def close(request: HttpRequest) -> HttpResponse:
    """Close one's own account after typing one's password and user name; texts written in rooms stay."""
    user = request_user(request)
    form = CloseForm(request.POST if request.method == "POST" else None, user.get_username())
    if request.method == "POST" and form.is_valid():
        try:
            closing_accounts.close_account(user)
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            logout(request)
            return redirect("account_login")
    context = {
        "heading": "Close my account",
        "words": [
            "You leave all rooms and can no longer sign in. Your name and mail address are taken off everything you "
            "wrote; the texts stay, as those of a former member. The record of activity keeps the name you had.",
            "This cannot be undone.",
        ],
        "form": form,
        "button": "Close my account",
    }
    return render(request, "plain.html", context, status=422 if form.errors else 200)


@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer whether the database responds, for load balancers and containers.

    `?fences`: also the limits of queries, reading and judging. `?backup`: also how old the last backup is.
    """
    if pulse.away() or not _database_answers():
        return JsonResponse({"ok": False, "database": "away"}, status=503)
    if "backup" in request.GET:
        made = site.backups()
        age_s = int(made.age.total_seconds()) if made.age is not None else None
        return JsonResponse(
            {"ok": True, "backup": {"age_s": age_s, "old": made.old, "failed": made.failed is not None}}
        )
    if "fences" not in request.GET:
        return JsonResponse({"ok": True})
    held = dict(queries.fences()) if settings.EXHIBIT_ASK else {}
    asked = "on" if settings.EXHIBIT_ASK else "off"
    children = {"reading": dict(ingest.fences()), "judging": dict(judge_process.fences())}
    return JsonResponse({"ok": True, "ask": asked, "fences": held, **children})


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 1")
    except DatabaseError:
        return False
    return True

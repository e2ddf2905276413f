"""Django's admin, behind the sign-in of the other pages."""

from __future__ import annotations

from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib.admin import AdminSite as DjangosAdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from incidents import access


class AdminSite(DjangosAdminSite):
    site_header = site_title = "Exhibit administration"

    def has_permission(self, request: HttpRequest) -> bool:
        """Let staff in, with a second factor where the site asks for one."""
        return super().has_permission(request) and not access.lacks_factor(request.user)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Send people to the ordinary sign-in. Django's own form is never shown or read: it asks for no second factor."""
        answer: HttpResponse = secure_admin_login(_of_staff)(request)
        return answer


def _of_staff(request: HttpRequest) -> HttpResponse:
    return redirect("mfa_index" if access.lacks_factor(request.user) else "admin:index")

"""Root URLs: Django's admin, accounts (allauth), and everything else in incidents/urls.py."""

from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.http import HttpRequest
from django.urls import include, path

from incidents import access


def may_administer(request: HttpRequest) -> bool:
    """Tell whether somebody may see Django's admin: staff, with a second factor where the site asks for one."""
    user = request.user
    return user.is_active and user.is_staff and not access.lacks_factor(user)


admin.site.site_header = admin.site.site_title = "Exhibit administration"
admin.autodiscover()
# The sign-in form of Django's admin asks for no second factor, so people sign in on the ordinary page.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]  # as allauth documents it
# Nor does it know who must have one.
admin.site.has_permission = may_administer  # type: ignore[method-assign]  # a site of our own would lose autodiscover

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("", include("incidents.urls")),
]

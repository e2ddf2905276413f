"""Root URLs: Django's admin, accounts (allauth), and everything else in incidents/urls.py."""

from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

admin.site.site_header = admin.site.site_title = "Exhibit administration"
admin.autodiscover()
# The sign-in form of Django's admin asks for no second factor, so people sign in on the ordinary page.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]  # as allauth documents it

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("", include("incidents.urls")),
]

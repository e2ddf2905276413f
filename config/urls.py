"""Root URLs: Django's admin, accounts (allauth), and everything else in incidents/urls.py; and who answers a failure."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("", include("incidents.urls")),
]

handler500 = "incidents.doors.rest.api.failed"

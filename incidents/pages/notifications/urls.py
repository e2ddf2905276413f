"""Addresses of notifications."""

from __future__ import annotations

from django.urls import path

from incidents.pages.notifications import views
from incidents.pages.shell import page

urlpatterns = [
    path("notifications/", page(views.notifications), name="notifications"),
]

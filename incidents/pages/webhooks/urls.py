"""Addresses of webhooks."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.shell import page
from incidents.pages.webhooks import views

urlpatterns = [
    path(ROOM + "webhooks/", page(views.webhooks), name="webhooks"),
    path(ROOM + "webhooks/<int:id>/", page(views.webhook), name="webhook"),
]

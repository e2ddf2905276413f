"""Addresses of the incident's log."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.log import views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "log/", page(views.log), name="log"),
    path(ROOM + "log/new/", page(views.write), name="log-new"),
    path(ROOM + "log/<int:id>/", page(views.entry), name="log-entry"),
]

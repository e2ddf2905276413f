"""Addresses of what leaves a room, and of rooms that come from a bundle."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.export import bringing, views
from incidents.pages.shell import page, takes_files

urlpatterns = [
    path(ROOM + "export/", page(views.export), name="export"),
    path(ROOM + "export/<uuid:id>", page(views.bundle), name="export-bundle"),
    path(ROOM + "export/<uuid:id>/names/", page(views.names), name="export-names"),
    path(ROOM + "export/<str:what>.<str:form>", page(views.found), name="export-found"),
    path(ROOM + "origin/", page(bringing.origin), name="origin"),
    path("rooms/import/", takes_files(page(bringing.bring)), name="room-import"),
]

"""Addresses of the status page."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.shell import page
from incidents.pages.status import updates, views

urlpatterns = [
    path(ROOM + "status/", page(views.status), name="status"),
    path(ROOM + "update/", page(updates.update), name="update"),
    path(ROOM + "close/", page(views.close), name="close"),
]

"""Addresses of the clocks page."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.clocks import views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "clocks/", page(views.clocks), name="clocks"),
]

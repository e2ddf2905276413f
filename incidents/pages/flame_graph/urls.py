"""Addresses of the flame graph."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.flame_graph import views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "flame-graph/", page(views.flame_graph), name="flame-graph"),
]

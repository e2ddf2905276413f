"""Addresses of the lines page."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.lines import views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "evidence/<int:number>/", page(views.lines), name="lines"),
    path(ROOM + "evidence/<int:number>/lines", page(views.lines_data), name="lines-data"),
]

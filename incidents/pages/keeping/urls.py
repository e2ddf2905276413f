"""Addresses of how long a room is kept."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.keeping import views
from incidents.pages.shell import page

urlpatterns = [path(ROOM + "keeping/", page(views.keeping), name="keeping")]

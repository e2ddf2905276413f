"""Addresses of similar rooms."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.shell import page
from incidents.pages.similar import views

urlpatterns = [
    path(ROOM + "similar/", page(views.similar), name="similar"),
]

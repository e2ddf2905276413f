"""Addresses of the list of rooms."""

from __future__ import annotations

from django.urls import path

from incidents.pages.rooms import views
from incidents.pages.shell import page

urlpatterns = [
    path("", page(views.rooms), name="rooms"),
    path("rooms.csv", page(views.rooms_csv), name="rooms-csv"),
    path("rooms/new/", page(views.room_new), name="room-new"),
    path("sample/", page(views.sample), name="sample"),
]

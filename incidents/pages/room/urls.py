"""Addresses of the room."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.room import live, presence, views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM, page(views.room), name="room"),
    path(ROOM + "findings/<key:key>/", page(views.finding), name="finding"),
    path(ROOM + "observations/<key:key>/", page(views.observation), name="observation"),
    path(ROOM + "ask-next/", page(views.ask_next), name="ask-next"),
    path(ROOM + "here/", page(presence.here), name="here"),
    path(ROOM + "stream", live.stream, name="stream"),
]

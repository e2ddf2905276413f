"""Addresses of requests."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.requests import views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "requests/", page(views.requests), name="requests"),
    path(ROOM + "requests/new/", page(views.request_new), name="request-new"),
    path(ROOM + "requests/collect/", page(views.collect), name="collect"),
    path(ROOM + "requests/<int:id>/", page(views.one), name="request"),
    path(ROOM + "requests/<int:id>/edit/", page(views.request_edit), name="request-edit"),
    path(ROOM + "requests/<int:id>/state/", page(views.request_state), name="request-state"),
    path(ROOM + "requests/<int:id>/answer/", page(views.request_answer), name="request-answer"),
    path(ROOM + "requests/<int:id>/link/", page(views.request_link), name="request-link"),
    path(ROOM + "requests/<int:id>/files/<uuid:file>/", page(views.request_file), name="request-file"),
]

"""Addresses of notes."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.notes import completion, discussions, views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "notes/", page(views.notes), name="notes"),
    path(ROOM + "notes/new/", page(views.note_new), name="note-new"),
    path(ROOM + "notes/<int:id>/", page(views.note), name="note"),
    path(ROOM + "notes/<int:id>/thread/", page(discussions.thread), name="note-thread"),
    path(ROOM + "notes/<int:id>/history/", page(discussions.history), name="note-history"),
    path(ROOM + "notes/<int:id>/resolve/", page(discussions.resolve), name="note-resolve"),
    path(ROOM + "notes/<int:id>/reopen/", page(discussions.reopen), name="note-reopen"),
    path(ROOM + "complete", page(completion.complete), name="complete"),
    path(ROOM + "notes/<int:id>/delete/", page(views.delete), name="note-delete"),
    path(ROOM + "notes/<int:id>/restore/", page(views.restore), name="note-restore"),
]

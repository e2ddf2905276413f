"""Addresses of the board."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.board import views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "board/", page(views.board), name="board"),
    path(ROOM + "board/say/", page(views.say), name="board-say"),
    path(ROOM + "board/say/<int:id>/", page(views.said), name="board-said"),
    path(ROOM + "board/say/<int:id>/off/", page(views.said_off), name="board-said-off"),
    path(ROOM + "board/say/<int:id>/back/", page(views.said_back), name="board-said-back"),
    path(ROOM + "board/cause/", page(views.cause_new), name="board-cause-new"),
    path(ROOM + "board/cause/<int:id>/", page(views.cause), name="board-cause"),
    path(ROOM + "board/cause/<int:id>/off/", page(views.cause_off), name="board-cause-off"),
    path(ROOM + "board/cause/<int:id>/back/", page(views.cause_back), name="board-cause-back"),
]

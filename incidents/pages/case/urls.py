"""Addresses of the case page."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.case import views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "case/", page(views.case), name="case"),
    path(ROOM + "case/names/<int:id>/back/", page(views.name_back), name="name-back"),
    path(ROOM + "case.yaml", page(views.case_yaml), name="case-yaml"),
]

"""Addresses of the search."""

from __future__ import annotations

from django.urls import path

from incidents.pages.search import views
from incidents.pages.shell import page

urlpatterns = [
    path("search/", page(views.search), name="search"),
]

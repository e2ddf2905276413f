"""Addresses of help."""

from __future__ import annotations

from django.urls import path

from incidents.pages.help import views
from incidents.pages.shell import page

urlpatterns = [
    path("help/", page(views.terms), name="help"),
    path("help/signatures/", page(views.signatures), name="signatures"),
    path("help/<path:term>/", page(views.term), name="help-term"),
]

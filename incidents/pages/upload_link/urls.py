"""Addresses of the upload page."""

from __future__ import annotations

from django.urls import path

from incidents.pages.shell import open_page
from incidents.pages.upload_link import views

urlpatterns = [
    path("give/<str:token>/", open_page(views.give), name="give"),
]

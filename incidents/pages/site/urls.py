"""Addresses of the pages on the installation itself."""

from __future__ import annotations

from django.urls import path

from incidents.pages.shell import page
from incidents.pages.site import metrics, views

urlpatterns = [
    path("metrics", metrics.metrics, name="metrics"),
    path("site/", page(views.site), name="site"),
    path("site/sign-ins/", page(views.sign_ins), name="sign-ins"),
    path("site/rooms/", page(views.rooms), name="site-rooms"),
    path("site/policy/", page(views.policy), name="policy"),
]

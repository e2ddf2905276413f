"""Addresses of rules and thresholds."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.addresses import ROOM
from incidents.pages.rules import thresholds, views
from incidents.pages.shell import page


class ChoiceConverter(StringConverter):
    """One of the two kinds of changes that a room makes to the rules."""

    regex = "values|hidden"


register_converter(ChoiceConverter, "choice")

urlpatterns = [
    path("rules/", page(views.rules), name="rules"),
    path("rules/<str:id>/", page(views.rule), name="rule"),
    path(ROOM + "findings/<key:key>/explain/", page(views.explain), name="finding-explain"),
    path(ROOM + "thresholds/", page(thresholds.thresholds), name="thresholds"),
    path(ROOM + "thresholds/<choice:what>/<int:id>/", page(thresholds.change), name="threshold"),
]

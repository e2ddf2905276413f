"""Addresses of the ask page."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.addresses import ROOM
from incidents.pages.ask import saved, views
from incidents.pages.shell import page


class AnswerConverter(StringConverter):
    """File format of an answer."""

    regex = "csv|parquet"


register_converter(AnswerConverter, "answer")

urlpatterns = [
    path(ROOM + "ask/", page(views.ask), name="ask"),
    path(ROOM + "ask/rows.<answer:form>", page(views.rows), name="ask-rows"),
    path(ROOM + "ask/stop/", page(views.stop), name="ask-stop"),
    path(ROOM + "ask/rule/", page(views.rule), name="ask-rule"),
    path(ROOM + "ask/save/", page(saved.save), name="ask-save"),
    path(ROOM + "ask/saved/<int:id>/", page(saved.saved), name="ask-saved"),
]

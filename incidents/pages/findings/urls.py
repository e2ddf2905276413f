"""Addresses of findings."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.addresses import ROOM
from incidents.pages.findings import views
from incidents.pages.shell import page


class FormConverter(StringConverter):
    """Format of a copied text."""

    regex = "text|markdown"


register_converter(FormConverter, "form")

urlpatterns = [
    path(ROOM + "findings/", page(views.findings), name="findings"),
    path(ROOM + "findings/<key:key>/dispute/", page(views.dispute), name="dispute"),
    path(ROOM + "disputes/<int:id>/answer/", page(views.answer), name="dispute-answer"),
    path(ROOM + "findings/<key:key>/copy/<form:form>/", page(views.finding_copy), name="finding-copy"),
    path(ROOM + "verdict/copy/<form:form>/", page(views.verdict_copy), name="verdict-copy"),
    path(ROOM + "verdict/take-over/", page(views.take_over), name="take-over"),
]

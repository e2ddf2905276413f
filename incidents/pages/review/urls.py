"""Addresses of the review."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.addresses import ROOM
from incidents.pages.review import views
from incidents.pages.shell import page


class PaperConverter(StringConverter):
    """File format of an exported review."""

    regex = "pdf|md"


register_converter(PaperConverter, "paper")

urlpatterns = [
    path("follow-ups/", page(views.follow_ups), name="follow-ups"),
    path(ROOM + "review/", page(views.review), name="review"),
    path(ROOM + "review/edit/", page(views.edit), name="review-edit"),
    path(ROOM + "review/follow-ups/new/", page(views.follow_up_new), name="follow-up-new"),
    path(ROOM + "review/follow-ups/<int:id>/", page(views.follow_up), name="follow-up"),
    path(ROOM + "review/follow-ups/<int:id>/do/", page(views.follow_up_do), name="follow-up-do"),
    path(ROOM + "review/export.<paper:form>", page(views.export), name="review-export"),
]

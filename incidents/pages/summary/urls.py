"""Addresses of the summary."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.addresses import ROOM
from incidents.pages.shell import page
from incidents.pages.summary import shared, views


class SheetConverter(StringConverter):
    """File format of an exported summary."""

    regex = "pdf|html|md"


register_converter(SheetConverter, "sheet")

urlpatterns = [
    path("shared/<str:token>/", shared.shared_page(shared.shared), name="shared-summary"),
    path(ROOM + "summary/", page(views.live), name="summary"),
    path(ROOM + "summary/versions/", page(views.versions), name="summary-versions"),
    path(ROOM + "summary/changes/", page(views.changes), name="summary-changes"),
    path(ROOM + "summary/links/", page(shared.links), name="summary-links"),
    path(ROOM + "summary/edit/<slug:section>/", page(views.edit), name="summary-edit"),
    path(ROOM + "summary/<int:number>/", page(views.version), name="summary-version"),
    path(ROOM + "summary/<int:number>/export.<sheet:form>", page(views.export), name="summary-export"),
]

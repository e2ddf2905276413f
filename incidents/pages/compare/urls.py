"""Addresses of the compare page."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.addresses import ROOM
from incidents.pages.compare import borders, views
from incidents.pages.shell import page


class LedgerConverter(StringConverter):
    """File format of a ledger."""

    regex = "csv|md"


register_converter(LedgerConverter, "ledger")

urlpatterns = [
    path(ROOM + "compare/", page(views.compare), name="compare"),
    path(ROOM + "compare/figure", page(views.figure), name="compare-figure"),
    path(ROOM + "compare/ledger.<ledger:form>", page(views.ledger), name="compare-ledger"),
    path(ROOM + "compare/border/", page(borders.border), name="compare-border"),
]

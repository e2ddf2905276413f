"""Addresses of the timeline."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.addresses import ROOM
from incidents.pages.shell import page
from incidents.pages.timeline import exports, ranges, views


class RowsConverter(StringConverter):
    """File format of exported rows."""

    regex = "csv|parquet|trace|jsonl|otlp"


register_converter(RowsConverter, "rows")

urlpatterns = [
    path(ROOM + "timeline/data", page(views.data), name="timeline-data"),
    path(ROOM + "timeline/waits", page(views.waits), name="timeline-waits"),
    path(ROOM + "timeline/picture.svg", page(exports.picture), name="timeline-picture"),
    path(ROOM + "timeline/rows.<rows:form>", page(exports.rows), name="timeline-rows"),
    path(ROOM + "timeline/range", page(ranges.look), name="timeline-range"),
    path(ROOM + "timeline/calls", page(ranges.calls), name="timeline-calls"),
    path(ROOM + "timeline/span", page(ranges.span), name="timeline-span"),
    path(ROOM + "timeline/bad", page(ranges.bad), name="timeline-bad"),
    path(ROOM + "timeline/keep", page(ranges.keep), name="timeline-keep"),
    path(ROOM + "timeline/lanes", page(views.offered), name="timeline-lanes"),
    path(ROOM + "connect-times", page(views.connect_times), name="figure-conn-times"),
]

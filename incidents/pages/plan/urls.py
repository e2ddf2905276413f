"""Addresses of the plan."""

from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.addresses import ROOM
from incidents.pages.plan import views
from incidents.pages.shell import page


class PlannedConverter(StringConverter):
    """One of the lists that people plan and write in."""

    regex = "decisions|actions|entries"


register_converter(PlannedConverter, "planned")

urlpatterns = [
    path(ROOM + "plan/", page(views.plan), name="plan"),
    path(ROOM + "plan/decisions/new/", page(views.decision_new), name="decision-new"),
    path(ROOM + "plan/decisions/<int:id>/", page(views.decision), name="decision"),
    path(ROOM + "plan/actions/new/", page(views.action_new), name="action-new"),
    path(ROOM + "plan/actions/<int:id>/", page(views.action), name="action"),
    path(ROOM + "plan/actions/<int:id>/done/", page(views.action_done), name="action-done"),
    path(ROOM + "plan/actions/<int:id>/state/", page(views.action_state), name="action-state"),
    path(ROOM + "plan/<planned:what>/<int:id>/delete/", page(views.delete), name="plan-delete"),
    path(ROOM + "plan/<planned:what>/<int:id>/restore/", page(views.restore), name="plan-restore"),
]

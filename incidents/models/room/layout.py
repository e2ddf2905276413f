"""Layouts of the timeline's lanes: one for each person, and one that the room shares."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from incidents.models.room.incident import Incident


class Layout(models.Model):
    """`lanes`: frame -> {"add": [...], "hide": [...], "pin": [...], "order": [...]}. No `owner`: the room's layout."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="layouts")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    lanes = models.JSONField(default=dict)
    kept_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    kept_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(name="layout_once", fields=("incident", "owner"), nulls_distinct=False),)

    def __str__(self) -> str:
        return f"lanes of {self.owner_id or 'the room'} in {self.incident_id}"

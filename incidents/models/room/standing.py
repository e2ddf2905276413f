"""Milestones of the incident: when it started, was detected, was mitigated, was resolved, and who set these times."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident


class Moment(models.TextChoices):
    """Kinds of milestones, in the order in which they happen."""

    STARTED = "started", "started"
    DETECTED = "detected", "detected"
    MITIGATED = "mitigated", "mitigated"
    RESOLVED = "resolved", "resolved"


class Milestone(models.Model):
    """The time of one milestone. A correction overwrites it; the activity record keeps the earlier time."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="milestones")
    kind = models.CharField(max_length=10, choices=Moment.choices)
    at = models.DateTimeField()
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    set_at = models.DateTimeField(auto_now=True)

    class Meta:
        # The column, not the relation: "incident" would join the room and sort by its age.
        ordering = ("incident_id", "at")
        constraints = (
            models.UniqueConstraint(name="milestone_once", fields=("incident", "kind")),
            models.CheckConstraint(name="milestone_kind_known", condition=Q(kind__in=Moment.values)),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.at}"

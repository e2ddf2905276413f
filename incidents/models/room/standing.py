"""How far the incident is: when it started, was noticed, was mitigated, was resolved, and who says so."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident


class Moment(models.TextChoices):
    """In the order in which they happen."""

    STARTED = "started", "started"
    DETECTED = "detected", "detected"
    MITIGATED = "mitigated", "mitigated"
    RESOLVED = "resolved", "resolved"


class Milestone(models.Model):
    """One of those moments with the person who set it; a corrected one is written over, the activity keeps the earlier."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="milestones")
    kind = models.CharField(max_length=10, choices=Moment.choices)
    at = models.DateTimeField()
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    set_at = models.DateTimeField(auto_now=True)

    class Meta:
        # By its column: "incident" would join the room to sort by its age.
        ordering = ("incident_id", "at")
        constraints = (
            models.UniqueConstraint(name="milestone_once", fields=("incident", "kind")),
            models.CheckConstraint(name="milestone_kind_known", condition=Q(kind__in=Moment.values)),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.at}"

"""Hand-over of the lead: offered by one member, accepted by another."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from incidents.models.room.incident import Incident


class Answer(models.TextChoices):
    ACCEPTED = "accepted", "accepted"
    DECLINED = "declined", "declined"
    WITHDRAWN = "withdrawn", "taken back"


class HandOver(models.Model):
    """An offer of the lead to another member. Whoever offers it leads until it is accepted. One open offer a room."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="handovers")
    offered_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    offered_to = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    words = models.CharField(max_length=1000, blank=True)  # what the next lead should know
    offered_at = models.DateTimeField(auto_now_add=True)
    answer = models.CharField(max_length=10, choices=Answer.choices, null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-offered_at",)
        constraints = (
            models.UniqueConstraint(name="handover_one_open", fields=("incident",), condition=Q(answer__isnull=True)),
            models.CheckConstraint(
                name="handover_answer_known",
                condition=Q(answer__isnull=True, answered_at__isnull=True)
                | Q(answer__in=Answer.values, answered_at__isnull=False),
            ),
            models.CheckConstraint(name="handover_between_two", condition=~Q(offered_by=F("offered_to"))),
        )

    def __str__(self) -> str:
        return f"lead of {self.incident_id} to {self.offered_to_id}"

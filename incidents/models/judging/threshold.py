"""What a room changed in the rules for a while: values of their parameters, and findings that are suppressed."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident

#: Rows in force: neither deleted by a person nor ended by the sweep after their last day.
IN_FORCE = Q(deleted_at__isnull=True, ended_at__isnull=True)


class RoomChoice(models.Model):
    """Base class of both models. `author_label` is the name as reports quote it; the day `until` is included."""

    rule = models.CharField(max_length=80)
    reason = models.CharField(max_length=500)
    until = models.DateField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    author_label = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Threshold(RoomChoice):
    """A room's value for one parameter of one rule, instead of the rule's default."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="thresholds")
    param = models.CharField(max_length=80)
    value = models.JSONField()

    class Meta:
        ordering = ("rule", "param", "id")
        constraints = (
            models.UniqueConstraint(
                name="threshold_once",
                fields=("incident", "rule", "param"),
                condition=Q(deleted_at__isnull=True, ended_at__isnull=True),
            ),
            models.CheckConstraint(name="threshold_has_reason", condition=~Q(reason="")),
        )
        indexes = (
            models.Index(
                fields=("until",),
                name="threshold_to_end",
                condition=Q(deleted_at__isnull=True, ended_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.rule}.{self.param} = {self.value}"


class Suppression(RoomChoice):
    """Findings of one rule that are hidden but counted. `subject` is a pattern such as `pid 37*`; no `host`: all."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="suppressions")
    subject = models.CharField(max_length=200, default="*")
    host = models.CharField(max_length=100, null=True, blank=True)

    class Meta:
        ordering = ("rule", "subject", "id")
        constraints = (
            models.UniqueConstraint(
                name="suppression_once",
                fields=("incident", "rule", "subject", "host"),
                condition=Q(deleted_at__isnull=True, ended_at__isnull=True),
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="suppression_has_reason", condition=~Q(reason="")),
        )
        indexes = (
            models.Index(
                fields=("until",),
                name="suppression_to_end",
                condition=Q(deleted_at__isnull=True, ended_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.rule} {self.subject}"

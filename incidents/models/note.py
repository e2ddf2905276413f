"""A person's remark on a time range, a line range or a finding (the glossary's annotation)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from incidents.models.incident import Incident


class Note(models.Model):
    """Hangs on a finding's key, on lines of a content hash, or on a stretch of a clock; never on a row that may go.

    Deleting is soft: `deleted_at` is set, `restore` clears it.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="notes")
    text = models.TextField()
    finding_key = models.CharField(max_length=16, null=True, blank=True)
    sha256 = models.CharField(max_length=64, null=True, blank=True)
    line_from = models.PositiveBigIntegerField(null=True, blank=True)
    line_to = models.PositiveBigIntegerField(null=True, blank=True)
    clock = models.CharField(max_length=60, null=True, blank=True)  # "1.1:1": seconds of this domain
    t_from = models.FloatField(null=True, blank=True)
    t_to = models.FloatField(null=True, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    deleted_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.CheckConstraint(name="note_has_text", condition=~Q(text="")),
            models.CheckConstraint(
                name="note_lines_complete",
                condition=Q(sha256__isnull=True, line_from__isnull=True, line_to__isnull=True)
                | Q(sha256__isnull=False, line_from__gte=1, line_to__gte=F("line_from")),
            ),
            models.CheckConstraint(
                name="note_times_complete",
                condition=Q(clock__isnull=True, t_from__isnull=True, t_to__isnull=True)
                | Q(clock__isnull=False, t_from__isnull=False, t_to__gte=F("t_from")),
            ),
        )
        indexes = (
            models.Index(fields=("incident", "finding_key"), name="note_by_finding"),
            models.Index(fields=("incident", "sha256", "line_from"), name="note_by_lines"),
        )

    def __str__(self) -> str:
        return self.text[:60]

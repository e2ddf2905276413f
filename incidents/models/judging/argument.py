"""Arguments that people add to the board: one reason, and for each cause concerned a word on how it bears on it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from incidents.models.evidence.artifact import Artifact
from incidents.models.room.incident import Incident


class Argument(models.Model):
    """A row of the board signed by a person.

    `analysis.case_of` passes it to the rules as one statement of `author_label` for each entry of `words`. It may point
    at a finding (by its key) or at lines of an artifact. Removing is soft: `restore` clears `removed_at`.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="arguments")
    reason = models.TextField()  # one line: it names the row on the board
    words = models.JSONField()  # code of a hypothesis -> one of the words of rules.case.statements.SPOKEN
    finding_key = models.CharField(max_length=16, null=True, blank=True)
    artifact = models.ForeignKey(Artifact, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    line_from = models.PositiveBigIntegerField(null=True, blank=True)
    line_to = models.PositiveBigIntegerField(null=True, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    author_label = models.CharField(max_length=100)  # the author's name at the time of writing
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    client_id = models.UUIDField(null=True, blank=True)  # id of the form: sent twice, it is stored once

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="argument_sent_once", fields=("incident", "author", "client_id")),
            models.UniqueConstraint(
                name="argument_said_once",
                fields=("incident", "author_label", "reason"),
                condition=Q(removed_at__isnull=True),
            ),
            models.CheckConstraint(name="argument_has_reason", condition=~Q(reason="")),
            models.CheckConstraint(
                name="argument_lines_in_order",
                condition=Q(artifact__isnull=True, line_from__isnull=True, line_to__isnull=True)
                | Q(artifact__isnull=False, line_from__gte=1, line_to__gte=F("line_from")),
            ),
        )
        indexes = (models.Index(fields=("incident", "removed_at", "id"), name="argument_by_room"),)

    def __str__(self) -> str:
        return f"argument {self.pk} of {self.incident_id}"

"""Decisions that the room must take or has taken."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from incidents.models.room.incident import Incident
from incidents.models.words.wording import indexed


class Decision(models.Model):
    """A question with the time by which its answer is needed; `outcome` is NULL until it is decided.

    What was decided without having been asked has an outcome and no question.

    It may refer to a finding by its key, which outlives every evaluation. Deleting is soft: `restore` clears
    `deleted_at`.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="decisions")
    question = models.TextField(blank=True)
    needed_by = models.DateTimeField(null=True, blank=True)
    # The member who must decide; NULL when nobody was named.
    asked_of = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    finding_key = models.CharField(max_length=16, null=True, blank=True)
    outcome = models.TextField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    deleted_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    client_id = models.UUIDField(null=True, blank=True)  # id of the form: sent twice, it is stored once

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="decision_sent_once", fields=("incident", "author", "client_id")),
            models.CheckConstraint(
                name="decision_has_words", condition=~Q(question="") | Q(outcome__isnull=False) & ~Q(outcome="")
            ),
            models.CheckConstraint(
                name="decision_outcome_has_author",
                condition=Q(outcome__isnull=True, decided_by__isnull=True, decided_at__isnull=True)
                | Q(outcome__isnull=False, decided_by__isnull=False, decided_at__isnull=False),
            ),
        )
        indexes = (
            models.Index(fields=("incident", "needed_by", "id"), name="decision_by_need"),
            models.Index(fields=("incident", "finding_key"), name="decision_by_finding"),
            *indexed("decision", "question", "outcome"),
        )

    def __str__(self) -> str:
        return self.words[:60]

    @property
    def words(self) -> str:
        """Return the question, or what was decided without one."""
        return self.question or self.outcome or ""

    @property
    def late(self) -> bool:
        return self.outcome is None and self.needed_by is not None and self.needed_by < timezone.now()

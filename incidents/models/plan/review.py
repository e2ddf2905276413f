"""The review after an incident: what surprised, what helped, and what follows from it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from incidents.models.room.incident import Incident
from incidents.models.words.wording import indexed


class Review(models.Model):
    """The room's own words on how it went. One a room; the empty text says that nobody wrote it yet."""

    incident = models.OneToOneField(Incident, on_delete=models.CASCADE, primary_key=True, related_name="review")
    surprised = models.TextField(blank=True)
    helped = models.TextField(blank=True)
    hindered = models.TextField(blank=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    edited_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)

    class Meta:
        indexes = indexed("review", "surprised", "helped", "hindered")

    def __str__(self) -> str:
        return f"review of {self.incident_id}"


class FollowUp(models.Model):
    """Something to be done after the incident, by somebody, by a day. Deleting is soft: `restore` clears `deleted_at`."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="follow_ups")
    text = models.TextField()
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    due_on = models.DateField(null=True, blank=True)
    done_at = models.DateTimeField(null=True, blank=True)
    done_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    deleted_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    client_id = models.UUIDField(null=True, blank=True)  # id of the form: sent twice, it is stored once

    class Meta:
        verbose_name = "follow-up"
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="follow_up_sent_once", fields=("incident", "author", "client_id")),
            models.CheckConstraint(name="follow_up_has_text", condition=~Q(text="")),
            models.CheckConstraint(
                name="follow_up_done_by_somebody",
                condition=Q(done_at__isnull=True, done_by__isnull=True)
                | Q(done_at__isnull=False, done_by__isnull=False),
            ),
        )
        indexes = (
            models.Index(fields=("incident", "due_on", "id"), name="follow_up_by_day"),
            *indexed("follow_up", "text"),
        )

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def late(self) -> bool:
        return self.done_at is None and self.due_on is not None and self.due_on < timezone.now().date()

"""The incident's log: what people did, as they write it down. Decisions are rows of their own (`decision.py`)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.judging.case import Marker
from incidents.models.room.incident import Incident
from incidents.models.words.wording import indexed


class EntryKind(models.TextChoices):
    CHANGE = "change", "change"
    UPDATE = "update", "update given"
    STEP = "step", "step"


class Entry(models.Model):
    """One thing that somebody did, at a time. A change has a marker in the case, which rules and comparisons use.

    Deleting is soft: `restore` clears `deleted_at`. The marker goes with the entry and comes back with it.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="entries")
    kind = models.CharField(max_length=8, choices=EntryKind.choices)
    at = models.DateTimeField()
    text = models.TextField()
    who = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")  # who did it
    marker = models.ForeignKey(Marker, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    deleted_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    client_id = models.UUIDField(null=True, blank=True)  # id of the form: sent twice, it is stored once

    class Meta:
        verbose_name_plural = "entries"
        ordering = ("at", "id")
        constraints = (
            models.UniqueConstraint(name="entry_sent_once", fields=("incident", "author", "client_id")),
            models.CheckConstraint(name="entry_has_text", condition=~Q(text="")),
            models.CheckConstraint(name="entry_kind_known", condition=Q(kind__in=EntryKind.values)),
        )
        indexes = (models.Index(fields=("incident", "at", "id"), name="entry_by_time"), *indexed("entry", "text"))

    def __str__(self) -> str:
        return self.text[:60]

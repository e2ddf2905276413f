"""Room bundles: those made of a room, and the one that a room came from."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident
from incidents.models.room.job import Job


class Holds(models.TextChoices):
    ORIGINALS = "originals", "originals"
    TABLES = "tables", "tables without originals"
    PARQUET = "parquet", "Parquet files"  # no room in it: for other tools
    REDACTED = "redacted", "findings and Parquet files, names replaced"


class BundleState(models.TextChoices):
    QUEUED = "queued", "waiting"
    RUNNING = "running", "under way"
    READY = "ready", "ready"
    FAILED = "failed", "failed"
    GONE = "gone", "removed"  # expired, deleted, or evidence in it was purged


class BundleWork(models.Model):
    """Base class of both models: what a worker does to one file of the store, and how far it is."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)  # names the file in the store too
    job = models.ForeignKey(Job, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    holds = models.CharField(max_length=10, choices=Holds.choices)
    state = models.CharField(max_length=8, choices=BundleState.choices, default=BundleState.QUEUED)
    done_bytes = models.PositiveBigIntegerField(default=0)
    total_bytes = models.PositiveBigIntegerField(default=0)
    cause = models.TextField(blank=True)

    class Meta:
        abstract = True

    @property
    def going(self) -> bool:
        return self.state in (BundleState.QUEUED, BundleState.RUNNING)


class Export(BundleWork):
    """A bundle made of a room. The file is removed after a week, or when evidence in it is purged; the row stays."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="exports")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(auto_now_add=True)
    ready_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    also = models.JSONField(default=list, blank=True)  # further names to replace, as a lead typed them
    names = models.JSONField(default=dict, blank=True)  # what was replaced: pseudonym -> [kind, name]; leads see it
    size = models.PositiveBigIntegerField(null=True, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("-asked_at",)
        constraints = (
            models.UniqueConstraint(
                name="export_one_under_way",
                fields=("incident",),
                condition=Q(state__in=(BundleState.QUEUED, BundleState.RUNNING)),
            ),
            models.CheckConstraint(name="export_state_known", condition=Q(state__in=BundleState.values)),
            models.CheckConstraint(
                name="export_ready_complete",
                condition=~Q(state=BundleState.READY)
                | Q(size__isnull=False, ready_at__isnull=False, expires_at__isnull=False),
            ),
        )
        indexes = (models.Index(fields=("expires_at",), name="export_to_expire", condition=Q(state=BundleState.READY)),)

    def __str__(self) -> str:
        return f"bundle {self.pk}: {self.state}"


class Origin(BundleWork):
    """The bundle that a room came from: who signed it, and what the other site had found before it left."""

    incident = models.OneToOneField(Incident, on_delete=models.CASCADE, related_name="origin")
    brought_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    brought_at = models.DateTimeField(auto_now_add=True)
    title = models.CharField(max_length=200)
    site = models.CharField(max_length=500)
    made_by = models.CharField(max_length=150)
    made_at = models.DateTimeField()
    key = models.CharField(max_length=60)  # the public key that it was signed with
    judged = models.JSONField(default=dict, blank=True)  # incidents/content/judged_before.py
    activity = models.JSONField(default=list, blank=True)  # rows of the other room's record, with its chain of hashes
    chain = models.JSONField(default=dict, blank=True)  # incidents/content/foreign_chain.py

    class Meta:
        constraints = (models.CheckConstraint(name="origin_state_known", condition=Q(state__in=BundleState.values)),)

    def __str__(self) -> str:
        return f"origin of {self.incident_id}"

"""Rows of the summary page: texts written by leads, frozen versions, and share links to one version."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from incidents.models.judging.finding import Evaluation
from incidents.models.room.incident import Incident


class Way(models.TextChoices):
    """Whether a lead's text replaces Exhibit's text or follows it."""

    INSTEAD = "instead", "instead of Exhibit’s words"
    BESIDE = "beside", "after Exhibit’s words"


class SummaryText(models.Model):
    """A lead's text for one section. Rows are never changed: a new text is a new row, an empty text withdraws it.

    `machine` is Exhibit's text of the section at that time, so that a later change of the evidence can be shown.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="summary_texts")
    section = models.CharField(max_length=12)
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    way = models.CharField(max_length=8, choices=Way.choices, default=Way.INSTEAD)
    machine = models.TextField(blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("section", "-number")
        constraints = (
            models.UniqueConstraint(name="summary_text_once", fields=("incident", "section", "number")),
            models.CheckConstraint(name="summary_text_way_known", condition=Q(way__in=Way.values)),
        )

    def __str__(self) -> str:
        return f"{self.section} {self.number}"


class SummaryVersion(models.Model):
    """A frozen summary. The database refuses every change except what a purge strikes out (migration 0015).

    `content_hash` stays the hash of the version as it was frozen, even after something was struck out.
    """

    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, related_name="summary_versions")
    number = models.PositiveIntegerField()
    content = models.JSONField()  # incidents/content/summary/words.py
    content_hash = models.CharField(max_length=64)
    evaluation = models.ForeignKey(Evaluation, on_delete=models.PROTECT, null=True, related_name="+")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_by_name = models.CharField(max_length=150)  # the name at that time
    made_at = models.DateTimeField(auto_now_add=True)
    why = models.CharField(max_length=300)
    struck_at = models.DateTimeField(null=True, blank=True)  # when evidence that it cites was purged

    class Meta:
        ordering = ("incident", "-number")
        constraints = (models.UniqueConstraint(name="summary_version_once", fields=("incident", "number")),)

    def __str__(self) -> str:
        return f"version {self.number}"


class ShareLink(models.Model):
    """A link for people without an account: it shows one frozen version until it expires or is revoked."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="share_links")
    version = models.ForeignKey(SummaryVersion, on_delete=models.PROTECT, related_name="links")
    token_hash = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=100)  # whom it is for
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    opened = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (models.Index(fields=("incident", "-created_at"), name="share_link_of_room"),)

    def __str__(self) -> str:
        return self.label

    @property
    def usable(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()


class ShareOpening(models.Model):
    """How often a link was opened from one address (masked) in one hour, with the first and the last time."""

    link = models.ForeignKey(ShareLink, on_delete=models.CASCADE, related_name="openings")
    address = models.CharField(max_length=60)
    hour = models.DateTimeField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ("-last_at",)
        constraints = (models.UniqueConstraint(name="share_opening_once", fields=("link", "address", "hour")),)

    def __str__(self) -> str:
        return f"{self.address} {self.hour}"

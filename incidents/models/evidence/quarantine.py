"""Upload links for people without an account, each for one evidence request, and the quarantined files sent by them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.request import EvidenceRequest
from incidents.models.room.incident import Incident


class GiveLink(models.Model):
    """A link to the upload page of one evidence request. It lets files into quarantine and does nothing else."""

    request = models.ForeignKey(EvidenceRequest, on_delete=models.CASCADE, related_name="links")
    token_hash = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=80)  # who asks, as the creator of the link wrote it
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    most_files = models.PositiveIntegerField(default=10)
    most_bytes = models.PositiveBigIntegerField()  # of each file

    class Meta:
        ordering = ("-created_at",)
        constraints = (models.CheckConstraint(name="give_link_takes_files", condition=Q(most_files__gte=1)),)
        indexes = (models.Index(fields=("expires_at",), name="give_link_by_age", condition=Q(revoked_at__isnull=True)),)

    def __str__(self) -> str:
        return f"upload link {self.pk}"

    @property
    def expired(self) -> bool:
        return self.expires_at <= timezone.now()

    @property
    def usable(self) -> bool:
        return self.revoked_at is None and not self.expired


class Quarantined(models.TextChoices):
    WAITING = "waiting", "waiting"
    TAKEN = "taken", "taken in"
    REFUSED = "refused", "refused"
    EXPIRED = "expired", "expired"  # nobody looked at it in time


class QuarantinedFile(models.Model):
    """A file from somebody without an account. Never read, shown or counted as evidence until a member takes it in.

    Once it is settled, its bytes are deleted from the quarantine; the row stays as a tombstone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="quarantined")
    link = models.ForeignKey(GiveLink, on_delete=models.PROTECT, related_name="files")
    name = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    address = models.CharField(max_length=60, blank=True)  # network address of the sender, for the member who decides
    received_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=8, choices=Quarantined.choices, default=Quarantined.WAITING)
    reason = models.TextField(blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    artifact = models.ForeignKey(Artifact, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ("received_at", "id")
        constraints = (
            models.UniqueConstraint(
                name="quarantined_content_once",
                fields=("link", "sha256"),
                condition=Q(state=Quarantined.WAITING),
            ),
            models.CheckConstraint(name="quarantined_state_known", condition=Q(state__in=Quarantined.values)),
            models.CheckConstraint(name="quarantined_sha256_hex", condition=Q(sha256__regex=r"^[0-9a-f]{64}$")),
            models.CheckConstraint(
                name="quarantined_tombstone_complete",
                condition=Q(state=Quarantined.WAITING, settled_at__isnull=True)
                | Q(state=Quarantined.EXPIRED, settled_at__isnull=False)
                | Q(state__in=(Quarantined.TAKEN, Quarantined.REFUSED))
                & Q(settled_at__gte=F("received_at"), settled_by__isnull=False),
            ),
        )
        indexes = (
            models.Index(fields=("received_at",), name="quarantine_waiting", condition=Q(state=Quarantined.WAITING)),
            models.Index(fields=("incident", "state"), name="quarantine_by_room"),
        )

    def __str__(self) -> str:
        return f"{self.state} {self.pk}"

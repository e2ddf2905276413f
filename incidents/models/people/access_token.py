"""Access tokens, which programs send instead of a person's session, and the stored answers to their writes."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from incidents.models.room.incident import Incident

#: First letters of every secret, so that people and scanners of repositories see what it is.
PREFIX = "exhibit_"


class Scope(models.TextChoices):
    """What a token is for; `incidents/access.py` says which rights each gives."""

    READ = "read", "read rooms"
    ASK = "ask", "ask the evidence tables in SQL"
    UPLOAD = "upload", "upload evidence"
    WRITE = "write", "write notes, evidence requests, the plan, the log and the review"
    ROOMS = "rooms", "open, close and reopen rooms"


class AccessToken(models.Model):
    """A program that acts for `owner`: within its scopes, until it expires, in one room if `incident` is set.

    It never gives more than the owner may at that moment.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_tokens")
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    token_hash = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=100)
    scopes = ArrayField(models.CharField(max_length=10, choices=Scope.choices))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                name="access_token_scopes_known",
                condition=Q(scopes__contained_by=Scope.values) & Q(scopes__len__gte=1),
            ),
        )
        indexes = (models.Index(fields=("owner", "-id"), name="access_token_by_owner"),)

    def __str__(self) -> str:
        return self.label

    @property
    def usable(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()

    @property
    def scope_names(self) -> list[str]:
        return [Scope(scope).label for scope in Scope.values if scope in self.scopes]


#: How long an idempotency key is kept.
REPLAYED_FOR = timedelta(days=1)


class IdempotencyKey(models.Model):
    """A write of the API that was done, with its answer: a repetition under the same key gets this answer.

    The row is written in the transaction of the write itself, so one is never there without the other.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64)  # SHA-256 of method, address and body
    status = models.PositiveSmallIntegerField(null=True)  # NULL only inside the transaction that writes
    answer = models.JSONField(null=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(name="idempotency_key_once", fields=("owner", "key")),)
        indexes = (models.Index(fields=("expires_at",), name="idempotency_key_by_age"),)

    def __str__(self) -> str:
        return f"{self.key} of {self.owner_id}"

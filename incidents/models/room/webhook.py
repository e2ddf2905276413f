"""Webhooks: external addresses that receive events of a room, and each delivery to them."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from incidents.models.room.incident import Incident

LEASE = timedelta(seconds=90)  # validity of an address's lease unless it is renewed
ATTEMPTS = 6  # tries before a delivery counts as failed


class HookKind(models.TextChoices):
    """Kinds of events that may leave the room."""

    VERDICT = "verdict", "new verdict"
    ROOM = "room", "status of the incident"
    DECISION = "decision", "decisions"
    ACTION = "action", "actions"
    UPDATE = "update", "reminders of the next update"
    ENTRY = "entry", "what people did: changes, updates, steps"
    DISPUTE = "dispute", "disputes"
    REQUEST = "request", "requests for evidence"
    REVIEW = "review", "the review and its follow-ups"
    SUMMARY = "summary", "frozen versions of the summary"
    NOTE = "note", "notes"
    MEMBERS = "members", "members"


class HookForm(models.TextChoices):
    """Forms of the messages: Exhibit's own JSON, or what a chat takes."""

    EXHIBIT = "exhibit", "Exhibit’s own JSON"
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"
    MATTERMOST = "mattermost", "Mattermost"


class Webhook(models.Model):
    """One address. Its secret is never stored: it is derived from `salt` and the server's key."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    kinds = models.JSONField(default=list)
    form = models.CharField(max_length=10, choices=HookForm.choices, default=HookForm.EXHIBIT)
    salt = models.CharField(max_length=32)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)  # one worker at a time sends to one address, in order

    class Meta:
        ordering = ("created_at", "id")
        constraints = (models.CheckConstraint(name="webhook_form_known", condition=Q(form__in=HookForm.values)),)

    def __str__(self) -> str:
        return self.url

    @property
    def secret(self) -> str:
        return salted_hmac("incidents.webhook", f"{self.pk}:{self.salt}", algorithm="sha256").hexdigest()

    @property
    def active(self) -> bool:
        return self.paused_at is None and self.removed_at is None


class DeliveryState(models.TextChoices):
    QUEUED = "queued", "waiting"
    SENT = "sent", "delivered"
    FAILED = "failed", "given up"


class DeliveryManager(models.Manager["Delivery"]):
    def ask(self, incident_id: int, kind: str, object: str) -> bool:
        """Queue an event for every address that wants its kind; return whether there is one.

        Call it inside the transaction of the change. An event that already waits for the same object is not queued
        again: its body is written when it is sent.
        """
        if kind not in HookKind.values:
            return False
        same = self.filter(
            webhook=OuterRef("pk"), state=DeliveryState.QUEUED, body__isnull=True, kind=kind, object=object
        )
        wanting = Webhook.objects.filter(
            incident_id=incident_id, paused_at__isnull=True, removed_at__isnull=True, kinds__contains=[kind]
        ).exclude(Exists(same))
        made = self.bulk_create(Delivery(webhook=hook, kind=kind, object=object) for hook in wanting)
        return bool(made)

    def due(self) -> models.QuerySet[Delivery]:
        return self.filter(state=DeliveryState.QUEUED, next_at__lte=timezone.now())


class Delivery(models.Model):
    """One message to one address. The receiver recognises repetitions by `id`; the body is the same each time."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    kind = models.CharField(max_length=20)  # kind of the event, or "test"
    object = models.CharField(max_length=40)
    body = models.TextField(null=True, blank=True)  # as it was first sent, masked
    state = models.CharField(max_length=8, choices=DeliveryState.choices, default=DeliveryState.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(auto_now_add=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveIntegerField(null=True, blank=True)  # HTTP status of the last response
    answer = models.CharField(max_length=600, null=True, blank=True)  # beginning of the response, or why there was none
    took_ms = models.PositiveIntegerField(null=True, blank=True)

    objects: ClassVar[DeliveryManager] = DeliveryManager()

    class Meta:
        verbose_name_plural = "deliveries"
        ordering = ("-created_at", "id")
        constraints = (
            models.CheckConstraint(name="delivery_state_known", condition=Q(state__in=DeliveryState.values)),
        )
        indexes = (
            models.Index(fields=("webhook", "-created_at"), name="delivery_by_hook"),
            models.Index(fields=("next_at",), condition=Q(state="queued"), name="delivery_due"),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.object} to {self.webhook_id}"

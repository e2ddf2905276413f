"""Evidence requests: what the room asks somebody to collect, and which artifacts answered it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from incidents.models.evidence.artifact import Artifact
from incidents.models.room.incident import Incident


class RequestState(models.TextChoices):
    OPEN = "open", "open"
    ANSWERED = "answered", "answered"
    WITHDRAWN = "withdrawn", "withdrawn"
    EXPIRED = "expired", "expired"  # its last link expired and nobody else was asked


class EvidenceRequest(models.Model):
    """One thing to collect. Its text is stored as it was sent: when the case changes, the request does not."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="requests")
    what = models.CharField(max_length=500)
    command = models.TextField(blank=True)
    cost = models.TextField(blank=True)  # what running it costs a production host, in words
    decides = models.TextField(blank=True)  # what the answer would decide
    who = models.CharField(max_length=120, blank=True)  # who can usually run it
    host = models.CharField(max_length=120, blank=True)
    os = models.CharField(max_length=20, blank=True)
    os_release = models.CharField(max_length=60, blank=True)
    rule = models.CharField(max_length=80, blank=True)
    ask_id = models.CharField(max_length=16, blank=True)  # id of the report's entry that it was made from
    tables = models.JSONField(default=list, blank=True)  # tables the rule lacks: an artifact that fills one fits
    symptom = models.CharField(max_length=20, blank=True)  # symptom of the collect block that is offered with it
    worth = models.FloatField(default=0)  # decibans, copied from the report
    asked_of = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=RequestState.choices, default=RequestState.OPEN)
    settled_at = models.DateTimeField(null=True, blank=True)  # when it stopped being open
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    changed = models.TextField(null=True, blank=True)  # what changed in the judgement that included the answer
    changed_at = models.DateTimeField(null=True, blank=True)
    client_id = models.UUIDField(null=True, blank=True)  # id of the form: posting it twice makes no second request
    version = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ("-worth", "id")
        constraints = (
            models.UniqueConstraint(name="request_sent_once", fields=("incident", "asked_by", "client_id")),
            models.CheckConstraint(name="request_state_known", condition=Q(state__in=RequestState.values)),
            models.CheckConstraint(name="request_says_what", condition=~Q(what="")),
            models.CheckConstraint(
                name="request_settled_has_time",
                condition=Q(state=RequestState.OPEN, settled_at__isnull=True)
                | ~Q(state=RequestState.OPEN) & Q(settled_at__isnull=False),
            ),
        )
        indexes = (
            models.Index(fields=("incident", "state", "-worth"), name="request_in_order"),
            models.Index(
                fields=("settled_at",),
                name="request_to_be_judged",
                condition=Q(state=RequestState.ANSWERED, changed__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"request {self.pk}: {self.state}"

    @property
    def open(self) -> bool:
        return self.state == RequestState.OPEN

    @property
    def overdue(self) -> bool:
        return self.open and self.due_at is not None and self.due_at < timezone.now()


class RequestAnswer(models.Model):
    """An artifact accepted as the answer to an evidence request, or rejected as one by the asker (`taken` False)."""

    request = models.ForeignKey(EvidenceRequest, on_delete=models.CASCADE, related_name="answers")
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="answered")
    taken = models.BooleanField(default=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("id",)
        constraints = (models.UniqueConstraint(name="answer_once", fields=("request", "artifact")),)

    def __str__(self) -> str:
        return f"artifact {self.artifact_id} for request {self.request_id}"

"""Actions: what somebody does about the incident, and the effect expected of it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from incidents.models.judging.case import Marker
from incidents.models.plan.decision import Decision
from incidents.models.room.incident import Incident
from incidents.models.words.wording import indexed


class ActionState(models.TextChoices):
    OPEN = "open", "open"
    DOING = "doing", "doing"
    DONE = "done", "done"
    DROPPED = "dropped", "dropped"


class Action(models.Model):
    """A task of one member. A finished action has added a marker to the case, unless it changed nothing there.

    Deleting is soft: `restore` clears `deleted_at`. The marker stays, since the change was made.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="actions")
    text = models.TextField()
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    due_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=8, choices=ActionState.choices, default=ActionState.OPEN)
    finding_key = models.CharField(max_length=16, null=True, blank=True)
    decision = models.ForeignKey(
        Decision, on_delete=models.SET_NULL, null=True, blank=True, related_name="actions"
    )  # the decision that asked for it
    expected = models.TextField(null=True, blank=True)  # how to see that it helped
    marker = models.ForeignKey(Marker, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
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
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(name="action_sent_once", fields=("incident", "author", "client_id")),
            models.CheckConstraint(name="action_has_text", condition=~Q(text="")),
            models.CheckConstraint(name="action_state_known", condition=Q(state__in=ActionState.values)),
            models.CheckConstraint(
                name="action_done_has_time",
                condition=Q(state=ActionState.DONE, done_at__isnull=False, done_by__isnull=False)
                | (~Q(state=ActionState.DONE) & Q(done_at__isnull=True, done_by__isnull=True)),
            ),
        )
        indexes = (
            models.Index(fields=("incident", "due_at", "id"), name="action_by_due"),
            models.Index(fields=("incident", "finding_key"), name="action_by_finding"),
            *indexed("action", "text", "expected"),
        )

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def going(self) -> bool:
        return self.state in (ActionState.OPEN, ActionState.DOING)

    @property
    def late(self) -> bool:
        return self.going and self.due_at is not None and self.due_at < timezone.now()

"""Rooms that are deleted as a whole: announced, undone or gone. What stays of a room that is gone names nothing of it."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

LEAST_WAIT = timedelta(days=1)
"""Shortest time between the announcement of a deletion and the deletion."""


class DeletionState(models.TextChoices):
    ANNOUNCED = "announced", "announced"
    UNDONE = "undone", "undone"
    BEGUN = "begun", "begun"
    DONE = "done", "done"


#: States of a deletion that is still to be carried out.
OPEN = (DeletionState.ANNOUNCED, DeletionState.BEGUN)


class RoomDeletionManager(models.Manager["RoomDeletion"]):
    def due(self) -> models.QuerySet[RoomDeletion]:
        return self.filter(state__in=OPEN, due_at__lte=Now())  # by the clock of the database, which checks it too


class RoomDeletion(models.Model):
    """One deletion of one room. `room_id` is a number and no reference: the row outlives its room.

    A row that is done is the tombstone. A backup that was restored may hold the room again, which is told by the hash of
    its slug: numbers are given again after a restore, slugs never. `again`: it deletes such a room, without waiting.
    """

    room_id = models.BigIntegerField()
    slug_hash = models.CharField(max_length=64)
    announced_at = models.DateTimeField()
    announced_by = models.ForeignKey(  # None: Exhibit itself, as the room was kept for its time or came back
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    announced_name = models.CharField(max_length=150)
    due_at = models.DateTimeField()
    again = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=DeletionState.choices, default=DeletionState.ANNOUNCED)
    ended_at = models.DateTimeField(null=True, blank=True)  # when it was undone or done

    objects: ClassVar[RoomDeletionManager] = RoomDeletionManager()

    class Meta:
        ordering = ("-announced_at", "-id")
        constraints = (
            models.CheckConstraint(name="deletion_state_known", condition=Q(state__in=DeletionState.values)),
            models.CheckConstraint(
                name="deletion_waits", condition=Q(again=True) | Q(due_at__gte=models.F("announced_at") + LEAST_WAIT)
            ),
            models.CheckConstraint(
                name="deletion_ended_has_time",
                condition=Q(state__in=OPEN, ended_at__isnull=True) | (~Q(state__in=OPEN) & Q(ended_at__isnull=False)),
            ),
            models.UniqueConstraint(name="deletion_one_open", fields=("room_id",), condition=Q(state__in=OPEN)),
        )
        indexes = (models.Index(fields=("slug_hash",), name="deletion_by_slug"),)

    def __str__(self) -> str:
        return f"room {self.room_id}: {self.state}"


def hash_of(slug: str) -> str:
    """Return what stays of a slug. Its 40 random bits keep anybody from finding the title by trying."""
    return hashlib.sha256(slug.encode()).hexdigest()

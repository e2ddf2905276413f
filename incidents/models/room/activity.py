"""The activity record: who did what and when. Append only; its rows are chained by hashes, one chain per room."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from incidents.models.room.incident import Incident, RoomCounter


class ActivityManager(models.Manager["Activity"]):
    def append(
        self, incident_id: int, actor_id: int | None, actor_name: str, verb: str, object: str, **detail: Any
    ) -> Activity:
        """Add a row to the room's chain. Call it inside the transaction of the recorded action."""
        counter = RoomCounter.lock(incident_id)
        row = Activity(
            incident_id=incident_id,
            seq=counter.activity_seq + 1,
            at=timezone.now(),
            actor_id=actor_id,
            actor_name=actor_name,
            verb=verb,
            object=object,
            detail=detail,
            previous=counter.activity_head,
        )
        row.hash = row.computed_hash()
        row.save(force_insert=True)
        counter.activity_seq, counter.activity_head = row.seq, row.hash
        counter.save(update_fields=("activity_seq", "activity_head"))
        return row

    def first_broken(self, incident_id: int) -> int | None:
        """Return the first `seq` at which the room's chain is broken, None if the whole chain is intact.

        A missing tail is detected too: the counter row stores the last number and hash.
        """
        with transaction.atomic():
            counter = RoomCounter.lock(incident_id)
            previous, expected = "", 1
            for row in self.filter(incident_id=incident_id).order_by("seq").iterator():
                if row.seq != expected or row.previous != previous or row.hash != row.computed_hash():
                    return expected
                previous, expected = row.hash, expected + 1
            return None if (counter.activity_seq, counter.activity_head) == (expected - 1, previous) else expected


class Activity(models.Model):
    """One recorded action. The database refuses to change or delete rows (a trigger, migration 0002)."""

    incident = models.ForeignKey(Incident, on_delete=models.PROTECT, related_name="activity")
    seq = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=150)  # the name at that time; "Exhibit" for the program itself
    verb = models.CharField(max_length=40)
    object = models.CharField(max_length=100)
    detail = models.JSONField(default=dict)
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    objects = ActivityManager()

    class Meta:
        verbose_name_plural = "activity"
        ordering = ("incident", "seq")
        constraints = (models.UniqueConstraint(name="activity_seq_once", fields=("incident", "seq")),)
        indexes = (models.Index(fields=("incident", "verb", "-seq"), name="activity_by_verb"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.actor_name} {self.verb} {self.object}"

    def computed_hash(self) -> str:
        """Return the SHA-256 over the previous row's hash and all fields of this row as canonical JSON."""
        at: datetime = self.at
        return chained(
            self.previous,
            self.incident_id,
            self.seq,
            at.isoformat(),
            self.actor_id,
            self.actor_name,
            self.verb,
            self.object,
            self.detail,
        )


def chained(previous: str, *fields: Any) -> str:
    """Return the SHA-256 over the previous row's hash and the fields of a row, in the order of `computed_hash`."""
    return hashlib.sha256(json.dumps([previous, *fields], sort_keys=True, separators=(",", ":")).encode()).hexdigest()

"""What the room's pages hear: small stored signals without content."""

from __future__ import annotations

from django.db import models

from incidents.models.room.incident import Incident


class Event(models.Model):
    """`kind` of change to `object` (an id as text); the page fetches what it may see. Kept for 24 hours."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveBigIntegerField()  # counts up by one in a room, given under the room's lock
    kind = models.CharField(max_length=20)
    object = models.CharField(max_length=40)
    version = models.PositiveIntegerField(default=1)
    made_at = models.DateTimeField(auto_now_add=True)
    leaves = False  # no column: whether an address outside waits to hear of it

    class Meta:
        ordering = ("incident", "seq")
        constraints = (models.UniqueConstraint(name="event_seq_once", fields=("incident", "seq")),)
        indexes = (models.Index(fields=("made_at",), name="event_by_age"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.object}"

"""Events that a room's open pages receive: small stored signals without content."""

from __future__ import annotations

from django.db import models

from incidents.models.room.incident import Incident


class Event(models.Model):
    """A change of type `kind` to `object` (an id as text); the page fetches what it may see. Stored for 24 hours."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveBigIntegerField()  # increases by one in a room, assigned under the room's lock
    kind = models.CharField(max_length=20)
    object = models.CharField(max_length=40)
    version = models.PositiveIntegerField(default=1)
    made_at = models.DateTimeField(auto_now_add=True)
    leaves = False  # not a column: whether a webhook delivery was queued for it

    class Meta:
        ordering = ("incident", "seq")
        constraints = (models.UniqueConstraint(name="event_seq_once", fields=("incident", "seq")),)
        indexes = (models.Index(fields=("made_at",), name="event_by_age"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.kind} {self.object}"

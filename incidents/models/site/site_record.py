"""The record of the site: what was done to whole rooms. Append only and chained by hashes, like that of a room."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.db import connection, models, transaction
from django.utils import timezone

from incidents.models.room.activity import chained
from incidents.models.site.deletion import RoomDeletion


class SiteRecordManager(models.Manager["SiteRecord"]):
    def append(
        self,
        actor_id: int | None,
        actor_name: str,
        verb: str,
        object: str,
        deletion: RoomDeletion | None = None,
        **detail: Any,
    ) -> SiteRecord:
        """Add a row to the chain. Call it inside the transaction of the recorded action."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('exhibit site record'))")
        last = self.order_by("-seq").first()
        row = SiteRecord(
            seq=last.seq + 1 if last else 1,
            at=timezone.now(),
            actor_id=actor_id,
            actor_name=actor_name,
            verb=verb,
            object=object,
            deletion=deletion,
            detail=detail,
            previous=last.hash if last else "",
        )
        row.hash = row.computed_hash()
        row.save(force_insert=True)
        return row

    def first_broken(self) -> int | None:
        """Return the first `seq` at which the chain is broken, None if it is intact."""
        previous, expected = "", 1
        with transaction.atomic():
            for row in self.order_by("seq").iterator():
                if row.seq != expected or row.previous != previous or row.hash != row.computed_hash():
                    return expected
                previous, expected = row.hash, expected + 1
        return None


class SiteRecord(models.Model):
    """One line. The database refuses to change or delete it (triggers, migration 0043)."""

    seq = models.PositiveBigIntegerField(unique=True)
    at = models.DateTimeField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=150)
    verb = models.CharField(max_length=40)
    object = models.CharField(max_length=100)
    deletion = models.OneToOneField(RoomDeletion, on_delete=models.PROTECT, null=True, related_name="line")
    detail = models.JSONField(default=dict)
    previous = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    objects: ClassVar[SiteRecordManager] = SiteRecordManager()

    class Meta:
        ordering = ("-seq",)

    def __str__(self) -> str:
        return f"{self.seq} {self.actor_name} {self.verb} {self.object}"

    def computed_hash(self) -> str:
        """Return the SHA-256 over the previous row's hash and all fields of this row as canonical JSON."""
        at: datetime = self.at
        return chained(
            self.previous,
            self.seq,
            at.isoformat(),
            self.actor_id,
            self.actor_name,
            self.verb,
            self.object,
            self.deletion_id,
            self.detail,
        )

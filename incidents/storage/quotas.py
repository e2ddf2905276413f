"""Limit how much one room may hold and one sender may send, so that nobody fills the server for everybody else.

A sender is an upload token, or a person where no token was used. Files of an archive count like files that were sent:
an archive is judged by what comes out of it. Uploads under way count with the size that they announced.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from incidents.errors import OverQuota
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.evidence.upload import Upload
from incidents.models.room.incident import Incident
from incidents.storage import store
from incidents.storage.sizes import in_words

DAY = timedelta(days=1)
SAFE = "Nothing that is here was touched."


@dataclass
class Left:
    """What may still be sent: `files` and `room` bytes to the room, `day` bytes by the sender."""

    files: int
    room: int
    day: int

    def spend(self, size: int) -> None:
        """Subtract one file of `size` bytes. Raises `OverQuota` and subtracts nothing if it does not fit."""
        if self.files < 1:
            raise OverQuota(
                f"This room takes at most {settings.EXHIBIT_ROOM_FILES:,} files (EXHIBIT_ROOM_FILES), and holds them. "
                f"{SAFE} Open another room for what is new, or ask an administrator.",
                507,
            )
        if size > self.room:
            raise OverQuota(
                f"This room takes at most {in_words(settings.EXHIBIT_ROOM_BYTES)} (EXHIBIT_ROOM_BYTES), and the file has "
                f"{in_words(size)}: {in_words(max(self.room, 0))} are left. {SAFE} Send a part of it, or ask an administrator.",
                507,
            )
        if size > self.day:
            raise OverQuota(
                f"One sender may bring {in_words(settings.EXHIBIT_DAY_BYTES)} within 24 hours (EXHIBIT_DAY_BYTES), and "
                f"the file has {in_words(size)}: {in_words(max(self.day, 0))} are left. {SAFE} Wait, send a part of it, or "
                "ask an administrator.",
                429,
            )
        self.files, self.room, self.day = self.files - 1, self.room - size, self.day - size


def left(incident_id: int, uploader_id: int, token_id: int | None) -> Left:
    """Return what is left for this room and sender now; uploads under way are subtracted."""
    here = Artifact.objects.filter(incident=incident_id).exclude(state=ArtifactState.PURGED)
    held, coming = _sum(here), _sum(_under_way().filter(incident=incident_id))
    who = {"uploader": uploader_id, "token": token_id}
    sent = _sum(Artifact.objects.filter(**who, received_at__gt=timezone.now() - DAY))
    sending = _sum(_under_way().filter(**who))
    return Left(
        settings.EXHIBIT_ROOM_FILES - held.n - coming.n,
        settings.EXHIBIT_ROOM_BYTES - held.bytes - coming.bytes,
        settings.EXHIBIT_DAY_BYTES - sent.bytes - sending.bytes,
    )


def require_upload(incident_id: int, uploader_id: int, token_id: int | None, size: int) -> None:
    """Check before an upload is begun that it fits: into the quotas, and onto the disk beside all others under way."""
    mine = _under_way().filter(uploader=uploader_id, token=token_id).count()
    if mine >= settings.EXHIBIT_OPEN_UPLOADS:
        raise OverQuota(
            f"{mine} uploads of yours are under way, the most at once (EXHIBIT_OPEN_UPLOADS). Finish some or give them "
            "up; one that stands still is forgotten after a day.",
            429,
        )
    left(incident_id, uploader_id, token_id).spend(size)
    store.require_space(size + _still_to_come())


def require_room(user_id: int) -> None:
    """Check that this person may open one more room today."""
    opened = Incident.objects.filter(created_by=user_id, created_at__gt=timezone.now() - DAY).count()
    if opened >= settings.EXHIBIT_DAY_ROOMS:
        raise OverQuota(
            f"One person opens at most {settings.EXHIBIT_DAY_ROOMS:,} rooms within 24 hours (EXHIBIT_DAY_ROOMS), and you "
            "did. Use one of them, or ask an administrator.",
            429,
        )


@dataclass(frozen=True)
class _Sum:
    n: int
    bytes: int


def _sum(rows: QuerySet[Artifact] | QuerySet[Upload]) -> _Sum:
    told = rows.order_by().aggregate(n=Count("pk"), bytes=Sum("size"))
    return _Sum(told["n"], told["bytes"] or 0)


def _under_way() -> QuerySet[Upload]:
    return Upload.objects.filter(artifact=None, created_at__gt=timezone.now() - DAY)


def _still_to_come() -> int:
    """Return the bytes that all uploads under way announced and did not send yet."""
    announced = _under_way().values_list("pk", "size")
    return sum(max(size - store.incoming_size(id), 0) for id, size in announced)

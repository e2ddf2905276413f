"""Close a room, at once or when its uploads and jobs under way are finished."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from incidents.content.summary import gathering as summary
from incidents.models.evidence.upload import Upload
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter, Status
from incidents.models.room.job import Job, JobKind, JobState
from incidents.storage import live, store

# Seconds of silence after which a sender has gone (uploads.SILENT_S); what it sent stays, so that it can continue.
SILENT_S = 120


@dataclass(frozen=True)
class UnderWay:
    """Numbers of uploads that still send, and of readings and judgements that wait or run."""

    uploads: int
    readings: int
    judgements: int

    def __bool__(self) -> bool:
        return bool(self.uploads or self.readings or self.judgements)

    @property
    def words(self) -> str:
        """Return the numbers in words.

        >>> UnderWay(2, 1, 0).words
        '2 uploads, 1 file being read'
        """
        said = [
            (self.uploads, "upload", "uploads"),
            (self.readings, "file being read", "files being read"),
            (self.judgements, "judgement", "judgements"),
        ]
        return ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in said if n)


def under_way(incident_id: int) -> UnderWay:
    kinds = list(
        Job.objects.filter(incident_id=incident_id, state__in=(JobState.QUEUED, JobState.RUNNING)).values_list(
            "kind", flat=True
        )
    )
    recent = Upload.objects.filter(
        incident_id=incident_id, artifact__isnull=True, created_at__gt=timezone.now() - timedelta(hours=24)
    )
    sending = sum(_sends(upload) for upload in recent.only("pk", "created_at")[:200])
    return UnderWay(sending, kinds.count(JobKind.INGEST), kinds.count(JobKind.JUDGE))


def _sends(upload: Upload) -> bool:
    """Tell whether bytes came recently: a closed browser tab must not keep a room open for ever."""
    try:
        touched = store.incoming_path(upload.pk).stat().st_mtime
    except OSError:
        touched = upload.created_at.timestamp()
    return time.time() - touched < SILENT_S


def close(incident: Incident, user_id: int, name: str, **detail: object) -> None:
    """Close a room in a transaction that holds its lock. Readings under way continue to their end."""
    before = incident.status
    incident.status, incident.closed_at, incident.closed_by_id = Status.CLOSED, timezone.now(), user_id
    incident.closing_at, incident.closing_by = None, None
    incident.standing_version += 1
    incident.save(update_fields=("status", "closed_at", "closed_by", "closing_at", "closing_by", "standing_version"))
    Activity.objects.append(incident.pk, user_id, name, "set status", Status.CLOSED.value, before=before, **detail)
    live.tell(incident.pk, "room", "", incident.standing_version)
    summary.freeze(incident, user_id, name, "The room was closed.")


def close_what_waits() -> int:
    """Close the rooms that wait to be closed and have nothing under way any more; return how many."""
    closed = 0
    for id in Incident.objects.filter(closing_at__isnull=False).values_list("pk", flat=True):
        with transaction.atomic():
            RoomCounter.lock(id)
            incident = Incident.objects.select_related("closing_by").get(pk=id)
            user = incident.closing_by
            if incident.closing_at is None or user is None or under_way(id):
                continue
            close(incident, user.pk, user.get_full_name() or user.get_username(), waited=True)
            closed += 1
    return closed

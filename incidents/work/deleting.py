"""Delete whole rooms: announce it, wait, then remove files and rows for good (docs/decisions/0026).

Each step is a transaction that locks the deletion's row and may be repeated. A worker that is killed leaves a step undone,
and the next call goes on there; of two workers the second finds the step done.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from django.apps import apps
from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone

from incidents.errors import StoreError
from incidents.models.evidence.artifact import ArtifactState
from incidents.models.evidence.quarantine import QuarantinedFile
from incidents.models.evidence.upload import Upload
from incidents.models.people.membership import Membership
from incidents.models.people.notification import Told
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter, Status
from incidents.models.room.job import Job, JobState
from incidents.models.site.deletion import OPEN, DeletionState, RoomDeletion, hash_of
from incidents.models.site.site_record import SiteRecord
from incidents.storage import live, store, tombstones
from incidents.work import closing
from incidents.work.notifying import notify

log = structlog.get_logger(__name__)

DELETED = "deleted"
"""Verb of the line in the record of the site."""
CAUSE = "The room was deleted."
LATE_FILES = timedelta(days=1)
"""Time for which files of a room that is gone are looked for again: a worker that read one may have written them late."""


def counts(incident: Incident) -> dict[str, int]:
    """Count what goes with a room."""
    there = incident.artifacts.exclude(state=ArtifactState.PURGED)
    return {
        "artifacts": there.count(),
        "bytes": there.aggregate(sum=Sum("size"))["sum"] or 0,
        "notes": incident.notes.count(),
        "findings": incident.findings.count(),
        "bundles": incident.exports.count(),
        "share_links": incident.share_links.count(),
    }


def announce(incident: Incident, user_id: int | None, name: str, reason: str) -> RoomDeletion:
    """Announce that the room will be deleted, in a transaction that holds its lock. It is closed until then."""
    if not incident.closed:
        assert user_id is not None  # Exhibit itself announces the deletion of closed rooms only
        closing.close(incident, user_id, name)
    now = timezone.now()
    deletion = RoomDeletion.objects.create(
        room_id=incident.pk,
        slug_hash=hash_of(incident.slug),
        announced_at=now,
        announced_by_id=user_id,
        announced_name=name,
        due_at=now + timedelta(days=settings.EXHIBIT_UNDO_DAYS),
    )
    incident.delete_at = deletion.due_at
    incident.standing_version += 1
    incident.save(update_fields=("delete_at", "standing_version"))
    Activity.objects.append(
        incident.pk,
        user_id,
        name,
        "announced",
        "deletion of the room",
        reason=reason,
        due=deletion.due_at.isoformat(),
        **counts(incident),
    )
    live.tell(incident.pk, "room", "", incident.standing_version)
    _notify_members(incident, Told.LEAVES, user_id, deletion)
    return deletion


def undo(incident: Incident, user_id: int, name: str, **detail: object) -> None:
    """Undo an announced deletion, in a transaction that holds the room's lock. The time that it is kept begins again."""
    now = timezone.now()
    deletion = RoomDeletion.objects.filter(room_id=incident.pk, state=DeletionState.ANNOUNCED).first()
    if deletion is not None:
        deletion.state, deletion.ended_at = DeletionState.UNDONE, now
        deletion.save(update_fields=("state", "ended_at"))
        _notify_members(incident, Told.STAYS, user_id, deletion)
    incident.delete_at, incident.kept_since = None, now
    incident.standing_version += 1
    incident.save(update_fields=("delete_at", "kept_since", "standing_version"))
    Activity.objects.append(incident.pk, user_id, name, "undid", "deletion of the room", **detail)
    live.tell(incident.pk, "room", "", incident.standing_version)


def _notify_members(incident: Incident, kind: Told, actor_id: int | None, deletion: RoomDeletion) -> None:
    """Notify everybody in the room but the actor, by mail too: whoever needs its evidence has some days to say so."""
    for user_id in incident.memberships.order_by("pk").values_list("user", flat=True):
        notify(incident.pk, user_id, kind, actor_id, mailed=True, deletion=deletion)


def days_kept(incident: Incident) -> int:
    """Return how many days the room is kept after it was closed; 0 for ever."""
    days: int = settings.EXHIBIT_KEEP_DAYS if incident.keep_days is None else incident.keep_days
    return days


def announce_what_is_past() -> int:
    """Announce the deletion of closed rooms that were kept for their time; return how many."""
    announced = 0
    closed = Incident.objects.filter(status=Status.CLOSED, held_at=None, delete_at=None)
    if not settings.EXHIBIT_KEEP_DAYS:
        closed = closed.filter(keep_days__gt=0)
    for id in closed.exclude(keep_days=0).values_list("pk", flat=True):
        with transaction.atomic():
            RoomCounter.lock(id)
            incident = Incident.objects.get(pk=id)
            if _is_past(incident):
                announce(incident, None, "Exhibit", f"It was closed and kept for {days_kept(incident)} days.")
                announced += 1
    return announced


def _is_past(incident: Incident) -> bool:
    days = days_kept(incident)
    if not (days and incident.closed_at) or incident.held or incident.to_be_deleted:
        return False
    since = max(incident.closed_at, incident.kept_since or incident.closed_at)
    return since + timedelta(days=days) < timezone.now()


def announce_what_came_back() -> int:
    """Have rooms deleted again that a restored backup brought back, without waiting; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT room.id FROM incidents_incident room JOIN incidents_roomdeletion gone"
            " ON gone.slug_hash = encode(sha256(convert_to(room.slug, 'UTF8')), 'hex')"
            " WHERE gone.state = 'done' AND room.held_at IS NULL AND NOT room.deletion_begun"
        )
        back = [row[0] for row in cursor.fetchall()]
    for id in back:
        with transaction.atomic():
            RoomCounter.lock(id)
            incident = Incident.objects.get(pk=id)
            now = timezone.now()
            RoomDeletion.objects.filter(room_id=id, state__in=OPEN).exclude(again=True).update(
                state=DeletionState.UNDONE, ended_at=now
            )
            RoomDeletion.objects.get_or_create(
                room_id=id,
                again=True,
                state__in=OPEN,
                defaults={
                    "slug_hash": hash_of(incident.slug),
                    "announced_at": now,
                    "announced_name": "Exhibit",
                    "due_at": now,
                    "state": DeletionState.ANNOUNCED,
                },
            )
    return len(back)


def delete_due() -> int:
    """Delete the rooms whose time has come; return how many are gone. A disk that fails leaves the rest for later."""
    gone = 0
    for id in RoomDeletion.objects.due().values_list("pk", flat=True):
        try:
            gone += _delete(id)
        except StoreError as error:
            log.error("deleting.waits", deletion=id, error=str(error))
    drop_late_files()
    if settings.EXHIBIT_BACKUP_ROOT is not None:
        tombstones.keep(settings.EXHIBIT_BACKUP_ROOT)
    return gone


def _delete(id: int) -> bool:
    return begin(id) and remove_files(id) and remove_rows(id)


def _locked(id: int, *states: str) -> RoomDeletion | None:
    """Return the deletion, locked until the transaction ends, if it is in one of these states."""
    return RoomDeletion.objects.select_for_update().filter(pk=id, state__in=states).first()


def begin(id: int) -> bool:
    """Shut the room for everybody and end its jobs. False if the deletion was undone, or a hold is on the room."""
    with transaction.atomic():
        room_id = RoomDeletion.objects.values_list("room_id", flat=True).get(pk=id)
        if not RoomCounter.objects.select_for_update(no_key=True).filter(incident_id=room_id).exists():
            return False  # another worker was faster
        deletion = _locked(id, *OPEN)
        incident = Incident.objects.get(pk=room_id)
        if deletion is None or incident.held or hash_of(incident.slug) != deletion.slug_hash:
            return False
        if deletion.state == DeletionState.BEGUN:
            return True
        deletion.state = DeletionState.BEGUN
        deletion.save(update_fields=("state",))
        incident.deletion_begun = True
        incident.save(update_fields=("deletion_begun",))
        for member in Membership.objects.filter(incident=incident):
            live.end_streams(member.user_id, incident.pk)
        Membership.objects.filter(incident=incident).delete()
        # A worker that holds one notices when it next renews its lease.
        Job.objects.filter(incident=incident, state__in=(JobState.QUEUED, JobState.RUNNING)).update(
            state=JobState.FAILED, cause=CAUSE, lease_until=None, finished_at=timezone.now()
        )
    log.info("deleting.begins", room=room_id)
    return True


def remove_files(id: int) -> bool:
    """Remove originals, tables, overviews, derived files, bundles, uploads and what waits in quarantine."""
    with transaction.atomic():
        deletion = _locked(id, DeletionState.BEGUN)
        if deletion is None:
            return False
        uploads = Upload.objects.filter(incident=deletion.room_id).values_list("pk", flat=True)
        waiting = QuarantinedFile.objects.filter(incident=deletion.room_id).values_list("pk", flat=True)
        store.drop_room(deletion.room_id, list(uploads), list(waiting))
    return True


def remove_rows(id: int) -> bool:
    """Write the line in the record of the site, and remove every row of the room, in one transaction."""
    with transaction.atomic():
        room_id = RoomDeletion.objects.values_list("room_id", flat=True).get(pk=id)
        counter = RoomCounter.objects.select_for_update().filter(incident_id=room_id).first()
        deletion = _locked(id, DeletionState.BEGUN)
        if deletion is None or counter is None:
            return False
        incident = Incident.objects.get(pk=room_id)
        SiteRecord.objects.append(
            deletion.announced_by_id,
            deletion.announced_name,
            DELETED,
            f"room {room_id}",
            deletion,
            announced=deletion.announced_at.isoformat(),
            activity=counter.activity_seq,
            last_hash=counter.activity_head,
            **counts(incident),
        )
        for model, path in of_rooms():
            model._base_manager.filter(**{path: room_id})._raw_delete(connection.alias)
        Incident.objects.filter(pk=room_id)._raw_delete(connection.alias)
        deletion.state, deletion.ended_at = DeletionState.DONE, timezone.now()
        deletion.save(update_fields=("state", "ended_at"))
        transaction.on_commit(partial(store.drop_room, room_id))  # what a worker wrote between the two steps
    log.info("deleting.done", room=room_id)
    return True


def of_rooms() -> list[tuple[type[models.Model], str]]:
    """Return every model whose rows belong to a room, and the way from it to the room; the farthest first.

    Nobody keeps a list: a model belongs to a room if references lead there. References are checked when the transaction
    ends, so only these ways must still be whole when a model's turn comes.
    """
    ways: dict[type[models.Model], str] = {Incident: "pk"}
    waiting: deque[type[models.Model]] = deque([Incident])
    while waiting:
        target = waiting.popleft()
        for model in apps.get_models():
            if model in ways or model is RoomDeletion:
                continue
            for field in model._meta.concrete_fields:
                if field.is_relation and field.related_model is target:
                    ways[model] = field.name if target is Incident else f"{field.name}__{ways[target]}"
                    waiting.append(model)
                    break
    del ways[Incident]
    # The counter last: the database compares the site's line with it before it lets rows of the record go.
    return sorted(ways.items(), key=lambda way: (way[0] is RoomCounter, -way[1].count("__")))


def drop_late_files() -> None:
    """Remove what a worker wrote for a room after its rows were gone. A number that a new room has is left alone."""
    lately = RoomDeletion.objects.filter(state=DeletionState.DONE, ended_at__gt=timezone.now() - LATE_FILES)
    for room_id in lately.values_list("room_id", flat=True):
        if not Incident.objects.filter(pk=room_id).exists():
            store.drop_room(room_id)


def to_come() -> QuerySet[RoomDeletion]:
    return RoomDeletion.objects.filter(state__in=OPEN).order_by("due_at")


def outlived_by(deletion_at: Any) -> Any:
    """Return when the last scheduled backup that holds the room is removed; None if none are made by themselves."""
    if settings.EXHIBIT_BACKUP_ROOT is None:
        return None
    return deletion_at + timedelta(hours=settings.EXHIBIT_BACKUP_HOURS * settings.EXHIBIT_BACKUPS_KEPT)

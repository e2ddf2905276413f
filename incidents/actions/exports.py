"""Have a bundle of a room made, hand it out, remove it; open a room from a bundle."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction

from incidents import access, tasks
from incidents.access import Right, Room
from incidents.actions import rooms
from incidents.actions.record import Deed, deed
from incidents.content.visible import visible
from incidents.errors import Refused
from incidents.models.room.bundle import BundleState, Export, Holds, Origin
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job, JobKind, Queue
from incidents.storage import bundles, quotas, store
from incidents.storage.bundles import BundleRefused

MOST_READY = 5  # bundles of one room that are there at once
MOST_NAMES = 200  # further names to be replaced in one export


def ask(room: Room, holds: str, also: Sequence[str] = ()) -> Export:
    """Have an export made; a worker does it. One at a time for each room. `also`: further names to be replaced."""
    if holds not in Holds.values:
        raise Refused("Choose what the bundle holds: originals, tables or Parquet files.")
    if len(also) > MOST_NAMES or any(len(name) > 200 for name in also):
        raise Refused(f"At most {MOST_NAMES} further names of at most 200 characters each.")
    with deed(room, Right.EXPORT) as doing:
        made = doing.incident.exports
        if made.filter(state__in=(BundleState.QUEUED, BundleState.RUNNING)).exists():
            raise Refused("A bundle of this room is being made. Wait until it is ready.", 409)
        if made.filter(state=BundleState.READY).count() >= MOST_READY:
            raise Refused(f"There are {MOST_READY} bundles of this room already. Remove one first.", 409)
        store.require_space(0)
        job = _queue(doing.incident, JobKind.EXPORT)
        export = Export.objects.create(
            incident=doing.incident, job=job, holds=holds, also=list(also), made_by=doing.room.user
        )
        doing.record("asked for", "room bundle", holds=holds)
        doing.tell("export")
        return export


def note_download(room: Room, id: uuid.UUID) -> Export:
    """Check the right to download a bundle, and record the download."""
    with deed(room, Right.EXPORT) as doing:
        export = _ready(doing, id)
        doing.record("downloaded", "room bundle", holds=export.holds, sha256=export.sha256)
        return export


def look_up(room: Room, id: uuid.UUID) -> Export:
    """Return an export with the names that it replaced; the look is recorded."""
    with deed(room, Right.EXPORT) as doing:
        export = doing.incident.exports.filter(pk=id, holds=Holds.REDACTED).first()
        if export is None:
            raise Refused("There is no such export.", 404)
        doing.record("looked up", "names of an export", sha256=export.sha256)
        return export


def remove(room: Room, id: uuid.UUID) -> None:
    """Remove a bundle's file before its week is over."""
    with deed(room, Right.EXPORT) as doing:
        export = _ready(doing, id)
        _drop(export, f"Removed by {doing.room.actor_name}.")
        doing.record("removed", "room bundle", holds=export.holds, sha256=export.sha256)
        doing.tell("export")


def withdraw(doing: Deed, why: str) -> None:
    """Remove all bundles of the room that can be downloaded, and the names of all, inside another action."""
    doing.incident.exports.update(names={})
    for export in doing.incident.exports.filter(state=BundleState.READY):
        _drop(export, why)
    doing.tell("export")


def bring(user: User, incoming: store.Incoming, key: str = "") -> Incident:
    """Open a room that a worker fills from a bundle. The whole file is checked first: a refused one leaves no room.

    `key` is the public key that the other site is known by; without it any signature counts, and the room shows whose.
    Never discards `incoming`: its creator must do that.
    """
    incoming.flush()
    with bundles.opened(incoming.path) as reader:
        manifest = reader.manifest
        if key.strip() and key.strip() != manifest.key:
            raise BundleRefused(
                f"This bundle was not signed by the site that you named, but with the key {visible(manifest.key)}."
            )
        store.require_space(manifest.bytes)
        reader.check()
    with transaction.atomic():
        incident = rooms.create(user, rooms.Answers(title=visible(" ".join(manifest.title.split()))[:200] or "A room"))
        left = quotas.left(incident.pk, user.pk, None)
        for member in manifest.members:
            if member.unpacked is not None:
                left.spend(member.unpacked)
        with deed(access.enter(user, incident.slug), Right.UPLOAD) as doing:
            origin = Origin.objects.create(
                incident=incident,
                job=_queue(incident, JobKind.IMPORT),
                holds=manifest.holds,
                total_bytes=manifest.bytes,
                brought_by=user,
                title=visible(manifest.title)[:200],
                site=visible(manifest.site)[:500],
                made_by=visible(manifest.made_by)[:150],
                made_at=manifest.made_at,
                key=manifest.key,
            )
            store.keep_bundle(incoming, incident.pk, origin.pk)
            doing.record(
                "brought", "room bundle", bundle=visible(manifest.id)[:60], key=manifest.key, size=incoming.size
            )
    return incident


def _ready(doing: Deed, id: uuid.UUID) -> Export:
    export = doing.incident.exports.filter(pk=id).first()
    if export is None:
        raise Refused("There is no such bundle.", 404)
    if export.state != BundleState.READY:
        raise Refused("This bundle is not there to be downloaded.", 410 if export.state == BundleState.GONE else 409)
    return export


def _drop(export: Export, why: str) -> None:
    Export.objects.filter(pk=export.pk).update(state=BundleState.GONE, cause=why)
    transaction.on_commit(lambda: store.drop_bundle(export.incident_id, export.pk))


def _queue(incident: Incident, kind: JobKind) -> Job:
    tasks.hint_on_commit(Queue.LARGE)
    return Job.objects.create(incident=incident, kind=kind, queue=Queue.LARGE)

"""Keep this host's copies within their bound, and remove what is left of rooms and artifacts that are gone.

Every process that uses copies starts one keeper; a lock lets one of them at a time work on a host. Without an object
store there is nothing to keep.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

import structlog
from django.conf import settings
from django.db import DatabaseError

from incidents.errors import StoreError
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.evidence.reading import Reading, ReadingState
from incidents.models.room.incident import Incident
from incidents.storage import copies, objects, store
from incidents.storage.database import let_go

log = structlog.get_logger(__name__)

EVERY_S = 20.0
IDLE_S = 900.0
"""A web process holds what it showed for so long; no request takes longer but downloads, which have their file open."""
YOUNG_S = 3600.0
"""A folder without a row may belong to a transaction under way: so long it stays."""
STRAY_S = 24 * 3600.0


def start(holds_for_s: float | None = None) -> None:
    """Start a thread that looks after the copies while this process lives, if there is an object store.

    `holds_for_s` is for processes without jobs: they let go of what they have not used for so long.
    """
    if objects.on():
        threading.Thread(target=_keep, args=(holds_for_s,), name="copies", daemon=True).start()


def _keep(holds_for_s: float | None) -> None:
    while True:
        time.sleep(EVERY_S)
        if holds_for_s is not None:
            store.let_go_of_copies(holds_for_s)
        try:
            look()
        except (OSError, StoreError, DatabaseError) as error:  # the next look may do better
            log.warning("copies.not_kept", error=str(error))
        finally:
            let_go()


def look() -> None:
    """Do one round, unless another process of this host does."""
    lock = copies.root() / copies.FOLDER / "keeper"
    lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        _remove_what_is_gone()
        copies.trim(settings.EXHIBIT_COPIES_BYTES, settings.EXHIBIT_MIN_FREE_BYTES)
    finally:
        os.close(handle)


def _remove_what_is_gone() -> None:
    rooms = {int(path.name): path for path in copies.root().iterdir() if path.name.isdecimal() and path.is_dir()}
    there = set(Incident.objects.filter(pk__in=rooms).values_list("pk", flat=True))
    for number, path in rooms.items():
        if number not in there and _older(path, YOUNG_S):
            store.forget_room(number)
    purged = Artifact.objects.filter(incident__in=there, state=ArtifactState.PURGED)
    for artifact in purged:
        store.forget_artifact(artifact)
    for number in there:
        _remove_strays(number, rooms[number])


def _remove_strays(room: int, folder: Path) -> None:
    """Remove tables that nobody will go on with: their reading was replaced, or another host went on with it."""
    for path in folder.glob("*/*"):
        strange = (
            path.parent.name.isdecimal() and path.name.isdecimal() and path.is_dir() and not copies.is_stored(path)
        )
        if strange and _older(path, STRAY_S):
            reading = Reading.objects.filter(
                artifact__incident=room, artifact__number=int(path.parent.name), number=int(path.name)
            ).first()
            if reading is None or reading.stored or reading.state == ReadingState.REPLACED:
                copies.remove(path)


def _older(path: Path, seconds: float) -> bool:
    return time.time() - path.stat().st_mtime > seconds

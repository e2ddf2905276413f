"""What is left of deleted rooms, beside the backups that may still hold them: a restored one is told what to delete again.

It is a list of hashes of slugs, with the room's number and when it was deleted. Nothing in it names a room.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TypedDict

import structlog
from django.db import connection

from incidents.models.site.deletion import DeletionState, RoomDeletion

log = structlog.get_logger(__name__)

NAME = "deleted-rooms.json"


class Tombstone(TypedDict):
    slug_hash: str
    room: int
    deleted: str


def here() -> list[Tombstone]:
    """Return those in the database; none if it is empty or of an earlier release."""
    if RoomDeletion._meta.db_table not in connection.introspection.table_names():
        return []
    done = RoomDeletion.objects.filter(state=DeletionState.DONE).order_by("ended_at")
    return [
        {"slug_hash": row.slug_hash, "room": row.room_id, "deleted": row.ended_at.isoformat()}
        for row in done
        if row.ended_at
    ]


def beside(backup: Path) -> list[Tombstone]:
    """Return those that were kept in the folder that a backup lies in."""
    try:
        rows: list[Tombstone] = json.loads((backup.absolute().parent / NAME).read_text())
    except FileNotFoundError:
        return []
    return rows


def keep(root: Path) -> None:
    """Write those of the database into the folder of the backups, beside those that are there. Can be repeated."""
    if not root.is_dir():
        return  # backups say so themselves
    kept = beside(root / NAME)
    known = {row["slug_hash"] for row in kept}
    fresh = [row for row in here() if row["slug_hash"] not in known]
    if not fresh:
        return
    draft = root / f"{NAME}.new"
    try:
        with draft.open("w") as file:
            json.dump([*kept, *fresh], file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(root / NAME)
    except OSError as error:
        log.error("tombstones.not_kept", folder=str(root), error=str(error))


def put_back(rows: Iterable[Tombstone]) -> int:
    """Put tombstones into a restored database, for the next chore to delete these rooms again; return how many."""
    known = set(RoomDeletion.objects.filter(state=DeletionState.DONE).values_list("slug_hash", flat=True))
    fresh = {row["slug_hash"]: row for row in rows if row["slug_hash"] not in known}
    RoomDeletion.objects.bulk_create(
        RoomDeletion(
            room_id=row["room"],
            slug_hash=row["slug_hash"],
            announced_at=(at := datetime.fromisoformat(row["deleted"])),
            announced_name="Exhibit",
            due_at=at,
            again=True,
            state=DeletionState.DONE,
            ended_at=at,
        )
        for row in fresh.values()
    )
    return len(fresh)

"""State of this installation, for its administrators: parts, work, disk, backups, people and limits. Only reads."""

from __future__ import annotations

import json
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count, Min, Q, Sum
from django.utils import timezone

from incidents.errors import StoreError
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job, JobState, Queue
from incidents.models.site.backup import Backup, BackupState
from incidents.models.site.deletion import OPEN, RoomDeletion
from incidents.storage import copies, objects

LATELY = timedelta(days=1)
SLOW_S = 120.0
"""Work that has waited this long is told as a fault: a worker is missing, or there is more than the workers can do."""
BACKUP_AGE = timedelta(days=7)
LATE_DELETION = timedelta(hours=1)
LARGEST = 10
LATEST_BACKUPS = 10

QUEUES = {
    Queue.SMALL: "read small files",
    Queue.LARGE: "read large files",
    Queue.JUDGE: "judge rooms",
}
LIMITS = (
    ("EXHIBIT_MAX_UPLOAD_BYTES", "the largest file", "bytes"),
    ("EXHIBIT_MAX_FORM_BYTES", "the largest file in a form without scripts", "bytes"),
    ("EXHIBIT_MAX_PASTE_BYTES", "the largest pasted text", "bytes"),
    ("EXHIBIT_MIN_FREE_BYTES", "free space that uploads leave", "bytes"),
    ("EXHIBIT_ROOM_BYTES", "what one room holds", "bytes"),
    ("EXHIBIT_ROOM_FILES", "files that one room holds", "files"),
    ("EXHIBIT_DAY_BYTES", "what one sender brings within 24 hours", "bytes"),
    ("EXHIBIT_DAY_ROOMS", "rooms that one person opens within 24 hours", "rooms"),
    ("EXHIBIT_OPEN_UPLOADS", "uploads of one sender under way", "uploads"),
    ("EXHIBIT_READ_MB", "memory to read one file", "MB"),
    ("EXHIBIT_READ_SECONDS", "processor time to read any file", "s"),
    ("EXHIBIT_RULE_SECONDS", "time of one query of a rule", "s"),
    ("EXHIBIT_RULE_MB", "memory of one query of a rule", "MB"),
)


@dataclass(frozen=True)
class PartRow:
    """A process that `up` keeps. `ends`: how often it ended by itself within a day; `last`: when and how, in words."""

    name: str
    running: bool
    since: datetime | None
    ends: int
    last_at: datetime | None
    last: str


@dataclass(frozen=True)
class QueueRow:
    """Jobs of one queue; `name` says what they do."""

    queue: str
    name: str
    waiting: int
    running: int
    failed: int
    oldest_s: float | None

    @property
    def slow(self) -> bool:
        return self.oldest_s is not None and self.oldest_s > SLOW_S


@dataclass(frozen=True)
class Disk:
    path: Path
    free: int
    total: int

    @property
    def short(self) -> bool:
        """Tell whether uploads are refused, or soon will be."""
        return bool(self.free < 2 * settings.EXHIBIT_MIN_FREE_BYTES)


@dataclass(frozen=True)
class ObjectStore:
    """The object store as this process reaches it, and the copies on this host; `fault` is empty if it serves."""

    address: str
    fault: str
    copies: int
    copies_bytes: int
    copies_most: int


@dataclass(frozen=True)
class Backups:
    """The last complete backup, the latest of all (newest first), and the plan: how often, when next, where, how many.

    `root` is None where none are made by themselves; `next_at` is None then, and while one is being made.
    """

    last: Backup | None
    latest: list[Backup]
    root: Path | None
    every: timedelta
    next_at: datetime | None
    kept: int

    @property
    def age(self) -> timedelta | None:
        """Age of the content of the last complete backup, counted from the begin of that backup."""
        return timezone.now() - self.last.started_at if self.last else None

    @property
    def bound(self) -> timedelta:
        """Age from which the last backup counts as old."""
        return 2 * self.every if self.root else BACKUP_AGE

    @property
    def old(self) -> bool:
        return self.age is not None and self.age > self.bound

    @property
    def failed(self) -> Backup | None:
        """The last failed scheduled backup, if none has succeeded since; None if no backups are scheduled any more."""
        if self.root is None:
            return None
        ended = next((row for row in self.latest if row.scheduled and row.state != BackupState.RUNNING), None)
        return ended if ended and ended.state == BackupState.FAILED else None

    @property
    def faults(self) -> list[str]:
        said = [f"The last backup failed: {self.failed.cause}"] if self.failed else []
        if self.age is None:
            said.append("No backup was made here yet.")
        elif self.old:
            plan = f", although one is to be made {every_words(self.every)}" if self.root else ""
            said.append(f"The last backup is {age_words(self.age)} old{plan}.")
        return said


@dataclass(frozen=True)
class Leaving:
    """A room that is to be deleted; `room` is None once nobody may see it any more."""

    deletion: RoomDeletion
    room: Incident | None

    @property
    def late(self) -> bool:
        """Tell whether it should be gone: no worker does chores, or the disk fails."""
        return self.deletion.due_at < timezone.now() - LATE_DELETION


@dataclass(frozen=True)
class Site:
    """The whole state of the installation, as its page shows it."""

    parts: list[PartRow]
    queues: list[QueueRow]
    disks: list[Disk]
    backups: Backups
    people: dict[str, int]
    leaving: list[Leaving]
    objects: ObjectStore | None

    @property
    def faults(self) -> list[str]:
        """Say what needs an administrator, the most pressing first."""
        said = [
            f"{part.name} does not run: {part.last or 'it is being started'}."
            for part in self.parts
            if not part.running
        ]
        said += [
            f"Work waits: to {queue.name} has had no turn for {queue.oldest_s:.0f} s. Is a worker missing?"
            for queue in self.queues
            if queue.slow and queue.oldest_s is not None
        ]
        if self.objects and self.objects.fault:
            said.append(f"Storage: {self.objects.fault}. Uploads are refused and work waits until it serves again.")
        said += [
            f"The disk of {disk.path} is nearly full: uploads are refused, or soon will be."
            for disk in self.disks
            if disk.short
        ]
        said += [
            f"{part.name} ended {part.ends} times within a day and was started again."
            for part in self.parts
            if part.running and part.ends > 1
        ]
        said += self.backups.faults
        if late := sum(row.late for row in self.leaving):
            said.append(f"{late} room{'s' if late > 1 else ''} should be deleted by now: see Rooms, and the log.")
        if n := self.people["administrators_without"]:
            said.append(f"{n} administrator{'s have' if n > 1 else ' has'} no second factor.")
        return said


def look() -> Site:
    return Site(parts(), queues(), disks(), backups(), people(), leaving(), object_store())


def object_store() -> ObjectStore | None:
    """Return whether the object store serves this process, and the copies on its host; None where there is none."""
    if not objects.on():
        return None
    fault = ""
    try:
        objects.require()
    except StoreError as error:
        fault = str(error)
    return ObjectStore(settings.EXHIBIT_STORE, fault, *copies.usage(), settings.EXHIBIT_COPIES_BYTES)


def parts() -> list[PartRow]:
    """Return the processes as `up` recorded them; [] if something else started them."""
    return [_part(name, told) for name, told in _json(settings.EXHIBIT_PARTS).items()]


def _part(name: str, told: dict[str, Any]) -> PartRow:
    day = timezone.now() - LATELY
    ends = [(datetime.fromisoformat(end["at"]), end) for end in told["ends"]]
    lately = [(at, end) for at, end in ends if at > day]
    at, last = lately[-1] if lately else (None, None)
    since = datetime.fromisoformat(told["since"]) if told["since"] else None
    return PartRow(name, told["pid"] is not None, since, len(lately), at, _ended(last) if last else "")


def _ended(end: dict[str, Any]) -> str:
    """Say how a part ended.

    >>> _ended({"status": -9, "why": ""})
    'killed (SIGKILL): mostly for want of memory'
    """
    status = end["status"]
    if status is None:
        return f"could not be started: {end['why']}"
    if status >= 0:
        return f"exit status {status}"
    name = f"signal {-status}"
    with suppress(ValueError):
        name = signal.Signals(-status).name
    return f"killed ({name})" + (": mostly for want of memory" if status == -signal.SIGKILL else "")


def queues() -> list[QueueRow]:
    """Return the numbers of jobs that wait, run and failed lately, for each kind of work."""
    now = timezone.now()
    ready = Q(state=JobState.QUEUED) & (Q(not_before__isnull=True) | Q(not_before__lte=now))
    open_or_late = Job.objects.filter(
        Q(state__in=(JobState.QUEUED, JobState.RUNNING)) | Q(state=JobState.FAILED, finished_at__gt=now - LATELY)
    )
    counted = open_or_late.order_by().values("queue").annotate(
        waiting=Count("id", filter=Q(state=JobState.QUEUED)),
        running=Count("id", filter=Q(state=JobState.RUNNING)),
        failed=Count("id", filter=Q(state=JobState.FAILED)),
        oldest=Min("created_at", filter=ready),
    )  # fmt: skip
    found: dict[str, dict[str, Any]] = {row["queue"]: dict(row) for row in counted}
    rows = []
    for queue, name in QUEUES.items():
        row = found.get(queue) or {"waiting": 0, "running": 0, "failed": 0, "oldest": None}
        oldest = (now - row["oldest"]).total_seconds() if row["oldest"] else None
        rows.append(QueueRow(queue.value, name, row["waiting"], row["running"], row["failed"], oldest))
    return rows


def disks() -> list[Disk]:
    """Return the disks of evidence and of everything else, each disk once."""
    found: dict[int, Disk] = {}
    for path in (settings.EVIDENCE_ROOT, settings.EXHIBIT_VAR):
        if path.exists():
            usage = shutil.disk_usage(path)
            found.setdefault(path.stat().st_dev, Disk(path, usage.free, usage.total))
    return list(found.values())


def database_bytes() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        row = cursor.fetchone()
        assert row is not None
        return int(row[0])


def originals() -> tuple[int, int]:
    """Return the number of files received and not purged, and their bytes."""
    held = Artifact.objects.exclude(state=ArtifactState.PURGED).aggregate(n=Count("id"), bytes=Sum("size"))
    return held["n"], held["bytes"] or 0


def largest_rooms() -> list[Incident]:
    """Return the rooms with the most bytes of originals, as `files` and `bytes`."""
    here = ~Q(artifacts__state=ArtifactState.PURGED)
    counted = Incident.objects.annotate(
        files=Count("artifacts", filter=here), bytes=Sum("artifacts__size", filter=here)
    )  # fmt: skip
    return list(counted.filter(bytes__gt=0).order_by("-bytes", "pk")[:LARGEST])


def leaving() -> list[Leaving]:
    """Return the rooms that are to be deleted, the next one first."""
    rows = list(RoomDeletion.objects.filter(state__in=OPEN).order_by("due_at"))
    rooms = Incident.objects.filter(deletion_begun=False).in_bulk([row.room_id for row in rows])
    return [Leaving(row, rooms.get(row.room_id)) for row in rows]


def held() -> list[Incident]:
    """Return the rooms with a legal hold, the oldest hold first."""
    return list(Incident.objects.filter(held_at__isnull=False).select_related("held_by").order_by("held_at"))


def backups() -> Backups:
    """Return the backups that were made here, and the schedule."""
    every = timedelta(hours=settings.EXHIBIT_BACKUP_HOURS)
    root: Path | None = settings.EXHIBIT_BACKUP_ROOT
    latest = list(Backup.objects.all()[:LATEST_BACKUPS])
    next_at = Backup.objects.due_at(every) if root else None
    return Backups(Backup.objects.last_whole(), latest, root, every, next_at, settings.EXHIBIT_BACKUPS_KEPT)


def every_words(every: timedelta) -> str:
    """Say how often.

    >>> [every_words(timedelta(hours=hours)) for hours in (1, 6, 24, 168, 36)]
    ['every hour', 'every 6 hours', 'every day', 'every 7 days', 'every 36 hours']
    """
    hours = round(every.total_seconds() / 3600)
    n, unit = (hours // 24, "day") if hours % 24 == 0 else (hours, "hour")
    return f"every {unit}" if n == 1 else f"every {n} {unit}s"


def age_words(age: timedelta) -> str:
    """Say how old something is.

    >>> [age_words(timedelta(hours=hours)) for hours in (0.2, 1.5, 30, 50)]
    ['0 hours', '1 hour', '30 hours', '2 days']
    """
    hours = int(age.total_seconds() // 3600)
    n, unit = (hours // 24, "day") if hours >= 48 else (hours, "hour")
    return f"{n} {unit}" if n == 1 else f"{n} {unit}s"


def people() -> dict[str, int]:
    """Count the accounts that can sign in, the administrators among them, and who has a second factor."""
    active = User.objects.filter(is_active=True)
    counted = active.aggregate(
        accounts=Count("id"),
        administrators=Count("id", filter=Q(is_superuser=True)),
        lately=Count("id", filter=Q(last_login__gt=timezone.now() - timedelta(days=30))),
    )
    second = Authenticator.objects.filter(user__is_active=True, type=Authenticator.Type.TOTP)
    plain = active.filter(is_superuser=True).exclude(pk__in=second.values("user_id"))
    return {**counted, "second": second.values("user_id").distinct().count(), "administrators_without": plain.count()}


def limits() -> list[tuple[str, str, int, str]]:
    """Return each limit in force as name, meaning, value and unit."""
    return [(name, meaning, getattr(settings, name), unit) for name, meaning, unit in LIMITS]


def _json(file: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    return told

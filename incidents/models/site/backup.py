"""Backups of the whole site: those that beat asks for, and those that somebody made by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar

from django.db import connection, models, transaction
from django.db.models import Q
from django.utils import timezone

LEASE = timedelta(minutes=10)
"""Validity of a running backup's lease unless it is renewed: long enough for a restart of the database."""
RETRY = timedelta(hours=1)
"""Time after a failed backup before the next attempt, if backups are made less often than that."""
KEPT = timedelta(days=90)
"""Age at which rows are deleted, but that of the last whole backup."""
NAME = "%Y-%m-%dT%H%M%SZ"
"""Name of the folder of a scheduled backup: when it began, in UTC."""


class BackupState(models.TextChoices):
    RUNNING = "running", "being made"
    DONE = "done", "whole"
    FAILED = "failed", "failed"


class BackupManager(models.Manager["Backup"]):
    def claim(self, root: Path, every: timedelta, worker: str) -> Backup | None:
        """Begin a scheduled backup if one is due, else return None. If two workers call at once, one gets it."""
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(hashtext('exhibit scheduled backup'))")
            due, now = self.due_at(every), timezone.now()
            if due is None or due > now:
                return None
            return self.create(
                scheduled=True,
                state=BackupState.RUNNING,
                folder=str(root / now.strftime(NAME)),
                started_at=now,
                worker=worker,
                lease_until=now + LEASE,
            )

    def due_at(self, every: timedelta) -> datetime | None:
        """Return when the next scheduled backup is due, which may have passed; None while one is being made."""
        last = self.filter(scheduled=True).first()
        if last is None:
            return timezone.now()
        if last.state == BackupState.RUNNING:
            return None
        return last.started_at + (every if last.state == BackupState.DONE else min(every, RETRY))

    def abandoned(self, gone: Callable[[str | None], bool]) -> list[Backup]:
        """Return the running backups whose worker has ended: their lease has expired, or `gone` says so."""
        now = timezone.now()
        running = self.filter(state=BackupState.RUNNING)
        return [row for row in running if row.lease_until is None or row.lease_until < now or gone(row.worker)]

    def last_whole(self) -> Backup | None:
        return self.filter(state=BackupState.DONE).order_by("-finished_at", "-id").first()

    def forget_old(self) -> None:
        last = self.last_whole()
        old = self.filter(started_at__lt=timezone.now() - KEPT).exclude(state=BackupState.RUNNING)
        (old.exclude(pk=last.pk) if last else old).delete()


class Backup(models.Model):
    """One backup. A dump leaves out the rows of this table: they describe this installation, not a restored one.

    `files` and `bytes` are of what was written; `cause` says why it failed. A running one has a lease.
    """

    scheduled = models.BooleanField()
    state = models.CharField(max_length=8, choices=BackupState.choices)
    folder = models.TextField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    files = models.PositiveBigIntegerField(null=True, blank=True)
    bytes = models.PositiveBigIntegerField(null=True, blank=True)
    cause = models.TextField(null=True, blank=True)
    worker = models.CharField(max_length=100, null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[BackupManager] = BackupManager()

    class Meta:
        ordering = ("-started_at", "-id")
        constraints = (
            models.CheckConstraint(name="backup_state_known", condition=Q(state__in=BackupState.values)),
            models.CheckConstraint(
                name="backup_done_has_figures",
                condition=~Q(state=BackupState.DONE)
                | Q(finished_at__isnull=False, files__isnull=False, bytes__isnull=False),
            ),
            models.UniqueConstraint(
                name="backup_one_scheduled_running",
                fields=("scheduled",),
                condition=Q(scheduled=True, state=BackupState.RUNNING),
            ),
        )

    def __str__(self) -> str:
        return f"{self.folder}: {self.state}"

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it is being made."""
        return (self.finished_at - self.started_at).total_seconds() if self.finished_at else None

    def renew(self) -> bool:
        """Extend the lease. False if another worker has taken this backup for abandoned."""
        running = Backup.objects.filter(pk=self.pk, state=BackupState.RUNNING)
        return bool(running.update(lease_until=timezone.now() + LEASE))

    def finish(self, files: int, bytes: int) -> bool:
        """Record that the backup is complete, with its files and bytes. False if another worker has ended it."""
        return self._end(state=BackupState.DONE, files=files, bytes=bytes)

    def fail(self, cause: str) -> bool:
        return self._end(state=BackupState.FAILED, cause=cause)

    def _end(self, **values: object) -> bool:
        running = Backup.objects.filter(pk=self.pk, state=BackupState.RUNNING)
        ended = bool(running.update(finished_at=timezone.now(), lease_until=None, **values))
        self.refresh_from_db()
        return ended

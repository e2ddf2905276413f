"""Scheduled backups: when one is due, which worker makes it, and which of the old ones are kept."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import structlog
from django.conf import settings
from django.db import connection

from config import backup, embedded
from incidents.models.site.backup import NAME, Backup
from incidents.storage.database import AWAY, let_go, patiently
from incidents.work import holders

log = structlog.get_logger(__name__)

RENEW_S = 20.0
STOPPED = "The worker was stopped while it made this backup."
LOST = "Another worker took this backup for abandoned, since its lease had ended."


def make_if_due() -> Backup | None:
    """Make a backup below EXHIBIT_BACKUP_ROOT if one is due; return its row, or None if there was nothing to do."""
    root: Path | None = settings.EXHIBIT_BACKUP_ROOT
    if root is None:
        return None
    for abandoned in Backup.objects.abandoned(holders.surely_gone):
        settle(abandoned)
    row = Backup.objects.claim(root, timedelta(hours=settings.EXHIBIT_BACKUP_HOURS), holders.me())
    if row is None:
        return None
    log.info("backup.begins", folder=row.folder)
    folder = Path(row.folder)
    try:
        if not root.is_dir():
            raise backup.BackupError(f"{root} is no folder here: make it, or mount its disk")
        with renewed(row) as go_on:
            entries = backup.make(folder, go_on)
    except (backup.BackupError, embedded.EmbeddedError, OSError) as error:
        log.error("backup.failed", folder=row.folder, error=str(error))
        _note(partial(row.fail, str(error)))
        shutil.rmtree(folder, ignore_errors=True)  # a full disk must not stay full; without a manifest it is none
        return row
    files, size = backup.figures(entries)
    _note(partial(row.finish, files, size))
    log.info("backup.done", folder=row.folder, files=files, bytes=size)
    prune(root, folder, settings.EXHIBIT_BACKUPS_KEPT)
    Backup.objects.forget_old()
    return row


def _note(end: Callable[[], bool]) -> None:
    """Record how a backup ended, over a new connection: the old one was idle during the whole backup."""
    let_go()
    if not patiently(end):
        log.error("backup.ended_by_another_worker")


def settle(row: Backup) -> None:
    """Settle a backup whose worker has ended: it is complete if its manifest, written last, exists; else remove it."""
    folder = Path(row.folder)
    found = backup.written(folder)
    if found is not None:
        row.finish(*found)
        return
    log.error("backup.abandoned", folder=row.folder)
    row.fail(STOPPED)
    if folder.exists():
        shutil.rmtree(folder)


def prune(root: Path, newest: Path, kept: int) -> list[Path]:
    """Remove the oldest scheduled backups of this site in `root`, so that `kept` stay, `newest` among them.

    Whatever has another name, is not finished or was made with another key stays: people's own backups, and those of
    another site.
    """
    sets = sorted(folder for folder in root.iterdir() if _is_scheduled(folder) and backup.is_ours(folder))
    others = [folder for folder in sets if folder != newest]
    surplus = others[: max(0, len(others) + 1 - kept)]
    for folder in surplus:
        (folder / backup.MANIFEST).unlink()  # first: what is half removed is no backup
        shutil.rmtree(folder)
        log.info("backup.removed", folder=str(folder))
    return surplus


def _is_scheduled(folder: Path) -> bool:
    try:
        datetime.strptime(folder.name, NAME)
    except ValueError:
        return False
    return folder.is_dir()


@contextmanager
def renewed(row: Backup) -> Iterator[Callable[[], None]]:
    """Renew the lease from a thread; yield a function that raises BackupError once another worker has the backup.

    A database that is away for a moment does not end the copying: the lease lasts longer.
    """
    ended, lost = threading.Event(), threading.Event()

    def renew() -> None:
        while not ended.wait(RENEW_S):
            try:
                if not row.renew():
                    lost.set()
                    return
            except AWAY as error:
                log.warning("backup.database_away", error=str(error))
            finally:
                connection.close()  # this thread's own

    def go_on() -> None:
        if lost.is_set():
            raise backup.BackupError(LOST)

    thread = threading.Thread(target=renew, name="backup lease", daemon=True)
    thread.start()
    try:
        yield go_on
    finally:
        ended.set()
        thread.join()

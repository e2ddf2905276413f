"""`manage.py backup FOLDER`: back up database and evidence."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from config import backup, embedded
from incidents.models.site.backup import Backup, BackupState


def note(folder: Path, begun: datetime, files: int, size: int) -> None:
    """Record the backup for the status page; a database that is not migrated to this release has no table for it."""
    if Backup._meta.db_table in connection.introspection.table_names():
        Backup.objects.create(
            scheduled=False,
            state=BackupState.DONE,
            folder=str(folder),
            started_at=begun,
            finished_at=timezone.now(),
            files=files,
            bytes=size,
        )


class Command(BaseCommand):
    help = "Write database and evidence as one set into a new folder. The server may go on working."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        begun = timezone.now()
        try:
            with backup.reachable_database():
                files, size = backup.figures(backup.make(folder))
                note(folder.absolute(), begun, files, size)
        except (backup.BackupError, embedded.EmbeddedError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{folder}: database and {files} files of evidence, {size} bytes")

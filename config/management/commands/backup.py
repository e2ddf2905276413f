"""`manage.py backup FOLDER`: back up database and evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from config import backup, embedded
from config.parts import now


class Command(BaseCommand):
    help = "Write database and evidence as one set into a new folder. The server may go on working."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        try:
            with backup.reachable_database():
                entries = backup.make(folder)
        except (backup.BackupError, embedded.EmbeddedError) as error:
            raise CommandError(str(error)) from None
        size = sum(entry.bytes for entry in entries)
        told = {"made": now(), "folder": str(folder.absolute()), "files": len(entries) - 1, "bytes": size}
        settings.EXHIBIT_LAST_BACKUP.write_text(json.dumps(told))
        self.stdout.write(f"{folder}: database and {len(entries) - 1} files of evidence, {size} bytes")

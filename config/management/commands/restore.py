"""`manage.py restore FOLDER`: restore a backup into an empty installation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser, call_command

from config import backup, embedded


class Command(BaseCommand):
    help = (
        "Put a set written by `backup` into an empty place and bring it to this release. Nothing else may be running."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--replace", action="store_true", help="throw away the accounts and the evidence that are here"
        )

    def handle(self, *args: Any, folder: Path, replace: bool, **options: Any) -> None:
        try:
            with backup.alone():
                entries = backup.restore(folder, replace)
                call_command("prepare", verbosity=1)
        except (backup.BackupError, embedded.EmbeddedError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"restored: database and {len(entries) - 1} files of evidence")

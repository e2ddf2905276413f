"""`manage.py restore FOLDER`: restore a backup into an empty installation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser, call_command

from config import backup, embedded
from incidents.errors import StoreError
from incidents.storage import objects, store, tombstones

OTHER_KEY = """\
This backup was made with another secret key than the one that is here. With this key
  - everybody signs in again, and links in mails sent before do not work;
  - no code of a second factor fits: `manage.py remove_second_factor NAME` lets a person sign in without one;
  - webhooks sign with new secrets: tell the receivers, or remove and add the addresses again.
To keep all that, put the old var/secret-key (or SECRET_KEY) in place now and restart."""


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
                deleted = backup.deleted_rooms(folder)
                entries = backup.restore(folder, replace)
                call_command("prepare", verbosity=1)
                tombstones.put_back(deleted)
                if objects.on():
                    store.begin_anew()
                    store.send_everything()
        except StoreError as error:
            raise CommandError(f"{error}. Database and files are here: run `send_to_store` when it serves.") from None
        except (backup.BackupError, embedded.EmbeddedError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"restored: database and {len(entries) - 1} files of evidence")
        if not backup.has_our_key(folder):
            self.stderr.write(OTHER_KEY)

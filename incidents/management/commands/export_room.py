"""`manage.py export_room SLUG FILE`: write a bundle of a room, at once and in this process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser

from incidents import access, tasks
from incidents.actions import exports
from incidents.errors import Refused
from incidents.models.room.bundle import BundleState, Holds
from incidents.models.room.job import Queue
from incidents.storage import store


class Command(BaseCommand):
    help = "Write a signed bundle of a room: for another Exhibit, which opens it with import_room."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="a lead of the room, or an administrator")
        parser.add_argument("slug", help="the room, as its address names it")
        parser.add_argument("file", type=Path)
        parser.add_argument("--tables", action="store_true", help="only the tables, with secrets masked; no originals")

    def handle(self, *args: Any, username: str, slug: str, file: Path, tables: bool, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"there is nobody called {username}")
        if file.exists():
            raise CommandError(f"{file} is there already")
        try:
            room = access.enter(user, slug)
            export = exports.ask(room, Holds.TABLES if tables else Holds.ORIGINALS)
            while export.going:
                tasks.work(Queue.LARGE)
                export.refresh_from_db()
            if export.state != BundleState.READY:
                raise CommandError(export.cause)
            exports.note_download(room, export.pk)
        except Refused as refused:
            raise CommandError(refused.message) from refused
        shutil.copyfile(store.bring_bundle(room.incident.pk, export.pk, export.sha256), file)
        exports.remove(room, export.pk)
        self.stdout.write(f"{export.sha256}  {file}")

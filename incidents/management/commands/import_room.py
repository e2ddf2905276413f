"""`manage.py import_room USERNAME FILE`: open a room from a bundle, however large it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from incidents.actions import exports
from incidents.errors import Refused
from incidents.storage import bundles, store


class Command(BaseCommand):
    help = "Check a room bundle to its last byte, open a room for a person, and have the workers fill and judge it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="who leads the new room")
        parser.add_argument("file", type=Path)
        parser.add_argument("--key", default="", help="the public key of the site that must have signed it")

    def handle(self, *args: Any, username: str, file: Path, key: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(f"there is nobody called {username}")
        try:
            incoming = store.receive_all(_pieces(file))
            try:
                incident = exports.bring(user, incoming, key)
            finally:
                incoming.discard()
        except Refused as refused:
            raise CommandError(refused.message) from refused
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from error
        self.stdout.write(reverse("origin", args=(incident.slug,)))


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as source:
        while piece := source.read(bundles.PIECE):
            yield piece

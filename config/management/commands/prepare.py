"""`manage.py prepare`: migrate the database, create the cache table, collect the static files."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import BaseCommand, call_command
from django.db import connections

COLLECTED = "collected.txt"
"""Name of a file in STATIC_ROOT that holds the hash of the sources of the files there."""


def sources() -> str:
    """Return a hash of the static files' sources (names, sizes, dates) and of the versions of the tools."""
    seen = hashlib.sha256(f"{settings.STORAGES['staticfiles']} {version('django')} {version('whitenoise')}".encode())
    for finder in get_finders():
        for name, source in finder.list([]):
            status = Path(source.path(name)).stat()
            seen.update(f"\n{name} {status.st_size} {status.st_mtime_ns}".encode())
    return seen.hexdigest()


def is_collected(root: Path, wanted: str) -> bool:
    """Tell whether STATIC_ROOT holds all files collected from these sources."""
    stamp, manifest = root / COLLECTED, root / "staticfiles.json"
    if not stamp.exists() or not manifest.exists() or stamp.read_text() != wanted:
        return False
    return all((root / name).exists() for name in json.loads(manifest.read_text())["paths"].values())


class Command(BaseCommand):
    help = (
        "Bring the database and the files of the pages to this release. Safe to run again, and by two servers at once."
    )
    requires_system_checks = ()  # run below: Django skips the checks of a command that `up` calls

    def handle(self, *args: Any, verbosity: int, **options: Any) -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext('exhibit prepare'))")  # released at disconnect
        quiet = max(0, verbosity - 1)
        self.check(databases=["default"])
        call_command("migrate", interactive=False, verbosity=quiet)
        call_command("createcachetable", verbosity=quiet)
        self.collect(quiet)
        connections.close_all()

    def collect(self, quiet: int) -> None:
        """Copy and compress the static files, which takes a dozen seconds, unless none has changed."""
        wanted = sources()
        stamp = Path(settings.STATIC_ROOT) / COLLECTED
        if not is_collected(stamp.parent, wanted):
            stamp.unlink(missing_ok=True)
            call_command("collectstatic", interactive=False, verbosity=quiet)
            stamp.write_text(wanted)

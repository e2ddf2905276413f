from __future__ import annotations

from typing import Any

from django.core.management import BaseCommand, call_command
from django.db import connections


class Command(BaseCommand):
    help = (
        "Bring the database and the files of the pages to this release. Safe to run again, and by two servers at once."
    )
    requires_system_checks = ()  # run below: a command called by `up` would skip them

    def handle(self, *args: Any, verbosity: int, **options: Any) -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext('exhibit prepare'))")  # given back with the connection
        quiet = max(0, verbosity - 1)
        self.check(databases=["default"])
        call_command("migrate", interactive=False, verbosity=quiet)
        call_command("createcachetable", verbosity=quiet)
        call_command("collectstatic", interactive=False, verbosity=quiet)
        connections.close_all()

"""`manage.py send_to_store`: give the object store what the evidence folder of this host holds."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from incidents.errors import StoreError
from incidents.storage import objects, store


class Command(BaseCommand):
    help = (
        "Give the object store that EXHIBIT_STORE names all evidence of this host's folder. What it holds is not sent "
        "again. Nothing else may be running the first time."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not objects.on():
            raise CommandError("EXHIBIT_STORE names no object store")
        try:
            sent = store.send_everything()
        except StoreError as error:
            raise CommandError(f"{error}. Run it again: what was sent is not sent again.") from None
        self.stdout.write(f"the object store holds {sent} originals, readings and bundles of this host")

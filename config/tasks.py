"""Celery tasks that need all of the installation: backups. Those of the application are in incidents/tasks.py."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.db import connection

from config import backups
from incidents.storage.database import AWAY

log = structlog.get_logger(__name__)


@shared_task(name="config.tasks.back_up")  # type: ignore[untyped-decorator]  # Celery has no types
def back_up() -> None:
    """Make a backup if one is due. Beat asks often; the rows of the backups say when."""
    try:
        backups.make_if_due()
    except AWAY as error:  # the lease ends, and a later call settles what was begun
        log.warning("backup.database_away", error=str(error))
        connection.close()

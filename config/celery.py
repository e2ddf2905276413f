"""The Celery application. Queues, routes and the beat schedule are the CELERY_ settings in settings.py."""

from __future__ import annotations

import os
import warnings
from typing import Any

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import setup_logging, worker_shutting_down

from config.children import end_anyway
from parsers.allocator import lean

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Celery warns at length if root runs it, because messages could contain code. Here only JSON is accepted.
warnings.filterwarnings("ignore", category=SecurityWarning)

# Must be set before Celery reads it: its run of Django's checks would load the URLs, thereby the views, and thereby
# Polars and DuckDB into the worker's parent, whose children are forks. `prepare` runs the checks.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

lean()  # for the forked children

FAREWELL_S = 3.0

app = Celery("exhibit")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery has no types
def keep_our_logging(**_: Any) -> None:
    """Keep Celery from replacing the handlers of LOGGING: a receiver of this signal is enough."""


@worker_shutting_down.connect  # type: ignore[untyped-decorator]  # Celery has no types
def leave_without_a_broker(how: str, **_: Any) -> None:
    """End a cold shutdown after `FAREWELL_S`: the broker may have died with the supervisor, and Celery waits for it.

    Interrupted work is repeated by the next worker: jobs have leases.
    """
    if how == "Cold":
        end_anyway(FAREWELL_S)

"""The Celery application. Queues, routes and the beat schedule stand in settings.py under CELERY_."""

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

# Celery warns at length when root runs it. What it fears is code in messages, and only JSON is accepted here.
warnings.filterwarnings("ignore", category=SecurityWarning)

# Before Celery looks: its run of Django's checks would load the addresses, with them the views, and with them Polars and
# DuckDB into the worker's parent, whose children are forks. `prepare` runs the checks.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

lean()  # for those children

FAREWELL_S = 3.0

app = Celery("exhibit")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery has no types
def keep_our_logging(**_: Any) -> None:
    """Answering this signal keeps Celery from putting its own handlers over LOGGING."""


@worker_shutting_down.connect  # type: ignore[untyped-decorator]  # Celery has no types
def leave_without_a_broker(how: str, **_: Any) -> None:
    """A worker that hears of its supervisor's death wants to say farewell to a broker that died with it, and waits for ever.

    What it was doing is done again by the next one: jobs have leases.
    """
    if how == "Cold":
        end_anyway(FAREWELL_S)

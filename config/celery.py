"""The Celery application. Queues, routes and the beat schedule are the CELERY_ settings in settings.py."""

from __future__ import annotations

import os
import threading
import time
import warnings
from typing import Any

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import setup_logging, worker_process_init, worker_shutting_down

from config import tracing
from config.children import end_anyway
from parsers.allocator import lean
from parsers.kept_patterns import install

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Celery warns at length if root runs it, because messages could contain code. Here only JSON is accepted.
warnings.filterwarnings("ignore", category=SecurityWarning)

# Must be set before Celery reads it: its run of Django's checks would load the URLs, thereby the views, and thereby
# Polars and DuckDB into the worker's parent, whose children are forks. `prepare` runs the checks.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

lean()  # for the forked children
install()

FAREWELL_S = 3.0
LOOK_S = 1.0

app = Celery("exhibit")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery has no types
def keep_our_logging(**_: Any) -> None:
    """Keep Celery from replacing the handlers of LOGGING: a receiver of this signal is enough."""


@worker_process_init.connect  # type: ignore[untyped-decorator]  # Celery has no types
def trace(**_: Any) -> None:
    """Trace the process that does the work: threads that send would not survive the fork before it."""
    tracing.begin("worker")


@worker_shutting_down.connect  # type: ignore[untyped-decorator]  # Celery has no types
def leave_without_a_broker(how: str, **_: Any) -> None:
    """End a cold shutdown after `FAREWELL_S`: the broker may have died with the supervisor, and Celery waits for it.

    Interrupted work is repeated by the next worker: jobs have leases.
    """
    if how == "Cold":
        end_anyway(FAREWELL_S)


def end_with_supervisor(pid: int) -> None:
    """End this process soon after `up` (process `pid`) has ended.

    The kernel signals its end, but a worker that is just starting on a loaded machine was seen to miss that.
    """

    def watch() -> None:
        while os.getppid() == pid:
            time.sleep(LOOK_S)
        end_anyway(2 * FAREWELL_S)

    threading.Thread(target=watch, name="supervisor", daemon=True).start()


if os.environ.get("EXHIBIT_SUPERVISOR") == str(os.getppid()):  # set by `up`; inherited by children of its children
    end_with_supervisor(os.getppid())

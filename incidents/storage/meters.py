"""Count what happens, for a monitoring system that asks (`EXHIBIT_METRICS_TOKEN`; nothing is counted without it).

The web process counts its answers itself: there is one at each address. Workers fork, end after some hundred tasks and
run on any host, so what they count is added up in the broker, where no file of an ended process stays behind. A broker
that is away or starts afresh loses counts, which a monitoring system takes for a restart.

No label holds anything that a person typed: routes, methods, statuses, names of tasks and kinds of jobs only.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from incidents.storage import live

log = structlog.get_logger(__name__)

KEY = "exhibit:meters"
REQUEST_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
JOB_S = (1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))

# A second series for each, which nobody reads.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this one without a type
ANSWERS = CollectorRegistry()
_requests = Counter(
    "exhibit_requests_total",
    "Requests answered, by the name of the route",
    ("route", "method", "status"),
    registry=ANSWERS,
)
_request_s = Histogram(
    "exhibit_request_seconds",
    "Seconds until an answer began",
    ("route",),
    buckets=REQUEST_S,
    registry=ANSWERS,
)


def on() -> bool:
    """Tell whether counting is switched on (by a token for /metrics)."""
    return bool(settings.EXHIBIT_METRICS_TOKEN)


def answered(route: str, method: str, status: str, seconds: float) -> None:
    """Count an answer of this process. `status` is "gone" if the sender left before the answer began."""
    _requests.labels(route, method if method in METHODS else "other", status).inc()
    _request_s.labels(route).observe(seconds)


def task_ended(name: str, end: str) -> None:
    _add({f"task {name} {end}": 1})


def job_ended(kind: str, end: str, seconds: float) -> None:
    bucket = bisect.bisect_left(JOB_S, seconds)
    _add({f"job {kind} {end} {bucket}": 1, f"job {kind} {end} sum": seconds})


def _add(fields: dict[str, float]) -> None:
    if not on():
        return
    try:
        pipeline = live.broker().pipeline(transaction=False)
        for name, by in fields.items():
            pipeline.hincrbyfloat(KEY, name, by)
        pipeline.execute()
    except live.BROKER_AWAY as error:
        log.warning("meters.broker_away", error=str(error))


@dataclass
class Jobs:
    """Jobs of one kind that ended in one way: the number in each of JOB_S and above, and their seconds together."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(JOB_S) + 1))
    seconds: float = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        """Return upper bounds with the number of jobs up to each, as Prometheus wants them.

        >>> Jobs([2, 1, 0, 0, 0, 0, 1]).buckets()[:2], Jobs([2, 1, 0, 0, 0, 0, 1]).buckets()[-1]
        ([('1.0', 2), ('5.0', 3)], ('+Inf', 4))
        """
        bounds = [*map(str, JOB_S), "+Inf"]
        return [(bound, sum(self.counts[: n + 1])) for n, bound in enumerate(bounds)]


@dataclass
class Counted:
    """What workers counted: tasks by name and end, jobs by kind and end."""

    tasks: dict[tuple[str, str], float] = field(default_factory=dict)
    jobs: dict[tuple[str, str], Jobs] = field(default_factory=dict)


def of_workers() -> Counted | None:
    """Return what the workers of all hosts counted; None while the broker is away."""
    try:
        found = live.broker().hgetall(KEY)
    except live.BROKER_AWAY as error:
        log.warning("meters.broker_away", error=str(error))
        return None
    counted = Counted()
    for name, value in _words(found):
        match name:
            case ["task", task, end]:
                counted.tasks[task, end] = value
            case ["job", kind, end, "sum"]:
                counted.jobs.setdefault((kind, end), Jobs()).seconds = value
            case ["job", kind, end, bucket]:
                counted.jobs.setdefault((kind, end), Jobs()).counts[int(bucket)] = int(value)
    return counted


def _words(found: Mapping[Any, Any]) -> Iterator[tuple[list[str], float]]:
    """Split names at their blanks. The broker's client answers with bytes, whatever its types allow."""
    for name, value in found.items():
        yield name.decode().split(" "), float(value)

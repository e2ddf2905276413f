"""What a monitoring system reads of this site, in the form of Prometheus. Only reads; names no room and no person."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric

from incidents.content import site
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.people.notification import Mail, Notification
from incidents.models.room.webhook import Delivery
from incidents.storage import live, meters


def exposition(accept: str) -> tuple[bytes, str]:
    """Return all figures and their content type, in the form that the caller accepts."""
    encode, kind = choose_encoder(accept)
    return encode(_Figures()), kind


class _Figures:
    """Collector for the encoder: the counted answers of this process, then all other figures."""

    def collect(self) -> Iterator[Metric]:
        yield from meters.ANSWERS.collect()
        yield from _of_workers()
        yield from _work()
        yield from _store()
        yield from _backups()
        yield from _parts()
        yield _gauge("exhibit_streams", "Live streams that this web process serves", live.open_streams())


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _by(label: str, name: str, meaning: str, values: dict[str, float]) -> Metric:
    """Return a gauge with one value for each value of a label."""
    family = GaugeMetricFamily(name, meaning, labels=(label,))
    for of, value in values.items():
        family.add_metric((of,), value)
    return family


def _of_workers() -> Iterator[Metric]:
    counted = meters.of_workers()
    yield _gauge("exhibit_broker_up", "Whether the broker answers", counted is not None)
    if counted is None:
        return
    tasks = CounterMetricFamily("exhibit_tasks", "Tasks that ended, by name", labels=("task", "end"))
    for of, n in counted.tasks.items():
        tasks.add_metric(of, n)
    yield tasks
    seconds = HistogramMetricFamily(
        "exhibit_job_seconds", "Seconds from the beginning to the end of an attempt at a job", labels=("kind", "end")
    )
    for kind_and_end, jobs in counted.jobs.items():
        seconds.add_metric(kind_and_end, buckets=jobs.buckets(), sum_value=jobs.seconds)
    yield seconds


def _work() -> Iterator[Metric]:
    jobs = GaugeMetricFamily("exhibit_jobs", "Jobs that wait and that run", labels=("queue", "state"))
    oldest: dict[str, float] = {}
    for row in site.queues():
        jobs.add_metric((row.queue, "waiting"), row.waiting)
        jobs.add_metric((row.queue, "running"), row.running)
        oldest[row.queue] = row.oldest_s or 0.0
    yield jobs
    now = timezone.now()
    mails = Notification.objects.filter(mail=Mail.WAITING, mail_after__lte=now)
    leaving = {"mails": (mails, "mail_after"), "webhooks": (Delivery.objects.due(), "next_at")}
    waiting: dict[str, float] = {}
    for name, (rows, at) in leaving.items():
        found = rows.order_by().aggregate(n=Count("pk"), oldest=Min(at))
        waiting[name] = found["n"]
        oldest[name] = (now - found["oldest"]).total_seconds() if found["oldest"] else 0.0
    yield _by("what", "exhibit_leaving", "Mails and calls of webhooks that are due", waiting)
    yield _by("queue", "exhibit_oldest_seconds", "Seconds for which the oldest has waited; 0 if nothing waits", oldest)
    counted = dict(Artifact.objects.order_by().values_list("state").annotate(Count("pk")))
    yield _by(
        *("state", "exhibit_artifacts", "Artifacts by state"),
        {state: counted.get(state, 0) for state in ArtifactState.values},
    )


def _store() -> Iterator[Metric]:
    files, held = site.originals()
    yield _gauge("exhibit_originals", "Original files held", files)
    yield _gauge("exhibit_originals_bytes", "Their bytes", held)
    yield _gauge("exhibit_database_bytes", "Bytes of the database", site.database_bytes())
    free, total = {}, {}
    for disk in site.disks():
        name = "evidence" if disk.path == settings.EVIDENCE_ROOT else "var"
        free[name], total[name] = float(disk.free), float(disk.total)
    yield _by("disk", "exhibit_disk_free_bytes", "Bytes free on the disks of evidence and of everything else", free)
    yield _by("disk", "exhibit_disk_bytes", "Bytes of these disks", total)
    yield _gauge(
        "exhibit_disk_kept_free_bytes", "Uploads are refused that leave less than this", settings.EXHIBIT_MIN_FREE_BYTES
    )


def _backups() -> Iterator[Metric]:
    """Yield the figures of backups. A backup that does not exist has no figure, because unknown is not 0."""
    backups = site.backups()
    if backups.age is not None:
        yield _gauge("exhibit_backup_age_seconds", "Age of the last whole backup", backups.age.total_seconds())
    yield _gauge(
        *("exhibit_backup_age_bound_seconds", "Age from which the last backup counts as old"),
        backups.bound.total_seconds(),
    )
    yield _gauge("exhibit_backup_failed", "Whether the last scheduled backup failed", backups.failed is not None)


def _parts() -> Iterator[Metric]:
    """Yield the figures of the processes that `up` keeps running; none if something else started them."""
    parts = site.parts()
    if parts:
        running = {part.name: float(part.running) for part in parts}
        yield _by("part", "exhibit_part_running", "Whether a part runs", running)
        ends = {part.name: float(part.ends) for part in parts}
        yield _by("part", "exhibit_part_ends_today", "How often a part ended by itself within a day", ends)

"""Jobs of the workers. The row is authoritative; a Celery message only hints that there is one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import ClassVar

from django.db import IntegrityError, models, transaction
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from incidents.models.evidence.artifact import Artifact
from incidents.models.room.incident import Incident

LEASE = timedelta(seconds=120)  # validity of a lease unless it is renewed
ATTEMPTS = 3  # tries before a job counts as failed


class JobKind(models.TextChoices):
    INGEST = "ingest", "read an artifact"
    JUDGE = "judge", "judge the room"
    EXPORT = "export", "make a bundle of the room"
    IMPORT = "import", "fill the room from a bundle"


#: Jobs that change what the room knows; a bundle that is made of it changes nothing.
CHANGING = (JobKind.INGEST, JobKind.JUDGE, JobKind.IMPORT)


class JobState(models.TextChoices):
    QUEUED = "queued", "waiting"
    RUNNING = "running", "running"
    DONE = "done", "done"
    FAILED = "failed", "failed"


class Queue(models.TextChoices):
    SMALL = "small", "small"
    LARGE = "large", "large"
    JUDGE = "judge", "judge"


class LeaseLost(Exception):
    """Another worker has this job now, or it was cancelled: stop without writing anything."""


class JobManager(models.Manager["Job"]):
    def ask_ingest(self, artifact: Artifact, queue: str) -> None:
        """Queue a reading of the artifact unless one is waiting or running."""
        self.bulk_create(
            [Job(incident_id=artifact.incident_id, kind=JobKind.INGEST, artifact=artifact, queue=queue)],
            ignore_conflicts=True,
        )

    def ask_judge(self, incident_id: int) -> None:
        """Queue a judgement of the room unless one is waiting: a waiting one will cover this change too."""
        self.bulk_create([Job(incident_id=incident_id, kind=JobKind.JUDGE, queue=Queue.JUDGE)], ignore_conflicts=True)

    def claim(self, queue: str, worker: str) -> Job | None:
        """Take the next job of a queue under a lease; return None if no waiting job may run now.

        Fair between rooms: first the room with the fewest running jobs, then the one served longest ago, then by age.
        """
        now = timezone.now()
        same_room = self.filter(incident=OuterRef("incident"), queue=queue).order_by().values("incident")
        running = same_room.filter(state=JobState.RUNNING).annotate(n=Count("id")).values("n")
        served = same_room.annotate(last=Max("started_at")).values("last")
        judging = self.filter(incident=OuterRef("incident"), kind=JobKind.JUDGE, state=JobState.RUNNING)
        try:
            with transaction.atomic():
                job = (
                    self.filter(queue=queue, state=JobState.QUEUED)
                    .filter(Q(not_before__isnull=True) | Q(not_before__lte=now))
                    .exclude(Exists(judging), kind=JobKind.JUDGE)
                    .alias(running=Coalesce(Subquery(running), 0), served=Subquery(served))
                    .order_by("running", F("served").asc(nulls_first=True), "created_at", "id")
                    .select_for_update(skip_locked=True, of=("self",))
                    .first()
                )
                if job is None:
                    return None
                job.state, job.attempt, job.worker = JobState.RUNNING, job.attempt + 1, worker
                job.started_at = job.heartbeat_at = now
                job.lease_until = now + LEASE
                job.save()
                return job
        except IntegrityError:  # another worker began to judge the same room at the same moment
            return None

    def end_leases_of(self, gone: Callable[[str | None], bool]) -> None:
        """End the leases whose holder has ended according to `gone`, so that nobody waits until they expire."""
        running = self.filter(state=JobState.RUNNING, lease_until__gt=timezone.now())
        held = dict(running.values_list("pk", "worker"))
        if ended := {pk: worker for pk, worker in held.items() if gone(worker)}:
            self.filter(pk__in=ended, worker__in=ended.values(), state=JobState.RUNNING).update(
                lease_until=timezone.now()
            )

    def give_up_expired(self) -> list[Job]:
        """Queue jobs with an expired lease again; return those that have used up their attempts."""
        given_up = []
        with transaction.atomic():
            expired = self.filter(state=JobState.RUNNING, lease_until__lt=timezone.now()).select_for_update(
                skip_locked=True
            )
            for job in expired:
                if job.tries >= ATTEMPTS:
                    given_up.append(job)
                else:
                    job.queue_again()
        return given_up

    def waiting(self, queue: str) -> int:
        return self.filter(queue=queue, state=JobState.QUEUED).count()


class Job(models.Model):
    """One job. It runs under a lease that its worker renews; `sweep` queues a job with an expired lease again.

    The constraints enforce how jobs are merged: at most one reading of an artifact at a time; at most one judgement of
    a room running and one more waiting, which covers everything that arrived meanwhile.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=8, choices=JobKind.choices)
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, null=True, blank=True, related_name="jobs")
    queue = models.CharField(max_length=8, choices=Queue.choices)
    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    turns = models.PositiveIntegerField(default=0, db_default=0)  # times that it gave way to others
    worker = models.CharField(max_length=100, null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    cause = models.TextField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    not_before = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[JobManager] = JobManager()

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.UniqueConstraint(
                name="job_one_ingest",
                fields=("artifact",),
                condition=Q(kind=JobKind.INGEST, state__in=(JobState.QUEUED, JobState.RUNNING)),
            ),
            models.UniqueConstraint(
                name="job_one_judge_waiting",
                fields=("incident",),
                condition=Q(kind=JobKind.JUDGE, state=JobState.QUEUED),
            ),
            models.UniqueConstraint(
                name="job_one_judge_running",
                fields=("incident",),
                condition=Q(kind=JobKind.JUDGE, state=JobState.RUNNING),
            ),
            models.CheckConstraint(
                name="job_kind_known",
                condition=Q(kind=JobKind.INGEST, artifact__isnull=False)
                | Q(kind__in=(JobKind.JUDGE, JobKind.EXPORT, JobKind.IMPORT), artifact__isnull=True),
            ),
            models.CheckConstraint(name="job_state_known", condition=Q(state__in=JobState.values)),
            models.CheckConstraint(
                name="job_running_has_lease", condition=~Q(state=JobState.RUNNING) | Q(lease_until__isnull=False)
            ),
        )
        indexes = (
            models.Index(fields=("queue", "created_at"), name="job_waiting", condition=Q(state=JobState.QUEUED)),
            models.Index(fields=("lease_until",), name="job_leases", condition=Q(state=JobState.RUNNING)),
            models.Index(fields=("incident", "-created_at"), name="job_by_room"),
            models.Index(fields=("finished_at",), name="job_failed", condition=Q(state=JobState.FAILED)),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.state}"

    def _mine(self) -> QuerySet[Job]:
        """Return a query set with this row, empty if another attempt holds it; workers write only through it."""
        return Job.objects.filter(pk=self.pk, state=JobState.RUNNING, attempt=self.attempt)

    def renew(self) -> None:
        """Extend the lease. Raises `LeaseLost` if another worker has the job by now."""
        now = timezone.now()
        if not self._mine().update(heartbeat_at=now, lease_until=now + LEASE):
            raise LeaseLost

    def hold(self) -> None:
        """Lock the row in the transaction that writes the job's result, so that only the lease holder can write it."""
        if not self._mine().select_for_update().exists():
            raise LeaseLost

    def finish(self, state: JobState = JobState.DONE, cause: str | None = None) -> None:
        if not self._mine().update(state=state, cause=cause, finished_at=timezone.now(), lease_until=None):
            raise LeaseLost

    @property
    def tries(self) -> int:
        """Number of tries. An attempt that ended because other jobs were waiting does not count."""
        return self.attempt - self.turns

    def others_wait(self) -> bool:
        """Tell whether a job of another room waits in the same queue."""
        waiting = Job.objects.filter(queue=self.queue, state=JobState.QUEUED)
        return waiting.exclude(incident_id=self.incident_id).exists()

    def give_way(self, queue: str, delay: timedelta = timedelta(0), cause: str | None = None) -> None:
        """Return an unfinished job to a queue; it continues later, after other jobs or once `cause` is over.

        This does not count as a failed try.
        """
        values = {
            "state": JobState.QUEUED,
            "lease_until": None,
            "queue": queue,
            "cause": cause,
            "turns": F("turns") + 1,
        }
        if not self._mine().update(**values, not_before=timezone.now() + delay if delay else None):
            raise LeaseLost

    def queue_again(self, delay: timedelta = timedelta(0), cause: str | None = None) -> None:
        """Return the job to the queue. A judgement is dropped if a newer one is waiting: that one covers it."""
        waiting = Job.objects.filter(incident_id=self.incident_id, kind=JobKind.JUDGE, state=JobState.QUEUED)
        if self.kind == JobKind.JUDGE and waiting.exists():
            self.finish(JobState.FAILED, cause or "covered by a later one")
            return
        now = timezone.now()
        values = {"state": JobState.QUEUED, "lease_until": None, "not_before": now + delay, "cause": cause}
        if not self._mine().update(**values):
            raise LeaseLost

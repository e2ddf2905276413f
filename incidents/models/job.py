"""Work to be done. The row is the truth; a Celery message only hints that there is one."""

from __future__ import annotations

from datetime import timedelta

from django.db import models
from django.db.models import Q

from incidents.models.artifact import Artifact
from incidents.models.incident import Incident

LEASE = timedelta(seconds=120)
ATTEMPTS = 3


class JobKind(models.TextChoices):
    INGEST = "ingest", "read an artifact"
    JUDGE = "judge", "judge the room"


class JobState(models.TextChoices):
    QUEUED = "queued", "waiting"
    RUNNING = "running", "running"
    DONE = "done", "done"
    FAILED = "failed", "failed"


class Queue(models.TextChoices):
    SMALL = "small", "small"
    LARGE = "large", "large"


class Job(models.Model):
    """Runs under a lease that its worker renews; one that died leaves an expired lease, which `sweep` queues again.

    The constraints make the rules of folding: at most one reading of an artifact at a time; at most one judgement of
    a room running and one more waiting, which stands for everything that arrived meanwhile.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=8, choices=JobKind.choices)
    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, null=True, blank=True, related_name="jobs")
    queue = models.CharField(max_length=8, choices=Queue.choices)
    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=100, null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    cause = models.TextField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    not_before = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

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
                condition=Q(kind=JobKind.INGEST, artifact__isnull=False) | Q(kind=JobKind.JUDGE, artifact__isnull=True),
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
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}: {self.state}"

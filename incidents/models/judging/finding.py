"""Results of the rules: each evaluation's report, the findings by their stable key, and people's disputes."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.room.incident import Incident
from incidents.models.words.wording import indexed


class Evaluation(models.Model):
    """One run of all rules over the room. The newest one is what the room shows."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="evaluations")
    number = models.PositiveIntegerField()
    inputs_hash = models.CharField(max_length=64)  # hash of the judged case, evidence hashes included
    version = models.CharField(max_length=64)  # version of the rule library
    report = models.JSONField()
    # False: it was made while the room was closed, and no lead has accepted it yet.
    accepted = models.BooleanField(default=True)
    made_at = models.DateTimeField(auto_now_add=True)
    # A short extract of the report: state of the verdict, then all codes of causes, then all scores.
    # A history of hundreds of evaluations is read from here, never from the reports.
    scores = models.GeneratedField(
        expression=models.Func(
            "report",
            template="jsonb_path_query_array(%(expressions)s, '$.verdict.state')"
            " || jsonb_path_query_array(%(expressions)s, '$.hypotheses[*].code')"
            " || jsonb_path_query_array(%(expressions)s, '$.hypotheses[*].score')",
        ),
        output_field=models.JSONField(),
        db_persist=True,
    )

    class Meta:
        ordering = ("incident", "-number")
        constraints = (models.UniqueConstraint(name="evaluation_number_once", fields=("incident", "number")),)

    def __str__(self) -> str:
        return f"evaluation {self.number}"


#: Findings by which rooms are compared: present claims, without those on data quality or on what is harmless.
ALIKE = Q(gone_since__isnull=True, withdrawn=False, group__in=("cause", "along", "contributing"))


class Finding(models.Model):
    """A claim that keeps its identity from one evaluation to the next; notes and disputes refer to `key`."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="findings")
    key = models.CharField(max_length=16)
    rule = models.CharField(max_length=80)
    kind = models.CharField(max_length=8, choices=(("finding", "finding"), ("clear", "clearing finding")))
    group = models.CharField(max_length=14)  # cause, along, contributing, cleared, quality
    rank = models.PositiveIntegerField(default=0)  # its place in the newest report
    current = models.ForeignKey("incidents.FindingVersion", on_delete=models.PROTECT, null=True, related_name="+")
    first_seen = models.DateTimeField(auto_now_add=True)
    gone_since = models.DateTimeField(null=True, blank=True)  # since when it is no longer found; NULL while it is found
    withdrawn = models.BooleanField(default=False)  # it cites an artifact that was purged
    # Copied from the current version, for the search and to compare rooms: host, subject, headline and expert text.
    host = models.CharField(max_length=100, blank=True)
    subject = models.CharField(max_length=200, blank=True)
    said = models.TextField(blank=True)

    class Meta:
        ordering = ("rank", "id")
        constraints = (
            models.UniqueConstraint(name="finding_key_once", fields=("incident", "key")),
            models.CheckConstraint(name="finding_key_hex", condition=Q(key__regex=r"^[0-9a-f]{16}$")),
        )
        indexes = (
            models.Index(fields=("incident", "gone_since", "rank"), name="finding_in_order"),
            models.Index(fields=("rule", "incident"), name="finding_by_rule"),
            models.Index(fields=("host", "incident"), name="finding_by_host", condition=ALIKE & ~Q(host="")),
            models.Index(fields=("subject", "incident"), name="finding_by_subject", condition=ALIKE & ~Q(subject="")),
            *indexed("finding", "said"),
        )

    def __str__(self) -> str:
        return f"{self.rule} {self.key}"


class FindingVersion(models.Model):
    """The content of a finding; a new version is written only when words, numbers or citations changed."""

    finding = models.ForeignKey(Finding, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    evaluation = models.ForeignKey(Evaluation, on_delete=models.PROTECT, related_name="+")
    content = models.JSONField()  # the finding's object in the report
    content_hash = models.CharField(max_length=64)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("finding", "number")
        constraints = (models.UniqueConstraint(name="finding_version_once", fields=("finding", "number")),)

    def __str__(self) -> str:
        return f"version {self.number} of {self.finding_id}"


#: Disputes that are neither answered nor withdrawn: their findings are under dispute.
OPEN_DISPUTE = Q(withdrawn_at__isnull=True, answered_at__isnull=True)


class Dispute(models.Model):
    """A member's objection to a finding, with a reason. It stays visible when it is answered or withdrawn."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="disputes")
    finding = models.ForeignKey(Finding, on_delete=models.PROTECT, related_name="disputes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    answer = models.TextField(null=True, blank=True)
    answered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created_at",)
        constraints = (
            models.UniqueConstraint(
                name="dispute_one_open",
                fields=("finding", "author"),
                condition=Q(withdrawn_at__isnull=True, answered_at__isnull=True),
            ),
            models.CheckConstraint(name="dispute_has_reason", condition=~Q(reason="")),
            models.CheckConstraint(
                name="dispute_answer_complete",
                condition=Q(answer__isnull=True, answered_by__isnull=True, answered_at__isnull=True)
                | Q(answer__isnull=False, answered_by__isnull=False, answered_at__isnull=False) & ~Q(answer=""),
            ),
        )
        indexes = (
            models.Index(
                fields=("incident", "finding"),
                name="dispute_open",
                condition=Q(withdrawn_at__isnull=True, answered_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"dispute of {self.finding_id} by {self.author_id}"

    @property
    def open(self) -> bool:
        return self.withdrawn_at is None and self.answered_at is None

"""Readings: one run of the parsers over an artifact, and the parts that it found."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from incidents.models.evidence.artifact import Artifact


class ReadingState(models.TextChoices):
    RUNNING = "running", "being read"
    COMPLETE = "complete", "read"
    FAILED = "failed", "not read"
    REPLACED = "replaced", "replaced"


class Reading(models.Model):
    """One reading of an artifact. Its table files have a folder to themselves, so two readings never mix."""

    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="readings")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=ReadingState.choices, default=ReadingState.RUNNING)
    hints = models.JSONField(default=dict)  # arguments of `parsers.reading.read`: kind, host, tz, year ... and parts
    version = models.CharField(max_length=100, null=True, blank=True)  # of the format: kind, variant, number
    kind = models.CharField(max_length=40, null=True, blank=True)
    variant = models.CharField(max_length=40, null=True, blank=True)
    encoding = models.CharField(max_length=40, null=True, blank=True)
    lines = models.PositiveBigIntegerField(null=True, blank=True)
    account = models.JSONField(default=dict)  # read, unknown, elided, damaged, blank, prose: lines
    tables = models.JSONField(default=dict)  # table -> rows
    claims = models.JSONField(default=list)  # who claimed the file, how strongly, why
    cause = models.TextField(null=True, blank=True)
    error = models.CharField(max_length=40, null=True, blank=True)  # class of the parsers' error behind it
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # Hash of the index in the object store that lists its files; empty where the evidence folder holds them.
    stored = models.CharField(max_length=64, default="", db_default="", blank=True)

    class Meta:
        ordering = ("artifact", "number")
        constraints = (
            models.UniqueConstraint(name="reading_number_once", fields=("artifact", "number")),
            models.UniqueConstraint(
                name="reading_one_running", fields=("artifact",), condition=Q(state=ReadingState.RUNNING)
            ),
            models.CheckConstraint(name="reading_state_known", condition=Q(state__in=ReadingState.values)),
        )

    def __str__(self) -> str:
        return f"reading {self.number} of {self.artifact_id}"


class Part(models.Model):
    """A region of an artifact that holds one tool's output, as found by one reading.

    `host`, `os`, `role` and `phase` are the program's guesses. The values in force, these guesses with
    people's corrections applied, come from `incidents.work.analysis.values_of`.
    """

    reading = models.ForeignKey(Reading, on_delete=models.CASCADE, related_name="parts")
    part = models.PositiveIntegerField()
    line_from = models.PositiveBigIntegerField()
    line_to = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=40, null=True, blank=True)
    variant = models.CharField(max_length=40, null=True, blank=True)
    system = models.CharField(max_length=40, null=True, blank=True)
    host = models.CharField(max_length=100, null=True, blank=True)
    os = models.CharField(max_length=40, null=True, blank=True)
    role = models.CharField(max_length=40, null=True, blank=True)
    phase = models.CharField(max_length=40, null=True, blank=True)
    account = models.JSONField(default=dict)
    facts = models.JSONField(default=dict)
    domains = models.JSONField(default=list)  # clock domains, as in the manifest
    claims = models.JSONField(default=list)  # who else claimed it, strongest first

    class Meta:
        ordering = ("reading", "part")
        constraints = (
            models.UniqueConstraint(name="part_once", fields=("reading", "part")),
            models.CheckConstraint(
                name="part_lines_in_order", condition=Q(line_from__gte=1, line_to__gte=models.F("line_from"))
            ),
        )

    def __str__(self) -> str:
        return f"part {self.part} of {self.reading_id}"

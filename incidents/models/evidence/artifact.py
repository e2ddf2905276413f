"""Artifacts: uploaded files and pastes, kept byte for byte, with the corrections that people made to them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.people.link import UploadToken
from incidents.models.room.incident import Incident
from incidents.models.words.wording import indexed


class ArtifactState(models.TextChoices):
    RECEIVED = "received", "received"
    QUEUED = "queued", "waiting to be read"
    READING = "reading", "being read"
    READ = "read", "read"
    UNPACKED = "unpacked", "unpacked"  # an archive: its files are artifacts of their own
    FAILED = "failed", "not read"
    STOPPED = "stopped", "stopped"  # by a person, half way: reading again continues from there
    PURGED = "purged", "purged"


class Way(models.TextChoices):
    PAGE = "page", "page"
    PASTE = "paste", "paste"
    TUS = "tus", "resumable upload"
    PUT = "put", "curl -T"
    SAMPLE = "sample", "sample room"
    ARCHIVE = "archive", "an archive"
    LINK = "link", "a request's link"
    BUNDLE = "bundle", "a room bundle"


class Artifact(models.Model):
    """One artifact. `number` counts from 1 in its room and is never reused, not even after a purge."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="artifacts")
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    # False: it came in a bundle of tables; its lines are not here, so it cannot be read again.
    has_original = models.BooleanField(default=True, db_default=True)
    name = models.CharField(max_length=255)  # as the uploader called it; never part of a path
    size = models.PositiveBigIntegerField()
    way = models.CharField(max_length=8, choices=Way.choices)
    uploader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    token = models.ForeignKey(UploadToken, on_delete=models.PROTECT, null=True, blank=True, related_name="artifacts")
    received_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=10, choices=ArtifactState.choices, default=ArtifactState.RECEIVED)
    cause = models.TextField(null=True, blank=True)  # why it could not be read, or what is odd about it
    reading = models.ForeignKey(
        "incidents.Reading", on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )  # the reading that rules and pages use: the newest complete one
    lines_read = models.PositiveBigIntegerField(null=True, blank=True)  # progress of the reading under way
    bytes_read = models.PositiveBigIntegerField(null=True, blank=True)
    borders_before = models.JSONField(default=list, blank=True)  # corrections of lines before each move of a border
    version = models.PositiveIntegerField(default=1)  # incremented with each change that is published to the room

    purged_at = models.DateTimeField(null=True, blank=True)
    purged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    purge_reason = models.TextField(null=True, blank=True)

    class Meta:
        ordering = ("number",)
        indexes = (
            *indexed("artifact", "name"),
            models.Index(fields=("uploader", "token", "received_at"), name="artifact_by_sender"),
        )
        constraints = (
            models.UniqueConstraint(name="artifact_number_once", fields=("incident", "number")),
            models.UniqueConstraint(
                name="artifact_content_once",
                fields=("incident", "sha256"),
                condition=~Q(state=ArtifactState.PURGED),
            ),
            models.CheckConstraint(name="artifact_number_from_1", condition=Q(number__gte=1)),
            models.CheckConstraint(name="artifact_state_known", condition=Q(state__in=ArtifactState.values)),
            models.CheckConstraint(name="artifact_sha256_hex", condition=Q(sha256__regex=r"^[0-9a-f]{64}$")),
            models.CheckConstraint(
                name="artifact_tombstone_complete",
                condition=~Q(state=ArtifactState.PURGED)
                | Q(purged_at__isnull=False, purged_by__isnull=False, purge_reason__isnull=False),
            ),
            models.CheckConstraint(
                name="artifact_failure_has_cause",
                condition=~Q(state=ArtifactState.FAILED) | Q(cause__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.number}: {self.name}"

    @property
    def purged(self) -> bool:
        return self.state == ArtifactState.PURGED


class CorrectedField(models.TextChoices):
    KIND = "kind", "kind"  # KIND or KIND/VARIANT
    HOST = "host", "host"
    OS = "os", "operating system"
    ROLE = "role", "role"
    PHASE = "phase", "phase"
    CLOCK = "clock", "clock"
    TZ = "tz", "time zone"
    YEAR = "year", "year"
    INTERVAL_S = "interval_s", "seconds between samples"
    DATE = "date", "day of the first line"
    DATE_ORDER = "date_order", "order of day and month"
    COLUMNS = "columns", "which column is what"
    BORDER = "border", "what lines are"


class Border(models.TextChoices):
    """Values of `CorrectedField.BORDER`: lines are a separate part, or prose (no tool's output)."""

    PART = "part", "a part"
    PROSE = "prose", "prose"


class Correction(models.Model):
    """A person's correction of one field of an artifact, or of the part that covers a line range of it.

    Without lines it applies to the whole artifact. It is applied again at every re-reading; the program's guesses are
    stored elsewhere (`Part`) and never overwrite it. An empty value means "unknown" and overrules a guess too.
    """

    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="corrections")
    line_from = models.PositiveBigIntegerField(null=True, blank=True)
    line_to = models.PositiveBigIntegerField(null=True, blank=True)
    field = models.CharField(max_length=12, choices=CorrectedField.choices)
    value = models.CharField(max_length=1000, null=True, blank=True)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    corrected_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("line_from", "field")
        constraints = (
            models.UniqueConstraint(
                name="correction_once",
                fields=("artifact", "line_from", "line_to", "field"),
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="correction_field_known", condition=Q(field__in=CorrectedField.values)),
            models.CheckConstraint(
                name="correction_lines_in_order",
                condition=Q(line_from__isnull=True, line_to__isnull=True)
                | Q(line_from__gte=1, line_to__gte=models.F("line_from")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.field} = {self.value}"


class LiftedMask(models.Model):
    """A mask that a lead took off one secret of one line, for a reason, until it is put back.

    `begin` and `end` are character positions in the original line, half open, and identify the whole mask. It is lifted
    on the Lines page only: tables, quotes, exports and reports are made with the mask and keep it.
    """

    artifact = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="lifted_masks")
    sha256 = models.CharField(max_length=64)
    line = models.PositiveBigIntegerField()
    begin = models.PositiveBigIntegerField()
    end = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=40)
    reason = models.TextField()
    lifted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    lifted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("artifact", "line", "begin")
        constraints = (
            models.UniqueConstraint(name="mask_lifted_once", fields=("artifact", "line", "begin", "end")),
            models.CheckConstraint(name="mask_line_from_1", condition=Q(line__gte=1)),
            models.CheckConstraint(name="mask_not_empty", condition=Q(end__gt=models.F("begin"))),
        )

    def __str__(self) -> str:
        return f"{self.kind} in line {self.line} of {self.artifact_id}"

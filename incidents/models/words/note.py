"""Notes: people's remarks on a time range, a lane, a line range or a finding (annotation in the glossary)."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from incidents.models.room.incident import Incident
from incidents.models.words.wording import indexed


class Note(models.Model):
    """A note on a finding's key, on lines of a content hash, or on a time range of a clock: references that stay valid.

    A note with replies is a discussion: replies name its first note in `reply_to`, never one another, and have no place
    themselves. Deleting is soft: `deleted_at` is set, `restore` clears it.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="notes")
    text = models.TextField()  # Markdown (incidents/content/markup.py)
    reply_to = models.ForeignKey("self", on_delete=models.CASCADE, null=True, blank=True, related_name="replies")
    finding_key = models.CharField(max_length=16, null=True, blank=True)
    sha256 = models.CharField(max_length=64, null=True, blank=True)
    line_from = models.PositiveBigIntegerField(null=True, blank=True)  # both NULL: the whole artifact
    line_to = models.PositiveBigIntegerField(null=True, blank=True)
    clock = models.CharField(max_length=60, null=True, blank=True)  # "1.1:1": seconds of this domain
    t_from = models.FloatField(null=True, blank=True)
    t_to = models.FloatField(null=True, blank=True)
    lane = models.CharField(max_length=200, null=True, blank=True)  # as the timeline names it in addresses
    lane_label = models.CharField(max_length=200, null=True, blank=True)  # its label when the note was written
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    # Label of the access token by which a program wrote it for its author; NULL if the author did.
    program = models.CharField(max_length=100, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Id that the writer's page gave the note before it was stored: a post repeated after a lost response has the same.
    client_id = models.CharField(max_length=36, null=True, blank=True)
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    edited_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    deleted_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    resolved_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)  # incremented with every change, not only of the text

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.CheckConstraint(name="note_has_text", condition=~Q(text="")),
            models.CheckConstraint(
                name="note_lines_complete",
                condition=Q(line_from__isnull=True, line_to__isnull=True)
                | Q(sha256__isnull=False, line_from__gte=1, line_to__gte=F("line_from")),
            ),
            models.CheckConstraint(
                name="note_times_complete",
                condition=Q(t_from__isnull=True, t_to__isnull=True)
                | Q(clock__isnull=False, t_from__isnull=False, t_to__gte=F("t_from")),
            ),
            models.CheckConstraint(
                name="note_reply_has_no_place",
                condition=Q(reply_to__isnull=True)
                | Q(
                    finding_key__isnull=True,
                    sha256__isnull=True,
                    clock__isnull=True,
                    lane__isnull=True,
                    resolved_at__isnull=True,
                ),
            ),
            models.UniqueConstraint(
                name="note_sent_once",
                fields=("incident", "author", "client_id"),
                condition=Q(client_id__isnull=False),
            ),
        )
        indexes = (
            models.Index(fields=("incident", "finding_key"), name="note_by_finding"),
            models.Index(fields=("incident", "sha256", "line_from"), name="note_by_lines"),
            models.Index(
                fields=("incident", "created_at", "id"), name="note_threads", condition=Q(reply_to__isnull=True)
            ),
            models.Index(fields=("incident", "clock"), name="note_by_clock", condition=Q(clock__isnull=False)),
            *indexed("note", "text"),
        )

    def __str__(self) -> str:
        return self.text[:60]


class NoteVersion(models.Model):
    """An earlier text of a note. `number` is the note's version when it was written, so the numbers have gaps."""

    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    text = models.TextField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("note", "number")
        constraints = (models.UniqueConstraint(name="note_version_once", fields=("note", "number")),)

    def __str__(self) -> str:
        return f"version {self.number} of note {self.note_id}"

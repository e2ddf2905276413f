"""The files inside an archive: each became an artifact, or is listed here with the reason why it did not."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from incidents.models.evidence.artifact import Artifact

NOT_RECOGNISED = "no format recognises it"


class ArchiveMember(models.Model):
    """A file inside an archive, in the order it is stored there.

    `told` holds what the collector's tree around it says about it (host, os, date, tz): a guess that any correction by
    a person overrules.
    """

    archive = models.ForeignKey(Artifact, on_delete=models.CASCADE, related_name="members")
    position = models.PositiveIntegerField()
    path = models.TextField()  # as the archive names it, invisible characters shown; nested ones after "!"
    size = models.PositiveBigIntegerField(null=True, blank=True)
    became = models.ForeignKey(Artifact, on_delete=models.CASCADE, null=True, blank=True, related_name="came_in")
    why = models.TextField(null=True, blank=True)  # why it became no artifact, or what is odd about it
    wanted = models.BooleanField(default=False)  # a person asked for it although no format recognises it
    told = models.JSONField(default=dict)

    class Meta:
        ordering = ("archive", "position")
        constraints = (
            models.UniqueConstraint(name="member_once", fields=("archive", "position")),
            models.CheckConstraint(
                name="member_became_or_why", condition=Q(became__isnull=False) | Q(why__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return self.path

    @property
    def offered(self) -> bool:
        """Tell whether a person may take it in: no format recognised it, and nothing else speaks against it."""
        return self.became_id is None and self.why == NOT_RECOGNISED

"""What stands out in a room, for the search: one row for each observation that the room shows.

Written by `analysis.save_findings` only, as the newest accepted evaluation has them; the report holds the rest.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from incidents.models.room.incident import Incident
from incidents.models.words.wording import indexed


class ObservationManager(models.Manager["Observation"]):
    def replace(self, incident_id: int, observations: list[dict[str, Any]]) -> None:
        """Replace a room's rows by those of a report, without idle and harmless ones, which the room does not show."""
        self.filter(incident_id=incident_id).delete()
        self.bulk_create(_row(incident_id, one) for one in observations if not one.get("idle") and one.get("citations"))


class Observation(models.Model):
    """An observation of the newest accepted evaluation, with its words and the place of its first cited line."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="observations")
    rank = models.PositiveIntegerField()
    key = models.CharField(max_length=16)
    headline = models.TextField()
    said = models.TextField()  # headline, meaning, subject, host and mechanism: what the search reads
    artifact_no = models.PositiveIntegerField()  # number of the first cited artifact, and its first cited line
    line_no = models.PositiveBigIntegerField()
    cited = ArrayField(models.PositiveIntegerField())  # numbers of all cited artifacts

    objects = ObservationManager()

    class Meta:
        ordering = ("incident", "rank")
        constraints = (models.UniqueConstraint(name="observation_rank_once", fields=("incident", "rank")),)
        indexes = indexed("observation", "said")

    def __str__(self) -> str:
        return f"{self.rank}. {self.headline[:60]}"


def _row(incident_id: int, one: dict[str, Any]) -> Observation:
    first = one["citations"][0]
    words = (one.get(name) for name in ("headline", "means", "subject", "host", "mechanism"))
    return Observation(
        incident_id=incident_id,
        rank=one["rank"],
        key=str(one.get("key") or "")[:16],
        headline=str(one.get("headline") or ""),
        said=" ".join(str(word) for word in words if word),
        artifact_no=first["artifact"],
        line_no=first["line_from"],
        cited=sorted({cited["artifact"] for cited in one["citations"]}),
    )

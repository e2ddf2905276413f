"""The verdict of each room, for the list of rooms, recurring causes and similar rooms: none of them reads reports.

One row per room, written by `analysis.save_findings` only: it follows the newest accepted evaluation.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from incidents.models.judging.finding import Evaluation
from incidents.models.room.incident import Incident


class Verdict(models.Model):
    """The verdict of a room's newest accepted evaluation. Unknown values are empty."""

    incident = models.OneToOneField(Incident, on_delete=models.CASCADE, primary_key=True, related_name="verdict")
    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=20)  # cause, suspect, undecided, cannot tell, nothing wrong seen
    support = models.CharField(max_length=40)  # none, weak, fair, good, strong
    support_step = models.PositiveSmallIntegerField(default=0)  # rank of the word in `support`, for sorting
    # The worst severity of the findings that carry it, else of all that were found; "" if nothing was.
    severity = models.CharField(max_length=12, blank=True, default="", db_default="")
    sentence = models.TextField(blank=True)
    layer = models.CharField(max_length=40, blank=True)
    hypothesis = models.CharField(max_length=40, blank=True)
    host = models.CharField(max_length=100, blank=True)  # host of the first finding that supports the verdict
    # Key to find recurrences in other rooms: hypothesis (or rule) and host (or subject) of a cause or suspect, or "".
    recurs_by = models.CharField(max_length=240, blank=True)
    carriers = models.JSONField(default=list)  # keys of the findings that support the verdict
    cleared = models.JSONField(default=list)  # [{"layer", "bound"}], each layer once
    cleared_count = models.PositiveSmallIntegerField(default=0)
    compared = models.JSONField(default=list)  # the report's comparisons of phases: the effect of changes
    judged_at = models.DateTimeField()
    # When the room first had a verdict of state cause or suspect; it stays when the verdict falls back later.
    first_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=("recurs_by", "incident"), name="verdict_recurs", condition=~Q(recurs_by="")),)

    def __str__(self) -> str:
        return f"{self.state}: {self.sentence[:60]}"

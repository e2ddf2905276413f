"""What the list of rooms, the search for what recurs and similar rooms need of a verdict, without reading reports.

One row a room, written by `analysis.save_findings` and by nobody else: it follows the newest evaluation that was taken over.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from incidents.models.judging.finding import Evaluation
from incidents.models.room.incident import Incident


class Verdict(models.Model):
    """The verdict of a room's newest accepted evaluation. Unknown is empty."""

    incident = models.OneToOneField(Incident, on_delete=models.CASCADE, primary_key=True, related_name="verdict")
    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=20)  # cause, suspect, undecided, cannot tell, nothing wrong seen
    support = models.CharField(max_length=40)  # none, weak, fair, good, strong
    support_step = models.PositiveSmallIntegerField(default=0)  # of these words, to sort by
    sentence = models.TextField(blank=True)
    layer = models.CharField(max_length=40, blank=True)
    hypothesis = models.CharField(max_length=40, blank=True)
    host = models.CharField(max_length=100, blank=True)  # of the first finding that carries it
    # What it is compared by with other rooms: hypothesis (or rule) and host (or subject) of a cause or suspect, else empty.
    recurs_by = models.CharField(max_length=240, blank=True)
    carriers = models.JSONField(default=list)  # keys of the findings that it stands on
    cleared = models.JSONField(default=list)  # [{"layer", "bound"}], each layer once
    cleared_count = models.PositiveSmallIntegerField(default=0)
    compared = models.JSONField(default=list)  # the report's comparisons of phases: what changes brought
    judged_at = models.DateTimeField()
    # When the room first had a verdict of state cause or suspect; it stays when the verdict falls back later.
    first_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=("recurs_by", "incident"), name="verdict_recurs", condition=~Q(recurs_by="")),)

    def __str__(self) -> str:
        return f"{self.state}: {self.sentence[:60]}"

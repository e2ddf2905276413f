"""End thresholds and suppressions whose last day is over, and have their rooms judged without them."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from incidents.models.judging.threshold import IN_FORCE, Suppression, Threshold
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter, Status
from incidents.models.room.job import Job
from incidents.storage import live


def end_what_is_past() -> int:
    """End rows whose last day is over and have their rooms judged again; return how many rows ended.

    Closed rooms stay as they are until a lead reopens them; the rules ignore expired rows in any case.
    """
    past = Q(IN_FORCE, until__lt=timezone.now().date())
    rooms = {
        incident
        for model in (Threshold, Suppression)
        for incident in model.objects.filter(past, incident__archived_at__isnull=True)
        .exclude(incident__status=Status.CLOSED)
        .values_list("incident", flat=True)
    }
    ended = 0
    for id in sorted(rooms):
        with transaction.atomic():
            RoomCounter.lock(id)
            if Incident.objects.filter(pk=id, status=Status.CLOSED).exists():
                continue
            for threshold in Threshold.objects.filter(past, incident=id):
                _end(threshold, f"threshold {threshold.rule} {threshold.param}")
                ended += 1
            for hidden in Suppression.objects.filter(past, incident=id):
                _end(hidden, f"hiding findings of {hidden.rule}")
                ended += 1
            live.tell(id, "case")
            Job.objects.ask_judge(id)
    return ended


def _end(row: Threshold | Suppression, what: str) -> None:
    row.ended_at = timezone.now()
    row.save(update_fields=("ended_at",))
    Activity.objects.append(row.incident_id, None, "Exhibit", "ended", what[:100], until=row.until.isoformat())

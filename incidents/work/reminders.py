"""Remind of promised updates: shortly before one is due, in the room, by notification and mail, and to webhooks."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from incidents.models.people.membership import Membership, Role
from incidents.models.people.notification import Told
from incidents.models.room.activity import Activity
from incidents.models.room.incident import REMIND_AHEAD, Incident, RoomCounter, Status
from incidents.storage import live
from incidents.work.notifying import notify

#: Object of the event `update` when a promised update is due.
DUE = "due"


def remind_of_updates() -> int:
    """Remind of each update that is due within `REMIND_AHEAD`, once; return how many."""
    due = Q(
        status__in=(Status.OPEN, Status.MITIGATED),
        next_update_at__lte=timezone.now() + REMIND_AHEAD,
    ) & (Q(reminded_of__isnull=True) | ~Q(reminded_of=F("next_update_at")))
    reminded = 0
    for id in list(Incident.objects.filter(due).order_by("next_update_at").values_list("pk", flat=True)):
        with transaction.atomic():
            RoomCounter.lock(id)
            incident = Incident.objects.filter(due, pk=id).first()
            if incident is None or incident.next_update_at is None:
                continue  # given or moved on meanwhile
            incident.reminded_of = incident.next_update_at
            incident.save(update_fields=("reminded_of",))
            promised = incident.next_update_at.isoformat()
            Activity.objects.append(id, None, "Exhibit", "reminded", "next update", due=promised)
            for user_id in _whom(incident):
                notify(id, user_id, Told.UPDATE, mailed=True, promised_at=incident.next_update_at)
            live.tell(id, "update", DUE, incident.standing_version)
            reminded += 1
    return reminded


def _whom(incident: Incident) -> list[int]:
    """Return the ids of whoever promised the update, else of the leads of the room."""
    if incident.next_update_by_id is not None:
        return [incident.next_update_by_id]
    leads = Membership.objects.filter(incident=incident, role=Role.LEAD)
    return list(leads.order_by("pk").values_list("user", flat=True))

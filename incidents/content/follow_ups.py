"""Follow-ups of all rooms that a person sees, as lists of one person's or of everybody's."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from incidents.access import visible_to
from incidents.models.plan.review import FollowUp

MINE, DONE = "mine", "done"
#: What can be shown -> its words, in their order; the first is shown unasked.
SHOWN = {MINE: "mine", "nobodys": "nobody's yet", "overdue": "overdue", "open": "all open", DONE: "done"}


def follow_ups(user: User, show: str, q: str = "") -> QuerySet[FollowUp]:
    """Return follow-ups in the rooms that this person sees: by due date, or if done, the latest first.

    `q` is searched in their texts and in the titles of their rooms.
    """
    rows = FollowUp.objects.filter(incident__in=visible_to(user), deleted_at__isnull=True)
    if show == DONE:
        rows = rows.filter(done_at__isnull=False).order_by("-done_at", "-pk")
    else:
        rows = rows.filter(done_at__isnull=True).order_by(F("due_on").asc(nulls_last=True), "pk")
    match show:
        case "mine":
            rows = rows.filter(owner=user)
        case "nobodys":
            rows = rows.filter(owner__isnull=True)
        case "overdue":
            rows = rows.filter(due_on__lt=timezone.now().date())
    if q:
        rows = rows.filter(Q(text__icontains=q) | Q(incident__title__icontains=q))
    return rows.select_related("incident", "owner", "done_by")

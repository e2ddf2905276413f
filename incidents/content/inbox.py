"""Notifications of a person, limited to rooms that the person may still see."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from incidents.access import visible_to
from incidents.models.people.notification import Notification

MOST_COUNTED = 100


def notifications_of(user: User) -> QuerySet[Notification]:
    """Return a person's notifications, newest first, without those of rooms closed to them or of deleted notes."""
    mine = Notification.objects.filter(user=user, incident__in=visible_to(user))
    return mine.exclude(note__deleted_at__isnull=False).order_by("-pk")


def unread_count(user: User | AnonymousUser) -> int:
    """Count unread notifications, up to 100: above 99 the bell shows 99+."""
    if not isinstance(user, User) or not user.is_active:
        return 0
    return notifications_of(user).filter(read_at__isnull=True).order_by()[:MOST_COUNTED].count()

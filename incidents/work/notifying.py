"""Notify one person of something that no note or dispute says: a request, or an update that is due."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from incidents.models.people.notification import Mail, MailChoice, Notification, Told
from incidents.storage import live


def notify(
    incident_id: int, user_id: int, kind: Told, actor_id: int | None = None, mailed: bool = False, **cause: Any
) -> None:
    """Notify somebody who sees the room, in a transaction that holds its lock; a repetition makes it unread again.

    `cause`: the column of the notification's object, such as `request=`.
    """
    if user_id == actor_id:
        return
    sees = Q(memberships__incident=incident_id) | Q(is_superuser=True)
    user = User.objects.filter(sees, pk=user_id, is_active=True).first()
    if user is None:
        return
    mail = Mail.NONE
    if mailed and user.email and not MailChoice.objects.filter(user=user, mentions=False).exists():
        mail = Mail.WAITING
    now = timezone.now()
    values = {
        "actor_id": actor_id,
        "at": now,
        "read_at": None,
        "mail": mail,
        "mail_after": now if mail == Mail.WAITING else None,
    }
    Notification.objects.update_or_create(user_id=user_id, incident_id=incident_id, kind=kind, **cause, defaults=values)
    live.tell(incident_id, "notice", user_id)

"""Send mails about mentions, requests, updates that are due and rooms that are deleted, in a worker.

The rows of `Notification` are the outbox: a lost hint loses no mail.

A mail says who and where, never what: others may read mails, but not rooms. If a worker dies between sending and
recording that, the mail is sent twice; it is never lost.
"""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from incidents import access
from incidents.content.names import known_as
from incidents.models.people.notification import Mail, Notification, Told

log = structlog.get_logger(__name__)

ATTEMPTS = 5  # tries to send a mail before it counts as failed
PAUSES = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2))
AT_ONCE = 50  # mails of one run
MOST_LISTED = 10  # notifications listed in one mail


def send_waiting(most: int = AT_ONCE) -> int:
    """Send at most `most` waiting mails; a person's notifications of one room go into one mail. Return how many."""
    sent = 0
    while sent < most and _send_one():
        sent += 1
    return sent


def waiting() -> bool:
    return Notification.objects.filter(mail=Mail.WAITING, mail_after__lte=timezone.now()).exists()


def _send_one() -> bool:
    """Send the oldest waiting mail; return False if none waits. Rows locked by another worker are skipped."""
    with transaction.atomic():
        due = Notification.objects.filter(mail=Mail.WAITING, mail_after__lte=timezone.now())
        first = due.order_by("mail_after").select_for_update(skip_locked=True, of=("self",)).first()
        if first is None:
            return False
        rows = list(
            due.filter(user=first.user_id, incident=first.incident_id)
            .select_related("user", "actor", "incident", "note", "dispute__finding", "deletion")
            .order_by("pk")
            .select_for_update(skip_locked=True, of=("self",))
        )
        ids = [row.pk for row in rows]
        told = Notification.objects.filter(pk__in=ids)
        user = rows[0].user
        if access.enter_by_id(user.pk, rows[0].incident_id) is None or not user.email:
            told.update(mail=Mail.NONE)  # not a member any more: the mail must not mention the room
            return True
        try:
            send_mail(_subject(rows), _text(rows), None, [user.email])
        except OSError as error:  # smtplib's errors are OSErrors
            attempts = rows[0].mail_attempts + 1
            log.warning("mails.not_sent", user=user.pk, attempts=attempts, error=str(error))
            if attempts >= ATTEMPTS:
                told.update(mail=Mail.FAILED, mail_attempts=attempts, mail_cause=str(error)[:500])
            else:
                later = timezone.now() + PAUSES[attempts - 1]
                told.update(mail_after=later, mail_attempts=attempts, mail_cause=str(error)[:500])
            return True
        told.update(mail=Mail.SENT, mail_attempts=rows[0].mail_attempts + 1)
        return True


def _name(row: Notification) -> str:
    """Return the actor's name on one line, safe for a mail header."""
    return known_as(row.actor)


def _does(row: Notification) -> str:
    if row.kind == Told.UPDATE:
        return f"reminds you that an update is due at {row.promised_at:%Y-%m-%d %H:%M} UTC"
    if row.deletion is not None:
        if row.kind == Told.STAYS:
            return "took back that a room of yours is deleted"
        return f"will have a room of yours deleted on {row.deletion.due_at:%Y-%m-%d at %H:%M} UTC"
    return "asks you to collect something" if row.kind == Told.COLLECT else "mentioned you"


def _subject(rows: list[Notification]) -> str:
    names = list(dict.fromkeys(_name(row) for row in rows))
    who = names[0] if len(names) == 1 else f"{names[0]} and others"
    kinds = {_does(row) for row in rows}
    if all(row.kind == Told.UPDATE for row in rows):
        return f"An update is due at {rows[-1].promised_at:%H:%M} UTC"
    return f"{who} {kinds.pop() if len(kinds) == 1 else 'wrote to you'} in Exhibit"[:200]


def _text(rows: list[Notification]) -> str:
    out = [f"{_name(row)} {_does(row)}:\n{settings.EXHIBIT_URL}{address(row)}\n" for row in rows[:MOST_LISTED]]
    if len(rows) > MOST_LISTED:
        out.append(f"and {len(rows) - MOST_LISTED} more.\n")
    choice = f"{settings.EXHIBIT_URL}{reverse('notifications')}"
    return "\n".join([*out, f"What was written stands in the room only. To get no such mails: {choice}", ""])


def address(row: Notification) -> str:
    """Return the URL path of what a notification is about. Reads `note` or `dispute__finding`."""
    if row.deletion_id is not None:
        return reverse("keeping", args=[row.incident.slug])
    if row.promised_at is not None:
        return reverse("room", args=[row.incident.slug])
    if row.request_id is not None:
        return reverse("request", args=[row.incident.slug, row.request_id])
    if row.note_id is not None:
        return reverse("note-thread", args=[row.incident.slug, row.note_id]) + f"#note-{row.note_id}"
    assert row.dispute is not None  # the database's own constraint
    return reverse("finding", args=[row.incident.slug, row.dispute.finding.key])

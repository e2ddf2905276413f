"""Notifications to one person: somebody mentioned them, answered them, asks them for something, or deletes their room."""

from __future__ import annotations

from functools import reduce
from operator import or_

from django.conf import settings
from django.db import models
from django.db.models import Q

from incidents.models.evidence.request import EvidenceRequest
from incidents.models.judging.finding import Dispute
from incidents.models.room.incident import Incident
from incidents.models.site.deletion import RoomDeletion
from incidents.models.words.note import Note


class Told(models.TextChoices):
    """Reason for a notification."""

    MENTION = "mention", "mentioned you"
    REPLY = "reply", "replied to you"
    ANSWER = "answer", "answered your dispute"
    COLLECT = "collect", "asked you to collect something"
    WAITING = "waiting", "sent a file by your link"
    BROUGHT = "brought", "answered your request"
    CHANGED = "changed", "has judged what you asked for"
    UPDATE = "update", "reminds you of an update"
    LEAVES = "leaves", "announced a deletion"
    STAYS = "stays", "took a deletion back"


class Mail(models.TextChoices):
    """State of the mail about a notification."""

    NONE = "none", "none wanted"
    WAITING = "waiting", "waiting"
    SENT = "sent", "sent"
    FAILED = "failed", "failed"


#: Columns that say of what a notification is; each has exactly one of them.
_CAUSES = ("note", "dispute", "request", "promised_at", "deletion")


def _only(cause: str) -> Q:
    return Q(**{f"{one}__isnull": one != cause for one in _CAUSES})


class Notification(models.Model):
    """One entry of a person's list. Shown only while that person may see the room; the text itself is in the note."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=8, choices=Told.choices)
    note = models.ForeignKey(Note, on_delete=models.CASCADE, null=True, blank=True, related_name="notifications")
    dispute = models.ForeignKey(Dispute, on_delete=models.CASCADE, null=True, blank=True, related_name="notifications")
    request = models.ForeignKey(
        EvidenceRequest, on_delete=models.CASCADE, null=True, blank=True, related_name="notifications"
    )
    promised_at = models.DateTimeField(null=True, blank=True)  # when an update is due
    deletion = models.ForeignKey(
        RoomDeletion, on_delete=models.CASCADE, null=True, blank=True, related_name="notifications"
    )
    # NULL if no member did it: the room was judged or kept for its time, an update is due, or a stranger sent a file.
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    mail = models.CharField(max_length=8, choices=Mail.choices, default=Mail.NONE)
    mail_after = models.DateTimeField(null=True, blank=True)  # earliest time of the next try after a failure
    mail_attempts = models.PositiveIntegerField(default=0)
    mail_cause = models.TextField(null=True, blank=True)  # why it could not be sent

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(name="notification_note_once", fields=("user", "kind", "note")),
            models.UniqueConstraint(name="notification_dispute_once", fields=("user", "kind", "dispute")),
            models.UniqueConstraint(name="notification_request_once", fields=("user", "kind", "request")),
            models.UniqueConstraint(name="notification_deletion_once", fields=("user", "kind", "deletion")),
            models.UniqueConstraint(
                name="notification_update_once",
                fields=("user", "incident", "promised_at"),
                condition=Q(promised_at__isnull=False),
            ),
            models.CheckConstraint(
                name="notification_has_cause",
                condition=reduce(or_, (_only(cause) for cause in _CAUSES)),
            ),
            models.CheckConstraint(name="notification_kind_known", condition=Q(kind__in=Told.values)),
            models.CheckConstraint(name="notification_mail_known", condition=Q(mail__in=Mail.values)),
        )
        indexes = (
            models.Index(fields=("user", "-id"), name="notification_in_order"),
            models.Index(fields=("user", "incident"), name="notification_unread", condition=Q(read_at__isnull=True)),
            models.Index(fields=("mail_after",), name="notification_mails", condition=Q(mail=Mail.WAITING)),
        )

    def __str__(self) -> str:
        return f"{self.kind} for {self.user_id}"


class MailChoice(models.Model):
    """Whether a person wants mails. A person who has not chosen has no row; then mentions are mailed."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="mail_choice"
    )
    mentions = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"mails for {self.user_id}: {'on' if self.mentions else 'off'}"

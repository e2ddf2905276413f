"""Write notifications: somebody was mentioned, got a reply, or got an answer to a dispute.

An event `notice` with the person's id as its object goes to the room, so that only that person's page reloads its list.
Mails are sent later, by a worker (incidents/work/mails.py): the row says whether one is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from incidents import tasks
from incidents.access import Right, Room
from incidents.actions.record import Deed
from incidents.content import markup
from incidents.content.inbox import notifications_of
from incidents.content.references import members_named
from incidents.models.judging.finding import Dispute
from incidents.models.people.notification import Mail, MailChoice, Notification, Told
from incidents.models.words.note import Note


def of_note(doing: Deed, note: Note, before: str = "") -> None:
    """Notify the people a note mentions for the first time and, for a reply, the authors of its discussion."""
    named = _named(doing, note.text, before)
    if note.reply_to_id is not None and not before:
        wrote = Note.objects.filter(pk=note.reply_to_id) | Note.objects.filter(reply_to_id=note.reply_to_id)
        ids = set(wrote.filter(deleted_at__isnull=True).values_list("author_id", flat=True))
        _tell(doing, ids - {user.pk for user in named}, Told.REPLY, note=note)
    _tell(doing, [user.pk for user in named], Told.MENTION, note=note, mailed=named)


def of_dispute(doing: Deed, dispute: Dispute, text: str) -> None:
    """Notify the people mentioned in a dispute's reason or answer and, once it is answered, its author."""
    named = [user for user in _named(doing, text) if dispute.answer is None or user.pk != dispute.author_id]
    _tell(doing, [user.pk for user in named], Told.MENTION, dispute=dispute, mailed=named)
    if dispute.answer is not None:
        _tell(doing, [dispute.author_id], Told.ANSWER, dispute=dispute)


def mark_read(user: User, ids: Iterable[int] | None = None) -> int:
    """Mark some or all of a person's notifications as read; return how many."""
    unread = notifications_of(user).filter(read_at__isnull=True)
    if ids is not None:
        unread = unread.filter(pk__in=list(ids))
    return Notification.objects.filter(pk__in=unread.values("pk")).update(read_at=timezone.now())


def seen(room: Room, *, thread: int | None = None, finding_key: str | None = None) -> int:
    """Mark as read the notifications about the discussion or the finding's disputes that this person looks at now."""
    room.require(Right.READ)
    unread = Notification.objects.filter(user=room.user, incident=room.incident, read_at__isnull=True)
    here = Q(dispute__finding__key=finding_key) if finding_key else Q(note=thread) | Q(note__reply_to=thread)
    unread = unread.filter(here)
    ids = list(unread.values_list("pk", flat=True))
    return Notification.objects.filter(pk__in=ids).update(read_at=timezone.now()) if ids else 0


def seen_request(room: Room, id: int) -> int:
    """Mark as read the notifications about the evidence request that this person looks at now."""
    room.require(Right.READ)
    unread = Notification.objects.filter(user=room.user, incident=room.incident, read_at__isnull=True, request=id)
    return unread.update(read_at=timezone.now())


def choose_mail(user: User, mentions: bool) -> None:
    """Store whether a person wants mails. Waiting mails are cancelled if not."""
    MailChoice.objects.update_or_create(user=user, defaults={"mentions": mentions})
    if not mentions:
        Notification.objects.filter(user=user, mail=Mail.WAITING).update(mail=Mail.NONE)


def wants_mail(user: User) -> bool:
    return not MailChoice.objects.filter(user=user, mentions=False).exists()


def _named(doing: Deed, text: str, before: str = "") -> list[User]:
    names = markup.mentions(text) - (markup.mentions(before) if before else set())
    members = members_named(doing.room, names) if names else []
    return [member.user for member in members if member.user_id != doing.room.user.pk]


def _tell(
    doing: Deed,
    ids: Iterable[int],
    kind: Told,
    *,
    note: Note | None = None,
    dispute: Dispute | None = None,
    mailed: Iterable[User] = (),
) -> None:
    """Create the notifications that do not exist yet. Former members are not notified."""
    wanted = set(ids) - {doing.room.user.pk}
    if not wanted:
        return
    members = doing.incident.memberships.filter(user__in=wanted, user__is_active=True)
    wanted = set(members.values_list("user_id", flat=True))
    told = Notification.objects.filter(kind=kind, note=note, dispute=dispute, user__in=wanted)
    new = wanted - set(told.values_list("user_id", flat=True))
    unwilling = set(MailChoice.objects.filter(user__in=new, mentions=False).values_list("user_id", flat=True))
    to_mail = {user.pk for user in mailed if user.email} - unwilling
    Notification.objects.bulk_create(
        [
            Notification(
                user_id=id,
                incident=doing.incident,
                kind=kind,
                note=note,
                dispute=dispute,
                actor=doing.room.user,
                mail=Mail.WAITING if id in to_mail else Mail.NONE,
                mail_after=timezone.now() if id in to_mail else None,
            )
            for id in sorted(new)
        ]
    )
    for id in sorted(new):
        doing.tell("notice", id)
    if to_mail & new:
        tasks.hint_on_commit(tasks.MAILS)

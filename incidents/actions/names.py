"""Name the things in the evidence as this site calls them: in one room, or for all rooms as an administrator.

A room is judged again after each change of its own names. A changed name of the whole site is shown after a room's next
judgement.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from incidents.access import Right, Room, is_administrator
from incidents.actions.record import Deed, deed
from incidents.content.names import known_as
from incidents.errors import NotAllowed, Refused
from incidents.models.judging.site_name import SiteName
from rules.case.site_names import problem_of_name, problem_of_text

MOST = 100
"""Maximum number of names of a room, and of the whole site."""


def put(room: Room, kind: str, name: str, text: str, id: int | None = None) -> SiteName:
    """Add or change a name of a room."""
    with deed(room, Right.CASE) as doing:
        rows = doing.incident.site_names
        row = _row(rows.all(), id) if id else SiteName(incident=doing.incident)
        before = row.text or None
        _write(row, rows.filter(removed_at__isnull=True), kind, name, text, doing.room.user, doing.room.actor_name)
        _changed(doing, "changed" if id else "named", row, **({"before": before} if id else {}))
        return row


def remove(room: Room, id: int) -> SiteName:
    """Remove a name of a room; `put_back` restores it."""
    with deed(room, Right.CASE) as doing:
        row = _row(doing.incident.site_names.all(), id)
        if _removed(row):
            _changed(doing, "removed", row)
        return row


def put_back(room: Room, id: int) -> SiteName:
    with deed(room, Right.CASE) as doing:
        row = _row(doing.incident.site_names.all(), id)
        if _restored(row, doing.incident.site_names.filter(removed_at__isnull=True)):
            _changed(doing, "put back", row)
        return row


@transaction.atomic
def put_for_all(user: User, kind: str, name: str, text: str, id: int | None = None) -> SiteName:
    """Add or change a name of the whole site."""
    rows = _of_site(user)
    row = _row(rows, id) if id else SiteName()
    _write(row, rows.filter(removed_at__isnull=True), kind, name, text, user, known_as(user))
    return row


@transaction.atomic
def remove_for_all(user: User, id: int) -> SiteName:
    """Remove a name of the whole site; `put_back_for_all` restores it."""
    row = _row(_of_site(user), id)
    _removed(row)
    return row


@transaction.atomic
def put_back_for_all(user: User, id: int) -> SiteName:
    rows = _of_site(user)
    row = _row(rows, id)
    _restored(row, rows.filter(removed_at__isnull=True))
    return row


def _of_site(user: User) -> QuerySet[SiteName]:
    if not is_administrator(user):
        raise NotAllowed("an administrator")
    return SiteName.objects.filter(incident__isnull=True)


def _write(row: SiteName, others: QuerySet[SiteName], kind: str, name: str, text: str, user: User, label: str) -> None:
    """Check a name and store it with this person as its author; none of `others` may name the same thing."""
    row.kind, row.name, row.text = kind, name.strip(), " ".join(text.split())
    if why := problem_of_name(row.kind, row.name) or problem_of_text(row.text):
        raise Refused(why, 422)
    _once(row, others)
    if not row.pk and others.count() >= MOST:
        raise Refused(f"There are {MOST} names already; remove one first.", 422)
    row.author, row.author_label, row.said_at, row.removed_at = user, label[:100], timezone.now(), None
    row.save()


def _removed(row: SiteName) -> bool:
    """Mark a row as removed; return whether it was not so before."""
    if row.removed_at is not None:
        return False
    row.removed_at = timezone.now()
    row.save(update_fields=("removed_at",))
    return True


def _restored(row: SiteName, others: QuerySet[SiteName]) -> bool:
    if row.removed_at is None:
        return False
    _once(row, others)
    if others.count() >= MOST:
        raise Refused(f"There are {MOST} names already; remove one first.", 422)
    row.removed_at = None
    row.save(update_fields=("removed_at",))
    return True


def _once(row: SiteName, others: QuerySet[SiteName]) -> None:
    same = others.filter(kind=row.kind, name=row.name).exclude(pk=row.pk).first()
    if same is not None:
        raise Refused(f"{row.kind} {row.name} has a name already: {same.text}. Change that one.", 422)


def _row(rows: QuerySet[SiteName], id: int) -> SiteName:
    row = rows.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such name.", 404)
    return row


def _changed(doing: Deed, verb: str, row: SiteName, **detail: object) -> None:
    doing.record(verb, f"{row.kind} {row.name}"[:100], text=row.text, **detail)
    doing.tell("case")
    doing.rejudge()

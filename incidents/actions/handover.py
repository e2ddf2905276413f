"""Hand the lead over: offer it, accept or decline it. Whoever offers it leads until it is accepted."""

from __future__ import annotations

from django.db.models import Q
from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.errors import Refused, RoomClosed
from incidents.models.people.handover import Answer, HandOver
from incidents.models.people.membership import Membership, Role
from incidents.storage import live


def offer(room: Room, user_id: int, words: str = "") -> HandOver:
    """Offer the lead to a member; a room has one open offer at a time."""
    with deed(room, Right.PEOPLE) as doing:
        if user_id == doing.room.user.pk:
            raise Refused("Offer the lead to somebody else.")
        member = _member(doing, user_id)
        if member.role == Role.LEAD:
            raise Refused("This person is a lead already. To step down, take the role of an investigator.", 409)
        if not member.user.is_active:
            raise Refused("This account was switched off.", 409)
        open_one = doing.incident.handovers.filter(answer__isnull=True).select_related("offered_to").first()
        if open_one is not None:
            raise Refused(
                f"The lead is offered to {open_one.offered_to.get_username()} already. Take that offer back first.", 409
            )
        row = HandOver.objects.create(
            incident=doing.incident,
            offered_by=doing.room.user,
            offered_to=member.user,
            words=words.replace("\x00", "").strip()[:1000],
        )
        doing.record("offered", "lead", to=member.user.get_username())
        doing.tell("members")
        return row


def accept(room: Room) -> None:
    """Accept the lead offered to this person. The member who offered it becomes an investigator at the same moment."""
    with deed(room, Right.READ) as doing:
        row = _offered_to_me(doing)
        doing.incident.memberships.filter(user_id=row.offered_to_id).update(role=Role.LEAD)
        doing.incident.memberships.filter(user_id=row.offered_by_id, role=Role.LEAD).update(role=Role.INVESTIGATOR)
        _answer(row, Answer.ACCEPTED)
        doing.record("took over", "lead", of=row.offered_by.get_username())
        doing.tell("members")
        # The open pages of both show the rights of their former roles.
        for user_id in (row.offered_to_id, row.offered_by_id):
            live.end_streams(user_id, doing.incident.pk)


def decline(room: Room) -> None:
    with deed(room, Right.READ) as doing:
        row = _offered_to_me(doing)
        _answer(row, Answer.DECLINED)
        doing.record("declined", "lead", of=row.offered_by.get_username())
        doing.tell("members")


def withdraw(room: Room) -> None:
    """Withdraw the open offer; any lead may."""
    with deed(room, Right.PEOPLE) as doing:
        row = doing.incident.handovers.filter(answer__isnull=True).first()
        if row is None:
            raise Refused("No offer of the lead is open.", 409)
        _answer(row, Answer.WITHDRAWN)
        doing.record("took back", "offer of the lead")
        doing.tell("members")


def end_with(incident_id: int, user_id: int) -> None:
    """Withdraw open offers by or to a person. Call it inside the deed that removes the person or changes the role."""
    theirs = Q(offered_to_id=user_id) | Q(offered_by_id=user_id)
    open_ones = HandOver.objects.filter(theirs, incident_id=incident_id, answer__isnull=True)
    open_ones.update(answer=Answer.WITHDRAWN, answered_at=timezone.now())


def _offered_to_me(doing: Deed) -> HandOver:
    mine = doing.incident.handovers.filter(answer__isnull=True, offered_to=doing.room.user)
    row = mine.select_related("offered_by").first()
    if row is None:
        raise Refused("The lead is not offered to you, or no longer.", 409)
    offerer = row.offered_by
    still = doing.incident.memberships.filter(user=offerer, role=Role.LEAD).exists() or offerer.is_superuser
    if not still or not offerer.is_active:
        raise Refused("Whoever offered you the lead does not lead this room any more.", 409)
    if doing.incident.to_be_deleted:
        raise RoomClosed("This room is to be deleted: its people stay as they are unless a lead undoes that.")
    if doing.incident.archived:
        raise RoomClosed("This room is archived: its people stay as they are until a lead takes it out again.")
    return row


def _answer(row: HandOver, answer: str) -> None:
    row.answer, row.answered_at = answer, timezone.now()
    row.save(update_fields=("answer", "answered_at"))


def _member(doing: Deed, user_id: int) -> Membership:
    member = doing.incident.memberships.select_related("user").filter(user_id=user_id).first()
    if member is None:
        raise Refused("This person is not a member.", 404)
    return member

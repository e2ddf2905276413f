"""Invite people, admit them, change their roles, remove them."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone

from incidents.access import RIGHTS, Right, Room
from incidents.actions import handover
from incidents.actions.limits import count_try
from incidents.actions.record import deed
from incidents.errors import Refused, WrongSecret
from incidents.models.people.link import Invitation, hash_secret, new_secret
from incidents.models.people.membership import Membership, Role, Team
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter
from incidents.models.words.summary import ShareLink
from incidents.storage import live

LONGEST_HOURS = 14 * 24  # maximum validity of an invitation


def invite(room: Room, role: str, team: str = Team.OTHER, email: str | None = None, hours: int = 72) -> str:
    """Create an invitation for one person; return its secret, which is shown once and stored hashed."""
    if role not in Role.values or team not in Team.values:
        raise Refused("Choose a role and a team from the list.")
    if not 1 <= hours <= LONGEST_HOURS:
        raise Refused(f"An invitation lasts from 1 to {LONGEST_HOURS} hours.")
    with deed(room, Right.PEOPLE) as doing:
        secret, hashed = new_secret()
        invitation = Invitation.objects.create(
            incident=doing.incident,
            token_hash=hashed,
            role=role,
            team=team,
            email=email or None,
            created_by=doing.room.user,
            expires_at=timezone.now() + timedelta(hours=hours),
        )
        doing.record("invited", f"invitation {invitation.pk}", role=role, team=team, email=email or None)
        doing.tell("members")
    return secret


def send_invitation(room: Room, email: str, link: str) -> None:
    """Mail an invitation's link. The mail omits the room's title: others may read it."""
    room.require(Right.PEOPLE)
    text = f"{room.actor_name} invites you to a room in Exhibit.\n\nThe link works once:\n{link}\n"
    send_mail("An invitation to Exhibit", text, None, [email])


WRONG_INVITATION = (
    "This invitation does not work: it was used, revoked, ran out or was not copied whole. Ask for a new one."
)


def look_at(secret: str, caller: str = "") -> Invitation:
    """Return a usable invitation. Raises `WrongSecret` for a used, expired, revoked or invented one alike."""
    if caller:
        count_try("join", caller)
    invitation = Invitation.objects.select_related("incident").filter(token_hash=hash_secret(secret)).first()
    if invitation is None or not invitation.usable:
        raise WrongSecret(WRONG_INVITATION)
    return invitation


def may_sign_up(secret: str) -> bool:
    """Return whether a newcomer may make an account with an invitation: it is usable, and nobody has made one yet."""
    invitation = Invitation.objects.filter(token_hash=hash_secret(secret)).first() if secret else None
    return invitation is not None and invitation.makes_accounts


def sign_up(user: User, secret: str) -> None:
    """Note that an account was made with an invitation. Call it inside the transaction that makes the account.

    Raises `WrongSecret` if the invitation is not usable any more or has its account.
    """
    invitation = Invitation.objects.select_for_update().filter(token_hash=hash_secret(secret)).first()
    if invitation is None or not invitation.makes_accounts:
        raise WrongSecret(WRONG_INVITATION)
    invitation.account = user
    invitation.save(update_fields=("account",))


def join(user: User, secret: str) -> Incident:
    """Use an invitation. A person who is already a member gets the higher of the two roles."""
    with transaction.atomic():
        invitation = look_at(secret)
        RoomCounter.lock(invitation.incident_id)
        invitation = Invitation.objects.select_for_update(of=("self",)).select_related("incident").get(pk=invitation.pk)
        if not invitation.usable or not user.is_active:
            raise WrongSecret(WRONG_INVITATION)
        incident = invitation.incident
        member = Membership.objects.filter(incident=incident, user=user).first()
        if member is None:
            Membership.objects.create(incident=incident, user=user, role=invitation.role, team=invitation.team)
        elif _RANK[invitation.role] > _RANK[member.role]:
            Membership.objects.filter(pk=member.pk).update(role=invitation.role)
        Invitation.objects.filter(pk=invitation.pk).update(used_at=timezone.now(), used_by=user)
        name = user.get_full_name() or user.get_username()
        Activity.objects.append(
            incident.pk, user.pk, name, "joined", f"invitation {invitation.pk}", role=invitation.role
        )
        live.tell(incident.pk, "members")
        return incident


_RANK = {Role.VIEWER.value: 1, Role.INVESTIGATOR.value: 2, Role.LEAD.value: 3}


def change(room: Room, user_id: int, role: str, team: str) -> None:
    """Change a member's role and team. The last lead must stay lead."""
    if role not in Role.values or team not in Team.values:
        raise Refused("Choose a role and a team from the list.")
    with deed(room, Right.PEOPLE) as doing:
        member = _member(doing.incident, user_id)
        if member.role == Role.LEAD and role != Role.LEAD:
            _keep_a_lead(doing.incident, member)
        before = member.role
        member.role, member.team = role, team
        member.save(update_fields=("role", "team"))
        ended = {} if Right.SHARE in RIGHTS[role] else end_links(doing.incident.pk, member.user, doing.room.user)
        doing.record("changed", f"member {member.user.get_username()}", role=role, team=team, before=before, **ended)
        doing.tell("members")
        if before != role:
            handover.end_with(doing.incident.pk, user_id)
            # Pages rendered for the old role must not stay: the stream ends, and the page reloads with the new role.
            live.end_streams(user_id, doing.incident.pk)


def remove(room: Room, user_id: int) -> None:
    """Remove a member; everybody may remove themselves. Open streams end at once."""
    own = room.user.pk == user_id and room.token is None
    with deed(room, Right.READ if own else Right.PEOPLE) as doing:
        member = _member(doing.incident, user_id)
        if member.role == Role.LEAD:
            _keep_a_lead(doing.incident, member)
        member.delete()
        handover.end_with(doing.incident.pk, user_id)
        ended = end_links(doing.incident.pk, member.user, doing.room.user)
        doing.record("left" if own else "removed", f"member {member.user.get_username()}", **ended)
        doing.tell("members")
        live.end_streams(user_id, doing.incident.pk)
        live.forget(doing.incident.pk, user_id)


def end_links(incident_id: int, maker: User, by: User) -> dict[str, int]:
    """Revoke the open invitations and shared summaries of somebody who may not make them any more; return how many.

    Otherwise a lead who was removed could come back by an invitation of their own. Upload tokens and requests stay:
    they only bring evidence. Call it inside the deed that removes the person or changes the role.
    """
    now = timezone.now()
    invitations = Invitation.objects.filter(
        incident_id=incident_id, created_by=maker, used_at__isnull=True, revoked_at__isnull=True
    ).update(revoked_at=now)
    shared = ShareLink.objects.filter(incident_id=incident_id, created_by=maker, revoked_at__isnull=True).update(
        revoked_at=now, revoked_by=by
    )
    if shared:
        live.tell(incident_id, "summary", "links")
    return {name: n for name, n in (("invitations_ended", invitations), ("links_ended", shared)) if n}


def revoke(room: Room, invitation_id: int) -> None:
    """Revoke an unused invitation."""
    with deed(room, Right.PEOPLE) as doing:
        open_ones = doing.incident.invitations.filter(used_at__isnull=True, revoked_at__isnull=True)
        if not open_ones.filter(pk=invitation_id).update(revoked_at=timezone.now()):
            raise Refused("There is no such open invitation.", 404)
        doing.record("revoked", f"invitation {invitation_id}")
        doing.tell("members")


def _member(incident: Incident, user_id: int) -> Membership:
    member = incident.memberships.select_related("user").filter(user_id=user_id).first()
    if member is None:
        raise Refused("This person is not a member.", 404)
    return member


def _keep_a_lead(incident: Incident, leaving: Membership) -> None:
    if not incident.memberships.filter(role=Role.LEAD, user__is_active=True).exclude(pk=leaving.pk).exists():
        raise Refused("A room needs a lead: make somebody else one first.", 409)

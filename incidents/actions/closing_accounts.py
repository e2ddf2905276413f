"""Close an account: the person leaves, and what they wrote in rooms stays under "former member".

Rows of notes, disputes, artifacts and the activity record all refer to their author, so the account's row stays and is
emptied: no name, no address, no way to sign in. The activity record keeps the name as it was; it is append-only by
design.
"""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.db import transaction

from incidents.actions.members import end_links
from incidents.errors import Refused
from incidents.models.people.access_token import AccessToken, IdempotencyKey
from incidents.models.people.membership import Membership, Role
from incidents.models.people.notification import MailChoice, Notification
from incidents.models.people.sign_in import SignIn
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter
from incidents.storage import live

MOST_NAMED = 5  # rooms named in the message


def close_account(user: User) -> None:
    """Empty and lock an account, and remove it from all rooms.

    Raises `Refused` if an open room would be left without a lead, or the server without an administrator.
    """
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user.pk)
        if not user.is_active:
            return  # closed already
        others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
        if user.is_superuser and not others.exists():
            raise Refused("This is the only administrator's account: make somebody else one first.", 409)
        rooms = list(Incident.objects.filter(memberships__user=user).order_by("pk"))
        for room in rooms:
            RoomCounter.lock(room.pk)
        if alone := _led_alone(user):
            names = ", ".join(f"“{title}”" for title in alone[:MOST_NAMED])
            more = f" and {len(alone) - MOST_NAMED} more" if len(alone) > MOST_NAMED else ""
            raise Refused(f"You are the only lead of {names}{more}: make somebody else one first.", 409)
        name = user.get_full_name() or user.get_username()
        for room in rooms:
            Membership.objects.filter(incident=room, user=user).delete()
            ended = end_links(room.pk, user, user)
            Activity.objects.append(
                room.pk, user.pk, name, "left", f"member {user.get_username()}", account="closed", **ended
            )
            live.tell(room.pk, "members")
        for kept in (EmailAddress, Authenticator, SocialAccount, Notification, MailChoice, UserSession, SignIn):
            kept.objects.filter(user=user).delete()
        for made in (AccessToken, IdempotencyKey):
            made.objects.filter(owner=user).delete()
        user.username, user.first_name, user.last_name, user.email = f"former-member-{user.pk}", "", "", ""
        user.is_active = user.is_staff = user.is_superuser = False
        user.set_unusable_password()
        user.save()
        user.groups.clear()
        user.user_permissions.clear()
        live.end_streams(user.pk)


def _led_alone(user: User) -> list[str]:
    """Return the titles of the open rooms that have no other lead with an active account."""
    others = Membership.objects.filter(role=Role.LEAD, user__is_active=True).exclude(user=user)
    mine = Membership.objects.filter(user=user, role=Role.LEAD, incident__closed_at__isnull=True)
    alone = mine.exclude(incident__in=others.values("incident"))
    return list(alone.order_by("incident__title").values_list("incident__title", flat=True))

"""Permissions: the only place that decides who may see and do what in a room.

A view begins with `enter(user, slug)`. It returns a `Room`, the incident *as this person sees it*, and every action
takes a `Room` instead of a bare incident. A person who may not see a room gets `NotAMember`, which is answered exactly
like an address that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet
from django.utils import timezone

from incidents.errors import FactorNeeded, NotAllowed, NotAMember, Refused, RoomClosed, ScopeMissing, WrongSecret
from incidents.models.people.access_token import PREFIX, AccessToken, Scope
from incidents.models.people.link import UploadToken, hash_secret
from incidents.models.people.membership import Membership, Role
from incidents.models.room.incident import Incident


class Right(StrEnum):
    READ = "read"
    UPLOAD = "upload evidence"
    CORRECT = "correct, retry and re-read evidence"
    NOTE = "write notes"
    DISPUTE = "dispute findings"
    CASE = "edit the case"
    PLAN = "set the status, decide and act"
    PEOPLE = "manage members, invitations and upload tokens"
    ORIGINAL = "download originals"
    PURGE = "purge evidence"
    UNMASK = "lift the masks of secrets"
    CLOSE = "close, open and archive the room"
    HOOKS = "send news of the room to other systems"
    ASK = "ask the evidence tables"
    TUNE = "set thresholds of rules"
    SHARE = "edit and share the summary"
    EXPORT = "take the room out as a bundle"
    REVIEW = "write the review"
    HOLD = "put a legal hold on the room"
    DELETE = "set how long the room is kept, and delete it"


_VIEWER = frozenset({Right.READ, Right.ASK})
_INVESTIGATOR = _VIEWER | {
    Right.UPLOAD,
    Right.CORRECT,
    Right.NOTE,
    Right.DISPUTE,
    Right.CASE,
    Right.PLAN,
    Right.TUNE,
    Right.REVIEW,
}
RIGHTS: dict[str, frozenset[Right]] = {
    Role.VIEWER: _VIEWER,
    Role.INVESTIGATOR: _INVESTIGATOR,
    Role.LEAD: frozenset(Right),
}
# What a token may within each scope, if its owner may. A right that no scope names is for people only.
_OF_SCOPE: dict[str, frozenset[Right]] = {
    Scope.READ: frozenset({Right.READ}),
    Scope.ASK: frozenset({Right.ASK}),
    Scope.UPLOAD: frozenset({Right.UPLOAD}),
    # What an action changed is a marker of the case.
    Scope.WRITE: frozenset({Right.NOTE, Right.PLAN, Right.CASE, Right.REVIEW}),
    Scope.ROOMS: frozenset({Right.CLOSE}),
}
_SCOPE_FOR = {right: scope for scope, rights in _OF_SCOPE.items() for right in rights}
# Rights that a closed room still grants: reading, downloading, reviewing, managing people, purging, opening it again.
_WHEN_CLOSED = frozenset(
    {
        Right.READ,
        Right.ASK,
        Right.ORIGINAL,
        Right.PEOPLE,
        Right.PURGE,
        Right.UNMASK,
        Right.CLOSE,
        Right.HOOKS,
        Right.SHARE,
        Right.EXPORT,
        Right.REVIEW,
        Right.HOLD,
        Right.DELETE,
    }
)
# A room that is announced to be deleted can be read and taken away.
_WHEN_GOING = frozenset({Right.READ, Right.ASK, Right.ORIGINAL, Right.EXPORT, Right.HOLD, Right.DELETE})
# An archived room can be read only; purging evidence that must not stay there is still allowed.
_WHEN_ARCHIVED = _WHEN_GOING | {Right.PURGE, Right.CLOSE}
_NEEDED = dict.fromkeys(Right, "a lead") | dict.fromkeys(_INVESTIGATOR, "an investigator or a lead")


@dataclass(frozen=True)
class Room:
    """An incident as one person sees it, or the program that acts for this person by an access token (`program`).

    `role` is None for a site administrator without membership and for an upload token.
    """

    incident: Incident
    user: User
    role: str | None
    rights: frozenset[Right]
    token: UploadToken | None = field(default=None)
    program: AccessToken | None = field(default=None)

    @property
    def actor_name(self) -> str:
        name = self.user.get_full_name() or self.user.get_username()
        shown = self.token or self.program
        return f"{name} (token {shown.label})" if shown else name

    def may(self, right: Right) -> bool:
        if self.incident.to_be_deleted:
            return right in self.rights and right in _WHEN_GOING
        if self.incident.archived:
            return right in self.rights and right in _WHEN_ARCHIVED
        return right in self.rights and (not self.incident.closed or right in _WHEN_CLOSED)

    def require(self, right: Right) -> None:
        """Raise `NotAllowed` or `RoomClosed` unless this person has the right in the room as it is now."""
        if self.program is not None:
            _require_scope(self.program, right)
        if right not in self.rights:
            raise NotAllowed(_NEEDED[right])
        if not self.may(right):
            if self.incident.delete_at is not None:
                raise RoomClosed(
                    f"This room is to be deleted, {self.incident.delete_at:%Y-%m-%d %H:%M} UTC: until then it can be read. "
                    "A lead can undo that."
                )
            if self.incident.archived:
                raise RoomClosed("This room is archived: it can be read. A lead can take it out of the archive.")
            raise RoomClosed

    def require_more_evidence(self) -> None:
        """Raise `RoomClosed` when no new upload may begin: a room being closed only finishes the uploads under way."""
        self.require(Right.UPLOAD)
        if self.incident.closing_at is not None:
            raise RoomClosed("This room is being closed: uploads under way are finished, new ones are not begun.")

    @property
    def takes_nothing(self) -> str:
        """Say why this person cannot add evidence now; empty if they can."""
        try:
            self.require_more_evidence()
        except Refused as refused:
            return refused.message
        return ""


@dataclass(frozen=True)
class Caller:
    """Who calls the API: a person, by a session or by an access token of theirs (`program`)."""

    user: User
    program: AccessToken | None = None

    def require_scope(self, scope: Scope) -> None:
        """Raise `ScopeMissing` if the caller is a program without this scope."""
        if self.program is not None and scope not in self.program.scopes:
            raise ScopeMissing(scope)


def caller_with(secret: str) -> Caller:
    """Return the caller that an access token identifies. Raises `WrongSecret` if it is unknown, expired or revoked."""
    program = AccessToken.objects.select_related("owner").filter(token_hash=hash_secret(secret)).first()
    if program is None or not program.usable or not program.owner.is_active:
        raise WrongSecret(WRONG_PROGRAM)
    now = timezone.now()
    # Not at every call: thousands of them would rewrite one row.
    seen = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - timedelta(minutes=1))
    AccessToken.objects.filter(seen, pk=program.pk).update(last_used_at=now)
    return Caller(program.owner, program)


def enter_as(caller: Caller, slug: str, right: Right = Right.READ) -> Room:
    """Return the room as a caller of the API sees it: `enter` for a person, less for a program (see `AccessToken`)."""
    if caller.program is None:
        return enter(caller.user, slug, right)
    _require_scope(caller.program, right)  # before the room is looked up: the answer is the same for every room
    room = room_as(caller, slug)
    room.require(right)
    return room


def room_as(caller: Caller, slug: str) -> Room:
    """Return the room with the rights that the caller has in it, even if there are none."""
    room = enter(caller.user, slug)
    return room if caller.program is None else _as_program(room, caller.program)


def visible_as(caller: Caller) -> QuerySet[Incident]:
    """Return the rooms that a caller of the API may read."""
    caller.require_scope(Scope.READ)
    rooms = visible_to(caller.user)
    program = caller.program
    return rooms.filter(pk=program.incident_id) if program and program.incident_id else rooms


def _require_scope(program: AccessToken, right: Right) -> None:
    scope = _SCOPE_FOR.get(right)
    if scope is None or scope not in program.scopes:
        raise ScopeMissing(scope)


def _as_program(room: Room, program: AccessToken) -> Room:
    """Return the room with those rights of the owner that the scopes of the program's token allow.

    Raises `NotAMember` if the token is for another room.
    """
    if program.incident_id not in (None, room.incident.pk):
        raise NotAMember
    allowed = frozenset(right for scope in program.scopes for right in _OF_SCOPE[scope])
    return replace(room, rights=room.rights & allowed, program=program)


def visible_to(user: User | AnonymousUser) -> QuerySet[Incident]:
    """Return the rooms that this person may see; lists and searches start from this query set."""
    if not user.is_active:  # False for AnonymousUser too
        return Incident.objects.none()
    # A deletion that has begun has removed the members; for administrators too the room is gone.
    if user.is_superuser:
        return Incident.objects.filter(deletion_begun=False)
    return Incident.objects.filter(memberships__user=user, deletion_begun=False)


def rooms_with(user: User, right: Right, incidents: Iterable[Incident]) -> set[int]:
    """Return the ids of those rooms, as they are now, in which this person has a right; for lists over many rooms."""
    found = {incident.pk: incident for incident in incidents}
    memberships = {row.incident_id: row for row in Membership.objects.filter(user=user, incident__in=found)}
    rooms = (_as_member(user, incident, memberships.get(pk)) for pk, incident in found.items())
    return {room.incident.pk for room in rooms if room is not None and room.may(right)}


def is_administrator(user: User | AnonymousUser) -> bool:
    """Tell whether this person administers the site."""
    return user.is_active and user.is_superuser


def require_administrator(user: User | AnonymousUser) -> None:
    """Raise `Refused` with 403 for everybody but an administrator of the site."""
    if not is_administrator(user):
        raise Refused("Only administrators of this site see this page.", 403)


def sees_any(user: User | AnonymousUser) -> bool:
    """Tell whether this person may see any room at all."""
    if isinstance(user, User) and user.is_active and not user.is_superuser:
        return Membership.objects.filter(user=user).exists()
    return visible_to(user).exists()


def lacks_factor(user: User | AnonymousUser) -> bool:
    """Tell whether the site asks this person for a second factor, and they have none."""
    asked = settings.EXHIBIT_SECOND_FACTOR
    if not asked or not isinstance(user, User) or not user.has_usable_password():
        return False  # without a password people come by the identity provider, which has its own rules
    if asked == "administrators" and not (user.is_superuser or user.is_staff):
        return False
    return not Authenticator.objects.filter(user=user).exclude(type=Authenticator.Type.RECOVERY_CODES).exists()


def require_factor(user: User | AnonymousUser) -> None:
    """Raise `FactorNeeded` for people who must set up a second factor before anything else."""
    if lacks_factor(user):
        raise FactorNeeded


def enter(user: User | AnonymousUser, slug: str, right: Right = Right.READ) -> Room:
    """Return the room as `user` sees it.

    Raises `NotAMember` for strangers and for slugs that do not exist, `NotAllowed` for a member without `right`,
    `FactorNeeded` before the room is looked up.
    """
    if not isinstance(user, User) or not user.is_active:
        raise NotAMember
    require_factor(user)
    # One database query for all of it: every page begins here and needs the room's counters next.
    mine = Membership.objects.filter(user=user, incident__slug=slug)
    membership = mine.select_related("incident__counter", "incident__next_update_by").first()
    if membership is not None:
        room = _as_member(user, membership.incident, membership)
    else:
        incident = Incident.objects.select_related("counter").filter(slug=slug).first() if user.is_superuser else None
        room = _as_member(user, incident, None) if incident is not None else None
    if room is None:
        raise NotAMember
    if right is not Right.READ:
        room.require(right)
    return room


def enter_by_id(user_id: int, incident_id: int) -> Room | None:
    """Return the room if this person still sees it, else None: for open streams and for work begun long ago."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    incident = Incident.objects.filter(pk=incident_id).first()
    return _as_seen_by(user, incident) if user and incident else None


WRONG_TOKEN = (
    "This token does not open this room. It may be cut off, of another room, revoked or past its time: ask a lead of the"
    " room for a new one."
)


WRONG_PROGRAM = "This token opens nothing. It may be cut off, revoked or past its time: make a new one on your page of access tokens."


def enter_with_token(slug: str, secret: str) -> Room:
    """Return the room as the holder of a token sees it: an upload token gives the right to upload and no other.

    Raises `WrongSecret` for an unknown, expired or revoked token, and for an upload token of another room.
    """
    if secret.startswith(PREFIX):
        return enter_as(caller_with(secret), slug, Right.UPLOAD)
    token = (
        UploadToken.objects.select_related("incident", "created_by")
        .filter(token_hash=hash_secret(secret), incident__slug=slug)
        .first()
    )
    if token is None:
        raise WrongSecret(WRONG_TOKEN)
    room = _as_seen_with(token)
    UploadToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now())
    return room


def again(room: Room) -> Room:
    """Return `room` with the rights that hold now. Raises `NotAMember` if none are left since `room` was made."""
    if room.token is not None:
        return _as_seen_with(UploadToken.objects.select_related("incident", "created_by").get(pk=room.token.pk))
    now = enter_by_id(room.user.pk, room.incident.pk)
    if now is None:
        raise NotAMember
    if room.program is not None:
        program = AccessToken.objects.get(pk=room.program.pk)
        if not program.usable:
            raise WrongSecret(WRONG_PROGRAM)
        return _as_program(now, program)
    return now


def _as_seen_with(token: UploadToken) -> Room:
    maker = _as_seen_by(token.created_by, token.incident)
    # A token works only while its creator may manage people: a removed lead leaves no way in.
    if not token.usable or maker is None or Right.PEOPLE not in maker.rights:
        raise WrongSecret(WRONG_TOKEN)
    return Room(token.incident, token.created_by, None, frozenset({Right.UPLOAD}), token)


def _as_seen_by(user: User, incident: Incident) -> Room | None:
    if not user.is_active:
        return None
    return _as_member(user, incident, Membership.objects.filter(incident=incident, user=user).first())


def _as_member(user: User, incident: Incident, membership: Membership | None) -> Room | None:
    if incident.deletion_begun:
        return None
    if user.is_superuser:
        return Room(incident, user, membership.role if membership else None, frozenset(Right))
    return Room(incident, user, membership.role, RIGHTS[membership.role]) if membership else None

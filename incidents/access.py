"""Who may see and do what: the only place that decides.

A view begins with `enter(user, slug)`; what comes back is the room *as this person sees it*, and every action takes
that instead of a bare incident. Whoever may not see a room gets `NotAMember`, which is answered exactly like an address
that does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.utils import timezone

from incidents.errors import NotAllowed, NotAMember, RoomClosed
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


_VIEWER = frozenset({Right.READ, Right.ASK})
_INVESTIGATOR = _VIEWER | {Right.UPLOAD, Right.CORRECT, Right.NOTE, Right.DISPUTE, Right.CASE, Right.PLAN, Right.TUNE}
RIGHTS: dict[str, frozenset[Right]] = {
    Role.VIEWER: _VIEWER,
    Role.INVESTIGATOR: _INVESTIGATOR,
    Role.LEAD: frozenset(Right),
}
# What a closed room still allows: to look, to download, to manage people, to purge and to open it again.
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
    }
)
# An archived one is for reading; purging what must not lie there is still allowed.
_WHEN_ARCHIVED = frozenset({Right.READ, Right.ASK, Right.ORIGINAL, Right.PURGE, Right.CLOSE})
_NEEDED = dict.fromkeys(Right, "a lead") | dict.fromkeys(_INVESTIGATOR, "an investigator or a lead")


@dataclass(frozen=True)
class Room:
    """An incident as one person sees it. `role` is None for a site administrator who is no member and for a token."""

    incident: Incident
    user: User
    role: str | None
    rights: frozenset[Right]
    token: UploadToken | None = field(default=None)

    @property
    def actor_name(self) -> str:
        name = self.user.get_full_name() or self.user.get_username()
        return f"{name} (token {self.token.label})" if self.token else name

    def may(self, right: Right) -> bool:
        if self.incident.archived:
            return right in self.rights and right in _WHEN_ARCHIVED
        return right in self.rights and (not self.incident.closed or right in _WHEN_CLOSED)

    def require(self, right: Right) -> None:
        """Raise `NotAllowed` or `RoomClosed` unless this person may do that."""
        if right not in self.rights:
            raise NotAllowed(_NEEDED[right])
        if not self.may(right):
            if self.incident.archived:
                raise RoomClosed("This room is archived: it can be read. A lead can take it out of the archive.")
            raise RoomClosed

    def require_more_evidence(self) -> None:
        """Raise `RoomClosed` when no new upload may begin: the room closes as soon as those under way are through."""
        self.require(Right.UPLOAD)
        if self.incident.closing_at is not None:
            raise RoomClosed("This room is being closed: uploads under way are finished, new ones are not begun.")


def visible_to(user: User | AnonymousUser) -> QuerySet[Incident]:
    """Return the rooms that this person may know of; lists and searches start from here."""
    if not user.is_active:  # False for AnonymousUser too
        return Incident.objects.none()
    if user.is_superuser:
        return Incident.objects.all()
    return Incident.objects.filter(memberships__user=user)


def sees_any(user: User | AnonymousUser) -> bool:
    """Tell whether there is a room at all that this person may know of."""
    if isinstance(user, User) and user.is_active and not user.is_superuser:
        return Membership.objects.filter(user=user).exists()
    return visible_to(user).exists()


def enter(user: User | AnonymousUser, slug: str, right: Right = Right.READ) -> Room:
    """Return the room as `user` sees it; `NotAMember` for strangers and for nonsense, `NotAllowed` below the right."""
    if not isinstance(user, User) or not user.is_active:
        raise NotAMember
    # One question: every page begins here, and asks for the room's counters next.
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
    """Look again whether somebody still sees a room: for open streams and for work begun long ago."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    incident = Incident.objects.filter(pk=incident_id).first()
    return _as_seen_by(user, incident) if user and incident else None


def enter_with_token(slug: str, secret: str) -> Room:
    """Return the room as the holder of an upload token sees it: a place to put evidence, nothing else."""
    token = (
        UploadToken.objects.select_related("incident", "created_by")
        .filter(token_hash=hash_secret(secret), incident__slug=slug)
        .first()
    )
    if token is None:
        raise NotAMember
    room = _as_seen_with(token)
    UploadToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now())
    return room


def again(room: Room) -> Room:
    """Look at a room once more: rights may have gone since `room` was made. `NotAMember` if all have."""
    if room.token is not None:
        return _as_seen_with(UploadToken.objects.select_related("incident", "created_by").get(pk=room.token.pk))
    now = enter_by_id(room.user.pk, room.incident.pk)
    if now is None:
        raise NotAMember
    return now


def _as_seen_with(token: UploadToken) -> Room:
    maker = _as_seen_by(token.created_by, token.incident)
    # The token dies with the rights of whoever made it: a removed lead leaves no door open.
    if not token.usable or maker is None or Right.PEOPLE not in maker.rights:
        raise NotAMember
    return Room(token.incident, token.created_by, None, frozenset({Right.UPLOAD}), token)


def _as_seen_by(user: User, incident: Incident) -> Room | None:
    if not user.is_active:
        return None
    return _as_member(user, incident, Membership.objects.filter(incident=incident, user=user).first())


def _as_member(user: User, incident: Incident, membership: Membership | None) -> Room | None:
    if user.is_superuser:
        return Room(incident, user, membership.role if membership else None, frozenset(Right))
    return Room(incident, user, membership.role, RIGHTS[membership.role]) if membership else None

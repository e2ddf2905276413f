"""The app's exceptions. A page shows the message of a `Refused`; a task that raised a `StoreError` may be retried."""

from __future__ import annotations

from collections.abc import Mapping


class IncidentError(Exception):
    """Base class of this app's errors."""


class Refused(IncidentError):
    """The HTTP request cannot be granted. `message` is for the person who sent it, `status` is the HTTP status."""

    status = 400

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if status is not None:
            self.status = status


class TooLarge(Refused):
    status = 413


class NoSpace(Refused):
    """Free disk space is, or would fall, below the minimum."""

    status = 507


class OverQuota(Refused):
    """The quota of a room or a sender is exceeded (incidents/storage/quotas.py): 507 for a room, 429 for a sender."""


class AlreadyHere(Refused):
    """The room already holds the same content, as artifact `number`."""

    status = 409

    def __init__(self, number: int, name: str) -> None:
        super().__init__(f"Already here: artifact {number} ({name}) has the same content.")
        self.number = number
        self.name = name


class RoomClosed(Refused):
    status = 409

    def __init__(self, words: str = "This room is closed. A lead can open it again.") -> None:
        super().__init__(words)


class Overtaken(Refused):
    """Somebody else changed the same fields meanwhile. `now` holds their present values; nothing was written."""

    status = 409

    def __init__(self, now: Mapping[str, object]) -> None:
        super().__init__("Somebody changed it meanwhile. Nothing of yours was saved over it.")
        self.now = dict(now)


class NotAMember(Refused):
    """The person may not see the room. Answered like an address that does not exist, so that nobody learns of it."""

    status = 404

    def __init__(self) -> None:
        super().__init__("Not found.")


class WrongSecret(NotAMember):
    """A token or the secret of a link is not known, or works no more. The answer is the same for every room and none."""

    status = 401

    def __init__(self, words: str) -> None:
        Refused.__init__(self, words)


class NotAllowed(Refused):
    """The member's role does not allow the action; `needed` names the roles that may."""

    status = 403

    def __init__(self, needed: str) -> None:
        super().__init__(f"Your role in this room does not allow that: {needed} may.")
        self.needed = needed


class ScopeMissing(Refused):
    """A program shows an access token without the scope that the action needs; None if no scope allows it."""

    status = 403

    def __init__(self, scope: str | None) -> None:
        lacks = f"it lacks the scope “{scope}”." if scope else "only a person may, signed in."
        super().__init__(f"This token does not allow that: {lacks}")


class FactorNeeded(Refused):
    """The site asks this person for a second factor, and they have none yet."""

    status = 403

    def __init__(self) -> None:
        super().__init__("This site asks for a second factor at sign-in. Set yours up first; then everything is open.")


class StoreError(IncidentError):
    """The evidence folder could not be read or written at this moment."""


STORE_WORDS = "The evidence cannot be read or stored just now. What the room holds is safe; try again in a moment."


class StoreAway(StoreError):
    """The object store cannot serve at this moment. A job that meets this waits and goes on by itself."""

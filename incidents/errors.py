"""What the app refuses. A `Refused` reaches the page with its own words; a `StoreError` may be tried again."""

from __future__ import annotations

from collections.abc import Mapping


class IncidentError(Exception):
    """The root of this app's errors."""


class Refused(IncidentError):
    """The request cannot be granted. `message` is for the person who asked, `status` is the HTTP status."""

    status = 400

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if status is not None:
            self.status = status


class TooLarge(Refused):
    status = 413


class NoSpace(Refused):
    """The disk's floor of free space would be crossed, or was."""

    status = 507


class AlreadyHere(Refused):
    """The room holds the same content already, as artifact `number`."""

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
    """Somebody else changed the same fields since this person saw them. `now` has what stands there; nothing was written."""

    status = 409

    def __init__(self, now: Mapping[str, object]) -> None:
        super().__init__("Somebody changed it meanwhile. Nothing of yours was saved over it.")
        self.now = dict(now)


class NotAMember(Refused):
    """Answered like an address that does not exist, so that nobody learns that the room does."""

    status = 404

    def __init__(self) -> None:
        super().__init__("Not found.")


class NotAllowed(Refused):
    """A member asks for what the role does not allow; `needed` says whom to ask."""

    status = 403

    def __init__(self, needed: str) -> None:
        super().__init__(f"Your role in this room does not allow that: {needed} may.")
        self.needed = needed


class StoreError(IncidentError):
    """The evidence folder could not be read or written just now."""

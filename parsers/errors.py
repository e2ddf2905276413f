"""Why a file could not be read. A bad line is a note, never an exception; a bad file is one of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsers.reading import Account
    from parsers.registry import Ranked


class ParserError(Exception):
    """Base of all. `account` holds what is known all the same (bytes, lines, claims), `exit_status` the command's
    answer.
    """

    exit_status = 5
    account: Account | None = None


class NotText(ParserError):
    """The bytes are no text: binary, empty, or an archive. The message says which."""

    exit_status = 3


class UnknownFormat(ParserError):
    """No format claims the file strongly enough; weak claims are in `claims`."""

    exit_status = 3
    claims: tuple[Ranked, ...] = ()

    def __init__(self, claims: tuple[Ranked, ...]) -> None:
        weak = "; ".join(f"{c.format.kind}/{c.variant} {c.claim.strength:.2f} ({c.claim.reason})" for c in claims[:3])
        super().__init__(
            "kind unknown: no format recognises the first lines" + (f"; weak claims: {weak}" if weak else "")
        )
        self.claims = claims


class AmbiguousFormat(ParserError):
    """Two kinds claim the file about equally; `claims` are all of them, strongest first."""

    exit_status = 3
    claims: tuple[Ranked, ...] = ()

    def __init__(self, claims: tuple[Ranked, ...]) -> None:
        rivals = " or ".join(f"{c.format.kind} {c.claim.strength:.2f} ({c.claim.reason})" for c in claims[:2])
        super().__init__(f"two kinds are about equally likely: {rivals}; name one with --kind")
        self.claims = claims


class WrongFormat(ParserError):
    """The file is not of the kind it was said to be; `first_line` shows it."""

    exit_status = 4
    kind: str | None = None
    first_line: int | None = None

    def __init__(self, kind: str, first_line: int, text: str) -> None:
        super().__init__(f"not of kind {kind}: line {first_line} does not fit: {text[:200]!r}")
        self.kind = kind
        self.first_line = first_line


class LimitExceeded(ParserError):
    """A limit was hit: `which` one (with its value) and `where`."""

    def __init__(self, which: str, where: str) -> None:
        super().__init__(f"limit exceeded: {which}, at {where}")
        self.which = which
        self.where = where


class OtherReading(ParserError):
    """The directory holds a reading of other bytes, hints or format version; a re-reading goes to its own directory."""

"""Exceptions for files that could not be read.

A line that a format does not understand is a note and never an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsers.reading import Account
    from parsers.registry import Ranked


class ParserError(Exception):
    """Base class of these exceptions.

    `account` holds what is known of the file all the same (bytes, lines, claims); `exit_status` is what the command
    `python -m parsers` returns.
    """

    exit_status = 5
    account: Account | None = None


class NotText(ParserError):
    """The bytes are not text: binary, empty, or an archive. The message says which."""

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
    """The file is not of the kind that the caller named; `first_line` is the number of the first line that does not
    fit.
    """

    exit_status = 4
    kind: str | None = None
    first_line: int | None = None

    def __init__(self, kind: str, first_line: int, text: str) -> None:
        super().__init__(f"not of kind {kind}: line {first_line} does not fit: {text[:200]!r}")
        self.kind = kind
        self.first_line = first_line


class LimitExceeded(ParserError):
    """A limit was hit: `which` is its name and value, `where` is the place."""

    def __init__(self, which: str, where: str) -> None:
        super().__init__(f"limit exceeded: {which}, at {where}")
        self.which = which
        self.where = where


class TookTooLong(ParserError):
    """Reading took more time than a file of this size may take, and was stopped."""


class TookTooMuch(ParserError):
    """Reading needed more memory than the limit allows, or the reading process crashed."""


class OtherReading(ParserError):
    """The directory holds a reading of other bytes, with other hints or by another version of the format.

    A new reading of the file needs a directory of its own.
    """

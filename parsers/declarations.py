"""What a module of `parsers/formats` declares: the format it reads, its counters, and its claim on a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counter:
    """A number in a format's state that only grows and of which nothing but rows depends (`parsers/parallel.py`).

    `places` in the state (`a.b.1`, `*` for each element of a list; the first is always there) move with it, and so do
    `columns` of all its rows. Whether it is 0, 1 or more may matter, any other value not.
    """

    places: tuple[str, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """What a module of `parsers/formats` reads: one variant of a kind.

    `split`: "lines" if the state between runs is decided by the lines right before and by `counters`, so that runs can be
    read ahead of time, else "none". `clocks`: their kinds, the usual one
    first. `own`: a pattern (Rust syntax) that a line of such output fits, header, row or detail, and prose does not: by it
    the splitter finds regions in a mail; the claim decides.
    """

    kind: str
    variant: str
    version: str
    systems: tuple[str, ...]
    tables: tuple[str, ...]
    man: str
    example: str
    split: str = "none"
    clocks: tuple[str, ...] = ("none",)
    own: str = ""
    counters: tuple[Counter, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A format's statement "this is mine": strength 0 to 1, reason in words, variant if the module has several."""

    strength: float
    reason: str
    variant: str | None = None

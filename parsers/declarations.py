"""Declarations of the modules of `parsers/formats`: kinds, the formats that read them, counters, claims on a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """Facts about a kind besides its grammar: `KIND` in `parsers/formats/<family>/<kind>/kind.py`.

    The folders give the names of the kind and its family. The same folder may hold `terms.txt`, the headings that the
    glossary explains, and `damage.json`, the effects of a damaged paste on the kind's samples.
    """

    title: str = ""
    """An artifact of this kind in words ("trace of system calls"), if the kind's name is not clear enough."""

    titles: str = ""
    """The plural of `title`."""

    axis: str = ""
    """Label of its axis on the timeline, if the kind's name is not clear enough."""

    tracer: str = ""
    """Name of the tool, if it slows the traced processes considerably; else ""."""

    tools: tuple[str, ...] = ()
    """Names of the programs that print it, as typed at a shell prompt."""

    intervals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tool whose command line ends in a sampling interval -> its options that take a value as the next word."""

    sampled: bool = False
    """Each run has an interval, a clock and a first sample of its own, so two runs are two outputs."""

    words: tuple[str, ...] = ("error", "code", "signal")
    """Sorts of glossary entries that are explained in its lines."""

    masks_descriptors: bool = False
    """Its formats mask every connect descriptor themselves."""

    rows_optional: bool = False
    """A part that has only headings and no row is valid."""

    any_lines: bool = False
    """Its lines may have any form, so a line that is not understood does not show that a paste was cut."""

    runs_program: bool = False
    """Its tool runs a program, whose output is mixed with its lines."""

    collect: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Table -> system (`*`: every system) -> command that collects it; only tables that `rules/collecting` lacks."""

    next: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """System (`*`: every other one) -> evidence that people request next after this kind, the most useful first."""


@dataclass(frozen=True)
class Counter:
    """A number in a format's state that only grows and on which only rows depend (`parsers/parallel.py`).

    `places` are its paths in the state (`a.b.1`, `*` for each element of a list); the first path always exists.
    `columns` are the columns of all rows that hold it. When the number is shifted, all these places and columns shift
    with it. A format may distinguish 0, 1 and more, but no other values.
    """

    places: tuple[str, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """Declaration of what a module of `parsers/formats` reads: one variant of a kind.

    `split`: "lines" if the state between runs follows from the lines right before and from `counters`, so that runs can
    be read ahead of time; else "none". `clocks`: kinds of its clocks, the usual one first. `own`: a pattern (Rust
    syntax) that fits lines of this output (header, row or detail) but not prose; the splitter finds regions of a mail
    by it, and the claim decides.
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

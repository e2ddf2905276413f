"""What the modules of `parsers/formats` declare: kinds, the formats that read them, counters, and claims on a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """What is known about a kind beside its grammar: `KIND` in `parsers/formats/<family>/<kind>/kind.py`.

    The folders give the names of the kind and its family. Beside `kind.py` may stand `terms.txt`, the headings that the
    glossary explains, and `damage.json`, what a damaged paste does to its samples.
    """

    title: str = ""
    """One such artifact in words ("trace of system calls"), where its name says too little."""

    titles: str = ""
    """Several of them."""

    axis: str = ""
    """Name of its axis on the timeline, where the kind's name says too little."""

    tracer: str = ""
    """Name of the tool that slows what it traces; "" if it slows nothing that counts."""

    tools: tuple[str, ...] = ()
    """Programs that print it, as they stand at a shell prompt."""

    intervals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tools whose command line ends in a sampling interval, each with its options whose next word is a value."""

    sampled: bool = False
    """Each run has an interval, a clock and a first sample of its own, so two runs are two outputs."""

    words: tuple[str, ...] = ("error", "code", "signal")
    """Sorts of glossary entries whose words are explained in its lines."""

    masks_descriptors: bool = False
    """Its formats mask every connect descriptor themselves."""

    rows_optional: bool = False
    """Its headings alone may be all there is to read."""

    any_lines: bool = False
    """Any line may stand beside one that is not understood: that says nothing of a cut."""

    runs_program: bool = False
    """It runs a program, and what that prints stands among its lines."""

    collect: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Table -> system (`*` for every one) -> the command that collects it, for tables that `rules/collecting` lists nowhere."""

    next: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """System (`*` for every other one) -> what people who have read one ask for next, the most telling first."""


@dataclass(frozen=True)
class Counter:
    """A number in a format's state that only grows and that nothing but rows depends on (`parsers/parallel.py`).

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

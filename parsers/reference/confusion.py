"""Measure how the samples of a corpus are recognised: right, wrong, or with a question to a person (`asked`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from parsers.errors import AmbiguousFormat, ParserError, UnknownFormat
from parsers.layout.recognition import recognise
from parsers.registry import all_formats, choose, general
from parsers.text.source import Hints, Limits, open_text
from parsers.text.transcripts import transcribed

ASKED = "asked"


@dataclass(frozen=True)
class Seen:
    """One sample: the kind of its folder, and the kind that was recognised (or `asked`)."""

    name: str
    kind: str
    got: str

    @property
    def right(self) -> bool:
        return self.kind == self.got


def confusion(corpus: Path) -> list[Seen]:
    """Recognise every `<kind>/*.txt` of a corpus by its head, for kinds that have a format."""
    kinds = {form.kind for form, _ in all_formats()}
    paths = [p for p in sorted(corpus.glob("*/*.txt")) if p.parent.name in kinds]
    return [Seen(f"{p.parent.name}/{p.stem}", p.parent.name, recognised(p)) for p in paths]


def recognised(path: Path) -> str:
    """Return the kind of a file by its head alone: `asked` if two kinds are nearly equal, `text` if no claim is strong
    enough.
    """
    limits = Limits()
    with transcribed(path, None, limits) as transcript, open_text(transcript.path if transcript else path) as text:
        try:
            return choose(recognise(text.head()).claims, Hints()).format.kind
        except AmbiguousFormat:
            return ASKED
        except UnknownFormat:
            return general().format.kind
        except ParserError as error:
            return type(error).__name__


def matrix(seen: list[Seen]) -> list[str]:
    """Return the confusion matrix as lines of Markdown: a row per kind, with the kinds recognised in its samples."""
    right = sum(1 for s in seen if s.right)
    asked = sum(1 for s in seen if s.got == ASKED)
    lines = [
        "## How the samples are recognised",
        "",
        f"{len(seen)} samples of the corpus by their first 64 KiB, without a name or a hint: {right} right, {asked} asked,"
        f" {len(seen) - right - asked} wrong.",
        "",
        "| kind | samples | right | asked | taken for another kind |",
        "|---|---|---|---|---|",
    ]
    for kind in sorted({s.kind for s in seen}):
        mine = [s for s in seen if s.kind == kind]
        others = Counter(s.got for s in mine if not s.right and s.got != ASKED)
        words = ", ".join(f"{got} {n}" for got, n in sorted(others.items()))
        asked_of = sum(1 for s in mine if s.got == ASKED)
        lines.append(f"| {kind} | {len(mine)} | {sum(1 for s in mine if s.right)} | {asked_of} | {words} |")
    return lines

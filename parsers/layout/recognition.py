"""Recognise the head of a part: its dress, the prompts and marks above the output, and the claims on the rest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from parsers.provenance.prompts import Lead, lead_of, prompt_of
from parsers.registry import Ranked, rank
from parsers.text.dress import characters_of, steps_of, undressed_lines, words_of
from parsers.text.source import Head

GAIN = 0.02
"""Minimum gain of the strongest claim for removing a prefix that may belong to the tool's output."""


@dataclass(frozen=True)
class Recognised:
    """A recognised head: its dress, the lead (prompts and marks above the output), and the claims, strongest first."""

    dress: tuple[str, ...]
    lead: Lead
    claims: tuple[Ranked, ...]

    @property
    def strength(self) -> float:
        return self.claims[0].claim.strength if self.claims else 0.0

    @property
    def note(self) -> str | None:
        return words_of(self.dress) if self.dress else None


def recognise(
    head: Head, command: str | None = None, kinds: Collection[str] | None = None, worn: tuple[str, ...] = ()
) -> Recognised:
    """Find dress, lead and claims of a head; `command` is the command that a person or an earlier prompt names.

    With `kinds`, only these kinds are asked. `worn` is the dress of the document as a whole.
    """
    asked = (command, None if kinds is None else frozenset(kinds), worn)
    if asked not in head.known:
        head.known[asked] = _recognised(head, command, kinds, worn)
    found: Recognised = head.known[asked]
    return found


def _recognised(head: Head, command: str | None, kinds: Collection[str] | None, worn: tuple[str, ...]) -> Recognised:
    dress = tuple(dict.fromkeys((*characters_of(head.text), *worn)))
    lines = undressed_lines(head.lines, dress)
    best = _claimed(dress, lines, head, command, kinds)
    for _ in range(4):  # nested dress: quotes around line numbers around an indent
        better = None
        for step, sure in steps_of(lines):
            tried = _claimed((*dress, step), undressed_lines(lines, (step,)), head, command, kinds)
            if step == "doubled":
                if head.whole:  # else a block's end would split a pair of lines
                    better = tried
                continue
            if step == "logged":  # the stack is the evidence; the log's format would read its lines as messages
                better = tried
                continue
            if tried.strength > (better or best).strength + (-GAIN if sure and better is None else GAIN):
                better = tried
        if better is None:
            return best
        lines = undressed_lines(lines, better.dress[len(dress) :])
        best, dress = better, better.dress
    return best


def _claimed(
    dress: tuple[str, ...], lines: list[str], head: Head, command: str | None, kinds: Collection[str] | None
) -> Recognised:
    lead = lead_of(lines)
    # A format may read dates and marks of its own tool, but no format reads a prompt.
    above = next((n for n in range(lead.lines) if lines[n].strip() and prompt_of(lines[n]) is None), lead.lines)
    below = Head(lines[above:], head.name, head.whole)
    return Recognised(dress, lead, rank(below, command or lead.command, kinds))

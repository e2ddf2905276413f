"""Labels of verdicts: the words and the look of each state, the same on every page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Face:
    """How a verdict state is shown: its label and the word that pages use as its class."""

    label: str
    look: str


FACES = {
    "cause": Face("Cause", "cause"),
    "suspect": Face("Suspect", "suspect"),
    "lead": Face("Points to", "lead"),
    "undecided": Face("Undecided", "undecided"),
    "cannot tell": Face("Cannot tell yet", "cannot"),
    "nothing wrong seen": Face("Nothing wrong seen", "nothing"),
}
JUDGING = Face("Judging", "judging")
EMPTY = Face("No evidence yet", "cannot")


def face_of(state: str) -> Face:
    """Return the face of a verdict state; one that is not known says its own name.

    >>> face_of("lead").label, face_of("new state").label
    ('Points to', 'New state')
    """
    return FACES.get(state, Face(state.capitalize(), "cannot"))

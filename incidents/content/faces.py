"""Labels of verdicts: the words and the look of each state, the same on every page."""

from __future__ import annotations

from dataclasses import dataclass

from rules.model import LABELS


@dataclass(frozen=True)
class Face:
    """How a verdict state is shown: its label and the word that pages use as its class."""

    label: str
    look: str


LOOKS = {"cannot tell": "cannot", "nothing wrong seen": "nothing"}
"""Words that pages use as class and icon of a state, where it is not the state itself."""

FACES = {state: Face(label, LOOKS.get(state, state)) for state, label in LABELS.items()}
JUDGING = Face("Judging", "judging")
EMPTY = Face("No evidence yet", "cannot")

OPEN = ("cannot tell", "nothing wrong seen")
"""States that an unread file could change at once."""


def unread_face(n: int) -> Face:
    """Return the face of a room whose verdict `n` files that nobody understood could change.

    >>> unread_face(1).label, unread_face(2).label
    ('1 file not read', '2 files not read')
    """
    return Face(f"{n} file{'s' if n > 1 else ''} not read", "unread")


def face_of(state: str) -> Face:
    """Return the face of a verdict state; one that is not known says its own name.

    >>> face_of("lead").label, face_of("new state").label
    ('Points to', 'New state')
    """
    return next((face for known, face in FACES.items() if known == state), Face(state.capitalize(), "cannot"))

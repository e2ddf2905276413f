"""Turn a proposed border between phases into case entries: phases of the lines on both sides, and a marker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incidents.access import Right, Room
from incidents.actions import case
from incidents.actions.record import deed
from incidents.errors import Refused
from incidents.models.judging.case import MarkerKind
from incidents.work import analysis, comparisons
from rules.case.case import Case

MOST_CHANGED = 50  # texts of one marker


@dataclass(frozen=True)
class Made:
    """The rows that a border consists of: `undo_border` removes exactly these."""

    phases: tuple[int, ...]
    marker: int | None

    @property
    def text(self) -> str:
        """Return the rows as URLs contain them: `12.13-7`."""
        return ".".join(map(str, self.phases)) + (f"-{self.marker}" if self.marker else "")


def read_made(text: str) -> Made | None:
    """Parse the text of a `Made`; return None if it is not one.

    >>> read_made("12.13-7"), read_made("x"), read_made("-3")
    (Made(phases=(12, 13), marker=7), None, Made(phases=(), marker=3))
    """
    phases, _, marker = text.partition("-")
    numbers = [part for part in (*phases.split("."), marker) if part]
    if not numbers or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in numbers):
        return None
    return Made(tuple(int(part) for part in phases.split(".") if part), int(marker) if marker else None)


def make_border(
    room: Room, number: int, line: int, first: str, second: str, label: str = "", changed: Sequence[str] = ()
) -> Made:
    """Give the lines of an artifact before `line` the phase `first`, the others `second`; with a label, add a marker.

    Making the same border twice is refused.
    """
    first, second, label = first.strip()[:40], second.strip()[:40], label.strip()[:300]
    texts = [text.strip()[:300] for text in changed if text.strip()][:MOST_CHANGED]
    if not first or not second:
        raise Refused("Name the phase before the border and the one after it.")
    if first == second:
        raise Refused("The two phases need different names: a border lies between two.")
    if texts and not label:
        raise Refused("Say in a few words what the change was; what changed with it stands below.")
    with deed(room, Right.CASE) as doing:
        cut = comparisons.cut_at(Case(analysis.case_of(doing.incident)), number, line)
        if cut is None:
            raise Refused("There is nothing before this line that a border could part. Load the page again.", 404)
        made: list[int] = []
        for piece in cut.pieces:
            name = second if piece.second else first
            if piece.phase != name:
                made.append(case.add_phase(room, piece.artifact, piece.line_from, piece.line_to, name).pk)
        if not made and not label:
            raise Refused("This border is there already.", 409)
        marker = None
        if label:
            fields = {"kind": MarkerKind.CHANGE, "label": label, "from_phase": first, "to_phase": second}
            known = doing.incident.markers.filter(**fields).first()
            if known is not None and not made:
                raise Refused("This border is there already.", 409)
            marker = case.put_marker(room, {**fields, "changed": texts}).pk
        return Made(tuple(made), marker)


def undo_border(room: Room, made: Made) -> None:
    """Remove the phases and the marker of a border; rows that somebody removed meanwhile are skipped."""
    with deed(room, Right.CASE) as doing:
        phases = list(doing.incident.phases.filter(pk__in=made.phases).values_list("pk", flat=True))
        marker = doing.incident.markers.filter(pk=made.marker).exists() if made.marker else False
        if not phases and not marker:
            raise Refused("This border was removed already.", 404)
        for id in phases:
            case.remove_phase(room, id)
        if made.marker and marker:
            case.remove_marker(room, made.marker)

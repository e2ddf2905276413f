"""Move borders of parts: make lines a part or prose, or merge them with the part above; undo each move.

Borders are corrections of line ranges, applied whenever the artifact is read. Earlier corrections of a part (host,
phase, role ...) stay with its lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from incidents.access import Right, Room
from incidents.actions.artifacts import after_words, artifact_in, checked, take_words
from incidents.actions.record import Deed, deed
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact, Border, CorrectedField, Correction

KEPT = 20
"""Maximum number of border moves of one artifact that can be undone."""

_OF_BORDER = (CorrectedField.BORDER, CorrectedField.KIND)


@dataclass(frozen=True)
class Stretch:
    """A line range of one part, with its corrections by field."""

    first: int
    last: int
    words: dict[str, Correction] = field(default_factory=dict)

    def without(self, first: int, last: int) -> list[Stretch]:
        """Return what remains of the range without lines `first` to `last`: none, one or two ranges."""
        sides = ((self.first, min(self.last, first - 1)), (max(self.first, last + 1), self.last))
        return [replace(self, first=a, last=b) for a, b in sides if a <= b]


def make_part(room: Room, number: int, lines: tuple[int, int], kind: str | None) -> Artifact:
    """Make lines a separate part. Without a kind, the formats' claims decide, as for a whole file."""
    said = checked({CorrectedField.KIND: kind}) if kind else {}
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        _lay(doing, artifact, lines, Border.PART, said)
        return _done(doing, artifact, "made a part", lines, **said)


def make_prose(room: Room, number: int, lines: tuple[int, int]) -> Artifact:
    """Mark lines as prose: text that no tool printed and that gives no rows."""
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        _lay(doing, artifact, lines, Border.PROSE, {})
        return _done(doing, artifact, "said to be prose", lines)


def merge_up(room: Room, number: int, lines: tuple[int, int]) -> Artifact:
    """Merge the part that holds these lines, or the lines themselves if none does, with the part above."""
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        parts = [] if artifact.reading is None else list(artifact.reading.parts.order_by("line_from"))
        held = next((part for part in parts if part.line_from <= lines[0] <= part.line_to), None)
        first = held.line_from if held else lines[0]
        above = next((part for part in reversed(parts) if part.line_to < first), None)
        if above is None:
            raise Refused("There is no part above these lines.", 409)
        whole = above.line_from, max(lines[1], held.line_to if held else 0)
        kind = f"{above.kind}/{above.variant}" if above.kind and above.variant else above.kind
        _lay(doing, artifact, whole, Border.PART, {CorrectedField.KIND.value: kind} if kind else {})
        return _done(doing, artifact, "merged with the part above", whole)


def undo(room: Room, number: int) -> Artifact:
    """Undo the newest move of a border."""
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        if not artifact.borders_before:
            raise Refused("No border was moved that could be moved back.", 409)
        *earlier, before = artifact.borders_before
        artifact.corrections.filter(line_from__isnull=False).delete()
        Correction.objects.bulk_create(Correction(artifact=artifact, **row) for row in before)
        artifact.borders_before = earlier
        return _done(doing, artifact, "undid a border")


def answer(room: Room, number: int, lines: tuple[int, int] | None, words: dict[str, str | None]) -> Artifact:
    """Answer a question about a part. With `lines` its borders are fixed, so that the answer concerns it alone."""
    said = checked(words)
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        if lines is None:
            take_words(doing, artifact, said, None)
        else:
            kept = _kept(artifact, lines)
            _lay(doing, artifact, lines, Border.PART, kept | said)
        return _done(doing, artifact, "answered", lines, **said)


def _kept(artifact: Artifact, lines: tuple[int, int]) -> dict[str, str | None]:
    """Return the kind of a part as a correction: it is fixed with the borders, so that an answer does not change it."""
    part = artifact.reading.parts.filter(line_from=lines[0]).first() if artifact.reading else None
    if part is None or not part.kind:
        return {}
    return {CorrectedField.KIND.value: f"{part.kind}/{part.variant}" if part.variant else part.kind}


def _lay(doing: Deed, artifact: Artifact, lines: tuple[int, int], border: Border, said: dict[str, str | None]) -> None:
    """Set borders around lines. A part that they cut keeps its remaining lines, its kind and its corrections."""
    first, last = lines
    most = max((artifact.reading.lines or 0) if artifact.reading else 0, artifact.lines_read or 0)
    if not 1 <= first <= last or (most and last > most):
        raise Refused(f"The lines must be first to last, from 1{f' to {most}' if most else ''}.")
    rows = list(artifact.corrections.filter(line_from__isnull=False))
    artifact.borders_before = [*artifact.borders_before, [_as_json(row) for row in rows]][-KEPT:]
    stretches = _stretches(artifact, rows)
    touched = [s for s in stretches if s.first <= last and s.last >= first]
    for cut in touched:
        artifact.corrections.filter(pk__in=[row.pk for row in cut.words.values() if row.pk]).delete()
        for piece in cut.without(first, last):
            _write(doing, artifact, piece)
    words: dict[str, Correction] = {}
    if border == Border.PART:
        # The new part inherits from the first part it covers wholly; one that only loses lines keeps its corrections.
        swallowed = (s for s in sorted(touched, key=lambda s: s.first) if not s.without(first, last))
        heir = next(swallowed, None)
        words = {name: row for name, row in heir.words.items() if name not in (*_OF_BORDER, *said)} if heir else {}
    words[CorrectedField.BORDER] = Correction(field=CorrectedField.BORDER, value=border)
    _write(doing, artifact, Stretch(first, last, words))
    take_words(doing, artifact, said, lines)


def _stretches(artifact: Artifact, rows: list[Correction]) -> list[Stretch]:
    """Return the present line ranges: borders set by people, and the other parts found by the reading in use."""
    given: dict[tuple[int, int], Stretch] = {}
    for row in rows:
        if row.field in _OF_BORDER and row.value is not None:
            lines = row.line_from or 0, row.line_to or 0
            given.setdefault(lines, Stretch(*lines))
    found = [] if artifact.reading is None else list(artifact.reading.parts.all())
    for part in found:
        if any(s.first <= part.line_to and s.last >= part.line_from for s in given.values()):
            continue
        stretch = Stretch(part.line_from, part.line_to)
        given[part.line_from, part.line_to] = stretch
        if part.kind:
            kind = f"{part.kind}/{part.variant}" if part.variant else part.kind
            stretch.words[CorrectedField.KIND] = Correction(artifact=artifact, field=CorrectedField.KIND, value=kind)
    for row in rows:
        line = row.line_from or 0
        holding = next((s for s in given.values() if s.first <= line <= s.last), None)
        if holding is not None:
            holding.words[row.field] = row
    return list(given.values())


def _write(doing: Deed, artifact: Artifact, stretch: Stretch) -> None:
    """Store a line range as corrections of its lines: a part, unless its border says otherwise."""
    part = Correction(field=CorrectedField.BORDER, value=Border.PART)
    for name, row in ({CorrectedField.BORDER.value: part} | stretch.words).items():
        Correction.objects.create(
            artifact=artifact,
            line_from=stretch.first,
            line_to=stretch.last,
            field=name,
            value=row.value,
            author_id=row.author_id or doing.room.user.pk,
        )


def _as_json(row: Correction) -> dict[str, Any]:
    return {
        "line_from": row.line_from,
        "line_to": row.line_to,
        "field": row.field,
        "value": row.value,
        "author_id": row.author_id,
    }


def _done(
    doing: Deed, artifact: Artifact, verb: str, lines: tuple[int, int] | None = None, **detail: str | None
) -> Artifact:
    artifact.save(update_fields=("borders_before",))
    doing.record(verb, f"artifact {artifact.number}", lines=lines, **detail)
    after_words(doing, artifact)
    return artifact

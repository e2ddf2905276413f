"""Add people's arguments and causes to the board, change and remove them. Each change has the room judged again."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact
from incidents.models.judging.argument import Argument
from incidents.models.judging.cause import FreeCause
from rules.case.statements import HYPOTHESIS, SPOKEN
from rules.judging.scoring import CAUSES

LONGEST_REASON = 500  # characters
MOST_ROWS = 200  # rows of people on one board
MOST_CAUSES = 20  # causes of people on one board
LAYERS = frozenset(cause.layer for cause in CAUSES.values() if cause.layer)


@dataclass(frozen=True)
class Said:
    """The content of a board row: the reason, a word for each cause concerned, and the evidence it refers to."""

    reason: str
    words: Mapping[str, str]
    finding_key: str | None = None
    artifact: int | None = None
    lines: tuple[int, int] | None = None


def argue(
    room: Room, said: Said, id: int | None = None, version: int | None = None, client_id: uuid.UUID | None = None
) -> Argument:
    """Add a row to the board, or change the row `id` of the same author.

    `version` is the row's version that the author saw; a newer one is refused. With `client_id` a form sent twice is
    stored once.
    """
    with deed(room, Right.CASE) as doing:
        mine = doing.incident.arguments.filter(author=doing.room.user)
        if id is None and client_id and (before := mine.filter(client_id=client_id).first()):
            if (before.reason, before.words) == (
                " ".join(said.reason.split()),
                {c: w for c, w in said.words.items() if w},
            ):
                return before
            client_id = None  # the page was reopened from the history, and a different row typed
        row = (
            _own(doing, id)
            if id
            else Argument(
                incident=doing.incident,
                author=doing.room.user,
                author_label=doing.room.actor_name[:100],
                client_id=client_id,
            )
        )
        if id and version is not None and version != row.version:
            raise Refused(f"You have changed this row in another window meanwhile; it says now: {row.reason}", 409)
        if not id and doing.incident.arguments.filter(removed_at__isnull=True).count() >= MOST_ROWS:
            raise Refused(f"The board holds {MOST_ROWS} rows of people already: take some off first.")
        _lay(doing, row, said)
        row.edited_at = timezone.now() if id else None
        row.version += 1 if id else 0
        row.save()
        _told(doing, "edited" if id else "put on the board", row)
        return row


def take_off(room: Room, id: int) -> Argument:
    """Remove a row from the board; `put_back` restores it. Authors may remove their rows, leads all rows."""
    with deed(room, Right.CASE) as doing:
        row = _row(doing, id)
        _theirs(doing, row)
        if row.removed_at is None:
            row.removed_at = timezone.now()
            row.save(update_fields=("removed_at",))
            _told(doing, "took off the board", row)
        return row


def put_back(room: Room, id: int) -> Argument:
    with deed(room, Right.CASE) as doing:
        row = _row(doing, id)
        _theirs(doing, row)
        if row.removed_at is not None:
            _once(doing, row)
            row.words = {c: w for c, w in row.words.items() if c in _codes(doing)}
            if not row.words:
                raise Refused("The causes that this row speaks of are not on the board any more: bring one back first.")
            row.removed_at = None
            row.save(update_fields=("removed_at", "words"))
            _told(doing, "put back on the board", row)
        return row


def _lay(doing: Deed, row: Argument, said: Said) -> None:
    reason = " ".join(said.reason.split())
    if not reason:
        raise Refused("Say why: a row without a reason convinces nobody.")
    if len(reason) > LONGEST_REASON:
        raise Refused(f"The reason is one line of at most {LONGEST_REASON} characters; put the rest into a note.")
    words = {code: word for code, word in said.words.items() if word}
    if not words:
        raise Refused("Choose a word for at least one cause: what does it speak for or against?")
    for code, word in words.items():
        if word not in SPOKEN:
            raise Refused(f"“{word}” is none of the words: {', '.join(SPOKEN)}.")
        if code not in _codes(doing):
            raise Refused(f"There is no cause {code} on this board.")
    if said.finding_key and not doing.incident.findings.filter(key=said.finding_key).exists():
        raise Refused("There is no such finding.")
    artifact = None
    if said.artifact is not None:
        artifact = Artifact.objects.filter(incident=doing.incident, number=said.artifact).first()
        if artifact is None or artifact.purged:
            raise Refused(f"There is no artifact {said.artifact} in this room.")
        if said.lines is None or not 1 <= said.lines[0] <= said.lines[1]:
            raise Refused("Name the lines from first to last, from 1.")
    elif said.lines is not None:
        raise Refused("Name the artifact whose lines these are.")
    row.reason, row.words = reason, words
    row.finding_key = said.finding_key or None
    row.artifact = artifact
    row.line_from, row.line_to = said.lines if artifact and said.lines else (None, None)
    _once(doing, row)


def _once(doing: Deed, row: Argument) -> None:
    """Refuse a reason that the same person has on the board already: the board would show both as one row."""
    same = doing.incident.arguments.filter(
        removed_at__isnull=True, author_label=row.author_label, reason=row.reason
    ).exclude(pk=row.pk)
    if same.exists():
        raise Refused("This reason stands on the board already under your name: change that row instead.")


def _codes(doing: Deed) -> set[str]:
    return {*CAUSES, *doing.incident.free_causes.filter(removed_at__isnull=True).values_list("code", flat=True)}


def _row(doing: Deed, id: int) -> Argument:
    row = doing.incident.arguments.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such row on the board.", 404)
    return row


def _own(doing: Deed, id: int) -> Argument:
    row = _row(doing, id)
    if row.author_id != doing.room.user.pk:
        raise Refused("Only its author can change a row; add one of your own instead.", 403)
    if row.removed_at is not None:
        raise Refused("This row was taken off the board: bring it back first.")
    return row


def _theirs(doing: Deed, row: Argument | FreeCause) -> None:
    if row.author_id != doing.room.user.pk and not doing.room.may(Right.PEOPLE):
        raise Refused("Only its author or a lead can do that.", 403)


def _told(doing: Deed, verb: str, row: Argument) -> None:
    detail: dict[str, Any] = {"reason": row.reason, "words": row.words}
    if row.finding_key:
        detail["finding"] = row.finding_key
    if row.artifact is not None:
        detail |= {"artifact": row.artifact.number, "lines": [row.line_from, row.line_to]}
    doing.record(verb, f"evidence {row.pk}", **detail)
    _judge(doing)


def _judge(doing: Deed) -> None:
    doing.tell("case")
    doing.rejudge()


# --- causes added by people -------------------------------------------------------------------------------------------


def code_of(typed: str) -> str:
    """Return a code as boards spell it: `backup window` and `H-BACKUP-WINDOW` are the same.

    >>> code_of(" backup window "), code_of("h-backup")
    ('H-BACKUP-WINDOW', 'H-BACKUP')
    """
    code = re.sub(r"[\s_-]+", "-", typed.strip().upper()).strip("-")
    return code if code.startswith("H-") or not code else f"H-{code}"


def put_cause(
    room: Room, code: str, cause: str, layer: str | None, id: int | None = None, version: int | None = None
) -> FreeCause:
    """Add a person's cause to the board, or change text and layer of the cause `id`; its code stays."""
    cause, code = " ".join(cause.split()), code_of(code)
    if not cause:
        raise Refused("Say in a few words what the cause would be.")
    if len(cause) > 200:
        raise Refused("The text of a cause has at most 200 characters.")
    if layer and layer not in LAYERS:
        raise Refused("Choose a layer from the list.")
    with deed(room, Right.CASE) as doing:
        known = {row.code: row for row in doing.incident.free_causes.all()}
        row = next((row for row in known.values() if row.pk == id), None)
        if id is not None:
            if row is None or row.removed_at is not None:
                raise Refused("There is no such cause on the board.", 404)
            _theirs(doing, row)
            if version is not None and version != row.version:
                raise Refused(f"It was changed meanwhile; it says now: {row.cause}", 409)
        else:
            if not HYPOTHESIS.fullmatch(code) or len(code) > 40:
                raise Refused("A code is H- and words of capital letters, such as H-BACKUP: at most 40 characters.")
            if code in CAUSES:
                raise Refused(f"{code} is on every board already or comes by itself: {CAUSES[code].text}.")
            row = known.get(code)
            if row is not None and row.removed_at is None:
                if (row.author_id, row.cause, row.layer) == (doing.room.user.pk, cause, layer or None):
                    return row  # sent twice
                raise Refused(f"{code} is on the board already: {row.cause}. Choose another code.")
            if sum(other.removed_at is None for other in known.values()) >= MOST_CAUSES:
                raise Refused(f"The board has {MOST_CAUSES} causes of people's own already: take one off first.")
            row = row or FreeCause(incident=doing.incident, code=code)
            row.author, row.author_label = doing.room.user, doing.room.actor_name[:100]
        row.cause, row.layer, row.removed_at = cause, layer or None, None
        row.version += 1 if row.pk else 0
        row.save()
        doing.record("edited" if id else "put on the board", f"cause {row.code}", cause=cause, layer=row.layer)
        _judge(doing)
        return row


def take_cause_off(room: Room, id: int) -> FreeCause:
    """Remove a person's cause that no row of the board refers to any more; `put_cause_back` restores it."""
    with deed(room, Right.CASE) as doing:
        row = _cause(doing, id)
        _theirs(doing, row)
        if row.removed_at is None:
            speaking = doing.incident.arguments.filter(removed_at__isnull=True, words__has_key=row.code).count()
            if speaking:
                rows = "one row speaks" if speaking == 1 else f"{speaking} rows speak"
                raise Refused(f"{rows.capitalize()} of {row.code}: take that off the board first.", 409)
            row.removed_at = timezone.now()
            row.save(update_fields=("removed_at",))
            doing.record("took off the board", f"cause {row.code}", cause=row.cause)
            _judge(doing)
        return row


def put_cause_back(room: Room, id: int) -> FreeCause:
    with deed(room, Right.CASE) as doing:
        row = _cause(doing, id)
        _theirs(doing, row)
        if row.removed_at is not None:
            row.removed_at = None
            row.save(update_fields=("removed_at",))
            doing.record("put back on the board", f"cause {row.code}", cause=row.cause)
            _judge(doing)
        return row


def _cause(doing: Deed, id: int) -> FreeCause:
    row = doing.incident.free_causes.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such cause on the board.", 404)
    return row

"""Decisions, actions and entries of the log: ask, decide, plan, do, write down, delete and restore."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions import case, rows
from incidents.actions.record import Deed, deed
from incidents.actions.revise import settled
from incidents.errors import Refused
from incidents.models.judging.case import Marker, MarkerKind
from incidents.models.plan.action import Action, ActionState
from incidents.models.plan.decision import Decision
from incidents.models.plan.entry import Entry, EntryKind

DECISION = frozenset(("question", "needed_by", "asked_of", "finding_key", "outcome", "decided_by", "decided_at"))
ACTION = frozenset(("text", "owner", "due_at", "state", "finding_key", "decision", "expected"))
ENTRY = frozenset(("kind", "at", "text", "who"))
_TEXTS = {"question", "outcome", "text", "expected"}
_AHEAD = timedelta(minutes=5)  # clocks differ: a time at most this far ahead is accepted


def decision_values(row: Decision) -> dict[str, Any]:
    """Return the fields as forms use them: people by id, times to the second."""
    return {
        "question": row.question,
        "needed_by": row.needed_by,
        "asked_of": row.asked_of_id,
        "finding_key": row.finding_key,
        "outcome": row.outcome,
        "decided_by": row.decided_by_id,
        "decided_at": row.decided_at,
    }


def action_values(row: Action) -> dict[str, Any]:
    return {
        "text": row.text,
        "owner": row.owner_id,
        "due_at": row.due_at,
        "state": row.state,
        "finding_key": row.finding_key,
        "decision": row.decision_id,
        "expected": row.expected,
    }


# --- decisions ----------------------------------------------------------------------------------------------------


def put_decision(
    room: Room,
    said: Mapping[str, Any],
    id: int | None = None,
    seen: Mapping[str, Any] | None = None,
    client_id: uuid.UUID | None = None,
) -> Decision:
    """Ask for a decision, or change one. With an `outcome` it is decided, by default by this person and now.

    `seen`: the values that the person saw (`revise.settled`). `client_id`: a form sent twice is stored once.
    """
    said = rows.checked(said, DECISION, _TEXTS)
    with deed(room, Right.PLAN) as doing:
        sent = doing.incident.decisions.filter(author=doing.room.user, client_id=client_id) if client_id else None
        if sent is not None and id is None and (before := sent.first()):
            return before
        new = Decision(incident=doing.incident, author=doing.room.user, client_id=client_id)
        row = _decision(doing, id) if id else new
        changed = settled(decision_values(row), said, seen)
        if id and not changed:
            return row
        after = decision_values(row) | changed
        after["question"] = after["question"] or ""
        if not (after["question"] or after["outcome"]):
            raise Refused("Say what must be decided, or what was decided.")
        if after["outcome"]:
            after["decided_by"] = after["decided_by"] or doing.room.user.pk
            after["decided_at"] = after["decided_at"] or rows.now()
            if after["decided_at"] > timezone.now() + _AHEAD:
                raise Refused("A decision cannot be taken in the future.")
        else:
            after |= {"outcome": None, "decided_by": None, "decided_at": None}
        rows.require_member(doing, after["decided_by"], row.decided_by_id, "Whoever decided")
        rows.require_member(doing, after["asked_of"], row.asked_of_id, "Whoever is asked")
        _finding(doing, after["finding_key"], row.finding_key)
        row.question, row.needed_by, row.finding_key = after["question"], after["needed_by"], after["finding_key"]
        row.asked_of_id = after["asked_of"]
        verb = "decided" if after["outcome"] and not row.outcome else "edited" if id else "asked"
        row.outcome, row.decided_by_id, row.decided_at = after["outcome"], after["decided_by"], after["decided_at"]
        rows.written(doing, verb, row, new=id is None)
        return row


def delete_decision(room: Room, id: int) -> Decision:
    """Delete a decision; `restore_decision` brings it back. Authors may delete their decisions, leads all."""
    with deed(room, Right.PLAN) as doing:
        row = _decision(doing, id, gone=True)
        rows.take_away(doing, row)
        return row


def restore_decision(room: Room, id: int) -> Decision:
    with deed(room, Right.PLAN) as doing:
        row = _decision(doing, id, gone=True)
        rows.bring_back(doing, row)
        return row


# --- actions ------------------------------------------------------------------------------------------------------


def put_action(
    room: Room,
    said: Mapping[str, Any],
    id: int | None = None,
    seen: Mapping[str, Any] | None = None,
    client_id: uuid.UUID | None = None,
) -> Action:
    """Plan an action or change one. To set `done`, use `finish_action`, which takes the time and what changed."""
    said = rows.checked(said, ACTION, _TEXTS)
    with deed(room, Right.PLAN) as doing:
        sent = doing.incident.actions.filter(author=doing.room.user, client_id=client_id) if client_id else None
        if sent is not None and id is None and (before := sent.first()):
            return before
        new = Action(incident=doing.incident, author=doing.room.user, client_id=client_id)
        row = _action(doing, id) if id else new
        changed = settled(action_values(row), said, seen)
        if id and not changed:
            return row
        after = action_values(row) | changed
        if not after["text"]:
            raise Refused("Say what is to be done.")
        if after["state"] not in ActionState.values:
            raise Refused("Choose a state from the list.")
        if after["state"] == ActionState.DONE and row.state != ActionState.DONE:
            raise Refused("Say when it was done and what it changed: use “Done”.")
        rows.require_member(doing, after["owner"], row.owner_id, "The owner")
        _finding(doing, after["finding_key"], row.finding_key)
        if after["decision"] not in (None, row.decision_id):
            _decision(doing, after["decision"])
        if row.state == ActionState.DONE and after["state"] != ActionState.DONE:
            _not_done(doing, row)
        row.text, row.owner_id, row.due_at, row.state = after["text"], after["owner"], after["due_at"], after["state"]
        row.finding_key, row.decision_id, row.expected = after["finding_key"], after["decision"], after["expected"]
        rows.written(doing, "edited" if id else "planned", row, new=id is None)
        return row


def set_state(room: Room, id: int, state: str) -> Action:
    """Begin an action, drop it, or open it again; leaving "done" removes its marker from the case."""
    return put_action(room, {"state": state}, id)


def finish_action(
    room: Room,
    id: int,
    at: datetime | None = None,
    changed: list[str] | None = None,
    phases: tuple[str, str] | None = None,
    hypothesis: str | None = None,
) -> Action:
    """Mark an action as done and, if it changed something, add a marker to the case that lists all changes.

    With `phases` the marker also separates those two: before-and-after comparisons use that. Calling it twice changes
    nothing.
    """
    at = (at or rows.now()).replace(microsecond=0)
    if at > timezone.now() + _AHEAD:
        raise Refused(f"It cannot be done in the future: it is {timezone.now():%Y-%m-%d %H:%M} UTC now.")
    texts = [text.strip()[:300] for text in changed or [] if text.strip()]
    with deed(room, Right.PLAN) as doing:
        row = _action(doing, id)
        if row.state == ActionState.DONE:
            return row
        if texts:
            fields: dict[str, Any] = {"at": at, "kind": MarkerKind.CHANGE, "label": _first_line(row.text)}
            fields |= {"changed": texts, "hypothesis": hypothesis or None}
            if phases:
                fields |= {"from_phase": phases[0], "to_phase": phases[1]}
            row.marker = case.put_marker(room, fields)
        row.state, row.done_at, row.done_by = ActionState.DONE, at, doing.room.user
        row.owner_id = row.owner_id or doing.room.user.pk
        rows.written(doing, "finished", row, changed=texts, at=at.isoformat())
        return row


def delete_action(room: Room, id: int) -> Action:
    """Delete an action; `restore_action` brings it back. Its marker stays, since the change was made."""
    with deed(room, Right.PLAN) as doing:
        row = _action(doing, id, gone=True)
        rows.take_away(doing, row)
        return row


def restore_action(room: Room, id: int) -> Action:
    with deed(room, Right.PLAN) as doing:
        row = _action(doing, id, gone=True)
        rows.bring_back(doing, row)
        return row


# --- entries of the log ---------------------------------------------------------------------------------------------


def entry_values(row: Entry) -> dict[str, Any]:
    return {"kind": row.kind, "at": row.at, "text": row.text, "who": row.who_id}


def put_entry(
    room: Room,
    said: Mapping[str, Any],
    id: int | None = None,
    seen: Mapping[str, Any] | None = None,
    client_id: uuid.UUID | None = None,
) -> Entry:
    """Write down what somebody did, or correct it; by default this person did it, and now.

    A change becomes a marker of the case, and moves or goes with its entry.
    """
    said = rows.checked(said, ENTRY, _TEXTS)
    with deed(room, Right.PLAN) as doing:
        sent = doing.incident.entries.filter(author=doing.room.user, client_id=client_id) if client_id else None
        if sent is not None and id is None and (before := sent.first()):
            return before
        new = Entry(incident=doing.incident, author=doing.room.user, client_id=client_id)
        row = _entry(doing, id) if id else new
        changed = settled(entry_values(row), said, seen)
        if id and not changed:
            return row
        after = entry_values(row) | changed
        if not after["text"]:
            raise Refused("Say what was done.")
        if after["kind"] not in EntryKind.values:
            raise Refused("Choose a kind from the list.")
        after["at"] = after["at"] or rows.now()
        after["who"] = after["who"] or doing.room.user.pk
        if after["at"] > timezone.now() + _AHEAD:
            raise Refused(f"It cannot be done in the future: it is {timezone.now():%Y-%m-%d %H:%M} UTC now.")
        rows.require_member(doing, after["who"], row.who_id, "Whoever did it")
        row.kind, row.at, row.text, row.who_id = after["kind"], after["at"], after["text"], after["who"]
        _mark(doing, row)
        rows.written(doing, "edited" if id else "wrote down", row, new=id is None)
        return row


def delete_entry(room: Room, id: int) -> Entry:
    """Delete an entry with its marker; `restore_entry` brings both back. Authors may delete their own, leads all."""
    with deed(room, Right.PLAN) as doing:
        row = _entry(doing, id, gone=True)
        rows.take_away(doing, row)
        _mark(doing, row)
        return row


def restore_entry(room: Room, id: int) -> Entry:
    with deed(room, Right.PLAN) as doing:
        row = _entry(doing, id, gone=True)
        rows.bring_back(doing, row)
        if row.kind == EntryKind.CHANGE and row.marker_id is None:
            _mark(doing, row)
            row.save(update_fields=("marker",))
        return row


def _mark(doing: Deed, row: Entry) -> None:
    """Create, change or remove the entry's marker, to match the entry."""
    if row.kind == EntryKind.CHANGE and row.deleted_at is None:
        fields = {"at": row.at, "kind": MarkerKind.CHANGE, "label": _first_line(row.text)}
        row.marker = case.put_marker(doing.room, fields, row.marker_id)
    elif row.marker_id is not None:
        marker, row.marker = row.marker_id, None
        if row.pk:
            row.save(update_fields=("marker",))
        case.remove_marker(doing.room, marker)


# --- shared by all ------------------------------------------------------------------------------------------------


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0][:300]


def _decision(doing: Deed, id: int, gone: bool = False) -> Decision:
    row = doing.incident.decisions.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such decision.", 404)
    if row.deleted_at is not None and not gone:
        raise Refused("This decision was taken away. Bring it back first.", 409)
    return row


def _action(doing: Deed, id: int, gone: bool = False) -> Action:
    row = doing.incident.actions.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such action.", 404)
    if row.deleted_at is not None and not gone:
        raise Refused("This action was taken away. Bring it back first.", 409)
    return row


def _entry(doing: Deed, id: int, gone: bool = False) -> Entry:
    row = doing.incident.entries.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such entry.", 404)
    if row.deleted_at is not None and not gone:
        raise Refused("This entry was taken away. Bring it back first.", 409)
    return row


def _finding(doing: Deed, key: str | None, before: str | None) -> None:
    if key not in (None, before) and not doing.incident.findings.filter(key=key).exists():
        raise Refused("There is no such finding.", 404)


def _not_done(doing: Deed, row: Action) -> None:
    """Clear that the action was done and remove its marker: nothing was changed after all."""
    row.done_at = row.done_by = None
    if row.marker_id is not None and Marker.objects.filter(pk=row.marker_id).exists():
        marker, row.marker = row.marker_id, None
        row.save(update_fields=("marker",))
        case.remove_marker(doing.room, marker)

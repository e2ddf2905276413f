"""Save, change, delete and restore queries, private or shared; remember the queries that a person ran."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.errors import Overtaken, Refused
from incidents.models.judging.query import AskedQuery, SavedQuery
from incidents.work import queries

LONGEST_SQL = 64 * 1024  # characters
LONGEST_TITLE = 200  # characters
MOST_ASKED = 30  # remembered queries of one person in one room
MOST_SAVED = 500  # saved queries of one person in one room
CHARTS = frozenset({"line", "points", "bars"})


def save(
    room: Room,
    title: str,
    sql: str,
    shared: bool,
    chart: Mapping[str, str] | None = None,
    id: int | None = None,
    version: int | None = None,
    client_id: uuid.UUID | None = None,
) -> SavedQuery:
    """Save a query, or change the query `id`. Raises `Overtaken` with its present text if it is past `version`.

    Whoever may ask may save private queries; a shared query needs the right to write notes.
    """
    title, sql = _checked(title, LONGEST_TITLE, "a name"), _checked(sql, LONGEST_SQL, "a query")
    with deed(room, Right.NOTE if shared else Right.ASK) as doing:
        mine = doing.incident.queries.filter(author=doing.room.user)
        if id is None:
            if client_id is not None and (sent := mine.filter(client_id=client_id).first()):
                return sent
            if mine.filter(deleted_at__isnull=True).count() >= MOST_SAVED:
                raise Refused(f"You keep {MOST_SAVED} queries in this room already. Take some away first.", 409)
            row = SavedQuery(incident=doing.incident, author=doing.room.user, client_id=client_id)
        else:
            row = _own(doing, id)
            if row.deleted_at is not None:
                raise Refused("This query was taken away. Bring it back first.", 409)
            if row.shared:
                doing.room.require(Right.NOTE)
            if version is not None and version != row.version and (row.sql, row.title) != (sql, title):
                raise Overtaken({"title": row.title, "sql": row.sql, "version": row.version})
            row.version += 1
            row.edited_by, row.edited_at = doing.room.user, timezone.now()
        was_shared = row.shared
        row.title, row.sql, row.shared, row.chart = title, sql, shared, _chart(chart or {})
        row.save()
        _said(doing, "edited" if id else "saved", row, shared or was_shared)
        return row


def delete(room: Room, id: int) -> SavedQuery:
    """Delete a query; `restore` brings it back. Authors may delete their queries, leads also shared ones."""
    with deed(room, Right.ASK) as doing:
        row = _own(doing, id)
        if row.deleted_at is None:
            row.deleted_by, row.deleted_at = doing.room.user, timezone.now()
            row.version += 1
            row.save()
            _said(doing, "deleted", row, row.shared)
        return row


def restore(room: Room, id: int) -> SavedQuery:
    with deed(room, Right.ASK) as doing:
        row = _own(doing, id)
        if row.deleted_at is not None:
            row.deleted_by, row.deleted_at = None, None
            row.version += 1
            row.save()
            _said(doing, "restored", row, row.shared)
        return row


def remember(room: Room, sql: str) -> None:
    """Store a person's query before it runs, so that nothing typed is lost. Only they see it, so it is no `deed`."""
    text = sql.replace("\x00", "").strip()[:LONGEST_SQL]
    if not text:
        return
    key: dict[str, Any] = {
        "incident": room.incident,
        "person": room.user,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    AskedQuery.objects.update_or_create(**key, defaults={"sql": text, "asked_at": timezone.now()})
    own = AskedQuery.objects.filter(incident=room.incident, person=room.user)
    kept = own.order_by("-asked_at", "-pk").values_list("pk", flat=True)[:MOST_ASKED]
    own.exclude(pk__in=list(kept)).delete()


def _own(doing: Deed, id: int) -> SavedQuery:
    """Return a query that this person may change; 404 for one that they may not see."""
    row = queries.saved(doing.room).filter(pk=id).first()
    if row is None:
        raise Refused("There is no such query.", 404)
    if row.author_id != doing.room.user.pk:
        doing.room.require(Right.PEOPLE)
    return row


def _said(doing: Deed, verb: str, row: SavedQuery, shared: bool) -> None:
    # Of a private query not even the number: all members see the record. Never the text: the record cannot be changed.
    doing.record(verb, f"query {row.pk}" if shared else "own query")
    if shared:
        doing.tell("query", row.pk, row.version)


def _checked(text: str, most: int, what: str) -> str:
    text = text.replace("\r\n", "\n").replace("\x00", "").strip()
    if not text:
        raise Refused(f"It needs {what}.", 422)
    if len(text) > most:
        raise Refused(f"{what.capitalize()} has at most {most:,} characters.", 413)
    return text


def _chart(said: Mapping[str, Any]) -> dict[str, str]:
    kind = str(said.get("kind") or "")
    if kind not in CHARTS:
        return {}
    return {"kind": kind, "x": str(said.get("x") or "")[:100], "y": str(said.get("y") or "")[:100]}

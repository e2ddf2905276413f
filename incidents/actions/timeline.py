"""Store layouts of the timeline's lanes, and mark a time range as the symptom."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from incidents.access import Right, Room
from incidents.actions import rooms
from incidents.actions.record import deed
from incidents.errors import Refused
from incidents.models.room.incident import Incident
from incidents.models.room.layout import Layout

#: Maximum size of one layout, in characters of JSON.
MOST = 20_000
_LISTS = frozenset({"add", "hide", "pin", "order"})

Lanes = Mapping[str, Mapping[str, list[str]]]


def keep_lanes(room: Room, lanes: Lanes, shared: bool) -> Layout | None:
    """Store a layout of lanes, for this person or for the room; an empty one deletes the stored layout.

    A personal layout does not concern others, so the right to read the room is enough.
    """
    checked = _checked(lanes)
    with deed(room, Right.NOTE if shared else Right.READ) as doing:
        own = Layout.objects.filter(incident=doing.incident, owner=None if shared else doing.room.user)
        before = own.first()
        if (before.lanes if before else {}) == checked:
            return before
        if checked:
            kept, _ = Layout.objects.update_or_create(
                incident=doing.incident,
                owner=None if shared else doing.room.user,
                defaults={"lanes": checked, "kept_by": doing.room.user},
            )
        else:
            own.delete()
            kept = None
        doing.record("kept" if checked else "forgot", "lanes for the room" if shared else "own lanes")
        if shared:
            doing.tell("layout")
        return kept


def _checked(lanes: Lanes) -> dict[str, dict[str, list[str]]]:
    if len(json.dumps(lanes)) > MOST:
        raise Refused("That are more lanes than can be kept.", 413)
    checked: dict[str, dict[str, list[str]]] = {}
    for frame, choice in lanes.items():
        if not isinstance(choice, Mapping) or not set(choice) <= _LISTS:
            raise Refused("A choice of lanes has the lists add, hide, pin and order.")
        for names in choice.values():
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise Refused("A choice of lanes has lists of names.")
        filled = {kind: list(names) for kind, names in choice.items() if names}
        if filled:
            checked[str(frame)] = filled
    return checked


def mark_bad(room: Room, clock: str, start: float, end: float, fields: Mapping[str, Any]) -> Incident:
    """Mark a time range of a clock as the symptom, with what is known of it (`symptom_text`, `_bad`, `_unit`)."""
    if not (math.isfinite(start) and math.isfinite(end) and start < end) or not clock:
        raise Refused("A bad range needs a clock, a beginning and a later end.")
    said = {name: value for name, value in fields.items() if value not in (None, "")}
    return rooms.edit(room, {"symptom_clock": clock, "symptom_from": start, "symptom_to": end} | said)


def unmark_bad(room: Room) -> Incident:
    """Remove the marked time range; the description of the symptom stays, since it has a separate form."""
    return rooms.edit(room, dict.fromkeys(sorted(rooms.RANGE)))

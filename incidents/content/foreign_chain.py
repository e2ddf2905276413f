"""The activity record of a room in a bundle: rows with their chain of hashes, checked again where it arrives."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from incidents.errors import Refused
from incidents.models.room.activity import Activity, chained
from incidents.models.room.incident import Incident, RoomCounter

#: Details of a row that do not leave the site. A row without them keeps its hash, which then proves its place only.
PRIVATE = frozenset({"email"})
_FIELDS = {
    "seq": int,
    "at": str,
    "actor": str,
    "verb": str,
    "object": str,
    "detail": dict,
    "previous": str,
    "hash": str,
}


@dataclass(frozen=True)
class Chain:
    """What a check found. `broken` is the first row that is not as it was written; `shortened` rows lack an address."""

    rows: int
    shortened: int
    broken: int | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def document(incident: Incident) -> dict[str, Any]:
    """Return the room's record as JSON, inside a transaction that holds the room's lock."""
    counter = RoomCounter.lock(incident.pk)
    rows = [_row(row) for row in Activity.objects.filter(incident=incident).order_by("seq").iterator()]
    return {"room": incident.pk, "head": counter.activity_head, "rows": rows}


def _row(row: Activity) -> dict[str, Any]:
    private = sorted(PRIVATE & {name for name, value in row.detail.items() if value})
    return {
        "seq": row.seq,
        "at": row.at.isoformat(),
        "actor_id": row.actor_id,
        "actor": row.actor_name,
        "verb": row.verb,
        "object": row.object,
        "detail": {name: value for name, value in row.detail.items() if name not in private},
        "previous": row.previous,
        "hash": row.hash,
        **({"without": private} if private else {}),
    }


def checked(told: Any) -> tuple[list[dict[str, Any]], Chain]:
    """Return the rows of such a document and the result of checking their chain. Raises `Refused` if malformed."""
    try:
        room, head, rows = told["room"], told["head"], told["rows"]
        fit = isinstance(room, int) and isinstance(head, str) and all(_fits(row) for row in rows)
    except (KeyError, TypeError) as error:
        raise Refused("The activity record in this bundle is not complete.", 422) from error
    if not fit:
        raise Refused("The activity record in this bundle is not complete.", 422)
    shortened = sum(bool(row.get("without")) for row in rows)
    return rows, Chain(len(rows), shortened, _first_broken(room, head, rows))


def _fits(row: Any) -> bool:
    actor = row.get("actor_id")
    return (actor is None or isinstance(actor, int)) and all(
        isinstance(row.get(name), kind) for name, kind in _FIELDS.items()
    )


def _first_broken(room: int, head: str, rows: list[dict[str, Any]]) -> int | None:
    previous = ""
    for place, row in enumerate(rows, start=1):
        fields = [room, row["seq"], row["at"], row["actor_id"], row["actor"], row["verb"], row["object"], row["detail"]]
        intact = row["seq"] == place and row["previous"] == previous
        if not intact or (not row.get("without") and row["hash"] != chained(previous, *fields)):
            return place
        previous = row["hash"]
    return None if head == previous else len(rows) + 1

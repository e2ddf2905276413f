"""Lift masks of secrets, one at a time and with a reason, and put them back."""

from __future__ import annotations

from incidents.access import Right, Room
from incidents.actions.artifacts import artifact_in, bump
from incidents.actions.record import deed
from incidents.errors import Refused
from incidents.models.evidence.artifact import LiftedMask
from incidents.storage import store

LONGEST_REASON = 2000  # characters


def lift(room: Room, number: int, line: int, place: tuple[int, int], reason: str) -> LiftedMask:
    """Show the text behind one mask to the room's members on the Lines page; record who lifted it, why and where."""
    reason = reason.strip()
    if not 0 < len(reason) <= LONGEST_REASON:
        raise Refused("Say in a few words why this must be seen.")
    with deed(room, Right.UNMASK) as doing:
        artifact = artifact_in(doing, number)
        reader = store.lines_of(artifact)
        shown = reader.lines(line, line) if reader is not None else []
        mask = next((mask for found in shown for mask in found.masks if mask.place == place), None)
        if mask is None:
            raise Refused("There is no such mask on this line.", 404)
        if artifact.lifted_masks.filter(line=line, begin=place[0], end=place[1]).exists():
            raise Refused("This mask is lifted already.", 409)
        lifted = LiftedMask.objects.create(
            artifact=artifact,
            sha256=artifact.sha256,
            line=line,
            begin=place[0],
            end=place[1],
            kind=mask.kind,
            reason=reason,
            lifted_by=doing.room.user,
        )
        doing.record(
            "lifted a mask",
            f"artifact {number}",
            sha256=artifact.sha256,
            line=line,
            characters=list(place),
            kind=mask.kind,
            reason=reason,
        )
        bump(doing, artifact)
        return lifted


def put_back(room: Room, number: int, line: int, place: tuple[int, int]) -> None:
    with deed(room, Right.UNMASK) as doing:
        artifact = artifact_in(doing, number)
        if not artifact.lifted_masks.filter(line=line, begin=place[0], end=place[1]).delete()[0]:
            raise Refused("This mask is not lifted.", 404)
        doing.record("put a mask back", f"artifact {number}", sha256=artifact.sha256, line=line, characters=list(place))
        bump(doing, artifact)

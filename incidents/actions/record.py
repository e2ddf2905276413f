"""The transaction of every action: lock the room, check the right again, write the activity record and the event."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from incidents import tasks
from incidents.access import Right, Room, again
from incidents.errors import Refused
from incidents.models.room.activity import Activity
from incidents.models.room.incident import Incident, RoomCounter
from incidents.models.room.job import Job, Queue
from incidents.storage import live


@dataclass(frozen=True)
class Deed:
    """One action under way, for writing its record and events. `room` is the room as it is now, under the lock."""

    room: Room

    def record(self, verb: str, object: str | int = "", **detail: Any) -> None:
        room = self.room
        Activity.objects.append(room.incident.pk, room.user.pk, room.actor_name, verb, str(object), **detail)

    def tell(self, kind: str, object: str | int = "", version: int = 1) -> None:
        if live.tell(self.room.incident.pk, kind, object, version).leaves:
            tasks.hint_hooks_on_commit()

    def require_no_hold(self) -> None:
        """Raise `Refused` if a legal hold keeps everything of the room."""
        if self.incident.held:
            raise Refused(
                "A legal hold is on this room: nothing of it can be deleted until it is lifted, on the page Keeping.",
                409,
            )

    def rejudge(self) -> None:
        """Have the room judged again, since what the rules see has changed."""
        Job.objects.ask_judge(self.room.incident.pk)
        tasks.hint_on_commit(Queue.JUDGE)

    @property
    def incident(self) -> Incident:
        return self.room.incident


@contextmanager
def deed(room: Room, right: Right) -> Iterator[Deed]:
    """Open the transaction of one action. The room's lock serializes the actions of one room."""
    with transaction.atomic():
        RoomCounter.lock(room.incident.pk)
        now = again(room)
        now.require(right)
        yield Deed(now)

"""Create evidence requests, withdraw and reopen them, and name the artifacts that answer them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils import timezone

from incidents import tasks
from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.errors import NotAllowed, Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.evidence.request import EvidenceRequest, RequestAnswer, RequestState
from incidents.models.people.notification import Told
from incidents.work import arrivals
from rules.collecting.costs import NoCost, cost_of

TYPED = frozenset(
    ("what", "command", "decides", "who", "host", "os", "os_release", "symptom", "due_at", "asked_of", "worth")
)
FROM_ASK = frozenset(("rule", "ask_id", "tables"))  # fields taken from an entry of the report
_TEXTS = ("what", "command", "decides", "who", "host", "os", "os_release", "symptom", "rule", "ask_id")
LONGEST = 20_000  # characters of one text
NOBODY_KNOWS = (
    "Nobody wrote down what this command costs: before you run it on a production host, ask somebody who knows it, "
    "and see that it ends by itself."
)


def cost_in_words(command: str) -> str:
    """Return a sentence on what a command costs a production host, or that nobody has described its cost."""
    if not command.strip():
        return ""
    try:
        return cost_of(command).sentence
    except NoCost as unknown:
        ends = "until somebody stops it" in str(unknown)
        return f"Careful: {unknown}. Give it an end." if ends else NOBODY_KNOWS


def put(
    room: Room, said: Mapping[str, Any], id: int | None = None, client_id: uuid.UUID | None = None
) -> EvidenceRequest:
    """Create or change an evidence request. A newly asked member is notified; a form sent twice is stored once."""
    unknown = set(said) - TYPED - FROM_ASK
    if unknown:
        raise Refused(f"There is nothing called {min(unknown)} to say about a request.")
    with deed(room, Right.PLAN) as doing:
        if id is None and client_id is not None:
            before = doing.incident.requests.filter(asked_by=doing.room.user, client_id=client_id).first()
            if before is not None:
                return before
        new = EvidenceRequest(incident=doing.incident, asked_by=doing.room.user, client_id=client_id)
        row = _request(doing, id) if id else new
        if id and not row.open:
            raise Refused("This request is not open any more: open it again first.", 409)
        asked_before = row.asked_of_id
        for name, value in said.items():
            _set(row, name, value)
        if not row.what:
            raise Refused("Say what is needed.")
        if row.asked_of_id is not None and row.asked_of_id != asked_before:
            members = doing.incident.memberships.filter(user=row.asked_of_id, user__is_active=True)
            if not members.exists():
                raise Refused("Whoever is asked must be a member of the room; for others, make a link.")
        row.cost = cost_in_words(row.command)
        row.version = row.version + 1 if id else 1
        row.save()
        doing.record("changed" if id else "asked for", f"request {row.pk}", what=row.what[:200], rule=row.rule or None)
        _told(doing, row)
        if row.asked_of_id is not None and row.asked_of_id != asked_before:
            arrivals.tell(row, row.asked_of_id, Told.COLLECT, doing.room.user.pk, mailed=True)
            tasks.hint_on_commit(tasks.MAILS)
        return row


def put_once(room: Room, ask_id: str, said: Mapping[str, Any]) -> EvidenceRequest:
    """Create the request for an ask of the report, unless an open one exists; two people at once create one."""
    with deed(room, Right.PLAN) as doing:
        standing = doing.incident.requests.filter(ask_id=ask_id).exclude(state=RequestState.WITHDRAWN).last()
        return standing or put(room, said)


def withdraw(room: Room, id: int) -> EvidenceRequest:
    """Withdraw a request; its links stop working until `reopen`. Askers may withdraw their requests, leads all."""
    with deed(room, Right.PLAN) as doing:
        row = _request(doing, id)
        _own(doing, row)
        if not row.open:
            raise Refused("This request is not open any more.", 409)
        _settle(doing, row, RequestState.WITHDRAWN, "took back")
        return row


def reopen(room: Room, id: int) -> EvidenceRequest:
    """Reopen a request that was withdrawn, has expired, or got the wrong answer."""
    with deed(room, Right.PLAN) as doing:
        row = _request(doing, id)
        _own(doing, row)
        if row.open:
            return row
        row.state, row.settled_at, row.settled_by = RequestState.OPEN, None, None
        row.changed, row.changed_at = None, None
        row.version += 1
        row.save()
        doing.record("opened again", f"request {id}")
        _told(doing, row)
        return row


def answer(room: Room, id: int, numbers: Iterable[int]) -> EvidenceRequest:
    """Name artifacts of the room that answer a request: it is closed, and the next judgement says what they changed."""
    with deed(room, Right.UPLOAD) as doing:
        row = _request(doing, id)
        wanted = set(numbers)
        there = doing.incident.artifacts.filter(number__in=wanted).exclude(state=ArtifactState.PURGED)
        artifacts = list(there)
        if not wanted or len(artifacts) != len(wanted):
            raise Refused("There is no such artifact.", 404)
        close_with(doing, row, artifacts)
        return row


def close_with(doing: Deed, row: EvidenceRequest, artifacts: Iterable[Artifact]) -> None:
    """Store the answering artifacts, close the request if it is open, and notify the asker. Call it inside a deed."""
    if row.state == RequestState.WITHDRAWN:
        raise Refused("This request was taken back.", 409)
    new = False
    for artifact in artifacts:
        _, made = RequestAnswer.objects.update_or_create(
            request=row,
            artifact=artifact,
            defaults={"taken": True},
            create_defaults={"taken": True, "by": doing.room.user},
        )
        new = new or made
    if not new and row.state == RequestState.ANSWERED:
        return
    row.changed, row.changed_at = None, None
    numbers = sorted(artifact.number for artifact in artifacts)
    _settle(doing, row, RequestState.ANSWERED, "answered", artifacts=numbers)
    arrivals.tell(row, row.asked_by_id, Told.BROUGHT, doing.room.user.pk)
    doing.rejudge()


def decline(room: Room, id: int, number: int) -> EvidenceRequest:
    """Reject a proposed artifact as an answer: it is not proposed again."""
    with deed(room, Right.PLAN) as doing:
        row = _request(doing, id)
        artifact = doing.incident.artifacts.filter(number=number).first()
        if artifact is None:
            raise Refused("There is no such artifact.", 404)
        RequestAnswer.objects.get_or_create(
            request=row, artifact=artifact, defaults={"taken": False, "by": doing.room.user}
        )
        doing.record("declined", f"request {id}", artifact=number)
        _told(doing, row)
        return row


# --- shared by all ------------------------------------------------------------------------------------------------


def _request(doing: Deed, id: int) -> EvidenceRequest:
    row = doing.incident.requests.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such request.", 404)
    row.incident = doing.incident
    return row


def _own(doing: Deed, row: EvidenceRequest) -> None:
    if row.asked_by_id != doing.room.user.pk and not doing.room.may(Right.PEOPLE):
        raise NotAllowed("who asked, or a lead,")


def _set(row: EvidenceRequest, name: str, value: Any) -> None:
    if name == "asked_of":
        row.asked_of_id = value
    elif name in _TEXTS:
        text = (value or "").strip()
        if len(text) > LONGEST:
            raise Refused("This text is too long.")
        setattr(row, name, text)
    elif name == "worth":
        row.worth = float(value or 0)
    else:
        setattr(row, name, value)


def _settle(doing: Deed, row: EvidenceRequest, state: RequestState, verb: str, **detail: Any) -> None:
    row.state, row.settled_at, row.settled_by = state, timezone.now(), doing.room.user
    row.version += 1
    row.save()
    doing.record(verb, f"request {row.pk}", **detail)
    _told(doing, row)


def _told(doing: Deed, row: EvidenceRequest) -> None:
    doing.tell("request", row.pk, row.version)

"""What people plan and do: decisions, actions, entries of the log, the review and its follow-ups; the summary of it all."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router, Status
from pydantic import Field

from incidents.access import Right, Room
from incidents.actions import plan as actions
from incidents.actions import review as reviews
from incidents.actions import rows
from incidents.content.names import known_as
from incidents.content.summary import content, gathering
from incidents.doors.rest.api import entered
from incidents.doors.rest.limits import Body, Id, Moment, bounded
from incidents.doors.rest.once import once
from incidents.doors.rest.paging import Page, Paging, paged
from incidents.doors.rest.shapes import (
    ActionShape,
    DecisionShape,
    EntryShape,
    FollowUpShape,
    ReviewShape,
    SummaryShape,
)
from incidents.errors import Refused
from incidents.models.plan.action import Action, ActionState
from incidents.models.plan.decision import Decision
from incidents.models.plan.entry import Entry, EntryKind
from incidents.models.plan.review import FollowUp, Review

router = Router(tags=["plan"])

#: Maximum number of things that one action changed.
MOST_CHANGES = 50
#: The user name of a member.
Member = Annotated[str, Field(max_length=150, description="The user name of a member.")]
#: Names of members in what programs send that hold a person.
PEOPLE = ("asked_of", "decided_by", "owner", "who")


def _text(model: Any, column: str, default: Any = ...) -> Any:
    return bounded(model, column, default, rows.LONGEST)


def _values(room: Room, said: Body) -> dict[str, Any]:
    """Return what was sent as actions take it: people by id, the key of a finding by its column."""
    values = said.model_dump(exclude_unset=True)
    for name in set(PEOPLE) & set(values):
        values[name] = _member(room, values[name]) if values[name] is not None else None
    if "finding" in values:
        values["finding_key"] = values.pop("finding")
    return values


def _member(room: Room, name: str) -> int:
    found = room.incident.memberships.filter(user__username=name).values_list("user_id", flat=True).first()
    if found is None:
        raise Refused("No member of the room has this user name.", 422)
    return int(found)


def _person(user: User | None) -> str | None:
    return known_as(user) if user is not None else None


def _signed(row: Any) -> dict[str, Any]:
    return {
        "id": row.pk,
        "author": known_as(row.author),
        "created_at": row.created_at,
        "edited_at": row.edited_at,
        "deleted": row.deleted_at is not None,
    }


def _there(found: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    return found.filter(deleted_at__isnull=True)


# --- decisions --------------------------------------------------------------------------------------------------------


class NewDecision(Body):
    """A question with the time by which its answer is needed; with an `outcome` it is decided."""

    question: str | None = _text(Decision, "question", None)
    needed_by: Moment | None = None
    asked_of: Member | None = None
    finding: str | None = bounded(Decision, "finding_key", None)
    outcome: str | None = _text(Decision, "outcome", None)
    decided_by: Member | None = None
    decided_at: Moment | None = None


@router.get("/rooms/{slug}/decisions", response=Page[DecisionShape], summary="List decisions")
def list_decisions(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """Decisions that are asked for or were taken, in the order in which they were written."""
    return paged(_there(_decisions(entered(request, slug))).order_by("id"), asked, _decision_of)


@router.post("/rooms/{slug}/decisions", response={201: DecisionShape}, summary="Ask for a decision")
@once
def ask_for_decision(request: HttpRequest, slug: str, said: NewDecision, response: HttpResponse) -> Status[Any]:
    """Ask for a decision, or write down one that was taken."""
    room = entered(request, slug, Right.PLAN)
    return Status(201, _decision(room, actions.put_decision(room, _values(room, said)).pk))


@router.patch("/rooms/{slug}/decisions/{id}", response=DecisionShape, summary="Change a decision")
@once
def change_decision(
    request: HttpRequest, slug: str, id: Path[Id], said: NewDecision, response: HttpResponse
) -> Status[Any]:
    """Change a decision; an `outcome` decides it. What is left out stays."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _decision(room, actions.put_decision(room, _values(room, said), id).pk))


@router.delete("/rooms/{slug}/decisions/{id}", response=DecisionShape, summary="Delete a decision")
@once
def delete_decision(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Delete one's own decision; it can be restored."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _decision(room, actions.delete_decision(room, id).pk))


@router.post("/rooms/{slug}/decisions/{id}/restore", response=DecisionShape, summary="Restore a decision")
@once
def restore_decision(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Bring a deleted decision back."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _decision(room, actions.restore_decision(room, id).pk))


def _decisions(room: Room) -> QuerySet[Decision]:
    return room.incident.decisions.select_related("author", "asked_of", "decided_by")


def _decision(room: Room, id: int) -> dict[str, Any]:
    return _decision_of(_decisions(room).get(pk=id))


def _decision_of(row: Decision) -> dict[str, Any]:
    return _signed(row) | {
        "question": row.question,
        "needed_by": row.needed_by,
        "asked_of": _person(row.asked_of),
        "finding": row.finding_key,
        "outcome": row.outcome,
        "decided_by": _person(row.decided_by),
        "decided_at": row.decided_at,
    }


# --- actions ----------------------------------------------------------------------------------------------------------


class ActionFields(Body):
    owner: Member | None = None
    due_at: Moment | None = None
    finding: str | None = bounded(Action, "finding_key", None)
    decision: Id | None = None
    expected: str | None = _text(Action, "expected", None)


class NewAction(ActionFields):
    """What somebody shall do; everything but `text` may be left out."""

    text: str = _text(Action, "text")


class ChangedAction(ActionFields):
    """What changes; what is left out stays. An action is done by `finish`."""

    text: str | None = _text(Action, "text", None)
    state: ActionState | None = None


class Finish(Body):
    """When an action was done (default: now), and what it changed, which becomes a marker of the case."""

    at: Moment | None = None
    changed: list[Annotated[str, Field(max_length=300)]] = Field(default_factory=list, max_length=MOST_CHANGES)


@router.get("/rooms/{slug}/actions", response=Page[ActionShape], summary="List actions")
def list_actions(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """Actions in every state, in the order in which they were planned."""
    return paged(_there(_actions(entered(request, slug))).order_by("id"), asked, _action_of)


@router.post("/rooms/{slug}/actions", response={201: ActionShape}, summary="Plan an action")
@once
def plan_action(request: HttpRequest, slug: str, said: NewAction, response: HttpResponse) -> Status[Any]:
    """Plan an action."""
    room = entered(request, slug, Right.PLAN)
    return Status(201, _action(room, actions.put_action(room, _values(room, said)).pk))


@router.patch("/rooms/{slug}/actions/{id}", response=ActionShape, summary="Change an action")
@once
def change_action(
    request: HttpRequest, slug: str, id: Path[Id], said: ChangedAction, response: HttpResponse
) -> Status[Any]:
    """Change an action, begin it, drop it, or open it again."""
    room = entered(request, slug, Right.PLAN)
    values = _values(room, said)
    if values.get("state", "") is None:
        del values["state"]
    return Status(200, _action(room, actions.put_action(room, values, id).pk))


@router.post("/rooms/{slug}/actions/{id}/finish", response=ActionShape, summary="Finish an action")
@once
def finish_action(request: HttpRequest, slug: str, id: Path[Id], said: Finish, response: HttpResponse) -> Status[Any]:
    """Mark an action as done. What it changed is a marker of the case, so the room is judged again."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _action(room, actions.finish_action(room, id, said.at, said.changed).pk))


@router.delete("/rooms/{slug}/actions/{id}", response=ActionShape, summary="Delete an action")
@once
def delete_action(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Delete one's own action; it can be restored."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _action(room, actions.delete_action(room, id).pk))


@router.post("/rooms/{slug}/actions/{id}/restore", response=ActionShape, summary="Restore an action")
@once
def restore_action(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Bring a deleted action back."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _action(room, actions.restore_action(room, id).pk))


def _actions(room: Room) -> QuerySet[Action]:
    return room.incident.actions.select_related("author", "owner", "done_by")


def _action(room: Room, id: int) -> dict[str, Any]:
    return _action_of(_actions(room).get(pk=id))


def _action_of(row: Action) -> dict[str, Any]:
    same = ("text", "due_at", "state", "expected", "done_at")
    return (
        _signed(row)
        | {name: getattr(row, name) for name in same}
        | {
            "owner": _person(row.owner),
            "finding": row.finding_key,
            "decision": row.decision_id,
            "done_by": _person(row.done_by),
        }
    )


# --- the log ----------------------------------------------------------------------------------------------------------


class EntryFields(Body):
    at: Moment | None = None
    who: Member | None = None


class NewEntry(EntryFields):
    """What somebody did, by default the caller, and now. A change becomes a marker of the case."""

    kind: EntryKind
    text: str = _text(Entry, "text")


class ChangedEntry(EntryFields):
    """What changes; what is left out stays."""

    kind: EntryKind | None = None
    text: str | None = _text(Entry, "text", None)


@router.post("/rooms/{slug}/log/entries", response={201: EntryShape}, summary="Write an entry of the log")
@once
def write_entry(request: HttpRequest, slug: str, said: NewEntry, response: HttpResponse) -> Status[Any]:
    """Write down what somebody did."""
    room = entered(request, slug, Right.PLAN)
    return Status(201, _entry(room, actions.put_entry(room, _values(room, said)).pk))


@router.patch("/rooms/{slug}/log/entries/{id}", response=EntryShape, summary="Change an entry of the log")
@once
def change_entry(
    request: HttpRequest, slug: str, id: Path[Id], said: ChangedEntry, response: HttpResponse
) -> Status[Any]:
    """Correct an entry; its marker moves with it."""
    room = entered(request, slug, Right.PLAN)
    values = {name: value for name, value in _values(room, said).items() if value is not None}
    return Status(200, _entry(room, actions.put_entry(room, values, id).pk))


@router.delete("/rooms/{slug}/log/entries/{id}", response=EntryShape, summary="Delete an entry of the log")
@once
def delete_entry(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Delete one's own entry, with its marker; it can be restored."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _entry(room, actions.delete_entry(room, id).pk))


@router.post("/rooms/{slug}/log/entries/{id}/restore", response=EntryShape, summary="Restore an entry of the log")
@once
def restore_entry(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Bring a deleted entry back."""
    room = entered(request, slug, Right.PLAN)
    return Status(200, _entry(room, actions.restore_entry(room, id).pk))


def _entry(room: Room, id: int) -> dict[str, Any]:
    row = room.incident.entries.select_related("author", "who").get(pk=id)
    return _signed(row) | {"kind": row.kind, "at": row.at, "text": row.text, "who": known_as(row.who)}


# --- the review -------------------------------------------------------------------------------------------------------


class ReviewTexts(Body):
    """Texts of the review; what is left out stays."""

    surprised: str | None = _text(Review, "surprised", None)
    helped: str | None = _text(Review, "helped", None)
    hindered: str | None = _text(Review, "hindered", None)


class FollowUpFields(Body):
    owner: Member | None = None
    due_on: date | None = None


class NewFollowUp(FollowUpFields):
    """What is to be done after the incident, by whom, by which day."""

    text: str = _text(FollowUp, "text")


class ChangedFollowUp(FollowUpFields):
    """What changes; what is left out stays. `done` marks it as done, or as not done after all."""

    text: str | None = _text(FollowUp, "text", None)
    done: bool | None = None


@router.get("/rooms/{slug}/review", response=ReviewShape, summary="Read the review")
def read_review(request: HttpRequest, slug: str) -> dict[str, Any]:
    """What surprised, helped and hindered, in the words of the room."""
    return _review(entered(request, slug))


@router.patch("/rooms/{slug}/review", response=ReviewShape, summary="Write the review")
@once
def write_review(request: HttpRequest, slug: str, said: ReviewTexts, response: HttpResponse) -> Status[Any]:
    """Write texts of the review, also after the room was closed."""
    room = entered(request, slug, Right.REVIEW)
    reviews.put(room, said.model_dump(exclude_unset=True))
    return Status(200, _review(room))


@router.get("/rooms/{slug}/follow-ups", response=Page[FollowUpShape], summary="List follow-ups")
def list_follow_ups(request: HttpRequest, slug: str, asked: Query[Paging]) -> dict[str, Any]:
    """Follow-ups of the review, in the order in which they were written."""
    return paged(_there(_follow_ups(entered(request, slug))).order_by("id"), asked, _follow_up_of)


@router.post("/rooms/{slug}/follow-ups", response={201: FollowUpShape}, summary="Add a follow-up")
@once
def add_follow_up(request: HttpRequest, slug: str, said: NewFollowUp, response: HttpResponse) -> Status[Any]:
    """Add a follow-up."""
    room = entered(request, slug, Right.REVIEW)
    return Status(201, _follow_up(room, reviews.put_follow_up(room, _values(room, said)).pk))


@router.patch("/rooms/{slug}/follow-ups/{id}", response=FollowUpShape, summary="Change a follow-up")
@once
def change_follow_up(
    request: HttpRequest, slug: str, id: Path[Id], said: ChangedFollowUp, response: HttpResponse
) -> Status[Any]:
    """Change a follow-up, or mark it as done."""
    room = entered(request, slug, Right.REVIEW)
    values = _values(room, said)
    done = values.pop("done", None)
    row = reviews.put_follow_up(room, values, id)
    if done is not None:
        reviews.set_done(room, id, done)
    return Status(200, _follow_up(room, row.pk))


@router.delete("/rooms/{slug}/follow-ups/{id}", response=FollowUpShape, summary="Delete a follow-up")
@once
def delete_follow_up(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Delete one's own follow-up; it can be restored."""
    room = entered(request, slug, Right.REVIEW)
    return Status(200, _follow_up(room, reviews.delete_follow_up(room, id).pk))


@router.post("/rooms/{slug}/follow-ups/{id}/restore", response=FollowUpShape, summary="Restore a follow-up")
@once
def restore_follow_up(request: HttpRequest, slug: str, id: Path[Id], response: HttpResponse) -> Status[Any]:
    """Bring a deleted follow-up back."""
    room = entered(request, slug, Right.REVIEW)
    return Status(200, _follow_up(room, reviews.restore_follow_up(room, id).pk))


def _review(room: Room) -> dict[str, Any]:
    row = Review.objects.filter(incident=room.incident).select_related("edited_by").first()
    return reviews.values_of(room.incident) | {
        "edited_by": _person(row.edited_by) if row else None,
        "edited_at": row.edited_at if row else None,
    }


def _follow_ups(room: Room) -> QuerySet[FollowUp]:
    return room.incident.follow_ups.select_related("author", "owner", "done_by")


def _follow_up(room: Room, id: int) -> dict[str, Any]:
    return _follow_up_of(_follow_ups(room).get(pk=id))


def _follow_up_of(row: FollowUp) -> dict[str, Any]:
    return _signed(row) | {
        "text": row.text,
        "owner": _person(row.owner),
        "due_on": row.due_on,
        "done_at": row.done_at,
        "done_by": _person(row.done_by),
    }


# --- the summary ------------------------------------------------------------------------------------------------------


@router.get("/rooms/{slug}/summary", response=SummaryShape, summary="Read the summary")
def read_summary(request: HttpRequest, slug: str) -> dict[str, Any]:
    """The page for managers as it reads now: sections of sentences, each with the numbers of the lines it rests on."""
    gathered = gathering.gather(entered(request, slug).incident)
    return {
        "evaluation": gathered.evaluation.number if gathered.evaluation else None,
        "digest": content.digest(gathered.content),
        "content": gathered.content,
    }

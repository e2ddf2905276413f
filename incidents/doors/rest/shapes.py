"""What the API answers with. Times are UTC; a person is named as pages name them; unknown is null.

Findings, observations and verdicts are those of the room's report: docs/cli.md explains each of their members.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from ninja import Schema
from pydantic import Field

Json = dict[str, Any]


class RoomVerdict(Schema):
    """What a list of rooms says of the newest judgement."""

    state: str
    sentence: str
    layer: str | None
    severity: str | None
    judged_at: datetime


class RoomShape(Schema):
    """A room. `severity` is what people say of the incident, from 1 (work has stopped) to 4."""

    slug: str
    title: str
    status: str = Field(description="open, mitigated, resolved or closed")
    severity: int | None
    archived: bool
    opened_at: datetime
    closed_at: datetime | None
    closing: bool = Field(description="A lead closes it as soon as what is under way is through.")
    verdict: RoomVerdict | None


class Symptom(Schema):
    """What is slow, as people say."""

    text: str | None
    unit: str | None
    bad: float | None
    normal: float | None
    since: datetime | None
    ongoing: bool | None
    affected: str | None
    measured_how: str | None
    last_change: str | None


class RoomWhole(RoomShape):
    """One room, with what the caller may do in it."""

    symptom: Symptom
    busy: bool = Field(description="Files are read or the room is judged, or it waits for that.")
    role: str | None
    may: list[str] = Field(description="Rights that hold for the caller now; a token has fewer than its owner.")


class ArtifactShape(Schema):
    """An artifact. `lines`, `kind` and `account` are those of the reading in use."""

    number: int
    name: str
    size: int
    sha256: str
    way: str
    uploader: str
    received_at: datetime
    state: str = Field(description="received, queued, reading, read, unpacked, failed, stopped or purged")
    cause: str | None
    kind: str | None
    variant: str | None
    lines: int | None
    lines_read: int | None
    account: dict[str, int] | None
    purged_at: datetime | None


class Line(Schema):
    """A line of an artifact; what is secret in it is masked."""

    line: int
    text: str


class Lines(Schema):
    """Lines of an artifact, from the first asked for; `count` is the number of all."""

    artifact: int
    count: int
    lines: list[Line]


class FindingShape(Schema):
    """A finding. `content` is its object in the report, with its citations and their lines."""

    key: str
    rule: str
    kind: str
    group: str
    rank: int
    version: int | None
    first_seen: datetime
    gone_since: datetime | None
    disputed: bool
    content: Json


class VerdictShape(Schema):
    """The verdict of the newest accepted evaluation, as the report has it."""

    evaluation: int
    made_at: datetime
    verdict: Json
    hypotheses: list[Json]
    cleared: list[Json]
    asks: list[Json]
    disputed: list[str] = Field(description="Keys of the findings that are under dispute.")


class TimelineRow(Schema):
    """A row of a lane, with times on the axis of its frame and the lines that it was read from."""

    lane: str | None
    clock: str | None
    host: str | None
    artifact: int | None
    strip: str | None
    begin_s: float | None
    end_s: float | None
    length_s: float | None
    label: str | None
    at_most: bool | None
    value: float | None
    unit: str | None
    line_from: int | None
    line_to: int | None


class FrameShape(Schema):
    """Clocks that lie on one axis. `zero` is what to add to a time to get seconds since 1970, if `dated`."""

    frame: str
    title: str
    axis: str
    begin_s: float
    end_s: float
    zero: float | None
    dated: bool
    clocks: list[str]


class AnnotationShape(Schema):
    """An annotation of Grafana. A moment has the same `time` and `timeEnd`: milliseconds since 1970."""

    time: int
    timeEnd: int  # Grafana's own name
    title: str
    text: str
    tags: list[str] | str


class DoneShape(Schema):
    """One thing that people did: a decision, a change, an update given, a step, a status."""

    at: datetime
    kind: str
    text: str
    note: str
    who: str


class ReplyShape(Schema):
    id: int
    text: str
    author: str
    program: str | None = Field(description="The token that wrote it, null if the person did.")
    created_at: datetime
    edited_at: datetime | None


class NoteShape(ReplyShape):
    """A note with its replies, and what it is about. A deleted note with replies stays, without its text."""

    deleted: bool
    resolved_at: datetime | None
    finding: str | None
    artifact: int | None
    line_from: int | None
    line_to: int | None
    clock: str | None
    time_from: float | None
    time_to: float | None
    lane: str | None
    replies: list[ReplyShape]


class RequestShape(Schema):
    """An evidence request."""

    id: int
    what: str
    command: str
    cost: str
    decides: str
    who: str
    host: str
    os: str
    os_release: str
    rule: str
    worth: float
    state: str
    asked_by: str
    asked_of: str | None
    created_at: datetime
    due_at: datetime | None
    settled_at: datetime | None
    answers: list[int] = Field(description="Numbers of the artifacts that answer it.")


class Signed(Schema):
    """What the rows of the plan have in common. A deleted one can be restored."""

    id: int
    author: str
    created_at: datetime
    edited_at: datetime | None
    deleted: bool


class DecisionShape(Signed):
    """A decision: asked for while `outcome` is null, then taken."""

    question: str
    needed_by: datetime | None
    asked_of: str | None
    finding: str | None
    outcome: str | None
    decided_by: str | None
    decided_at: datetime | None


class ActionShape(Signed):
    """An action. `expected` says how to see that it helped."""

    text: str
    owner: str | None
    due_at: datetime | None
    state: str = Field(description="open, doing, done or dropped")
    finding: str | None
    decision: int | None
    expected: str | None
    done_at: datetime | None
    done_by: str | None


class EntryShape(Signed):
    """An entry of the log."""

    kind: str = Field(description="change, update or step")
    at: datetime
    text: str
    who: str


class ReviewShape(Schema):
    """The room's own words on how it went; null for a text that nobody wrote."""

    surprised: str | None
    helped: str | None
    hindered: str | None
    edited_by: str | None
    edited_at: datetime | None


class FollowUpShape(Signed):
    """Something to be done after the incident."""

    text: str
    owner: str | None
    due_on: date | None
    done_at: datetime | None
    done_by: str | None


class SummaryShape(Schema):
    """The summary. `content` has `sections` of `sentences`, whose `refs` are numbers of its `sources`, the cited lines.

    The same `digest` (SHA-256) means that it reads the same.
    """

    evaluation: int | None
    digest: str
    content: Json


class ActivityShape(Schema):
    """A row of the record. `hash` chains it to the row before."""

    seq: int
    at: datetime
    who: str
    verb: str
    object: str
    detail: Json
    hash: str


class Answered(Schema):
    """The answer of a query: rows as lists in the order of `columns`; `more` were not fetched."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    more: int
    seconds: float
    cut: list[str] = Field(description="Tables of which only the first rows were looked at.")
    without_rows: list[str]
    not_built: list[str]


class Error(Schema):
    where: str
    why: str


class Problem(Schema):
    """A refusal (RFC 9457): `detail` is for people, `errors` names values that do not fit."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[Error] | None = None

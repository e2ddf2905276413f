"""The rows of a room as JSON, for room bundles: what people said and decided, without ids, secrets and addresses.

`NOUNS` names each exported model, in the order in which rows need each other, and the columns of each that are not
exported; tests/incidents/content/test_room_rows.py compares it with the models, so that each new model or column is
decided on. People are names only. The reader trusts nothing in such a document: `Rows` checks each value as a form
would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from incidents.content.names import known_as
from incidents.errors import Refused
from incidents.models.evidence.archive import ArchiveMember
from incidents.models.evidence.artifact import Artifact, Correction
from incidents.models.evidence.reading import Part, Reading
from incidents.models.evidence.request import EvidenceRequest, RequestAnswer
from incidents.models.judging.argument import Argument
from incidents.models.judging.case import ClockOffset, Host, Marker, Phase, Statement
from incidents.models.judging.cause import FreeCause
from incidents.models.judging.query import SavedQuery
from incidents.models.judging.site_name import SiteName
from incidents.models.judging.threshold import Suppression, Threshold
from incidents.models.plan.action import Action
from incidents.models.plan.decision import Decision
from incidents.models.plan.entry import Entry
from incidents.models.plan.review import FollowUp, Review
from incidents.models.room.incident import Incident
from incidents.models.room.layout import Layout
from incidents.models.room.standing import Milestone
from incidents.models.words.note import Note, NoteVersion
from incidents.models.words.summary import SummaryText

Json = dict[str, Any]

#: Columns of the room itself that go along; its status, people and promises are those of the other site.
ROOM = (
    *("title", "symptom_text", "symptom_unit", "symptom_bad", "symptom_normal", "symptom_clock", "symptom_from"),
    *("symptom_to", "measured_how", "since", "ongoing", "affected", "last_change", "t_zero", "severity"),
)


@dataclass(frozen=True)
class Noun:
    """A model whose rows are exported. `room` is the look-up from a row to its room; `out` are columns left out."""

    model: type[models.Model]
    room: str = "incident"
    out: frozenset[str] = frozenset()
    rows: Q = field(default_factory=Q)

    @property
    def name(self) -> str:
        return self.model._meta.model_name or ""

    def columns(self) -> list[models.Field[Any, Any]]:
        left = self.out | {"id", "incident", "client_id"}
        return [column for column in self.model._meta.concrete_fields if column.name not in left]


def _out(*names: str) -> frozenset[str]:
    return frozenset(names)


#: Columns of an artifact that say how it came and stood at the other site; here it comes by the bundle.
_COMING = _out(
    "way", "uploader", "token", "received_at", "reading", "lines_read", "bytes_read", "version", "has_original"
)
_OF_ARTIFACT, _OF_NOTE = "artifact__incident", "note__incident"

NOUNS = (
    Noun(Host),
    Noun(Artifact, out=_COMING),
    Noun(ArchiveMember, "archive__incident"),
    Noun(Correction, _OF_ARTIFACT),
    Noun(Phase),
    Noun(Marker),
    Noun(Statement),
    Noun(ClockOffset),
    Noun(SiteName, rows=Q(removed_at__isnull=True)),
    Noun(FreeCause),
    Noun(Argument),
    Noun(Threshold),
    Noun(Suppression),
    Noun(Milestone),
    Noun(Note),
    Noun(NoteVersion, _OF_NOTE),
    Noun(Entry),
    Noun(Decision),
    Noun(Action),
    Noun(Review),
    Noun(FollowUp),
    Noun(EvidenceRequest),
    Noun(RequestAnswer, "request__incident"),
    Noun(SavedQuery, rows=Q(shared=True, deleted_at__isnull=True)),
    Noun(SummaryText, out=_out("machine")),
    Noun(Layout, rows=Q(owner__isnull=True)),
)
#: Rows of the readings in use: they go along with their tables, and not with originals, which are read again.
READ = (
    Noun(Reading, _OF_ARTIFACT, _out("number", "state"), Q(artifact__reading=models.F("pk"))),
    Noun(Part, "reading__artifact__incident", rows=Q(reading__artifact__reading=models.F("reading"))),
)
#: Models of a room that stay behind, and why.
LEFT_OUT = {
    "activity": "goes along as a document of its own, with its chain of hashes",
    "evaluation": "the last accepted report goes along as a document; the room is judged again",
    "finding": "judged again",
    "findingversion": "judged again",
    "observation": "judged again",
    "verdict": "judged again",
    "dispute": "goes along as a note on its finding: findings are only there once the room is judged again",
    "summaryversion": "frozen at the other site, with its evaluations",
    "sharelink": "a secret of the other site",
    "shareopening": "who opened a secret link",
    "uploadtoken": "a secret of the other site",
    "accesstoken": "a secret of the other site",
    "invitation": "a secret of the other site, and an address",
    "givelink": "a secret of the other site",
    "quarantinedfile": "nobody has taken it in",
    "upload": "not here yet",
    "webhook": "an address of the other site with a secret",
    "delivery": "sent to an address of the other site",
    "membership": "people of the other site",
    "duty": "people of the other site",
    "handover": "people of the other site",
    "notification": "of one person",
    "askedquery": "of one person",
    "liftedmask": "a lead's act at the other site",
    "event": "only for pages that are open",
    "job": "work of the other site",
    "roomcounter": "made anew",
    "export": "bundles of the other site",
    "origin": "where the other site had it from",
}


class Unfit(Refused):
    """A document of a bundle does not hold what it must."""

    status = 422


# --- out ----------------------------------------------------------------------------------------------------------


def document(incident: Incident, with_readings: bool) -> Json:
    """Return the room's rows as JSON; `with_readings` adds the rows of readings and their parts."""
    people: dict[int, int] = {}
    names: list[str] = []

    def person(user: User | None) -> int | None:
        if user is None:
            return None
        if user.pk not in people:
            people[user.pk] = len(names)
            names.append(known_as(user))
        return people[user.pk]

    taken: dict[type[models.Model], dict[int, int]] = {}
    rows: dict[str, list[Json]] = {}
    for noun in (*NOUNS, *(READ if with_readings else ())):
        rows[noun.name], taken[noun.model] = [], {}
        for row in _rows(noun, incident):
            told = _row(row, noun, person, taken)
            if told is not None:
                rows[noun.name].append(told)
                taken[noun.model][row.pk] = len(rows[noun.name])
    room = {name: _plain(incident, incident._meta.get_field(name)) for name in ROOM}
    disputes = [
        {
            "finding_key": dispute.finding.key,
            "author": person(dispute.author),
            "reason": dispute.reason,
            "created_at": dispute.created_at.isoformat(),
            "withdrawn": dispute.withdrawn_at is not None,
            "answer": dispute.answer,
            "answered_by": person(dispute.answered_by),
        }
        for dispute in incident.disputes.select_related("finding", "author", "answered_by")
    ]
    return {"room": room, "people": names, "rows": rows, "disputes": disputes}


def _rows(noun: Noun, incident: Incident) -> Iterable[models.Model]:
    found = noun.model._default_manager.filter(noun.rows, **{noun.room: incident}).order_by("pk")
    people = [column.name for column in noun.columns() if column.related_model is User]
    return found.select_related(*people) if people else found


def _row(
    row: models.Model,
    noun: Noun,
    person: Callable[[User | None], int | None],
    taken: Mapping[type[models.Model], Mapping[int, int]],
) -> Json | None:
    """Return one row as JSON; None if it refers to a row that is not exported."""
    told: Json = {}
    for column in noun.columns():
        if column.related_model is User:
            told[column.name] = person(getattr(row, column.name))
        elif column.is_relation:
            key = getattr(row, column.attname)
            told[column.name] = None if key is None else taken[column.related_model].get(key)  # type: ignore[index]  # never None here
            if key is not None and told[column.name] is None and not column.null:
                return None
        else:
            told[column.name] = _plain(row, column)
    return told


def _plain(row: models.Model, column: Any) -> Any:
    value = column.value_from_object(row)
    return value if value is None or isinstance(value, (bool, int, float, str, list, dict)) else value.isoformat()


# --- in -----------------------------------------------------------------------------------------------------------


class Rows:
    """The rows of such a document, checked: `room` are the values of the room's columns, `make` writes the rest."""

    def __init__(self, told: Any, with_readings: bool) -> None:
        try:
            people, rows, disputes = told["people"], told["rows"], told["disputes"]
            self.room = {name: _value(Incident, name, told["room"].get(name)) for name in ROOM}
        except Unfit as unfit:
            raise Unfit(f"The room's document in this bundle cannot be right: {unfit}.") from unfit
        except (KeyError, TypeError, AttributeError) as error:
            raise Unfit("The room's document in this bundle is not complete.") from error
        if not (_is_list_of(people, str) and isinstance(rows, dict) and _is_list_of(disputes, dict)):
            raise Unfit("The room's document in this bundle is not complete.")
        if not self.room["title"]:
            raise Unfit("The room in this bundle has no title.")
        self.people: list[str] = [name[:150] or "somebody" for name in people]
        self.nouns = (*NOUNS, *(READ if with_readings else ()))
        self.disputes: list[Json] = disputes
        self.rows: dict[str, list[Json]] = {}
        for noun in self.nouns:
            listed = rows.get(noun.name, [])
            if not _is_list_of(listed, dict):
                raise Unfit(f"The bundle's list of rows of {noun.name} is none.")
            self.rows[noun.name] = [_checked(noun, n, row) for n, row in enumerate(listed, start=1)]
        numbers = [row["number"] for row in self.rows["artifact"]]
        if len(set(numbers)) < len(numbers):
            raise Unfit("Two artifacts of this bundle have the same number.")

    def make(
        self,
        incident: Incident,
        person: Callable[[int], User],
        completed: Mapping[type[models.Model], Callable[[Json], Json]],
    ) -> dict[str, list[Any]]:
        """Write all rows into an empty room, inside a transaction. `person` makes the account that stands in for a name.

        `completed` gives the columns that were not exported, for models that need them. Returns the new rows, by noun.
        """
        made: dict[str, list[Any]] = {}
        by_model: dict[type[models.Model], list[Any]] = {}
        for noun in self.nouns:
            by_model[noun.model] = made[noun.name] = []
            for n, told in enumerate(self.rows[noun.name], start=1):
                values = self._resolved(noun, n, told, person, by_model)
                if noun.model in completed:
                    values |= completed[noun.model](values)
                if _has(noun.model, "incident"):
                    values["incident"] = incident
                row = noun.model(**values)
                row.save(force_insert=True)
                moments = {c.name: values[c.name] for c in noun.columns() if _stamps_itself(c) and c.name in values}
                if moments:
                    noun.model._default_manager.filter(pk=row.pk).update(**moments)
                made[noun.name].append(row)
        return made

    def _resolved(
        self,
        noun: Noun,
        n: int,
        told: Json,
        person: Callable[[int], User],
        made: Mapping[type[models.Model], Sequence[Any]],
    ) -> Json:
        values: Json = {}
        for column in noun.columns():
            value = told[column.name]
            if not column.is_relation or value is None:
                values[column.name] = value
            elif column.related_model is User:
                if not 0 <= value < len(self.people):
                    raise Unfit(f"Row {n} of {noun.name} names somebody who is not in the bundle.")
                values[column.name] = person(value)
            else:
                there = made[column.related_model]  # type: ignore[index]  # a noun's relations are nouns before it
                if not 1 <= value <= len(there):
                    raise Unfit(f"Row {n} of {noun.name} needs a row that is not in the bundle.")
                values[column.name] = there[value - 1]
        return values


def _checked(noun: Noun, n: int, told: Json) -> Json:
    try:
        values: Json = {}
        for column in noun.columns():
            value = told.get(column.name)
            if column.is_relation:
                if not (value is None and column.null) and (not isinstance(value, int) or isinstance(value, bool)):
                    raise Unfit("no row")
                values[column.name] = value
            else:
                values[column.name] = _value(noun.model, column.name, value)
    except Unfit as unfit:
        raise Unfit(f"Row {n} of {noun.name} in this bundle cannot be right: {column.name}.") from unfit
    return values


def _value(model: type[models.Model], name: str, value: Any) -> Any:
    """Convert a JSON value to the type of its column. Raises `Unfit` if the column cannot hold it."""
    column: Any = model._meta.get_field(name)
    if value is None:
        if not column.null:
            raise Unfit(name)
        return None
    if isinstance(column, models.JSONField):
        return _json(column, name, value)
    if not isinstance(value, (bool, int, float, str)) or (isinstance(value, str) and "\0" in value):
        raise Unfit(name)
    try:
        made = column.to_python(value)
        if made not in column.empty_values:
            column.validate(made, None)
            column.run_validators(made)
    except (ValidationError, ValueError, OverflowError) as error:
        raise Unfit(name) from error
    return made


#: Shapes of columns that hold JSON; those that are not named hold a list or an object like their default.
_WORDS = {"words"}


def _json(column: models.JSONField, name: str, value: Any) -> Any:
    shape = column.get_default() if column.has_default() else {} if name in _WORDS else None
    fits = isinstance(value, type(shape)) if shape is not None else isinstance(value, (bool, int, float, str, list))
    if isinstance(value, dict) and name in _WORDS:
        fits = all(isinstance(word, str) for word in value.values())
    if not fits or _has_nul(value, 0):
        raise Unfit(name)
    return value


def _has_nul(value: Any, depth: int) -> bool:
    """Tell whether a piece of JSON contains NUL, which PostgreSQL cannot store, or is nested too deeply."""
    if depth > 20:
        return True
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(part, depth + 1) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(_has_nul(part, depth + 1) for part in value)


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def _has(model: type[models.Model], name: str) -> bool:
    return any(column.name == name for column in model._meta.concrete_fields)


def _stamps_itself(column: Any) -> bool:
    return bool(getattr(column, "auto_now", False) or getattr(column, "auto_now_add", False))

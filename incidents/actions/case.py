"""Edit the case: hosts, phases, markers, statements, clock offsets. Each change has the room judged again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import models

from incidents.access import Right, Room
from incidents.actions.artifacts import read_again_what_is_out_of_date
from incidents.actions.record import Deed, deed
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact
from incidents.models.judging.case import ClockOffset, Host, Marker, MarkerKind, Phase, Statement

M = TypeVar("M", bound=models.Model)
_HOST = frozenset(("os", "os_release", "model", "role", "ncpu", "mem_gib", "tz"))
_MARKER = frozenset(("at", "from_phase", "to_phase", "kind", "label", "changed", "hypothesis"))
_STATEMENT = frozenset(("name", "subject", "num", "unit", "text", "author_label"))


def put_host(room: Room, name: str, fields: Mapping[str, Any]) -> Host:
    """Add a host or change some of its fields; fields that are not in `fields` stay."""
    _known(fields, _HOST)
    name = name.strip()
    if not name:
        raise Refused("A host needs a name.")
    if fields.get("ncpu") is not None and fields["ncpu"] < 1:
        raise Refused("A host has at least one CPU; leave the field empty if you do not know.")
    if fields.get("mem_gib") is not None and fields["mem_gib"] <= 0:
        raise Refused("Memory is more than 0 GiB; leave the field empty if you do not know.")
    with deed(room, Right.CASE) as doing:
        host, _ = Host.objects.update_or_create(incident=doing.incident, name=name, defaults=dict(fields))
        _changed(doing, "set", f"host {name}", **fields)
        read_again_what_is_out_of_date(doing)
        return host


def remove_host(room: Room, name: str) -> None:
    with deed(room, Right.CASE) as doing:
        _remove(doing.incident.hosts.filter(name=name))
        _changed(doing, "removed", f"host {name}")
        read_again_what_is_out_of_date(doing)


def add_phase(room: Room, number: int, line_from: int, line_to: int, phase: str) -> Phase:
    """Give lines of an artifact a different phase than their part has."""
    phase = phase.strip()
    if not phase:
        raise Refused("Name the phase: before, after-1, batch ...")
    if not 1 <= line_from <= line_to:
        raise Refused("The lines must be first to last, from 1.")
    with deed(room, Right.CASE) as doing:
        artifact = Artifact.objects.filter(incident=doing.incident, number=number).first()
        if artifact is None or artifact.purged:
            raise Refused("There is no such artifact.", 404)
        overlapping = Phase.objects.filter(artifact=artifact, line_from__lte=line_to, line_to__gte=line_from)
        if overlapping.exists():
            raise Refused("Some of these lines have a phase of their own already; remove that one first.", 409)
        row = Phase.objects.create(
            incident=doing.incident, artifact=artifact, line_from=line_from, line_to=line_to, phase=phase
        )
        _changed(doing, "set", f"phase of {number}", lines=[line_from, line_to], phase=phase)
        return row


def remove_phase(room: Room, id: int) -> None:
    with deed(room, Right.CASE) as doing:
        _remove(doing.incident.phases.filter(pk=id))
        _changed(doing, "removed", f"phase {id}")


def put_marker(room: Room, fields: Mapping[str, Any], id: int | None = None) -> Marker:
    """Add or change a marker: at an instant, or between two phases when nobody knows the time."""
    _known(fields, _MARKER)
    with deed(room, Right.CASE) as doing:
        row = _one(doing.incident.markers.all(), id) if id else Marker(incident=doing.incident, author=doing.room.user)
        for name, value in fields.items():
            setattr(row, name, value)
        if not (row.label or "").strip():
            raise Refused("Say what the marker stands for.")
        if row.kind not in MarkerKind.values:
            raise Refused("A marker is a change, a start or an end.")
        if row.at is None and not (row.from_phase and row.to_phase):
            raise Refused("A marker needs a time, or the two phases that it lies between.")
        if not isinstance(row.changed, list) or not all(isinstance(text, str) for text in row.changed):
            raise ValueError("changed: a list of texts")
        row.save()
        _changed(doing, "set", f"marker {row.pk}", label=row.label, changed=row.changed)
        return row


def remove_marker(room: Room, id: int) -> None:
    with deed(room, Right.CASE) as doing:
        _remove(doing.incident.markers.filter(pk=id))
        _changed(doing, "removed", f"marker {id}")


def put_statement(room: Room, fields: Mapping[str, Any], id: int | None = None) -> Statement:
    """Add or change a typed-in fact; findings that rely on it are marked as such."""
    _known(fields, _STATEMENT)
    with deed(room, Right.CASE) as doing:
        if id:
            row = _one(doing.incident.statements.all(), id)
        else:
            row = Statement(incident=doing.incident, author=doing.room.user, author_label=doing.room.actor_name)
        for name, value in fields.items():
            setattr(row, name, value)
        if not (row.name or "").strip() or not (row.text or "").strip():
            raise Refused("A statement needs a name and its text.")
        if row.num is not None and not math.isfinite(row.num):
            raise Refused("The number of a statement must be finite.")
        row.save()
        _changed(doing, "set", f"statement {row.name}", num=row.num, unit=row.unit, text=row.text)
        return row


def remove_statement(room: Room, id: int) -> None:
    with deed(room, Right.CASE) as doing:
        _remove(doing.incident.statements.filter(pk=id))
        _changed(doing, "removed", f"statement {id}")


def put_offset(room: Room, clock: str, ref: str, lo: float, hi: float, text: str = "") -> ClockOffset:
    """Store a person's offset of two clocks: `clock` shows `lo` to `hi` seconds more than `ref` at the same instant."""
    if clock == ref or not clock or not ref:
        raise Refused("Name two different clocks.")
    if not (math.isfinite(lo) and math.isfinite(hi) and lo <= hi):
        raise Refused("The offset is from a smaller to a larger number of seconds.")
    with deed(room, Right.CASE) as doing:
        row, _ = ClockOffset.objects.update_or_create(
            incident=doing.incident,
            clock=clock,
            ref=ref,
            defaults={"lo": lo, "hi": hi, "text": text, "author": doing.room.user},
        )
        _changed(doing, "set", f"offset of {clock}", ref=ref, lo=lo, hi=hi, text=text)
        return row


def remove_offset(room: Room, id: int) -> None:
    with deed(room, Right.CASE) as doing:
        _remove(doing.incident.clock_offsets.filter(pk=id))
        _changed(doing, "removed", f"offset {id}")


def _changed(doing: Deed, verb: str, object: str, **detail: Any) -> None:
    doing.record(verb, object[:100], **detail)
    doing.tell("case")
    doing.rejudge()


def _known(fields: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = set(fields) - known
    if unknown:
        raise ValueError(f"no such fields: {sorted(unknown)}")


def _one(rows: models.QuerySet[M], id: int) -> M:
    row = rows.filter(pk=id).first()
    if row is None:
        raise Refused("It was removed already.", 404)
    return row


def _remove(rows: models.QuerySet[Any]) -> None:
    if not rows.delete()[0]:
        raise Refused("It was removed already.", 404)

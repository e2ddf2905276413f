"""The sample room: the published incident of `incidents/sample/`, through the ordinary way in."""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.models import User

from incidents import access
from incidents.access import Room
from incidents.actions import artifacts, case, rooms
from incidents.errors import AlreadyHere
from incidents.models.artifact import CorrectedField, Way
from incidents.models.incident import Incident, Status
from incidents.models.membership import Role
from rules.case_yaml import CaseFile, FileEntry, load_case_yaml

FOLDER = Path(__file__).parent.parent / "sample"


def open_sample(user: User) -> Incident:
    """Open a sample room for this person, or the one that is open already; what is missing in it is uploaded."""
    told = load_case_yaml((FOLDER / "case.yaml").read_text(encoding="utf-8"))
    mine = Incident.objects.filter(created_by=user, artifacts__way=Way.SAMPLE, memberships__user=user)
    incident = mine.exclude(status=Status.CLOSED).filter(memberships__role=Role.LEAD).first()
    if incident is None:
        incident = rooms.create(user, _answers(told))
        _describe(access.enter(user, incident.slug), told)
    room = access.enter(user, incident.slug)
    for entry in told.artifacts:
        _upload(room, entry)
    return incident


def _answers(told: CaseFile) -> rooms.Answers:
    symptom = told.symptom
    return rooms.Answers(
        title=f"{told.title or 'Sample'} (sample)",
        symptom_text=symptom.text if symptom else None,
        symptom_unit=symptom.unit if symptom else None,
        symptom_bad=symptom.bad if symptom else None,
        symptom_normal=symptom.normal if symptom else None,
        hosts=tuple(
            rooms.HostAnswer(name, host.os, host.os_release, host.role, host.ncpu, host.mem_gib, host.tz)
            for name, host in told.hosts.items()
        ),
    )


def _describe(room: Room, told: CaseFile) -> None:
    for marker in told.markers:
        between = marker.between or (None, None)
        case.put_marker(
            room,
            {
                "kind": marker.kind,
                "label": marker.label,
                "from_phase": between[0],
                "to_phase": between[1],
                "changed": list(marker.changed),
                "hypothesis": marker.hypothesis,
            },
        )
    for statement in told.statements:
        case.put_statement(
            room,
            {
                "name": statement.name,
                "subject": statement.subject,
                "num": statement.num,
                "unit": statement.unit,
                "text": statement.text,
                "author_label": statement.author,
            },
        )


def _upload(room: Room, entry: FileEntry) -> None:
    said = {
        CorrectedField.KIND.value: entry.kind,
        CorrectedField.HOST.value: entry.host,
        CorrectedField.PHASE.value: entry.phase,
        CorrectedField.ROLE.value: entry.role,
    }
    with (FOLDER / entry.file).open("rb") as file:
        try:
            artifacts.receive_stream(
                room, entry.file, iter(lambda: file.read(2**16), b""), Way.SAMPLE, {k: v for k, v in said.items() if v}
            )
        except AlreadyHere:
            return

"""Open sample rooms: the five published incidents of `incidents/sample/`, uploaded like any other evidence."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.contrib.auth.models import User

from incidents import access
from incidents.access import Room
from incidents.actions import artifacts, case, rooms
from incidents.errors import AlreadyHere, Refused
from incidents.models.evidence.artifact import CorrectedField, Way
from incidents.models.people.membership import Role
from incidents.models.room.incident import Incident, Status
from rules.case.case_yaml import CaseFile, FileEntry, load_case_yaml

FOLDER = Path(__file__).parent.parent / "sample"
#: The default sample: two sides of one connection, a memory map, and connect times before and after two changes.
FIRST = "001"


@dataclass(frozen=True)
class Sample:
    """One published incident. `about`: what it shows; `source`: where it was published; `credit`: the source, short."""

    number: str
    about: str
    source: str
    credit: str

    @property
    def folder(self) -> Path:
        return FOLDER / self.number

    @property
    def told(self) -> CaseFile:
        return _told(self.folder)

    @property
    def title(self) -> str:
        return self.told.title or "Sample"

    @property
    def room_title(self) -> str:
        return f"{self.title} (published example: {self.credit})"


SAMPLES = (
    Sample(
        "001",
        "Seven outputs from the client, the listener and the database's memory show whose 1.9 seconds each login waits for, and what two changes brought.",
        "“Solving a critical performance crisis … caused by oracle connection slowness”, a blog, January 2017",
        "a blog, 2017",
    ),
    Sample(
        "000",
        "A trace of the listener before and after one line of nsswitch.conf was changed: 75 look-ups in every connection.",
        "“Oracle's Listener Performance”, a blog, November 2008",
        "a blog, 2008",
    ),
    Sample(
        "002",
        "Three pastes that lost their line ends: when 300 sessions end together, detaching shared memory takes every processor.",
        "an account of a disconnect storm on a NUMA machine in 2008",
        "a blog on NUMA",
    ),
    Sample(
        "003",
        "Profiles, a trace and two lists of semaphores: parallel queries spin on the lock of one large set.",
        "“Big Nodes, Concurrent Parallel Execution And High System/Kernel Time” by R. Geist",
        "R. Geist",
    ),
    Sample(
        "004",
        "Eight lines of vmstat and two things that somebody saw: a verdict that stays undecided, and what would settle it.",
        "“High system time utilization on fast machine”, a blog, April 2012",
        "a blog, 2012",
    ),
)


def sample(number: str) -> Sample:
    """Return the published incident of this number, as the list of sample rooms shows it."""
    found = next((one for one in SAMPLES if one.number == number), None)
    if found is None:
        raise Refused("There is no such sample room. The list of rooms offers five.", 404)
    return found


def open_sample(user: User, number: str = FIRST) -> Incident:
    """Open a sample room for this person, or return the one already open; files missing in it are uploaded."""
    chosen = sample(number)
    mine = Incident.objects.filter(created_by=user, memberships__user=user, memberships__role=Role.LEAD)
    loaded = mine.filter(artifacts__way=Way.SAMPLE, artifacts__sha256__in=_hashes(chosen.folder))
    incident = loaded.exclude(status=Status.CLOSED).order_by("pk").first()
    if incident is None:
        incident = rooms.create(user, _answers(chosen))
        _describe(access.enter(user, incident.slug), chosen.told)
    room = access.enter(user, incident.slug)
    for entry in chosen.told.artifacts:
        _upload(room, chosen.folder, entry)
    _lay_phases(room, chosen.told)
    return incident


@cache
def _told(folder: Path) -> CaseFile:
    return load_case_yaml((folder / "case.yaml").read_text(encoding="utf-8"))


@cache
def _hashes(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.txt")))


def _answers(chosen: Sample) -> rooms.Answers:
    symptom = chosen.told.symptom
    return rooms.Answers(
        title=chosen.room_title,
        symptom_text=symptom.text if symptom else None,
        symptom_unit=symptom.unit if symptom else None,
        symptom_bad=symptom.bad if symptom else None,
        symptom_normal=symptom.normal if symptom else None,
        measured_how=f"As published: {chosen.source}.",
        hosts=tuple(
            rooms.HostAnswer(name, host.os, host.os_release, host.role, host.ncpu, host.mem_gib, host.tz)
            for name, host in chosen.told.hosts.items()
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


def _lay_phases(room: Room, told: CaseFile) -> None:
    """Add the phases of lines that differ from the rest of their file; phases added before stay."""
    numbers = dict(room.incident.artifacts.filter(way=Way.SAMPLE).values_list("name", "number"))
    laid = set(room.incident.phases.values_list("artifact__number", "line_from"))
    for stretch in told.phases:
        first, last = (int(line) for line in stretch.lines.split("-"))
        if (numbers[stretch.file], first) not in laid:
            case.add_phase(room, numbers[stretch.file], first, last, stretch.phase)


def _upload(room: Room, folder: Path, entry: FileEntry) -> None:
    said = {
        CorrectedField.KIND.value: entry.kind,
        CorrectedField.HOST.value: entry.host,
        CorrectedField.PHASE.value: entry.phase,
        CorrectedField.ROLE.value: entry.role,
    }
    with (folder / entry.file).open("rb") as file:
        try:
            artifacts.receive_stream(
                room, entry.file, iter(lambda: file.read(2**16), b""), Way.SAMPLE, {k: v for k, v in said.items() if v}
            )
        except AlreadyHere:
            return

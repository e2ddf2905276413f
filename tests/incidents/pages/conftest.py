"""Fixtures for tests of pages: a room of the published incident with artifacts, a report, notes, a dispute."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from django.db import transaction
from django.test import Client

from incidents.access import Room
from incidents.actions import findings, notes
from incidents.models.people.membership import Role
from incidents.models.words.note import Note
from incidents.work import analysis
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages import reports

NOTE = "The gap ends at the 18 GB segment."


def client_of(room: Room) -> Client:
    """Return a client signed in as the room's user."""
    client = Client()
    client.force_login(room.user)
    return client


def add_report(room: Room, report: reports.Json | None = None) -> None:
    """Store a report as the room's newest evaluation, as the judging worker does."""
    with transaction.atomic():
        analysis.save_report(room.incident, analysis.case_of(room.incident), report or reports.report())


def add_files(room: Room) -> None:
    for name, lines in reports.FILES.items():
        make_artifact(room, "".join(f"{line}\n" for line in lines).encode(), name)


@dataclass(frozen=True)
class Judged:
    """A judged room, as its lead, an investigator and a viewer see it."""

    lead: Room
    investigator: Room
    viewer: Room
    note: Note

    @property
    def slug(self) -> str:
        return self.lead.incident.slug


def make_judged() -> Judged:
    """Make a room with four artifacts that no worker has read yet, a report, a note and a dispute."""
    lead = make_room(make_user("anna"), "Logins to QPROD take 3.9 s", symptom_text="connect time", symptom_unit="s")
    investigator = make_member(lead.incident, Role.INVESTIGATOR, make_user("nils"))
    viewer = make_member(lead.incident, Role.VIEWER, make_user("vera"))
    add_files(lead)
    add_report(lead)
    note = notes.add(investigator, NOTE, artifact=1, lines=(11, 11))
    findings.dispute(investigator, reports.CHURN_KEY, "The gateway keeps its connections.")
    return Judged(lead, investigator, viewer, note)


@pytest.fixture
def judged(db) -> Judged:
    return make_judged()


@pytest.fixture
def read(judged: Judged) -> Judged:
    """Return the same room after workers have read the artifacts; its report stays the same."""
    run_jobs("small")
    return judged


@pytest.fixture(autouse=True)
def judged_once_for_pages(judged_once: None) -> None:
    """Take judgements from the memory in all tests of pages."""

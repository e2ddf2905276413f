"""Factories of the app's tests: plain functions; each makes one thing and fills in what a test does not care about."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from incidents import access, tasks
from incidents.access import Room
from incidents.actions import artifacts, rooms
from incidents.models.evidence.artifact import Artifact
from incidents.models.people.membership import Membership, Role, Team
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job, Queue
from incidents.storage import live, store
from incidents.work import ingest
from tests.incidents.remembered import remembering

_count = itertools.count(1)

CONNECT_TIMES = b"".join(b"time elapsed : 0,%02d\n" % (30 + n % 7) for n in range(20))


def make_user(name: str | None = None, **fields: Any) -> User:
    n = next(_count)
    return User.objects.create_user(name or f"person{n}", password="a long enough one", **fields)


def make_room(lead: User | None = None, title: str = "Logins take 3.9 s", **answers: Any) -> Room:
    """Open a room and return it as its lead sees it."""
    lead = lead or make_user()
    incident = rooms.create(lead, rooms.Answers(title=title, **answers))
    return access.enter(lead, incident.slug)


def make_member(incident: Incident, role: str = Role.INVESTIGATOR, user: User | None = None) -> Room:
    """Add a member and return the room as this person sees it."""
    user = user or make_user()
    Membership.objects.create(incident=incident, user=user, role=role, team=Team.DBA)
    return access.enter(user, incident.slug)


def make_artifact(room: Room, content: bytes = CONNECT_TIMES, name: str = "times.txt", **said: str) -> Artifact:
    return artifacts.receive_stream(room, name, [content], said=said)


def run_jobs(*queues: str) -> int:
    """Do all waiting jobs in this process, as the workers would; return how many there were."""
    done = 0
    while done < 100:
        ready = Job.objects.filter(state="queued", queue__in=queues or Queue.values).exclude(
            not_before__gt=timezone.now()
        )
        job = ready.first()
        if job is None:
            return done
        tasks.work(job.queue)
        done += 1
    raise AssertionError("the jobs do not come to an end")


@pytest.fixture(autouse=True)
def evidence(settings, tmp_path: Path) -> Path:
    """Set an evidence folder for this test, without a minimum of free space."""
    settings.EVIDENCE_ROOT = tmp_path / "evidence"
    settings.EXHIBIT_MIN_FREE_BYTES = 0
    return tmp_path / "evidence"


@pytest.fixture(autouse=True, scope="session")
def reading_reaches_all_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let the one process that reads for all tests reach the evidence folder of each."""
    ingest._READER.folders = (tmp_path_factory.getbasetemp(),)


@pytest.fixture(autouse=True)
def hints(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[str]:
    """Collect the hints to workers, for tests that run without a broker."""
    given: list[str] = []
    if "broker" not in request.fixturenames:
        monkeypatch.setattr(tasks, "hint", given.append)
        monkeypatch.setattr(tasks, "hint_hooks", lambda: given.append("hooks"))
    return given


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[dict[str, object]]:
    """Collect the published events, for tests that run without a broker."""
    said: list[dict[str, object]] = []
    if "broker" not in request.fixturenames:
        monkeypatch.setattr(live, "_publish", said.append)
    return said


@pytest.fixture(scope="session")
def judged_before() -> Iterator[Callable[[pytest.MonkeyPatch], None]]:
    with remembering() as put:
        yield put


@pytest.fixture
def judged_once(judged_before: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge in this process, or take the judgement from a test before if the room is the same."""
    judged_before(monkeypatch)


@pytest.fixture
def on_commit(django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]]) -> Iterator[None]:
    """Run the on-commit callbacks, although the test's own transaction never commits."""
    with django_capture_on_commit_callbacks(execute=True):
        yield


@contextmanager
def undone(blocker: Any) -> Iterator[None]:
    """Keep rows made here for all tests of a module, each of which rolls back to them; undo them at the end."""
    with blocker.unblock():
        block = transaction.atomic()
        block.__enter__()
        try:
            yield
        finally:
            transaction.set_rollback(True)
            block.__exit__(None, None, None)
            connection.close()


def folders(room_id: int) -> list[str]:
    """Return the names in a room's evidence folder."""
    folder = store._room(room_id)
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

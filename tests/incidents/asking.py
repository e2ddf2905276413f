"""Fixtures for tests of questions: a room with tables, generous limits, and one child for many questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from incidents.access import Room
from incidents.work import queries
from rules.engine.ask import Asker, Limits
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages import reports

PATIENT = Limits(limit_s=30.0, load_s=60.0)
"""A loaded machine answers late, but it answers."""

SQL = "select artifact_id, line_no, line_end, pid, name, ret from syscalls order by line_no"


def asked_room() -> Room:
    """Return a room with one trace that was read, as its lead sees it."""
    lead = make_room(make_user(), "Logins to QPROD take 3.9 s")
    make_artifact(lead, "".join(f"{line}\n" for line in reports.TRUSS).encode(), "truss-listener.txt", host="db1")
    run_jobs("small")
    return lead


def viewer_of(room: Room) -> Room:
    return make_member(room.incident, "viewer")


class SharedAsker(Asker):
    """An asker that stays open after its question, so that a hundred questions of tests need no hundred children."""

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def shared_child() -> Iterator[SharedAsker]:
    child = SharedAsker(PATIENT)
    yield child
    child.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch, shared_child: SharedAsker) -> None:
    """Set limits that hold on a loaded machine too, and use one child for all questions."""

    def asker(limits: Limits | None = None, stop: Callable[[], bool] = lambda: False) -> SharedAsker:
        shared_child.limits, shared_child._stop = limits or PATIENT, stop
        return shared_child

    monkeypatch.setattr(queries, "Asker", asker)
    monkeypatch.setattr(queries, "LIMITS", PATIENT)
    monkeypatch.setattr(queries, "DOWNLOAD", replace(PATIENT, max_rows=1000))

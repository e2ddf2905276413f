"""Tests of the sweep, and that losing the broker or the database costs nothing but time."""

from __future__ import annotations

import os
import time
import uuid
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import OperationalError
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerAway

from incidents import tasks
from incidents.actions import artifacts, purge
from incidents.errors import StoreError
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.reading import Reading
from incidents.models.evidence.upload import Upload
from incidents.models.room.event import Event
from incidents.models.room.job import Job
from incidents.storage import live, store
from incidents.storage.database import patiently
from incidents.work import analysis, bundling, ingest, unbundling
from tests.incidents.conftest import folders, make_artifact, make_room, run_jobs

pytestmark = pytest.mark.django_db


def test_a_broker_that_is_away_costs_an_upload_nothing(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    monkeypatch.undo()  # the real hint and the real publishing

    def away(*_: Any, **__: Any) -> None:
        raise BrokerAway("connection refused")

    monkeypatch.setattr(tasks.work, "apply_async", away)
    monkeypatch.setattr(live, "broker", lambda: away())
    monkeypatch.setattr(live, "BROKER_AWAY", (BrokerAway,))
    room = make_room()
    with django_capture_on_commit_callbacks(execute=True):
        make_artifact(room, b"while the broker is away\n")
    assert Job.objects.get().state == "queued"
    assert live.present(room.incident.pk) == []


@pytest.mark.services
def test_a_broker_that_does_not_answer_holds_no_request(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with redis.Redis.from_url(broker) as client:
        client.delete("small")  # what earlier tests hinted at
        tasks.hint("small")
        assert client.llen("small") == 1
        client.client_pause(6000)
        began = time.monotonic()
        tasks.hint("small")
        live._publish({"room": 1, "kind": "presence", "data": {}})
        assert time.monotonic() - began < 5.5
        client.delete("small")


def test_the_sweep_hints_at_what_waits(hints: list[str]) -> None:
    room = make_room()
    for n in range(6):
        make_artifact(room, b"%d\n" % n)
    hints.clear()
    tasks.sweep()
    assert hints == ["small"] * 4


def test_a_storage_that_does_not_answer_is_tried_again_and_then_said(monkeypatch: pytest.MonkeyPatch) -> None:
    make_artifact(make_room())

    def unreachable(job: Job) -> None:
        raise StoreError("the evidence folder: Stale file handle")

    monkeypatch.setitem(tasks._DEEDS, "ingest", unreachable)
    for attempt in (1, 2):
        tasks.work("small")
        job = Job.objects.get()
        assert (job.state, job.attempt, job.cause) == ("queued", attempt, "the evidence folder: Stale file handle")
        Job.objects.update(not_before=None)
    tasks.work("small")
    artifact = Artifact.objects.get()
    assert artifact.state == "failed"
    assert artifact.cause is not None
    assert "did not answer" in artifact.cause


def test_a_database_that_goes_away_leaves_the_job_to_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    make_artifact(make_room())

    def gone(job: Job) -> None:
        raise OperationalError("the connection is closed")

    monkeypatch.setitem(tasks._DEEDS, "ingest", gone)
    monkeypatch.setattr("incidents.tasks.connection.close", lambda: None)
    tasks.work("small")
    assert Job.objects.get().state == "running"
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    monkeypatch.undo()
    tasks.sweep()
    run_jobs("small")
    assert Job.objects.get(kind="ingest").state == "done"


def test_an_attempt_that_lost_its_lease_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    make_artifact(make_room())

    def overtaken(job: Job) -> None:
        Job.objects.update(attempt=7)
        job.renew()

    monkeypatch.setitem(tasks._DEEDS, "ingest", overtaken)
    tasks.work("small")
    assert (Job.objects.get().state, Artifact.objects.get().state) == ("running", "queued")


def test_a_queue_without_work_is_no_error() -> None:
    tasks.work("small")
    tasks.work("judge")


def test_the_sweep_forgets_what_is_past_its_time() -> None:
    room = make_room()
    make_artifact(room)
    run_jobs("small")
    artifacts.reread(room, 1)
    run_jobs("small")
    first, second = Reading.objects.order_by("number")
    Event.objects.update(made_at=timezone.now() - timedelta(hours=25))
    abandoned, fresh = store.Incoming(uuid.uuid4()), store.Incoming(uuid.uuid4())
    for incoming in (abandoned, fresh):
        incoming.write(b"x")
        incoming.close()
    os.utime(abandoned.path, (time.time() - 25 * 3600,) * 2)
    upload = Upload.objects.create(incident=room.incident, uploader=room.user, name="x", size=9)
    Upload.objects.update(created_at=timezone.now() - timedelta(days=8))
    tasks.sweep()
    assert store.reading_dir(first).exists()  # for the pages that are open
    Reading.objects.filter(pk=first.pk).update(finished_at=timezone.now() - timedelta(hours=2))
    tasks.sweep()
    assert not store.reading_dir(first).exists()
    assert store.reading_dir(second).exists()
    assert not Event.objects.exists()
    assert (abandoned.path.exists(), fresh.path.exists()) == (False, True)
    assert not Upload.objects.filter(pk=upload.pk).exists()


def test_a_purge_whose_process_died_is_completed() -> None:
    room = make_room()
    make_artifact(room)
    run_jobs("small")
    purge.purge(room, 1, "wrong file")  # the test's transaction never commits, so nothing was removed
    assert folders(room.incident.pk) != []
    tasks.sweep()
    assert [name for name in folders(room.incident.pk) if name != "cache"] == []


class TestPatience:
    def test_it_waits_for_the_database(self, monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> None:
        tries = []

        def deed() -> str:
            tries.append(1)
            if len(tries) < 3:
                raise OperationalError("the connection is closed")
            return "done"

        assert patiently(deed) == "done"
        assert len(tries) == 3

    def test_it_gives_up_in_time_and_never_waits_inside_a_transaction(self, transactional_db: None) -> None:
        def away() -> None:
            tries.append(1)
            raise OperationalError("gone")

        tries: list[int] = []
        with pytest.raises(OperationalError):
            patiently(away, seconds=0.2)
        assert len(tries) > 1
        from django.db import transaction

        tries.clear()
        with transaction.atomic(), pytest.raises(OperationalError):
            patiently(away)
        assert len(tries) == 1


def test_the_deeds_are_those_of_the_jobs() -> None:
    assert {
        "ingest": ingest.ingest,
        "judge": analysis.analyze,
        "export": bundling.bundle,
        "import": unbundling.unbundle,
    } == tasks._DEEDS

"""Tests of the figures for a monitoring system: only with the token, about the whole site, without names of people."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from incidents import tasks
from incidents.models.evidence.artifact import ArtifactState
from incidents.models.room.job import Job
from incidents.models.site.backup import Backup
from incidents.storage import live, meters
from tests.incidents.conftest import make_artifact, make_room, make_user, run_jobs

TOKEN = "a-token-for-this-test-only"


@pytest.fixture
def token(db: None, settings: Any) -> str:
    settings.EXHIBIT_METRICS_TOKEN = TOKEN
    return TOKEN


def text(**headers: str) -> str:
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"} | headers)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    return answer.content.decode()


def figures() -> dict[tuple[str, ...], float]:
    """Return each figure by its name and the values of its labels."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text())
        for sample in family.samples
    }


@pytest.mark.django_db
def test_without_the_setting_there_is_no_such_address() -> None:
    assert Client().get("/metrics").status_code == 404
    assert Client().get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


@pytest.mark.parametrize(
    "sent", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "é"}]
)
def test_without_the_token_there_is_nothing_to_read(token: str, sent: dict[str, str]) -> None:
    answer = Client().get("/metrics", headers=sent)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == "Bearer"
    assert b"exhibit_" not in answer.content


def test_being_an_administrator_is_no_token(token: str) -> None:
    client = Client()
    client.force_login(make_user(is_superuser=True, is_staff=True))
    assert client.get("/metrics").status_code == 401
    assert client.post("/metrics").status_code == 405


def test_work_that_waits_is_counted_with_its_age(token: str) -> None:
    room = make_room()
    make_artifact(room)
    Job.objects.update(created_at=timezone.now() - timedelta(seconds=300))
    found = figures()
    assert found["exhibit_jobs", "small", "waiting"] == 1
    assert found["exhibit_jobs", "large", "waiting"] == 0
    assert 300 <= found["exhibit_oldest_seconds", "small"] < 900
    assert found["exhibit_oldest_seconds", "judge"] == 0
    assert found["exhibit_artifacts", "queued"] == 1
    assert found["exhibit_originals",] == 1
    assert found["exhibit_originals_bytes",] == room.incident.artifacts.get().size
    run_jobs("small")
    found = figures()
    assert (found["exhibit_artifacts", "queued"], found["exhibit_artifacts", "read"]) == (0, 1)
    assert found["exhibit_jobs", "small", "waiting"] == 0


def test_every_state_is_there_so_that_none_goes_away_when_it_is_0(token: str) -> None:
    states = {labels[0] for name, *labels in figures() if name == "exhibit_artifacts"}
    assert states == set(ArtifactState.values)


def test_the_store_is_measured(token: str, settings: Any) -> None:
    settings.EVIDENCE_ROOT.mkdir(parents=True, exist_ok=True)
    settings.EXHIBIT_MIN_FREE_BYTES = 7
    found = figures()
    assert found["exhibit_database_bytes",] > 2**20
    assert 0 < found["exhibit_disk_free_bytes", "evidence"] <= found["exhibit_disk_bytes", "evidence"]
    assert found["exhibit_disk_kept_free_bytes",] == 7


def test_a_backup_that_there_is_not_has_no_age(token: str, settings: Any, tmp_path: Any) -> None:
    assert ("exhibit_backup_age_seconds",) not in figures()
    settings.EXHIBIT_BACKUP_ROOT, settings.EXHIBIT_BACKUP_HOURS = tmp_path, 6
    begun = timezone.now() - timedelta(hours=2)
    Backup.objects.create(
        scheduled=True, state="done", folder="x", started_at=begun, finished_at=begun, files=1, bytes=1
    )
    found = figures()
    assert 7200 <= found["exhibit_backup_age_seconds",] < 9000
    assert found["exhibit_backup_age_bound_seconds",] == 12 * 3600
    assert found["exhibit_backup_failed",] == 0
    Backup.objects.create(scheduled=True, state="failed", folder="x", started_at=begun + timedelta(hours=1))
    assert figures()["exhibit_backup_failed",] == 1


def test_no_label_holds_what_a_person_typed(token: str) -> None:
    lead = make_user("zoe-zander")
    room = make_room(lead, title="Tarquin's room")
    make_artifact(room, name="tarquin.log")
    client = Client()
    client.force_login(lead)
    client.get(f"/rooms/{room.incident.slug}/")
    said = text()
    assert [word for word in ("zander", "arquin", room.incident.slug) if word in said] == []


def test_open_metrics_are_answered_to_whoever_asks_for_them(token: str) -> None:
    assert text(Accept="application/openmetrics-text;version=1.0.0").endswith("# EOF\n")


def test_the_more_there_is_the_same_number_of_queries(token: str) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as seen:
            figures()
        return len(seen)

    make_artifact(make_room())
    before = asked()
    for _ in range(3):
        make_artifact(make_room())
    assert asked() == before <= 12


def test_a_broker_that_is_away_is_told_and_hides_nothing_else(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Any:
        raise OSError("away")

    monkeypatch.setattr(live, "broker", away)
    meters.task_ended("sweep", "success")  # lost, without a fault
    found = figures()
    assert found["exhibit_broker_up",] == 0
    assert ("exhibit_database_bytes",) in found
    assert not any(name.startswith("exhibit_tasks") for name, *_ in found)


@pytest.mark.services
class TestWhatWorkersCount:
    @pytest.fixture(autouse=True)
    def fresh(self, broker: str, token: str) -> None:
        live.broker().delete(meters.KEY)

    def test_jobs_are_counted_by_how_they_ended(self) -> None:
        room = make_room()
        make_artifact(room)
        make_artifact(room, b"\x00\x01 no kind of evidence", "odd.bin")
        run_jobs()
        found = figures()
        assert (
            found["exhibit_job_seconds_count", "done", "ingest"]
            + found.get(("exhibit_job_seconds_count", "failed", "ingest"), 0)
            == 2
        )
        assert found["exhibit_job_seconds_count", "done", "judge"] >= 1
        assert found["exhibit_job_seconds_sum", "done", "judge"] > 0

    def test_a_job_that_fails_is_counted_as_failed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fault(job: Job) -> None:
            raise RuntimeError("ours")

        make_artifact(make_room())
        monkeypatch.setitem(tasks._DEEDS, "ingest", fault)
        run_jobs("small")
        assert figures()["exhibit_job_seconds_count", "failed", "ingest"] == 1

    def test_buckets_add_up(self) -> None:
        for seconds in (0.5, 1.0, 4.0, 9000.0):
            meters.job_ended("judge", "done", seconds)
        found = figures()
        name = "exhibit_job_seconds_bucket"
        assert [found[name, "done", "judge", le] for le in ("1.0", "5.0", "1800.0", "+Inf")] == [2, 3, 3, 4]
        assert found["exhibit_job_seconds_sum", "done", "judge"] == 9005.5

    def test_tasks_are_counted_by_the_last_word_of_their_name(self) -> None:
        tasks.sweep.apply()
        tasks.sweep.apply()
        assert figures()["exhibit_tasks_total", "success", "sweep"] == 2

    def test_nothing_is_counted_where_nobody_reads_it(self, settings: Any) -> None:
        settings.EXHIBIT_METRICS_TOKEN = ""
        meters.task_ended("sweep", "success")
        assert live.broker().exists(meters.KEY) == 0

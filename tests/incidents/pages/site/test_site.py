"""The page on the installation itself: what needs an administrator stands first, in words."""

from __future__ import annotations

import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from config import parts
from config.embedded import EmbeddedError
from incidents.models.room.incident import Incident
from incidents.models.room.job import Job
from incidents.models.site.backup import Backup
from tests.incidents.conftest import make_artifact, make_room, make_user

NOTHING = "Nothing: all runs, nothing waits"


@pytest.fixture
def admin(db: None, settings: Any, tmp_path: Path) -> Client:
    settings.EXHIBIT_PARTS = tmp_path / parts.FILE
    client = Client()
    client.force_login(make_user(is_superuser=True, is_staff=True))
    return client


def page(client: Client) -> str:
    answer = client.get("/site/")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def dead(folder: Path, name: str, log: Path | None = None) -> parts.Part:
    """Make a part that was killed just now, and write it down as `up` does."""
    part = parts.Part(name, lambda: subprocess.Popen(["sleep", "60"]), log)
    part.begin()
    part.process.kill()
    part.process.wait()
    part.tend()
    parts.write(folder, [part])
    return part


def test_a_new_site_is_asked_for_a_backup_and_a_second_factor(admin: Client) -> None:
    shown = page(admin)
    assert "No backup was made here yet." in shown
    assert "1 administrator has no second factor." in shown
    assert "were not started by <code>manage.py up</code>" in shown
    assert NOTHING not in shown


def test_a_part_that_ended_is_told_with_the_reason(admin: Client, tmp_path: Path) -> None:
    part = dead(tmp_path, "worker-large")
    assert "worker-large does not run: killed (SIGKILL): mostly for want of memory." in page(admin)

    def refuse() -> Any:
        raise EmbeddedError("no <room> here")

    part.start, part.due = refuse, 0.0
    part.tend()
    parts.write(tmp_path, [part])
    assert "worker-large does not run: could not be started: no &lt;room&gt; here." in page(admin)
    part.start, part.due = lambda: subprocess.Popen(["sleep", "60"]), 0.0
    part.tend()
    parts.write(tmp_path, [part])
    try:
        assert "worker-large ended 2 times within a day and was started again." in page(admin)
    finally:
        part.process.kill()
        part.process.wait()


def test_work_that_nobody_takes_is_told(admin: Client) -> None:
    make_artifact(make_room())
    assert "Work waits" not in page(admin)
    Job.objects.update(created_at=timezone.now() - timedelta(seconds=300))
    assert "Work waits: to read small files has had no turn for 300 s. Is a worker missing?" in page(admin)
    Job.objects.update(not_before=timezone.now() + timedelta(seconds=60))
    assert "Work waits" not in page(admin), "it waits on purpose"


def test_a_disk_that_fills_is_told(admin: Client, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.EVIDENCE_ROOT.mkdir(parents=True, exist_ok=True)
    settings.EXHIBIT_MIN_FREE_BYTES = 2**30
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=settings.EXHIBIT_MIN_FREE_BYTES + 1))
    assert "is nearly full: uploads are refused, or soon will be." in page(admin)


def test_the_largest_rooms_lead_to_their_evidence(admin: Client) -> None:
    room = make_room(title="A <big> room")
    make_artifact(room)
    shown = page(admin)
    assert f'<a href="/rooms/{room.incident.slug}/evidence/">A &lt;big&gt; room</a>' in shown
    make_room(title="Empty room")
    assert Incident.objects.count() == 2
    assert "Empty room" not in page(admin)


@pytest.mark.django_db(transaction=True)
def test_a_backup_is_known_with_its_age(
    transactional_db: None, settings: Any, tmp_path: Path, admin: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    make_artifact(make_room())
    call_command("backup", str(tmp_path / "backup"))
    shown = page(admin)
    assert f'<td data-label="Into"><code>{tmp_path}/backup</code></td>' in shown
    assert "whole, by hand" in shown
    assert "No backup" not in shown
    made = Backup.objects.get()
    Backup.objects.update(started_at=made.started_at - timedelta(days=9))
    assert "The last backup is 9 days old." in page(admin)

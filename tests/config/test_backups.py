"""Backups that are made by themselves: when, by one worker only, kept and removed, and what is said when one fails."""

from __future__ import annotations

import json
import shutil
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.utils import timezone

from config import backup, backups, tasks
from incidents.models.site.backup import LEASE, NAME, Backup, BackupState
from incidents.storage import seals
from incidents.work import holders
from tests.house.test_settings import run
from tests.incidents.conftest import make_user

HOUR = timedelta(hours=1)


@pytest.fixture
def root(db: None, settings: Any, tmp_path: Path) -> Path:
    """A folder for backups of this test's own, and one file of evidence. Every six hours, two are kept."""
    folder = tmp_path / "backups"
    folder.mkdir()
    settings.EXHIBIT_BACKUP_ROOT, settings.EXHIBIT_BACKUP_HOURS, settings.EXHIBIT_BACKUPS_KEPT = folder, 6, 2
    settings.EXHIBIT_MIN_FREE_BYTES = 0
    settings.EVIDENCE_ROOT = tmp_path / "evidence"
    (settings.EVIDENCE_ROOT / "7").mkdir(parents=True)
    (settings.EVIDENCE_ROOT / "7" / "a").write_bytes(b"evidence")
    return folder


def earlier(by: timedelta) -> None:
    """Let time pass: every backup began that much earlier, and its folder's name says so."""
    for row in Backup.objects.all():
        begun = row.started_at - by
        folder = Path(row.folder).with_name(begun.strftime(NAME))
        if Path(row.folder).exists():
            Path(row.folder).rename(folder)
        Backup.objects.filter(pk=row.pk).update(started_at=begun, folder=str(folder))


def make() -> Backup:
    row = backups.make_if_due()
    assert row is not None
    return row


def site() -> str:
    client = Client()
    client.force_login(make_user(is_superuser=True, is_staff=True))
    return " ".join(client.get("/site/").content.decode().split())


def test_none_is_made_where_nobody_asked_for_it(root: Path, settings: Any) -> None:
    settings.EXHIBIT_BACKUP_ROOT = None
    assert backups.make_if_due() is None
    assert not Backup.objects.exists()
    assert "None is made by itself: set <code>EXHIBIT_BACKUP_ROOT</code>" in site()


def test_one_is_made_at_once_and_the_next_when_its_hours_are_over(root: Path) -> None:
    tasks.back_up()
    row = Backup.objects.get()
    assert (row.state, row.scheduled, row.files) == (BackupState.DONE, True, 1)
    entries = backup.verify(Path(row.folder))
    assert backup.figures(entries) == (row.files, row.bytes)
    earlier(5 * HOUR)
    assert backups.make_if_due() is None
    earlier(HOUR)
    assert make().state == BackupState.DONE
    assert len(list(root.iterdir())) == 2


def test_the_page_tells_the_plan_the_result_and_the_age(root: Path) -> None:
    row = make()
    shown = site()
    assert f"One is made every 6 hours into <code>{root}</code>; the last 2 are kept." in shown
    assert f"<code>{row.folder}</code>" in shown
    assert "No backup was made" not in shown
    earlier(12 * HOUR + timedelta(minutes=1))
    assert "The last backup is 12 hours old, although one is to be made every 6 hours." in site()
    told = Client().get("/healthz?backup").json()["backup"]
    assert 43260 <= told.pop("age_s") < 46800
    assert told == {"old": True, "failed": False}


def test_health_tells_that_there_is_none(root: Path) -> None:
    assert Client().get("/healthz?backup").json() == {
        "ok": True,
        "backup": {"age_s": None, "old": False, "failed": False},
    }


def test_a_failure_is_told_leaves_nothing_and_is_tried_again_after_an_hour(
    root: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make()
    earlier(6 * HOUR)
    copy = backup._copy

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_copy", full)
    row = make()
    assert (row.state, row.cause) == (BackupState.FAILED, "[Errno 28] No space left on device")
    assert len(list(root.iterdir())) == 1, "what was begun is removed, what is whole stays"
    assert "The last backup failed: [Errno 28] No space left on device" in site()
    assert Client().get("/healthz?backup").json()["backup"]["failed"] is True
    settings.EXHIBIT_BACKUP_ROOT = None
    assert "The last backup failed" not in site(), "where somebody has switched them off"
    settings.EXHIBIT_BACKUP_ROOT = root
    monkeypatch.setattr(backup, "_copy", copy)
    assert backups.make_if_due() is None
    earlier(HOUR)
    assert make().state == BackupState.DONE
    assert "The last backup failed" not in site()


def test_a_disk_without_room_is_refused_before_anything_is_written(root: Path, settings: Any) -> None:
    settings.EXHIBIT_MIN_FREE_BYTES = 2**60
    row = make()
    assert row.state == BackupState.FAILED
    assert "MiB are needed" in row.cause
    assert list(root.iterdir()) == []


def test_a_disk_that_is_not_mounted_is_no_reason_to_fill_another(root: Path) -> None:
    root.rmdir()
    row = make()
    assert "is no folder here" in row.cause
    assert not root.exists()


def test_the_oldest_go_and_what_is_not_ours_stays(root: Path) -> None:
    for name, files in {
        "2026-01-01T000000Z": {"manifest.json": json.dumps({"key": seals.fingerprint(), "files": []})},
        "2026-01-02T000000Z": {"manifest.json": json.dumps({"key": "another site", "files": []})},
        "2026-01-03T000000Z": {"database.dump": "not finished"},
        "before-the-upgrade": {"manifest.json": json.dumps({"key": seals.fingerprint(), "files": []})},
    }.items():
        (root / name).mkdir()
        for file, content in files.items():
            (root / name / file).write_text(content)
    (root / "2026-01-04T000000Z").write_text("a file")
    first = make()
    assert (root / "2026-01-01T000000Z").exists(), "two are kept"
    earlier(6 * HOUR)
    first.refresh_from_db()
    second = root / "2099-01-01T000000Z"
    shutil.copytree(first.folder, second)
    assert [folder.name for folder in backups.prune(root, second, 2)] == ["2026-01-01T000000Z"]
    assert [folder.name for folder in backups.prune(root, Path(first.folder), 1)] == [second.name], "the newest stays"
    assert {path.name for path in root.iterdir()} == {
        *("2026-01-02T000000Z", "2026-01-03T000000Z", "2026-01-04T000000Z", "before-the-upgrade"),
        Path(first.folder).name,
    }


def test_rows_are_forgotten_but_the_last_whole_one(root: Path) -> None:
    row = make()
    earlier(timedelta(days=100))
    row.refresh_from_db()
    Backup.objects.create(scheduled=True, state=BackupState.FAILED, folder="x", started_at=row.started_at)
    Backup.objects.forget_old()
    assert Backup.objects.get() == row


class TestAWorkerThatEnds:
    def begin(self, root: Path, worker: str = "elsewhere:0:1:1") -> Backup:
        row = Backup.objects.claim(root, 6 * HOUR, worker)
        assert row is not None
        Path(row.folder).mkdir()
        (Path(row.folder) / "database.dump").write_text("half")
        return row

    def test_what_is_being_made_is_left_alone_while_its_lease_lasts(self, root: Path) -> None:
        row = self.begin(root)
        assert backups.make_if_due() is None
        assert "being made" in site()
        assert Path(row.folder).exists()

    def test_half_a_backup_is_removed_and_told_once_the_lease_has_ended(self, root: Path) -> None:
        row = self.begin(root)
        Backup.objects.update(lease_until=timezone.now() - HOUR)
        assert backups.make_if_due() is None, "after an hour, like any failure"
        row.refresh_from_db()
        assert (row.state, row.cause) == (BackupState.FAILED, backups.STOPPED)
        assert not Path(row.folder).exists()

    def test_a_worker_of_this_host_that_is_gone_is_known_at_once(self, root: Path) -> None:
        host, kernel, _, start = holders.me().split(":")
        row = self.begin(root, f"{host}:{kernel}:4194303:{start}")
        backups.make_if_due()
        row.refresh_from_db()
        assert row.state == BackupState.FAILED

    def test_one_that_was_finished_but_not_noted_counts(self, root: Path) -> None:
        row = self.begin(root)
        shutil.rmtree(row.folder)
        entries = backup.make(Path(row.folder))
        Backup.objects.update(lease_until=timezone.now() - HOUR)
        assert backups.make_if_due() is None
        row.refresh_from_db()
        assert (row.state, row.files, row.bytes) == (BackupState.DONE, *backup.figures(entries))

    def test_whoever_lost_its_lease_stops(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        row = self.begin(root)
        row.fail("taken for abandoned")
        monkeypatch.setattr(backups, "RENEW_S", 0.01)
        monkeypatch.setattr(Backup, "renew", lambda self: False)  # the thread cannot see this test's transaction

        def copy_for_ever() -> None:
            with backups.renewed(row) as go_on:
                while True:
                    go_on()

        with pytest.raises(backup.BackupError, match="lease had ended"):
            copy_for_ever()
        assert not row.finish(1, 1), "and cannot overwrite what was noted"
        assert Backup.objects.get().state == BackupState.FAILED


@pytest.mark.django_db(transaction=True)
def test_of_workers_at_the_same_moment_one_makes_it(
    transactional_db: None, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Backup | None] = []
    together, all_asked = threading.Barrier(4), threading.Event()
    real = backup.make

    def slowly(*arguments: Any) -> Any:
        all_asked.wait(20)
        return real(*arguments)

    monkeypatch.setattr(backup, "make", slowly)

    def worker() -> None:
        together.wait(20)
        try:
            made.append(backups.make_if_due())
        finally:
            if len(made) == 3:
                all_asked.set()  # only now may the one that got it go on
            connection.close()

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [row.state for row in made if row is not None] == [BackupState.DONE]
    assert len(made) == 4
    assert len(list(root.iterdir())) == 1


@pytest.mark.django_db(transaction=True)
def test_a_lease_is_renewed_while_it_is_copied(
    transactional_db: None, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Backup.objects.claim(root, 6 * HOUR, "a worker")
    assert row is not None
    Backup.objects.update(lease_until=timezone.now())
    monkeypatch.setattr(backups, "RENEW_S", 0.01)
    renewed = threading.Event()
    renew = Backup.renew

    def noticed(self: Backup) -> bool:
        still_ours = renew(self)
        renewed.set()
        return still_ours

    monkeypatch.setattr(Backup, "renew", noticed)
    with backups.renewed(row) as go_on:
        assert renewed.wait(20)
        go_on()
    row.refresh_from_db()
    assert row.lease_until > timezone.now() + LEASE / 2


def test_beat_asks_only_where_somebody_wants_backups(tmp_path: Path) -> None:
    code = "from config.settings import CELERY_BEAT_SCHEDULE as s; print(sorted((n, e['task']) for n, e in s.items()))"
    asked = "('backup', 'config.tasks.back_up')"
    assert asked not in run(["-c", code]).stdout
    told = run(["-c", code], EXHIBIT_BACKUP_ROOT=str(tmp_path))
    assert asked in told.stdout, told.stderr
    known = run(
        ["-c", "import django; django.setup(); from config.celery import app; app.loader.import_default_modules();"
         "print('config.tasks.back_up' in app.tasks)"]
    )  # fmt: skip
    assert known.stdout.strip() == "True", known.stderr


def test_backups_in_the_folder_that_they_copy_are_refused(tmp_path: Path) -> None:
    inside = {"EXHIBIT_EVIDENCE_ROOT": str(tmp_path), "EXHIBIT_BACKUP_ROOT": str(tmp_path / "backups")}
    refused = run(["-c", "import config.settings"], **inside)
    assert refused.returncode != 0
    assert ImproperlyConfigured.__name__ in refused.stderr

"""Backup and restore as commands, from one folder into an empty other one."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import psycopg
import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command

from config import backup, embedded
from config.management.commands import remove_second_factor
from incidents.storage import seals
from tests.incidents.conftest import make_user
from tests.prepared import environment, fill

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = {
    "7/" + "ab" * 32: b"an original\n" * 1000,
    "7/1/1/manifest.json": b"{}",
    "7/1/1/syscalls/000001.parquet": bytes(range(256)) * 4096,
    "8/" + "cd" * 32: b"",
}
LEFT_OUT = {"incoming/0001": b"half", "7/cache/derived.parquet": b"again", "7/1/1/manifest.json.new": b"draft"}


def manage(var: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(var) | {"DJANGO_SUPERUSER_PASSWORD": "long-and-odd-1"} | settings,
        capture_output=True,
        text=True,
    )


def rows(var: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table of a folder's database."""
    with embedded.running(embedded.postgres(var)), psycopg.connect(embedded.database_url(var)) as connection:
        tables = [name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        return {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in sorted(tables)
        }


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory(prefix="exhibit-b-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def source(place):
    """A folder with an account and evidence, and its backup in `<place>/set`."""
    var = place / "source"
    fill(var)
    with embedded.running(embedded.postgres(var)):
        made = manage(var, "createsuperuser", "--noinput", "--username", "lead", "--email", "lead@team.example")
        assert made.returncode == 0, made.stderr
        for name, content in (EVIDENCE | LEFT_OUT).items():
            file = var / "evidence" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    done = manage(var, "backup", str(place / "set"))
    assert done.returncode == 0, done.stderr
    return var


@pytest.mark.services
class TestFromOneFolderIntoAnother:
    def test_a_restored_place_holds_the_same_rows_and_the_same_bytes(self, source, place):
        target = place / "target"
        fill(target, "static")
        done = manage(target, "restore", str(place / "set"))
        assert done.returncode == 0, done.stderr
        assert "made with another secret key" in done.stderr, "each folder makes its own"
        assert "lead has no second factor" in manage(target, "remove_second_factor", "lead").stderr
        assert files(target / "evidence") == EVIDENCE
        there, here = rows(source), rows(target)
        assert [row[4] for row in here["auth_user"]] == ["lead"]
        assert there.pop("incidents_backup")
        assert here.pop("incidents_backup") == [], "the record of backups tells of the place where it is"
        assert here == there
        # A restored place can be backed up and restored again.
        assert manage(target, "backup", str(place / "set2")).returncode == 0
        again = manage(target, "restore", "--replace", str(place / "set2"))
        assert again.returncode == 0, again.stderr
        assert rows(target) | {"incidents_backup": []} == there | {"incidents_backup": []}

    def test_a_backup_that_a_worker_made_by_itself_is_restored(self, source, place):
        root, target = place / "by-itself", place / "rehearsed"
        root.mkdir()
        with embedded.running(embedded.postgres(source)):
            task = "from config.tasks import back_up; back_up()"
            made = manage(source, "shell", "-c", task, EXHIBIT_BACKUP_ROOT=str(root))
        assert made.returncode == 0, made.stderr
        (folder,) = root.iterdir()
        fill(target, "static")
        gone = {"slug_hash": "ab" * 32, "room": 4711, "deleted": "2026-11-20T03:00:00+00:00"}
        (root / "deleted-rooms.json").write_text(json.dumps([gone]))
        done = manage(target, "restore", str(folder))
        assert done.returncode == 0, done.stderr
        assert files(target / "evidence") == EVIDENCE
        there, here = rows(source), rows(target)
        assert {row[2] for row in there.pop("incidents_backup")} >= {"done"}
        assert there.pop("incidents_roomdeletion") == []
        (tombstone,) = here.pop("incidents_roomdeletion")
        assert {4711, "ab" * 32, "done"} <= set(tombstone), "a room that was deleted after the backup is deleted again"
        assert here.pop("incidents_backup") == []
        assert here == there

    def test_a_place_in_use_is_refused_and_stays_as_it_is(self, source, place):
        before = rows(source), files(source / "evidence")
        done = manage(source, "restore", str(place / "set"))
        assert done.returncode == 1
        assert "--replace" in done.stderr
        assert (rows(source), files(source / "evidence")) == before

    def test_the_manifest_counts_what_is_there_and_leaves_out_what_can_be_made_again(self, source, place):
        listed = {entry["path"] for entry in json.loads((place / "set" / "manifest.json").read_text())["files"]}
        assert listed == {"database.dump", *(f"evidence/{name}" for name in EVIDENCE)}
        assert set(files(place / "set")) == listed | {"manifest.json"}

    def test_a_folder_with_something_in_it_is_not_written_to(self, source, place):
        done = manage(source, "backup", str(place / "set"))
        assert done.returncode == 1
        assert "is not empty" in done.stderr

    def test_it_needs_no_second_database_while_one_runs_here(self, source, place):
        with embedded.only_one(source, "up"), embedded.running(embedded.postgres(source)):
            done = manage(source, "backup", str(place / "while-running"))
            assert done.returncode == 0, done.stderr
            refused = manage(source, "restore", "--replace", str(place / "set"))
        assert refused.returncode == 1
        assert "already running here: up" in refused.stderr
        assert len(backup.verify(place / "while-running")) == 1 + len(EVIDENCE)


def write_set(folder: Path, **change: object) -> None:
    (folder / "evidence" / "7").mkdir(parents=True)
    (folder / "database.dump").write_bytes(b"dump")
    (folder / "evidence" / "7" / "a").write_bytes(b"evidence")
    entries = [
        {"path": "database.dump", "bytes": 4, "sha256": backup._digest(folder / "database.dump")},
        {"path": "evidence/7/a", "bytes": 8, "sha256": backup._digest(folder / "evidence" / "7" / "a")},
    ]
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "made": "2026-01-01", "files": entries} | change))


def test_a_whole_set_is_found_whole(tmp_path):
    write_set(tmp_path)
    assert [entry.path for entry in backup.verify(tmp_path)] == ["database.dump", "evidence/7/a"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "not finished"),
        (lambda folder: (folder / "evidence" / "7" / "a").write_bytes(b"Evidence"), "not what was backed up"),
        (lambda folder: (folder / "database.dump").unlink(), "missing"),
    ],
)
def test_a_damaged_set_is_refused(tmp_path, damage, message):
    write_set(tmp_path)
    damage(tmp_path)
    with pytest.raises(backup.BackupError, match=message):
        backup.verify(tmp_path)


def test_a_set_of_another_format_or_with_a_path_out_of_it_is_refused(tmp_path):
    write_set(tmp_path / "a", format=2)
    with pytest.raises(backup.BackupError, match="format 2"):
        backup.verify(tmp_path / "a")
    write_set(tmp_path / "b", files=[{"path": "evidence/../../x", "bytes": 0, "sha256": ""}])
    with pytest.raises(backup.BackupError, match="points out"):
        backup.verify(tmp_path / "b")


@pytest.mark.django_db
def test_evidence_that_vanishes_while_it_is_copied_makes_the_set_begin_again(tmp_path, settings, monkeypatch):
    settings.EVIDENCE_ROOT = tmp_path / "evidence"
    for name in ("a", "b"):
        (settings.EVIDENCE_ROOT / "7").mkdir(parents=True, exist_ok=True)
        (settings.EVIDENCE_ROOT / "7" / name).write_text(name)
    dumps = []

    def dump(program, *arguments):
        assert "--exclude-table-data=incidents_backup" in arguments
        dumps.append(program)
        (tmp_path / "set" / "database.dump").write_text(f"dump {len(dumps)}")

    copy = backup._copy

    def copy_during_a_purge(source, folder, name, go_on):
        if source.name == "b":
            source.unlink()
        return copy(source, folder, name, go_on)

    monkeypatch.setattr(backup, "_run", dump)
    monkeypatch.setattr(backup, "_copy", copy_during_a_purge)
    entries = backup.make(tmp_path / "set")
    assert dumps == ["pg_dump", "pg_dump"]
    assert [entry.path for entry in entries] == ["database.dump", "evidence/7/a"]
    assert backup.verify(tmp_path / "set") == entries


def test_a_backup_of_another_key_is_told_with_what_it_means(tmp_path, settings):
    write_set(tmp_path / "old")
    assert backup.has_our_key(tmp_path / "old"), "of before it was noted"
    write_set(tmp_path / "ours", key=seals.fingerprint())
    assert backup.has_our_key(tmp_path / "ours")
    settings.SECRET_KEY = "another key " * 5
    assert not backup.has_our_key(tmp_path / "ours")
    assert settings.SECRET_KEY not in seals.fingerprint()


@pytest.mark.django_db
def test_a_second_factor_is_removed_by_name(capsys, monkeypatch):
    monkeypatch.setattr(remove_second_factor, "reachable_database", nullcontext)  # the suite's own
    user = make_user("ada")
    Authenticator.objects.create(user=user, type="totp", data={"secret": "x"})
    Authenticator.objects.create(user=make_user("nils"), type="totp", data={"secret": "x"})
    call_command("remove_second_factor", "ada")
    assert capsys.readouterr().out == "ada signs in with the password alone now.\n"
    assert [row.user.username for row in Authenticator.objects.all()] == ["nils"]
    for name, words in (("ada", "ada has no second factor"), ("eve", "There is no account called eve")):
        with pytest.raises(CommandError, match=words):
            call_command("remove_second_factor", name)

"""Back up and restore database and evidence as one set: a folder with a dump, a copy of the files, and a manifest.

    DIR/manifest.json      written last: a folder without it is not a backup
    DIR/database.dump      pg_dump's custom format
    DIR/evidence/...       originals and tables, laid out as in EVIDENCE_ROOT

The dump is taken first. The files that it refers to are on disk already and never change; only a purge removes files,
so if a file vanishes between dump and copy, the backup starts again. The dump leaves out the record of backups, which
tells of this place and not of the one that is restored.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from config import embedded
from incidents.errors import StoreAway, StoreError
from incidents.models.site.backup import Backup
from incidents.storage import objects, seals, store, tombstones

MANIFEST = "manifest.json"
DUMP = "database.dump"
EVIDENCE = "evidence"
FORMAT = 1
ATTEMPTS = 3


class BackupError(Exception):
    """A backup or restore failed. The message is for the person at the terminal."""


@dataclass(frozen=True)
class Entry:
    path: str
    bytes: int
    sha256: str


@contextmanager
def reachable_database() -> Iterator[None]:
    """Start the embedded PostgreSQL unless `up` runs it already or DATABASE_URL names another."""
    try:
        with alone():
            yield
    except embedded.AlreadyRunning:
        yield


@contextmanager
def alone() -> Iterator[None]:
    """Lock the data folder for this process and run its PostgreSQL. Raises AlreadyRunning while `up` runs here."""
    with embedded.only_one(settings.EXHIBIT_VAR, f"a backup or restore (pid {os.getpid()})"):
        servers = [embedded.postgres(settings.EXHIBIT_VAR)] if settings.EMBEDDED["database"] else []
        with embedded.running(*servers):
            try:
                yield
            finally:
                connection.close()


def make(folder: Path, go_on: Callable[[], None] = lambda: None) -> list[Entry]:
    """Write a backup into `folder`, which must not exist or be empty; return its entries.

    `go_on` is called again and again, and may stop it by raising. Raises BackupError, OSError where files fail.
    """
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder} is not empty: name a new folder")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _require_space(folder)
    for _ in range(ATTEMPTS):
        go_on()
        left_out = f"--exclude-table-data={Backup._meta.db_table}"
        _run(
            *("pg_dump", "--format=custom", "--no-owner", "--no-privileges", left_out),
            *(f"--file={folder / DUMP}", *_database()),
        )
        entries = [Entry(DUMP, (folder / DUMP).stat().st_size, _digest(folder / DUMP))]
        try:
            entries += [_copy(source, folder, name, go_on) for source, name in _held()]
        except StoreAway as away:
            raise BackupError(str(away)) from away
        except (FileNotFoundError, StoreError):
            shutil.rmtree(folder / EVIDENCE, ignore_errors=True)
            continue
        break
    else:
        raise BackupError("evidence was purged again and again while it was copied: try later")
    manifest = {
        "format": FORMAT,
        "made": datetime.now(UTC).isoformat(),
        "key": seals.fingerprint(),
        "files": [asdict(entry) for entry in entries],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1))
    return entries


def verify(folder: Path) -> list[Entry]:
    """Compare every file of the backup with the manifest; raise BackupError at the first difference."""
    manifest = _manifest(folder)
    if manifest is None:
        raise BackupError(f"{folder} holds no {MANIFEST}: not a backup, or one that was not finished")
    if manifest["format"] != FORMAT:
        raise BackupError(f"{folder} has format {manifest['format']}, this release reads {FORMAT}")
    entries = [Entry(**entry) for entry in manifest["files"]]
    for entry in entries:
        file = folder / entry.path
        if ".." in Path(entry.path).parts or Path(entry.path).is_absolute():
            raise BackupError(f"{entry.path} points out of the backup")
        if not file.is_file() or file.stat().st_size != entry.bytes or _digest(file) != entry.sha256:
            raise BackupError(f"{file} is missing or not what was backed up")
    return entries


def has_our_key(folder: Path) -> bool:
    """Tell whether the backup was made with the present secret key; True for old backups that record no key."""
    noted: str | None = (_manifest(folder) or {}).get("key")
    return noted is None or noted == seals.fingerprint()


def written(folder: Path) -> tuple[int, int] | None:
    """Return the number of files of evidence and the bytes of a finished backup; None if it was not finished."""
    manifest = _manifest(folder)
    if manifest is None:
        return None
    return figures([Entry(**entry) for entry in manifest["files"]])


def figures(entries: Sequence[Entry]) -> tuple[int, int]:
    """Return the number of files of evidence (without the dump) and the bytes of all entries."""
    return len(entries) - 1, sum(entry.bytes for entry in entries)


def is_ours(folder: Path) -> bool:
    """Tell whether this is a finished backup that was made with the present secret key."""
    manifest = _manifest(folder)
    return manifest is not None and manifest.get("key") == seals.fingerprint()


def deleted_rooms(folder: Path) -> list[tombstones.Tombstone]:
    """Return what is known of deleted rooms here and beside the backup: rooms that a restored backup brings back."""
    return [*tombstones.here(), *tombstones.beside(folder)]


def restore(folder: Path, replace: bool = False) -> list[Entry]:
    """Restore a backup. Refuses an installation that has accounts or evidence, unless `replace` is true.

    It may bring rooms back that were deleted since: `deleted_rooms` is asked before, its rows put back afterwards.
    """
    entries = verify(folder)
    root: Path = settings.EVIDENCE_ROOT
    if not replace and (_has_people() or any(_evidence(root))):
        raise BackupError("there are accounts or evidence here already; --replace puts the backup in their place")
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")
    connection.close()
    _run(
        "pg_restore",
        "--single-transaction",
        "--exit-on-error",
        "--no-owner",
        "--no-privileges",
        *_database(),
        str(folder / DUMP),
    )
    for old in list(root.iterdir()) if root.exists() else []:
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for entry in entries[1:]:
        _copy(folder / entry.path, root.parent, str(Path(root.name, *Path(entry.path).parts[1:])))
    return entries


def _held() -> Iterator[tuple[Path, str]]:
    """Yield each file to back up, from the evidence folder or by way of copies of what an object store holds."""
    if objects.on():
        return ((source, str(Path(EVIDENCE, name))) for source, name in store.evidence())
    return _evidence(settings.EVIDENCE_ROOT)


def _evidence(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file to back up, a reading's manifest before the tables that it lists.

    Leaves out what can be built again (a room's cache), unfinished uploads, and new files (.new) that are about to be
    renamed.
    """
    for parent, folders, files in os.walk(root):
        depth = len(Path(parent).relative_to(root).parts)
        folders[:] = sorted(name for name in folders if (depth, name) not in {(0, "incoming"), (1, "cache")})
        for name in sorted(files, key=lambda name: (name != "manifest.json", name)):
            if name.endswith(".new"):
                continue
            source = Path(parent, name)
            yield source, str(Path(EVIDENCE, source.relative_to(root)))


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    except FileNotFoundError:
        return None
    return manifest


def _require_space(folder: Path) -> None:
    """Raise BackupError unless the disk has room for the evidence and for a dump as large as the database.

    On the disk of the evidence itself, uploads still find the space that is kept free for them.
    """
    root: Path = settings.EVIDENCE_ROOT
    needed = (
        store.evidence_bytes()
        if objects.on()
        else sum(source.stat().st_size for source, _ in _evidence(root) if source.exists())
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        needed += int(cursor.fetchone()[0])
    if root.exists() and root.stat().st_dev == folder.stat().st_dev:
        needed += settings.EXHIBIT_MIN_FREE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        mib = 2**20
        raise BackupError(f"{folder}: {needed / mib:,.0f} MiB are needed, {free / mib:,.0f} MiB are free")


def _copy(source: Path, folder: Path, name: str, go_on: Callable[[], None] = lambda: None) -> Entry:
    """Copy a file to disk (fsync), hashing it on the way."""
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as there, target.open("wb") as here:
        while block := there.read(2**20):
            go_on()
            digest.update(block)
            size += here.write(block)
        here.flush()
        os.fsync(here.fileno())
    return Entry(name, size, digest.hexdigest())


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _has_people() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('public.auth_user') IS NOT NULL")
        row = cursor.fetchone()
        if row is None or not row[0]:
            return False
        cursor.execute("SELECT EXISTS (SELECT 1 FROM auth_user)")
        row = cursor.fetchone()
        return row is not None and bool(row[0])


def _database() -> list[str]:
    """Return the option that names Django's database, without the password, which the process list would show."""
    known = connection.settings_dict
    words = {"host": known["HOST"], "port": known["PORT"], "user": known["USER"], "dbname": known["NAME"]}
    options = {name: value for name, value in known["OPTIONS"].items() if name.startswith("ssl")}
    return [f"--dbname={make_conninfo(**{key: str(value) for key, value in words.items() if value}, **options)}"]


def _run(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [embedded.postgres_program(program), *arguments],
        env={**os.environ, "PGPASSWORD": str(connection.settings_dict["PASSWORD"])},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BackupError(f"{program} failed: {done.stderr.strip()}")

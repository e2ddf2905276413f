"""The door to originals and tables. Only this module builds their paths, never from names typed by people.

They lie in the evidence folder. Where an object store holds them, the folder has copies: `bring_...` sees to it that
what it is asked for is here, `send_...` gives the store what was made here, and without an object store both have
nothing to do.

<EVIDENCE_ROOT>/<room id>/<sha256>                         originals
<EVIDENCE_ROOT>/<room id>/<artifact>/<reading>/            tables of one reading
<EVIDENCE_ROOT>/<room id>/<artifact>/<reading>.lock        held while the reading is written
<EVIDENCE_ROOT>/<room id>/cache/                           derived tables
<EVIDENCE_ROOT>/incoming/<id>                              uploads under way
<EVIDENCE_ROOT>/quarantine/<id>                            files from upload links, until a member takes them in
<EVIDENCE_ROOT>/copies/                                    what the object store holds of these
(incidents/storage/copies.py)
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from django.conf import settings
from django.db import transaction

from incidents.errors import NoSpace, Refused, StoreError, TooLarge
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.evidence.reading import Reading, ReadingState
from incidents.models.room.incident import RoomCounter
from incidents.storage import copies, objects

if TYPE_CHECKING:
    from parsers.lines import LineReader

_SHA256 = re.compile(r"[0-9a-f]{64}")
MANIFEST = "manifest.json"
SENT = ("derived", "overview")
"""Folders of a room's cache that other hosts need."""
# Bytes of a long upload after which the free space is checked again.
_LOOK_EVERY = 16 * 2**20
WITHOUT_ORIGINAL = (
    "This artifact came in a bundle of tables: its rows are here, its lines are not. Ask the room that it came from."
)


def _root() -> Path:
    return Path(settings.EVIDENCE_ROOT)


def _room(incident_id: int) -> Path:
    return _root() / str(int(incident_id))


def _original(incident_id: int, sha256: str) -> Path:
    if not _SHA256.fullmatch(sha256):
        raise ValueError("not a SHA-256 in hex")
    return _room(incident_id) / sha256


def original(artifact: Artifact) -> Path:
    return _original(artifact.incident_id, artifact.sha256)


def bring_original(artifact: Artifact) -> Path:
    """Return the original's place, with its bytes there. Raises `StoreError` if the object store does not give them."""
    path = original(artifact)
    if objects.on():
        copies.bring_file(path, artifact.sha256)
    return path


def reading_dir(reading: Reading) -> Path:
    return _room(reading.artifact.incident_id) / str(int(reading.artifact.number)) / str(int(reading.number))


def bring_reading(reading: Reading) -> Path:
    """Return the folder of a reading, with what its row names there; a running one is as its worker sent it last."""
    folder = reading_dir(reading)
    if objects.on():
        copies.hold(folder)
        if reading.stored:
            copies.bring_folder(folder, reading.stored, last=MANIFEST)
    return folder


def send_reading(reading: Reading) -> str:
    """Give the object store what the manifest of a reading counts; return what its row is to name (`Reading.stored`).

    May be called while the reading is written: files of batches that the manifest does not count yet are left out.
    Without an object store there is nothing to name.
    """
    if not objects.on():
        return ""
    folder = reading_dir(reading)
    try:  # as it is now: the next one may count files that are not among these
        manifest = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        return reading.stored
    last = max((batch["batch"] for batch in json.loads(manifest)["batches"]), default=0)
    names = []
    for file in folder.rglob("*") if folder.exists() else ():
        counted = not file.stem.isdecimal() or int(file.stem) <= last
        if file.is_file() and counted and file.suffix != ".new" and file.name != MANIFEST:
            names.append(file.relative_to(folder).as_posix())
    with _plain_faults():
        return copies.send_folder(folder, names, {MANIFEST: manifest})


def send_tables(incident_id: int, number: int) -> str:
    """Give the object store what `place_table` wrote of an artifact, as `send_reading` does."""
    return send_reading(Reading(artifact=Artifact(incident_id=incident_id, number=number), number=1))


def bring_case(incident_id: int, readings: Iterable[tuple[Artifact, int | None]], originals: bool) -> None:
    """See to it that the tables of a room's artifacts are here, by number of reading; if asked the originals too."""
    if not objects.on():
        return
    stored = {
        (artifact_id, number): name
        for artifact_id, number, name in Reading.objects.filter(artifact__incident=incident_id).values_list(
            "artifact_id", "number", "stored"
        )
    }
    for artifact, number in readings:
        if number is not None:
            bring_reading(Reading(artifact=artifact, number=number, stored=stored.get((artifact.pk, number), "")))
        if originals and artifact.has_original:
            bring_original(artifact)


def let_go_of_copies(older_than_s: float = 0.0) -> None:
    """Let copies be removed that this process did not ask for within `older_than_s`: after a job all of them."""
    copies.let_go(older_than_s)


def shown_reading(artifact: Artifact) -> Reading | None:
    """Return the reading whose lines are shown: the one in use, else the newest running, stopped or failed one."""
    reading = artifact.reading
    if reading is None:
        shown = (r for r in artifact.readings.all() if r.state in (ReadingState.RUNNING, ReadingState.FAILED))
        reading = max(shown, key=lambda r: r.number, default=None)
    if reading is not None:
        reading.artifact = artifact
    return reading


def lines_of(artifact: Artifact) -> LineReader | None:
    """Open the lines of an artifact; None while nothing of it has been read. Raises OSError, ParserError."""
    from parsers.lines import LineReader  # loads PyArrow, which must not be loaded in a process that forks

    reading = shown_reading(artifact)
    if reading is None or artifact.purged or not (folder := bring_reading(reading)).exists():
        return None
    try:
        return LineReader(bring_original(artifact), folder)
    except FileNotFoundError:  # the reading has begun, but no batch is written yet
        return None


def bundle_path(incident_id: int, id: uuid.UUID) -> Path:
    """Return the path of a bundle: one made of the room, or the one that the room is filled from."""
    return _room(incident_id) / "bundles" / str(uuid.UUID(str(id)))


def bring_bundle(incident_id: int, id: uuid.UUID, sha256: str | None = None) -> Path:
    """Return a bundle's place, with its bytes there; `sha256` is checked if it is known."""
    path = bundle_path(incident_id, id)
    if objects.on():
        copies.bring_file(path, sha256)
    return path


def drop_bundle(incident_id: int, id: uuid.UUID) -> None:
    """Remove a bundle, finished or partly written. Can be repeated."""
    with _plain_faults():
        path = bundle_path(incident_id, id)
        if objects.on():
            objects.drop([copies.unit_of(path)])
            copies.forget(path)
        for left in path.parent.glob(f"{path.name}*") if path.parent.is_dir() else ():
            left.unlink(missing_ok=True)


def keep_bundle(incoming: Incoming, incident_id: int, id: uuid.UUID) -> None:
    """Store an incoming file as the bundle that a room is filled from, safely on disk."""
    target = bundle_path(incident_id, id)
    if objects.on():
        copies.send_file(target, incoming.path)
    with _plain_faults():
        incoming.flush()
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.link(incoming.path, target)
        _fsync_folder(target.parent)


@contextmanager
def bundle_in_the_making(incident_id: int, id: uuid.UUID) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Yield two files, one to write members to and one for the whole; the whole gets its name if nothing was raised."""
    target = bundle_path(incident_id, id)
    body, whole = target.with_name(f"{target.name}.body"), target.with_name(f"{target.name}.part")
    with _plain_faults():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with body.open("w+b") as members, whole.open("w+b") as made:
                yield members, made
                made.flush()
                os.fsync(made.fileno())
            os.replace(whole, target)
            _fsync_folder(target.parent)
            if objects.on():
                copies.send_file(target, target)
        finally:
            body.unlink(missing_ok=True)
            whole.unlink(missing_ok=True)


@contextmanager
def tables_in_the_making(incident_id: int, id: uuid.UUID) -> Iterator[Path]:
    """Yield an empty folder beside a bundle for files that go into it; it is removed in the end."""
    path = bundle_path(incident_id, id)
    folder = path.with_name(f"tables-{path.name}")
    with _plain_faults():
        if folder.exists():  # of a worker that was killed
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def place_table(incident_id: int, number: int, table: str | None, batch: str, pieces: Iterable[bytes]) -> None:
    """Write a file of an artifact's first reading as it came in a bundle: a batch of a table, or (no table) the manifest.

    Names are checked by whoever read the bundle (incidents/storage/bundles.py: TABLE). Can be repeated.
    """
    folder = _room(incident_id) / str(int(number)) / "1"
    target = folder / table / f"{batch}.parquet" if table else folder / "manifest.json"
    with _plain_faults():
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(".part")
        with fresh.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, target)


def _cache(incident_id: int) -> Path:
    return _room(incident_id) / "cache"


def cache_dir(incident_id: int) -> Path:
    """Return the folder of a room's derived tables, with those of its last judgement there."""
    folder = _cache(incident_id)
    if objects.on():
        copies.hold(folder)
        stored = RoomCounter.objects.filter(incident_id=incident_id).values_list("cache_stored", flat=True).first()
        if stored:
            copies.bring_folder(folder, stored)
    return folder


def send_cache(incident_id: int) -> str:
    """Give the object store the tables of a judgement that pages draw; return what the row names (`cache_stored`).

    Results of single rules stay on this host: they are many and small, and the next judgement makes them again.
    """
    if not objects.on():
        return ""
    folder = _cache(incident_id)
    with _plain_faults():
        files = [file for name in SENT for file in (folder / name).rglob("*")]
        return copies.send_folder(
            folder, [file.relative_to(folder).as_posix() for file in files if file.is_file() and file.suffix != ".new"]
        )


def open_original(artifact: Artifact) -> BinaryIO:
    """Open the stored bytes. Raises `StoreError` if they are missing (a purged artifact has none).

    Raises `Refused` for an artifact that came without them.
    """
    if not artifact.has_original:
        raise Refused(WITHOUT_ORIGINAL, 410)
    try:
        return bring_original(artifact).open("rb")
    except OSError as error:
        raise StoreError(f"artifact {artifact.number}: {error.strerror}") from error


@contextmanager
def lock_reading(reading: Reading) -> Iterator[None]:
    """Lock the reading's folder exclusively. The kernel releases the lock when the process dies.

    Raises `StoreError` if another process still writes there (a worker that was paused beyond its lease). With an
    object store each host has a folder of its own, and only what the holder of the lease has sent counts.
    """
    folder = bring_reading(reading)  # what a worker on another host has done already
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError("another process still reads this file") from error
        yield


def require_space(size: int) -> None:
    """Raise `NoSpace` if `size` more bytes would leave less than the minimum of free space."""
    folder = _root()
    folder.mkdir(parents=True, exist_ok=True)
    if objects.on() and shutil.disk_usage(folder).free - size < settings.EXHIBIT_MIN_FREE_BYTES:
        copies.trim(settings.EXHIBIT_COPIES_BYTES, settings.EXHIBIT_MIN_FREE_BYTES + size)
    if shutil.disk_usage(folder).free - size < settings.EXHIBIT_MIN_FREE_BYTES:
        raise NoSpace(
            "The server's disk for evidence is full. Nothing was stored; what the room holds is safe. "
            "Ask an administrator to make space, then send the file again."
        )


def require_size(size: int) -> None:
    if size > settings.EXHIBIT_MAX_UPLOAD_BYTES:
        limit = settings.EXHIBIT_MAX_UPLOAD_BYTES / 2**20
        raise TooLarge(f"The file is larger than this server takes ({limit:,.0f} MiB). Send a part of it.")


class Incoming:
    """A file being received: written and hashed piece by piece, then stored as an original by `keep`.

    Continuing an earlier upload hashes the bytes already received, unless `digest` holds their hash state.
    """

    def __init__(self, id: uuid.UUID | None = None, digest: Any = None, size: int = 0) -> None:
        self.id = id or uuid.uuid4()
        self.path = incoming_path(self.id)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab", buffering=0)  # a buffer could hide that a full disk refused the bytes
        there = self._file.tell()
        if digest is None or size != there:
            digest = hashlib.sha256()
            with self.path.open("rb") as file:
                while piece := file.read(2**20):
                    digest.update(piece)
        self.digest = digest
        self.size = there
        self._looked_at = there

    def write(self, piece: bytes | memoryview) -> None:
        """Append a piece. Raises `TooLarge` and `NoSpace` at the limits, `StoreError` for other faults."""
        require_size(self.size + len(piece))
        if self.size - self._looked_at >= _LOOK_EVERY:
            require_space(0)
            self._looked_at = self.size
        with _plain_faults():
            rest = memoryview(piece)
            while rest:
                rest = rest[self._file.write(rest) :]
        self.digest.update(piece)
        self.size += len(piece)

    def flush(self) -> None:
        """Flush everything written so far to disk (fsync)."""
        with _plain_faults():
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; the bytes written stay, so that the upload can continue."""
        with _plain_faults():
            self._file.close()

    @property
    def sha256(self) -> str:
        text: str = self.digest.hexdigest()
        return text

    def send_ahead(self, incident_id: int) -> None:
        """Give the object store the bytes before `keep`, which runs under the room's lock and must not take long."""
        if objects.on():
            copies.send_file(_original(incident_id, self.sha256), self.path, named_by_content=True)

    def take_back(self, incident_id: int) -> None:
        """Remove from the object store what `send_ahead` gave it, unless the room holds the same content."""
        if not objects.on():
            return
        with transaction.atomic():
            RoomCounter.lock(incident_id)
            held = Artifact.objects.filter(incident_id=incident_id, sha256=self.sha256)
            if not held.exclude(state=ArtifactState.PURGED).exists():
                objects.drop([copies.unit_of(_original(incident_id, self.sha256))])
                copies.forget(_original(incident_id, self.sha256))

    def keep(self, incident_id: int) -> None:
        """Store the bytes as an original, safely on disk. Can be repeated.

        They also stay among the incoming files until `discard`, so that a transaction that fails later loses nothing.
        """
        self.send_ahead(incident_id)  # nothing to do, unless it was purged meanwhile
        target = _original(incident_id, self.sha256)
        with _plain_faults():
            if not self._file.closed:
                self.flush()
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):  # the same content: only complete files ever get this name
                os.link(self.path, target)
            _fsync_folder(target.parent)
            _fsync_folder(target.parent.parent)

    def set_aside(self, id: uuid.UUID) -> None:
        """Store the bytes in quarantine, safely on disk. They also stay among the incoming files until `discard`."""
        target = quarantine_path(id)
        if objects.on():
            copies.send_file(target, self.path)
        with _plain_faults():
            if not self._file.closed:
                self.flush()
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.link(self.path, target)
            _fsync_folder(target.parent)

    def discard(self) -> None:
        self._file.close()
        self.path.unlink(missing_ok=True)


def quarantine_path(id: uuid.UUID) -> Path:
    return _root() / "quarantine" / str(uuid.UUID(str(id)))


def out_of_quarantine(id: uuid.UUID) -> Incoming:
    """Return a quarantined file as `Incoming`, hashed again; it also stays in quarantine until `drop_quarantined`."""
    fresh = uuid.uuid4()
    with _plain_faults():
        target = incoming_path(fresh)
        target.parent.mkdir(parents=True, exist_ok=True)
        if objects.on():
            copies.bring_file(quarantine_path(id), None)  # whoever takes it in compares its hash
        os.link(quarantine_path(id), target)
        os.utime(target)  # with its old time `forget_incoming` would remove it
        return Incoming(fresh)


def drop_quarantined(id: uuid.UUID) -> None:
    path = quarantine_path(id)
    if objects.on():
        objects.drop([copies.unit_of(path)])
        copies.forget(path)
    path.unlink(missing_ok=True)


def quarantined_ids(older_than_s: float) -> list[uuid.UUID]:
    """Return the ids of the files that have been in quarantine for longer than `older_than_s`."""
    if objects.on():
        before = time.time() - older_than_s
        return [
            uuid.UUID(stored.key.rpartition("/")[2])
            for stored in objects.listed("quarantine")
            if stored.modified.timestamp() < before
        ]
    folder = _root() / "quarantine"
    old = time.time() - older_than_s
    # Linking a file changes its ctime, so the age counts from when it came into quarantine.
    return [
        uuid.UUID(path.name) for path in (folder.iterdir() if folder.is_dir() else ()) if path.stat().st_ctime < old
    ]


def incoming_path(id: uuid.UUID) -> Path:
    return _root() / "incoming" / str(uuid.UUID(str(id)))


def incoming_size(id: uuid.UUID) -> int:
    """Return how many bytes of an upload have been received; 0 if none."""
    try:
        return incoming_path(id).stat().st_size
    except FileNotFoundError:
        return 0


def discard_incoming(id: uuid.UUID) -> None:
    incoming_path(id).unlink(missing_ok=True)


def forget_incoming(older_than_s: float) -> int:
    """Remove uploads that received nothing for longer than `older_than_s`; return how many."""
    folder, removed = _root() / "incoming", 0
    for path in folder.iterdir() if folder.is_dir() else ():
        if time.time() - path.stat().st_mtime > older_than_s:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def purge(artifact: Artifact) -> None:
    """Remove the original, all readings and all derived tables of the room. Can be repeated.

    Runs under the room's lock: if the same content was uploaded again, the original belongs to the new artifact and
    stays.
    """
    with transaction.atomic(), _plain_faults():
        RoomCounter.lock(artifact.incident_id)
        same = Artifact.objects.filter(incident_id=artifact.incident_id, sha256=artifact.sha256)
        if not same.exclude(state=ArtifactState.PURGED).exists():
            if objects.on():
                objects.drop([copies.unit_of(original(artifact))])
                copies.forget(original(artifact))
            original(artifact).unlink(missing_ok=True)
        for folder in (_room(artifact.incident_id) / str(int(artifact.number)), _cache(artifact.incident_id)):
            _drop_folder(folder)
        if objects.on():
            RoomCounter.objects.filter(incident_id=artifact.incident_id).update(cache_stored="")


def _drop_folder(folder: Path) -> None:
    """Remove a folder with all that it holds, here and from the object store."""
    if objects.on():
        objects.drop_folder(copies.unit_of(folder))
        copies.forget(folder)
    if folder.exists():
        shutil.rmtree(folder)


def drop_room(incident_id: int, uploads: Iterable[uuid.UUID] = (), quarantined: Iterable[uuid.UUID] = ()) -> None:
    """Remove everything of a room: its folder, its uploads under way, what waits in quarantine. Can be repeated.

    What another room holds of the same content stays: each has a name of its own for it.
    """
    with _plain_faults():
        for path in (*map(incoming_path, uploads), *map(quarantine_path, quarantined)):
            path.unlink(missing_ok=True)
            if objects.on():
                objects.drop([copies.unit_of(path)])
        _drop_folder(folder := _room(incident_id))
        if folder.parent.exists():
            _fsync_folder(folder.parent)


def forget_room(incident_id: int) -> None:
    """Remove this host's copies of a room that is gone; those in use stay until the next call."""
    folder = _room(incident_id)
    units = [path for path in folder.iterdir() if path.is_file()]
    units += [
        path for parent in folder.iterdir() if parent.is_dir() and parent.name.isdecimal() for path in parent.iterdir()
    ]
    units += [*(folder / "bundles").glob("*"), _cache(incident_id)]
    if all(copies.remove(path) for path in units):
        shutil.rmtree(folder)


def forget_artifact(artifact: Artifact) -> None:
    """Remove this host's copies of a purged artifact, but not an original that another artifact of its room has."""
    same = Artifact.objects.filter(incident_id=artifact.incident_id, sha256=artifact.sha256)
    if original(artifact).exists() and not same.exclude(state=ArtifactState.PURGED).exists():
        copies.remove(original(artifact))
    folder = _room(artifact.incident_id) / str(int(artifact.number))
    if folder.exists() and all(copies.remove(path) for path in folder.iterdir()):
        shutil.rmtree(folder)


def evidence() -> Iterator[tuple[Path, str]]:
    """Yield each file of an object store that a backup holds, with its name there; fetches one unit at a time.

    Raises `StoreError` where something was purged meanwhile.
    """
    for artifact in _with_originals():
        file = bring_original(artifact)
        yield file, copies.unit_of(file)
        copies.let_go()
    for reading in list(Reading.objects.exclude(stored="").select_related("artifact")):
        folder = bring_reading(reading)
        for file in sorted(folder.rglob("*"), key=lambda file: (file.name != MANIFEST, file)):
            if file.is_file() and file.suffix != ".new":
                yield file, copies.unit_of(file)
        copies.let_go()
    for stored in list(objects.listed()):
        if re.fullmatch(r"\d+/bundles/[^/]+|quarantine/[^/]+", stored.key):
            copies.bring_file(file := _root() / stored.key, None)
            yield file, stored.key
            copies.let_go()


def _with_originals() -> list[Artifact]:
    return list(Artifact.objects.exclude(state=ArtifactState.PURGED).filter(has_original=True))


def evidence_bytes() -> int:
    """Return how many bytes the object store holds."""
    return sum(stored.size for stored in objects.listed())


def send_everything() -> int:
    """Give the object store all that this host has of what rows name; return how many units. Can be repeated."""
    sent = 0
    for artifact in _with_originals():
        if (path := original(artifact)).exists():
            copies.send_file(path, path, named_by_content=True)
            sent += 1
    for reading in list(Reading.objects.exclude(state=ReadingState.REPLACED).select_related("artifact")):
        if (reading_dir(reading) / MANIFEST).exists():
            Reading.objects.filter(pk=reading.pk).update(stored=send_reading(reading))
            sent += 1
    for number in RoomCounter.objects.values_list("incident_id", flat=True):
        if _cache(number).exists():
            RoomCounter.objects.filter(incident_id=number).update(cache_stored=send_cache(number))
            sent += 1
    for path in [*_root().glob("*/bundles/*"), *_root().glob("quarantine/*")]:
        if not path.suffix:
            copies.send_file(path, path)
            sent += 1
    copies.let_go()
    return sent


def begin_anew() -> None:
    """Empty the object store, and forget what rows name in it: before a restored folder is sent."""
    objects.drop_folder("")
    Reading.objects.update(stored="")
    RoomCounter.objects.update(cache_stored="")


def drop_reading(reading: Reading) -> None:
    """Remove the tables of a reading that is no longer used. Can be repeated."""
    folder = reading_dir(reading)
    with _plain_faults():
        if objects.on() and reading.stored:
            objects.drop_folder(copies.unit_of(folder))
            copies.forget(folder)
            Reading.objects.filter(pk=reading.pk).update(stored="")
        if folder.exists():
            shutil.rmtree(folder)
        folder.with_suffix(".lock").unlink(missing_ok=True)


def export_names(artifacts: list[Artifact]) -> dict[int, str]:
    """Return number -> a safe file name that is unique in its room, for `case.yaml`, reports and downloads.

    >>> export_names([Artifact(number=n, name=name) for n, name in enumerate(("../a b.txt", "c", "c"), start=1)])
    {1: 'a_b.txt', 2: '2-c', 3: '3-c'}
    """
    plain = {artifact.number: _clean(artifact.name) for artifact in artifacts}
    taken: dict[str, int] = {}
    for name in plain.values():
        taken[name.lower()] = taken.get(name.lower(), 0) + 1
    return {
        number: name if taken[name.lower()] == 1 and not re.match(r"\d+-", name) else f"{number}-{name}"
        for number, name in plain.items()
    }


def _clean(name: str) -> str:
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", last).strip("._-")[:100] or "unnamed"


def _fsync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _plain_faults() -> Iterator[None]:
    """Translate errors of the file system: a full disk becomes `NoSpace`, others a retryable `StoreError`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpace(
                "The server's disk for evidence is full. This file was not stored; what the room holds is safe."
            ) from error
        raise StoreError(f"the evidence folder: {error.strerror}") from error


def receive_all(chunks: Iterable[bytes]) -> Incoming:
    """Write a whole stream to an `Incoming`; after any error nothing is left behind."""
    require_space(0)
    incoming = Incoming()
    try:
        for chunk in chunks:
            incoming.write(chunk)
        incoming.flush()
    except BaseException:
        incoming.discard()
        raise
    return incoming

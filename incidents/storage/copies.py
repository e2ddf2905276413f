"""Copies on this host of what the object store holds: fetched when they are needed, and bounded in size.

A unit is what is fetched and removed as one: an original, the tables of a reading, the derived tables of a room, a
bundle. It lies in the evidence folder at the place that it has without an object store, so whatever reads it reads
plain files. Beside:

<EVIDENCE_ROOT>/copies/<unit>.lock    locked (shared) by each process that uses the unit; its time tells of the last use
<EVIDENCE_ROOT>/copies/<unit>.fetch   locked by the process that fetches it
<EVIDENCE_ROOT>/copies/<unit>.json    written when the store holds all that is here: only such a unit is ever removed

A folder is stored as objects named after their content and an index, `<unit>/<sha256>`, that lists them. An index is
never changed: a row of the database names the one in force, so nobody ever sees half of a folder, or of two writers a
mixture.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from incidents.errors import StoreAway, StoreError
from incidents.storage import objects

FOLDER = "copies"
NEVER = 0
"""The time of a file that may have changed since it was sent."""
AT_ONCE = 8
"""Files of a folder under way at once."""
SMALL = 2**20
"""Files up to this size are sent from memory: what was hashed is what is sent, even if the file is replaced meanwhile."""
NO_ROOM = "the disk of this server for copies of evidence is full"
NOTED_S = 60.0
"""The last use of a unit is noted at most this often."""


@dataclass(frozen=True)
class File:
    """A file of a folder as it was sent or fetched; size and time tell without reading whether it is still that."""

    sha256: str
    size: int
    changed_ns: int


@dataclass
class Record:
    """What the store is known to hold of a unit here. `index` is empty for a single file."""

    index: str = ""
    bytes: int = 0
    files: dict[str, File] = field(default_factory=dict)


@dataclass
class _Hold:
    handle: int
    used: float
    noted: float


_holds: dict[Path, _Hold] = {}
_mutex = threading.Lock()


def root() -> Path:
    return Path(settings.EVIDENCE_ROOT)


def unit_of(path: Path) -> str:
    """Return the name of the unit at a place in the evidence folder; it is also the beginning of its keys."""
    return path.relative_to(root()).as_posix()


def _beside(path: Path, ending: str) -> Path:
    return root() / FOLDER / f"{unit_of(path).replace('/', '+')}.{ending}"


# --- use ----------------------------------------------------------------------------------------------------------


def hold(path: Path) -> None:
    """Keep a unit on this host until this process ends or calls `let_go`. Returns at once if it holds it already."""
    lock = _beside(path, "lock")
    now = time.monotonic()
    with _mutex:
        held = _holds.get(lock)
        if held is None:
            held = _holds[lock] = _Hold(_locked(lock, fcntl.LOCK_SH), now, now)
        elif now - held.noted > NOTED_S:
            os.utime(held.handle)
            held.noted = now
        held.used = now


def let_go(older_than_s: float = 0.0) -> None:
    """Allow the units to be removed that this process has not asked for within `older_than_s`."""
    now = time.monotonic()
    with _mutex:
        for lock, held in list(_holds.items()):
            if now - held.used >= older_than_s:
                os.close(held.handle)
                del _holds[lock]


def _locked(path: Path, how: int) -> int:
    """Open and lock a file, and return its handle: of the file that has the name now, should another have removed
    it.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, how)
            with suppress(FileNotFoundError):
                if os.stat(path).st_ino == os.fstat(handle).st_ino:
                    os.utime(handle)
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process or thread of this host at a time fetch or send a unit. What one that was killed began goes
    first.
    """
    handle = _locked(_beside(path, "fetch"), fcntl.LOCK_EX)
    try:
        for left in (root() / FOLDER).glob(f"{_beside(path, '*').name}.new"):
            left.unlink(missing_ok=True)
        yield
    finally:
        os.close(handle)


def _record(path: Path) -> Record | None:
    try:
        told = json.loads(_beside(path, "json").read_text("utf-8"))
    except (FileNotFoundError, ValueError):  # not whole after a loss of power: as if it were not known
        return None
    return Record(told["index"], told["bytes"], {name: File(**values) for name, values in told["files"].items()})


def _note(path: Path, record: Record) -> None:
    with _in_the_making(path) as (fresh, file):
        file.write(json.dumps(asdict(record)).encode())
        file.flush()
        os.fsync(file.fileno())
        fresh.replace(_beside(path, "json"))


@contextmanager
def _in_the_making(unit: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Yield a new file on the disk of a unit, and its path until it gets a name."""
    fresh = _beside(unit, f"{os.getpid()}-{threading.get_ident()}.new")
    fresh.parent.mkdir(parents=True, exist_ok=True)
    try:
        with fresh.open("w+b") as file:
            yield fresh, file
    finally:
        fresh.unlink(missing_ok=True)


# --- single files -------------------------------------------------------------------------------------------------


def send_file(path: Path, source: Path, named_by_content: bool = False) -> None:
    """Store the bytes of `source` as the unit at `path`. Can be repeated.

    If the unit's name tells its content, nothing is sent that the store holds already.
    """
    hold(path)
    size = source.stat().st_size
    if not (named_by_content and objects.holds(unit_of(path), size)):
        with source.open("rb") as file:
            objects.put_file(unit_of(path), file)
    _note(path, Record(bytes=size))


def bring_file(path: Path, sha256: str | None) -> None:
    """See to it that the single file of a unit is here; `sha256` is its hash if that is known."""
    hold(path)
    if path.exists():
        return
    with _alone(path):
        if not path.exists():
            _fetch(path, path, unit_of(path), sha256)
            _note(path, Record(bytes=path.stat().st_size))


def _fetch(unit: Path, path: Path, key: str, sha256: str | None) -> None:
    """Fetch an object of a unit to a new file, checked and safely on disk, which then gets its name.

    Raises `StoreAway` if the disk is full of what is in use.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _in_the_making(unit) as (fresh, file):
            objects.fetch(key, file, sha256)
            file.flush()
            os.fsync(file.fileno())
            fresh.replace(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreAway(NO_ROOM) from error
        raise StoreError(f"copies of evidence: {error.strerror}") from error


# --- folders ------------------------------------------------------------------------------------------------------


def send_folder(path: Path, names: Iterable[str], taken: Mapping[str, bytes] | None = None) -> str:
    """Store files of a folder that the store lacks, then their index; return its hash, for a row of the database.

    `names` are relative to the folder; one that is gone by now is left out. `taken` are further files with the content
    that is to be stored, whatever theirs is by now. Can be repeated.
    """
    hold(path)
    with _alone(path):
        known = _record(path) or Record()
        stored = {file.sha256 for file in known.files.values()}

        def send(name: str) -> tuple[str, File] | None:
            try:
                return name, _send_one(path, name, known.files.get(name), stored)
            except FileNotFoundError:
                return None

        with ThreadPoolExecutor(AT_ONCE) as threads:
            files = dict(sent for sent in threads.map(send, names) if sent)
        for name, content in (taken or {}).items():
            digest = hashlib.sha256(content).hexdigest()
            if digest not in stored:
                objects.put(f"{unit_of(path)}/{digest}", content)
            files[name] = File(digest, len(content), NEVER)
        files = dict(sorted(files.items()))
        index = json.dumps({name: [file.sha256, file.size] for name, file in files.items()}).encode()
        digest = hashlib.sha256(index).hexdigest()
        if digest != known.index:
            objects.put(f"{unit_of(path)}/{digest}", index)
        _note(path, Record(digest, sum(file.size for file in files.values()), files))
        return digest


def _send_one(folder: Path, name: str, known: File | None, stored: set[str]) -> File:
    with (folder / name).open("rb") as file:
        status = os.fstat(file.fileno())
        if known and (known.size, known.changed_ns) == (status.st_size, status.st_mtime_ns):
            return known
        content: BinaryIO = file
        if status.st_size <= SMALL:
            taken = file.read()
            content, digest = io.BytesIO(taken), hashlib.sha256(taken).hexdigest()
        else:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = content.seek(0, io.SEEK_END)
        if digest not in stored:
            content.seek(0)
            objects.put_file(f"{unit_of(folder)}/{digest}", content)
        return File(digest, size, status.st_mtime_ns)


def bring_folder(path: Path, index: str, last: str = "") -> None:
    """See to it that a folder holds what an index lists; the file `last`, which makes the others seen, comes last.

    Files that the folder has beside these stay: what writes there may be ahead of what it has sent.
    """
    hold(path)
    if (known := _record(path)) is not None and known.index == index and path.exists():
        return
    with _alone(path):
        known = _record(path) or Record()
        if known.index == index and path.exists():
            return
        listed: dict[str, tuple[str, int]] = json.loads(objects.get(f"{unit_of(path)}/{index}", index))

        def bring(name: str) -> tuple[str, File]:
            sha256, size = listed[name]
            target, old = path / name, known.files.get(name)
            if old is None or old.sha256 != sha256 or not _as_noted(target, old):
                _fetch(path, target, f"{unit_of(path)}/{sha256}", sha256)
            return name, File(sha256, size, target.stat().st_mtime_ns)

        path.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(AT_ONCE) as threads:
            files = dict(threads.map(bring, [name for name in listed if name != last]))
        if last in listed:
            files.update([bring(last)])
        _note(path, Record(index, sum(file.size for file in files.values()), files))


def _as_noted(path: Path, noted: File) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    return (status.st_size, status.st_mtime_ns) == (noted.size, noted.changed_ns)


def bytes_of(path: Path, index: str) -> int:
    """Return how many bytes the files of a stored folder have together."""
    listed: dict[str, tuple[str, int]] = json.loads(objects.get(f"{unit_of(path)}/{index}", index))
    return sum(size for _, size in listed.values())


# --- removal ------------------------------------------------------------------------------------------------------


def forget(path: Path) -> None:
    """Remove what is noted of a unit, or of all units below a folder; for whoever removes their files.

    The locks stay: whoever uses the unit would hold one without a name, and the next user another.
    """
    name = unit_of(path).replace("/", "+")
    folder = root() / FOLDER
    for noted in [*folder.glob(f"{name}.json"), *folder.glob(f"{name}+*.json")]:
        noted.unlink(missing_ok=True)


def trim(most_bytes: int, free_bytes: int = 0) -> int:
    """Remove the copies that were unused for longest until at most `most_bytes` are here; return how many went.

    At least `free_bytes` of the disk are to be free besides. Never removes what a process uses, nor what the store
    lacks.
    """
    notes = sorted(_notes(), key=lambda note: note.used)
    total = sum(note.bytes for note in notes)
    removed = 0
    for note in notes:
        if total <= most_bytes and shutil.disk_usage(root()).free >= free_bytes:
            break
        if remove(note.path):
            total -= note.bytes
            removed += 1
    return removed


@dataclass(frozen=True)
class Note:
    path: Path
    bytes: int
    used: float


def _notes() -> Iterator[Note]:
    """Yield the units here that the store holds."""
    folder = root() / FOLDER
    for noted in folder.glob("*.json") if folder.is_dir() else ():
        path = root().joinpath(*noted.name.removesuffix(".json").split("+"))
        if (record := _record(path)) is not None:
            try:
                used = _beside(path, "lock").stat().st_mtime
            except FileNotFoundError:
                used = 0.0
            yield Note(path, record.bytes, used)


def remove(path: Path) -> bool:
    """Remove a unit's copy unless a process of this host uses it; tell whether it was removed."""
    lock = _beside(path, "lock")
    try:
        handle = _locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    try:
        _beside(path, "json").unlink(missing_ok=True)  # first: half a folder must not count as whole
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        _beside(path, "fetch").unlink(missing_ok=True)
        lock.unlink(missing_ok=True)
    finally:
        os.close(handle)
    return True


def is_stored(path: Path) -> bool:
    """Tell whether the store holds what is here of a unit."""
    return _beside(path, "json").exists()


def usage() -> tuple[int, int]:
    """Return how many copies are here, and their bytes."""
    notes = list(_notes())
    return len(notes), sum(note.bytes for note in notes)

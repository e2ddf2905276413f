"""The file of a room bundle: a tar whose first member lists all others with sizes and checksums, and is signed.

    manifest.json             format, version, room, members: name, size, sha256 of each, in the order of the archive
    manifest.json.minisig     signature of the manifest (incidents/storage/signing.py)
    room.json ...             the members

`tar -x` unpacks it and `minisign -V` checks the manifest. Reading is stricter than tar: once the manifest is known every
byte of the archive is, so headers, padding and end are compared too. A changed byte is refused at the member in which it
stands, and an archive of a million members or terabytes at its manifest. Nothing is ever written under a member's name.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from backports.zstd import ZstdFile

from incidents.errors import Refused
from incidents.storage import signing
from parsers.containers.archives import Caps, unsqueezed
from parsers.errors import LimitExceeded

FORMAT = "exhibit-room"
VERSION = 1
MANIFEST, SIGNATURE = "manifest.json", "manifest.json.minisig"
ENDING = ".exhibit.tar"
CAPS = Caps()
MANIFEST_BYTES = 16 * 2**20
PIECE = 2**20
#: Packed originals: `unpacked` of a member is the size of its content, `content` its SHA-256.
ORIGINAL = re.compile(r"originals/([0-9a-f]{64})\.zst")
#: Files of readings: number of the artifact, then the table and the batch, or the reading's own manifest.
TABLE = re.compile(r"tables/(\d{1,7})/(?:([a-z][a-z0-9_]{0,60})/(\d{6,9})\.parquet|manifest\.json)")
_OTHERS = ("room.json", "activity.json", "report.json")
_BLOCK = 512
_END = 2 * _BLOCK


class BundleRefused(Refused):
    """A bundle cannot be read: damaged, of a newer version, too large, or none at all."""

    status = 422


@dataclass(frozen=True)
class Member:
    name: str
    size: int
    sha256: str
    unpacked: int | None = None

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"name": self.name, "size": self.size, "sha256": self.sha256}
        return told if self.unpacked is None else told | {"unpacked": self.unpacked}


@dataclass(frozen=True)
class Manifest:
    """What a bundle says of itself. `holds` is `originals` or `tables`; `key` the public key it is signed with."""

    id: str
    title: str
    holds: str
    site: str
    made_by: str
    made_at: datetime
    key: str
    members: tuple[Member, ...]

    @property
    def bytes(self) -> int:
        """Return the size of everything inside when it is unpacked."""
        return sum(member.size if member.unpacked is None else member.unpacked for member in self.members)

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "id": self.id,
            "title": self.title,
            "holds": self.holds,
            "site": self.site,
            "made_by": self.made_by,
            "made_at": self.made_at.isoformat(),
            "key": self.key,
            "members": [member.as_json() for member in self.members],
        }


# --- writing ------------------------------------------------------------------------------------------------------


@dataclass
class Writer:
    """Writes members one after the other to `body`; `finish` puts the signed manifest before them."""

    body: BinaryIO
    written: Callable[[int], None] = lambda _: None  # told the bytes of content taken in, for progress
    members: list[Member] = field(default_factory=list)

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, io.BytesIO(content), len(content))

    def add(self, name: str, source: IO[bytes], size: int) -> None:
        """Write a member of known size. Raises `Refused` if the source has another one."""
        self._room_for(size, name)
        self.body.write(_header(name, size))
        digest, left = hashlib.sha256(), size
        while left and (piece := source.read(min(PIECE, left))):
            self._put(digest, piece)
            left -= len(piece)
            self.written(len(piece))
        if left or source.read(1):
            raise Refused(f"{name} changed while it was packed. Make the bundle again.", 409)
        self.body.write(_padding(size))
        self.members.append(Member(name, size, digest.hexdigest()))

    def add_packed(self, name: str, source: IO[bytes]) -> None:
        """Write a member compressed with zstd."""
        begin = self.body.tell()
        self.body.write(_header(name, 0))  # written again below, when the size is known
        digest, unpacked = hashlib.sha256(), 0
        into = _Hashed(self.body, digest)
        with ZstdFile(cast(Any, into), "wb", level=3) as packed:
            while piece := source.read(PIECE):
                packed.write(piece)
                unpacked += len(piece)
                self.written(len(piece))
        self._room_for(into.size, name)
        self.body.write(_padding(into.size))
        end = self.body.tell()
        self.body.seek(begin)
        self.body.write(_header(name, into.size))
        self.body.seek(end)
        self.members.append(Member(name, into.size, digest.hexdigest(), unpacked))

    def finish(self, target: BinaryIO, manifest: Callable[[tuple[Member, ...]], Manifest]) -> Manifest:
        """Write the whole bundle to `target`: manifest, signature, the members written so far."""
        made = manifest(tuple(self.members))
        text = json.dumps(made.as_json(), ensure_ascii=False, indent=1).encode()
        if len(text) > MANIFEST_BYTES:
            raise Refused("The room has too many files for one bundle.", 413)
        signature = signing.sign(text, f"room bundle {made.id}, {made.made_at:%Y-%m-%d %H:%M} UTC")
        for name, content in ((MANIFEST, text), (SIGNATURE, signature)):
            target.write(_header(name, len(content)) + content + _padding(len(content)))
        self.body.seek(0)
        shutil.copyfileobj(self.body, target, PIECE)
        target.write(bytes(_END))
        return made

    def _room_for(self, size: int, name: str) -> None:
        if len(self.members) >= CAPS.members or self.body.tell() + size > CAPS.total_bytes:
            raise Refused(
                f"A bundle takes at most {CAPS.members:,} files and {CAPS.total_bytes / 2**30:,.0f} GiB, and the room holds "
                f"more: it ends before {name}.",
                413,
            )

    def _put(self, digest: Any, piece: bytes) -> None:
        self.body.write(piece)
        digest.update(piece)


class _Hashed:
    """A file object that counts and hashes what is written through it."""

    def __init__(self, file: BinaryIO, digest: Any) -> None:
        self.file, self.digest, self.size = file, digest, 0

    def write(self, piece: bytes) -> int:
        self.file.write(piece)
        self.digest.update(piece)
        self.size += len(piece)
        return len(piece)

    def flush(self) -> None:
        self.file.flush()


def _header(name: str, size: int) -> bytes:
    """Return the only header that a member of this name and size can have here."""
    told = tarfile.TarInfo(name)
    told.size, told.mode = size, 0o600
    return told.tobuf(tarfile.GNU_FORMAT, "ascii", "strict")


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


# --- reading ------------------------------------------------------------------------------------------------------


class Reader:
    """Reads a bundle from start to end. The constructor reads `manifest` and checks its signature.

    Raises `BundleRefused`, here and from `members`, with the name of the member that is not as the manifest says.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        text, signature = self._small(MANIFEST, MANIFEST_BYTES), self._small(SIGNATURE, 4096)
        told = _told(text)
        try:
            signing.verify(text, signature, told["key"])
        except signing.NotSigned as error:
            raise BundleRefused(f"The manifest of this bundle is not as it was signed: {error}.") from error
        self.manifest = _manifest(told)

    def members(self) -> Iterator[tuple[Member, IO[bytes]]]:
        """Yield each member with its bytes, to be read before the next; each is checked as soon as the next is asked for."""
        for member in self.manifest.members:
            if self.file.read(_BLOCK) != _header(member.name, member.size):
                raise _changed(member.name, "its header")
            stream = _Checked(self.file, member)
            yield member, cast(IO[bytes], stream)
            stream.finish()
            padding = _padding(member.size)
            if self.file.read(len(padding)) != padding:
                raise _changed(member.name, "what follows it")
        if self.file.read(_END + 1) != bytes(_END):
            raise BundleRefused("The end of this bundle was changed, or is missing. Nothing of it was taken in.")

    def check(self) -> None:
        """Read everything once and raise `BundleRefused` at the first byte that is not as it was signed."""
        for _ in self.members():
            pass

    def _small(self, name: str, most: int) -> bytes:
        """Read one of the two members whose sizes no manifest tells."""
        head = self.file.read(_BLOCK)
        try:
            size = tarfile.TarInfo.frombuf(head, "ascii", "strict").size
        except (tarfile.TarError, ValueError) as error:
            raise BundleRefused(
                f"This is no room bundle, or its first bytes were changed: {name} is not there."
            ) from error
        if not 0 <= size <= most or head != _header(name, size):
            raise BundleRefused(
                f"This is no room bundle, or its first bytes were changed: {name} is not as it must be."
            )
        content, padding = self.file.read(size), _padding(size)
        if len(content) != size or self.file.read(len(padding)) != padding:
            raise _changed(name, "it")
        return content


class _Checked(io.RawIOBase):
    """The bytes of one member, hashed as they are read."""

    def __init__(self, file: BinaryIO, member: Member) -> None:
        self.file, self.member, self.left = file, member, member.size
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self.file.read(min(self.left, size if size >= 0 else self.left))
        self.left -= len(piece)
        self.digest.update(piece)
        return piece

    def readinto(self, buffer: Any) -> int:
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def finish(self) -> None:
        """Read the rest and compare. Raises `BundleRefused`."""
        while self.left and self.read(PIECE):
            pass
        if self.left or self.digest.hexdigest() != self.member.sha256:
            raise _changed(self.member.name, "it")


def unpacked(member: Member, stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of a packed member in pieces. Raises `BundleRefused` if it is damaged, or longer than it says."""
    source, size = unsqueezed(stream, "zstd", member.size, member.name, CAPS), 0
    try:
        while piece := source.read(PIECE):
            size += len(piece)
            if size > (member.unpacked or 0):
                break
            yield piece
    except LimitExceeded as error:
        raise BundleRefused(f"{member.name} of this bundle is a bomb: {error}. Nothing of it was taken in.") from error
    if source.damage or size != member.unpacked:
        raise _changed(member.name, "what is packed in it")


@contextmanager
def opened(path: Path) -> Iterator[Reader]:
    with path.open("rb") as file:
        yield Reader(file)


def _changed(name: str, what: str) -> BundleRefused:
    return BundleRefused(
        f"This bundle was changed since it was signed, or is cut short: {name} ({what}). Nothing of it was taken in."
    )


def _told(text: bytes) -> dict[str, Any]:
    """Return the manifest's JSON object, if it is one of a version that is understood here."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _changed(MANIFEST, "it") from error
    if not isinstance(told, dict) or told.get("format") != FORMAT or not isinstance(told.get("version"), int):
        raise BundleRefused("This archive has a manifest, but not that of a room bundle.")
    if told["version"] > VERSION:
        raise BundleRefused(
            f"This bundle was made by a newer Exhibit: it has version {told['version']}, and this one reads up to {VERSION}. "
            "Update Exhibit here, then bring it again."
        )
    if not isinstance(told.get("key"), str):
        raise BundleRefused("The manifest of this bundle does not say with which key it was signed.")
    return told


def _manifest(told: dict[str, Any]) -> Manifest:
    """Check the content of a signed manifest, whose signer may be hostile."""
    try:
        words = {name: str(told[name]) for name in ("id", "title", "holds", "site", "made_by", "key")}
        made_at = datetime.fromisoformat(told["made_at"]).astimezone(UTC)
        listed = told["members"]
        if len(listed) > CAPS.members:
            raise BundleRefused(f"This bundle lists {len(listed):,} files; at most {CAPS.members:,} are taken in.")
        members = tuple(_member(one) for one in listed)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BundleRefused("The manifest of this bundle is not complete.") from error
    if words["holds"] not in ("originals", "tables") or len({member.name for member in members}) < len(members):
        raise BundleRefused("The manifest of this bundle contradicts itself.")
    if [name for name in _OTHERS if name not in {member.name for member in members}]:
        raise BundleRefused("This bundle has no room in it: one of its documents is missing.")
    made = Manifest(members=members, made_at=made_at, **words)
    if made.bytes > CAPS.total_bytes:
        raise BundleRefused(f"This bundle unpacks to more than {CAPS.total_bytes / 2**30:,.0f} GiB.")
    return made


def _member(told: dict[str, Any]) -> Member:
    name, size, sha256, content = told["name"], told["size"], told["sha256"], told.get("unpacked")
    if name not in _OTHERS and not ORIGINAL.fullmatch(name) and not TABLE.fullmatch(name):
        raise BundleRefused(f"This bundle holds something that does not belong there: {name[:100]!r}.")
    whole = isinstance(size, int) and size >= 0 and re.fullmatch(r"[0-9a-f]{64}", sha256)
    if not whole or (ORIGINAL.fullmatch(name) is not None) != (isinstance(content, int) and content >= 0):
        raise BundleRefused(f"The manifest of this bundle says nothing that can be of {name}.")
    return Member(name, size, sha256, content)

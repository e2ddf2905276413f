"""Open files that hold other files: archives, compressed files, mails with attachments; member by member, within
limits.

Nothing is ever written under a member's name: temporary copies are nameless files. A compressed file is a container
with one member; `x.tar.gz` counts as one level. Containers may be nested three levels deep, and the caps hold for all
levels together, so a bomb inside a bomb gains nothing.

Links, devices, sparse files, encrypted and overlapping members, a second member of the same name and members nested too
deep are left out with a reason. A compressed stream that ends early or is damaged yields what comes before, and the
member reports it once it has been read.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesHeaderParser, BytesParser
from pathlib import Path
from typing import IO, Any, cast

from parsers.containers import lzw
from parsers.errors import LimitExceeded, NotText

HEAD_BYTES = 64 * 1024
MAIL_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a mail that is parsed in memory; a larger one is read as plain text."""
WINDOW_BYTES = 256 * 1024 * 1024
"""Maximum memory for a decompressor; xz and 7z name their need in their headers."""

_SIGNATURES = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (lzw.SIGNATURE, "compress"),
)
_NOT_OPENED = (
    (b"Rar!", "rar", "unrar x FILE"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -d FILE"),
    (b"\x1f\x1e", "pack (.z)", "gzip -d FILE"),
    (b"070701", "cpio", "cpio -idm < FILE"),
    (b"070707", "cpio", "cpio -idm < FILE"),
)
"""Formats that are recognised but not opened, and the command that unpacks each."""
_SUFFIXES = {
    "gzip": (".gz", ".tgz"),
    "bzip2": (".bz2", ".tbz2", ".tbz"),
    "xz": (".xz", ".txz"),
    "zstd": (".zst", ".tzst"),
    "compress": (".z", ".taz"),
}
_MAIL_FIELDS = ("from", "received", "subject", "date", "mime-version", "return-path", "message-id")
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, OSError)


@dataclass(frozen=True)
class Caps:
    """Limits of one archive with all that is nested in it.

    `ratio` is unpacked to packed bytes, checked above 64 MB.
    """

    members: int = 20_000
    total_bytes: int = 64 * 1024**3
    ratio: int = 1000
    path_length: int = 1000
    levels: int = 3


@dataclass
class Member:
    """A file inside a container.

    `path` is the archive's name for it, with `!` before each nested one. The stream is valid until the next member is
    requested. After the stream was read to its end, `damage` has words if the packed data are damaged or end early.
    """

    path: str
    stream: IO[bytes]
    modified: datetime | None = None
    layers: list[_Counted] = field(default_factory=list)

    @property
    def damage(self) -> str | None:
        return next((layer.damage for layer in self.layers if layer.damage), None)


@dataclass(frozen=True)
class LeftOut:
    """A member that is not returned, and the reason in words for a person."""

    path: str
    why: str


def container_of(head: bytes, size: int | None = None) -> str | None:
    """Return the kind of container by the first bytes (and the size, if known), None for a plain file.

    Raises NotText for archives that cannot be opened here (rar, lz4, pack, cpio), naming them and what unpacks them.

    >>> container_of(b"PK\\x03\\x04"), container_of(b"kthr memory page")
    ('zip', None)
    """
    for magic, name in _SIGNATURES:
        if head.startswith(magic):
            return name
    for magic, name, command in _NOT_OPENED:
        if head.startswith(magic):
            raise NotText(
                f"packed with {name}, which is not opened here: unpack it (`{command}`) and send the files, or pack them with tar, gzip, zip or 7z"
            )
    if _is_tar(head[:512]):
        return "tar"
    return "mail" if (size is None or size <= MAIL_BYTES) and _is_mail(head) else None


def open_members(path: Path, name: str | None = None, caps: Caps | None = None) -> Iterator[Member | LeftOut]:
    """Yield the files inside a container one after the other, in stored order.

    Raises NotText (no container), LimitExceeded (a cap; members yielded before stay valid), OSError. A member that is
    itself a container is opened, unless it lies too deep.
    """
    caps = caps or Caps()
    with path.open("rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        if container_of(stream.read(HEAD_BYTES), size) is None:
            raise NotText("not an archive")
        stream.seek(0)
        yield from _Opening(caps, max(size, 1), name or path.name).open(stream, "", 0, 0)


def unsqueezed(stream: IO[bytes], kind: str, size: int, name: str, caps: Caps) -> _Counted:
    """Return the bytes of one compressed stream of `size` bytes (`gzip`, `zstd` ...), counted against the caps.

    Containers inside are not opened. Reading raises LimitExceeded; `damage` of the result shows whether it ended early.
    """
    return _Counted(_DECOMPRESS[kind](stream), _Opening(caps, max(size, 1), name), name)


class _Opening:
    """One walk through an archive, with the caps shared by all its levels."""

    def __init__(self, caps: Caps, size: int, name: str) -> None:
        self.caps, self.size, self.name = caps, size, name
        self.unpacked = 0
        self.members = 0

    def count(self, more: int, path: str) -> None:
        self.unpacked += more
        if self.unpacked > self.caps.total_bytes:
            raise LimitExceeded(f"{self.caps.total_bytes:,} bytes unpacked", path)
        if self.unpacked > max(64 * 1024**2, self.caps.ratio * self.size):
            raise LimitExceeded(f"unpacked more than {self.caps.ratio} times the packed size", path)

    def open(self, stream: IO[bytes], path: str, level: int, squeezed: int) -> Iterator[Member | LeftOut]:
        """Yield what a stream holds: itself, or its members if it is a container.

        `squeezed` counts nested compressions.
        """
        head = _read_full(stream, HEAD_BYTES)
        whole = cast(IO[bytes], _Again(head, stream))
        try:
            kind = container_of(head)
        except NotText as error:
            yield LeftOut(path, str(error))
            return
        if kind is None:
            self.members += 1
            if self.members > self.caps.members:
                raise LimitExceeded(f"{self.caps.members:,} files inside", path)
            yield Member(path, whole)
        elif kind in _SUFFIXES:
            if squeezed >= 2 * self.caps.levels:
                yield LeftOut(path, f"packed more than {2 * self.caps.levels} times")
                return
            counted = _Counted(_DECOMPRESS[kind](whole), self, path)
            inner = path or self.name
            for suffix in _SUFFIXES[kind]:
                if inner.lower().endswith(suffix):
                    inner = inner[: -len(suffix)] + (".tar" if suffix.startswith(".t") else "")
            shown = inner if path else inner.rpartition("/")[2] or "unpacked"
            for found in self.open(cast(IO[bytes], counted), shown, level, squeezed + 1):
                if isinstance(found, Member):
                    found.layers.append(counted)
                # The tar inside is not a level of its own: its members stand directly in x.tar.gz.
                yield found if found.path == shown else _renamed(found, shown, path)
            if counted.damage and not path and self.members == 0:
                yield LeftOut(shown, counted.damage)
        elif level >= self.caps.levels:
            yield LeftOut(path, f"nested deeper than {self.caps.levels} levels")
        else:
            prefix = f"{path}!" if path else ""
            seen: set[str] = set()
            for found in _OPENERS[kind](self, whole):
                if isinstance(found, LeftOut):
                    yield LeftOut(prefix + found.path, found.why)
                elif len(prefix + found.path) > self.caps.path_length:
                    yield LeftOut((prefix + found.path)[:200] + "...", f"path longer than {self.caps.path_length}")
                elif found.path in seen:
                    yield LeftOut(prefix + found.path, "a second file of the same name")
                else:
                    seen.add(found.path)
                    for inner_one in self.open(found.stream, prefix + found.path, level + 1, squeezed):
                        if isinstance(inner_one, Member):
                            inner_one.layers += found.layers
                            inner_one.modified = inner_one.modified or found.modified
                        yield inner_one

    @contextmanager
    def spooled(self, stream: IO[bytes]) -> Iterator[IO[bytes]]:
        """Yield a seekable copy of a stream: zip and 7z have their list of members at the end."""
        with tempfile.TemporaryFile() as file:
            while chunk := stream.read(1024 * 1024):
                file.write(chunk)
            file.seek(0)
            yield file


class _Again(io.RawIOBase):
    """A stream whose first bytes were read ahead."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self.head, self.rest = head, rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.head:
            if size < 0:
                data, self.head = self.head + self.rest.read(), b""
                return data
            data, self.head = self.head[:size], self.head[size:]
            return data
        return self.rest.read(size)

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Counted(io.RawIOBase):
    """Stream of unpacked bytes that counts against the caps. Damage ends the stream and is recorded."""

    def __init__(self, stream: IO[bytes], opening: _Opening, path: str) -> None:
        self.stream, self.opening, self.path = stream, opening, path
        self.given = 0
        self.damage: str | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.damage is not None:
            return b""
        try:
            data = self.stream.read(min(size, 1024 * 1024) if size >= 0 else 1024 * 1024)
        except _DAMAGED as error:
            self.damage = f"the packed data end early or are damaged behind byte {self.given:,} ({error})"
            return b""
        self.given += len(data)
        self.opening.count(len(data), self.path or self.opening.name)
        if size < 0 and data:
            return data + self.read()
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _read_full(stream: IO[bytes], size: int) -> bytes:
    """Read `size` bytes, fewer only at the end: one `read` of a packed stream may return less."""
    parts: list[bytes] = []
    while size > 0 and (chunk := stream.read(size)):
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)


def _renamed(found: Member | LeftOut, shown: str, path: str) -> Member | LeftOut:
    """Remove the tar's own name from the path of a member of `x.tar.gz`."""
    prefix = f"{shown}!"
    if found.path.startswith(prefix):
        rest = found.path[len(prefix) :]
        new = f"{path}!{rest}" if path else rest
        if isinstance(found, LeftOut):
            return LeftOut(new, found.why)
        found.path = new
    return found


# --- compressed streams -------------------------------------------------------------------------------------------


class _Xz(io.RawIOBase):
    """One or several xz streams with a limit on memory, which `lzma.open` does not have."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.pending = stream, b""
        self.engine: lzma.LZMADecompressor | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        size = 1024 * 1024 if size < 0 else size
        while True:
            if self.engine is None or self.engine.eof:
                rest = (self.engine.unused_data if self.engine else self.pending).lstrip(b"\0") or self.stream.read(
                    65536
                )
                self.pending = b""
                if not rest.strip(b"\0"):
                    return b""
                self.engine = lzma.LZMADecompressor(memlimit=WINDOW_BYTES)
                data = self.engine.decompress(rest, size)
            elif self.engine.needs_input:
                chunk = self.stream.read(65536)
                if not chunk:
                    raise EOFError("the xz data end before their end mark")
                data = self.engine.decompress(chunk, size)
            else:
                data = self.engine.decompress(b"", size)
            if data:
                return data


class _Zstd(io.RawIOBase):
    """A zstd stream; converts the error that its library raises for damage."""

    def __init__(self, stream: IO[bytes]) -> None:
        from backports.zstd import DecompressionParameter, ZstdFile

        self.file = ZstdFile(stream, "r", options={DecompressionParameter.window_log_max: 27})

    def read(self, size: int = -1) -> bytes:
        from backports.zstd import ZstdError

        try:
            return bytes(self.file.read(size))
        except ZstdError as error:
            raise EOFError(str(error)) from error


_DECOMPRESS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    "gzip": lambda stream: cast(IO[bytes], gzip.GzipFile(fileobj=stream)),
    "bzip2": lambda stream: cast(IO[bytes], bz2.BZ2File(stream)),
    "xz": lambda stream: cast(IO[bytes], _Xz(stream)),
    "zstd": lambda stream: cast(IO[bytes], _Zstd(stream)),
    "compress": lambda stream: cast(IO[bytes], lzw.Lzw(stream)),
}


# --- archives -----------------------------------------------------------------------------------------------------


def _tar(opening: _Opening, stream: IO[bytes]) -> Iterator[Member | LeftOut]:
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for info in archive:
                if info.isdir():
                    continue
                why = (
                    f"a link to {info.linkname}"
                    if info.issym() or info.islnk()
                    else "a sparse file"
                    if info.issparse()
                    else None
                    if info.isfile()
                    else "a device, pipe or other special file"
                )
                if why:
                    yield LeftOut(info.name, why)
                    continue
                counted = _Counted(cast(IO[bytes], _TarData(archive, info)), opening, info.name)
                yield Member(info.name, cast(IO[bytes], counted), _instant(info.mtime), [counted])
    except tarfile.TarError as error:
        yield LeftOut("...", f"the tar archive is damaged here, what follows was not read ({error})")


class _TarData(io.RawIOBase):
    """Stream of a member's bytes, including those before a cut, which `extractfile` would discard."""

    def __init__(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        self.stream, self.left = cast(IO[bytes], archive.fileobj), info.size
        self.stream.seek(info.offset_data)

    def read(self, size: int = -1) -> bytes:
        if self.left <= 0:
            return b""
        data = self.stream.read(self.left if size < 0 else min(size, self.left))
        if not data:
            raise EOFError(f"{self.left:,} bytes are missing")
        self.left -= len(data)
        return data


def _zip(opening: _Opening, stream: IO[bytes]) -> Iterator[Member | LeftOut]:
    with opening.spooled(stream) as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            yield LeftOut("...", f"the zip archive is damaged ({error})")
            return
        with archive:
            overlapping = _overlapping(archive)
            for info in archive.infolist():
                if info.is_dir() or info.filename.startswith("__MACOSX/"):
                    continue
                mode = info.external_attr >> 16
                why = (
                    "encrypted"
                    if info.flag_bits & 0x1
                    else "a link"
                    if stat.S_ISLNK(mode)
                    else "a device, pipe or other special file"
                    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG)
                    else "overlaps another member"
                    if info.header_offset in overlapping
                    else None
                )
                if why:
                    yield LeftOut(info.filename, why)
                    continue
                try:
                    member = archive.open(info)
                except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
                    yield LeftOut(info.filename, f"cannot be unpacked ({error})")
                    continue
                with member:
                    counted = _Counted(cast(IO[bytes], _Checked(member)), opening, info.filename)
                    when = datetime(*info.date_time).replace(tzinfo=UTC) if _is_date(info.date_time) else None
                    yield Member(info.filename, cast(IO[bytes], counted), when, [counted])


class _Checked(io.RawIOBase):
    """A zip member that reports a wrong checksum as damage."""

    def __init__(self, member: IO[bytes]) -> None:
        self.member = member

    def read(self, size: int = -1) -> bytes:
        try:
            return self.member.read(size)
        except zipfile.BadZipFile as error:
            raise EOFError(str(error)) from error


def _overlapping(archive: zipfile.ZipFile) -> set[int]:
    """Return the header offsets of members that share bytes with another one, as in a zip bomb."""
    infos = sorted(archive.infolist(), key=lambda i: i.header_offset)
    bad: set[int] = set()
    reach, holder = 0, -1
    for info in infos:
        if info.header_offset < reach:
            bad |= {info.header_offset, holder}
        end = info.header_offset + 30 + len(info.orig_filename.encode()) + info.compress_size
        if end > reach:
            reach, holder = end, info.header_offset
    return bad


_MISREAD = (EOFError, OSError, ValueError, LookupError, TypeError, AttributeError, struct.error, ArithmeticError)
"""Errors that py7zr raises on a damaged list of members, besides its own."""


def _sevenzip(opening: _Opening, stream: IO[bytes]) -> Iterator[Member | LeftOut]:
    import py7zr
    from py7zr.exceptions import ArchiveError

    with opening.spooled(stream) as file, tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        spool = _spool(opening, Path(folder), opened)
        try:
            with py7zr.SevenZipFile(file, "r") as archive:
                if archive.needs_password():
                    yield LeftOut("...", "the 7z archive is encrypted")
                    return
                _bound_memory(archive)
                names = [info.filename for info in archive.files if not info.is_directory]
                twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
                plain = []
                for info in archive.files:
                    if info.is_directory:
                        continue
                    if info.filename in twice:
                        yield LeftOut(info.filename, "several files of this name")
                    elif info.is_symlink or info.is_junction or info.is_socket or not info.is_file:
                        yield LeftOut(info.filename, "a link or special file")
                    else:
                        plain.append(info)
                if plain:
                    archive.extract(targets=[info.filename for info in plain], factory=spool)
        except (ArchiveError, lzma.LZMAError, zlib.error, *_MISREAD) as error:
            yield LeftOut("...", f"the 7z archive is damaged or uses what cannot be unpacked here ({error})")
            return
        for info in plain:
            path = spool.paths.get(info.filename)
            if path is None:
                yield LeftOut(info.filename, "cannot be unpacked")
                continue
            when = info.lastwritetime.as_datetime() if info.lastwritetime is not None else None
            with path.open("rb") as member:
                yield Member(info.filename, member, when)
            path.unlink()


def _spool(opening: _Opening, folder: Path, opened: ExitStack) -> Any:
    """Return a factory that makes py7zr write each file to a numbered file of ours and count its bytes against the
    caps.
    """
    from py7zr.io import Py7zIO, WriterFactory

    class Spooled(Py7zIO):
        def __init__(self, path: Path, name: str) -> None:
            self.file, self.name = opened.enter_context(path.open("w+b")), name

        def write(self, s: bytes | bytearray) -> int:
            opening.count(len(s), self.name)
            return self.file.write(s)

        def read(self, size: int | None = None) -> bytes:
            return self.file.read(-1 if size is None else size)

        def seek(self, offset: int, whence: int = 0) -> int:
            return self.file.seek(offset, whence)

        def flush(self) -> None:
            self.file.flush()

        def size(self) -> int:
            return self.file.tell()

        def close(self) -> None:
            self.file.close()

    class Factory(WriterFactory):
        def __init__(self) -> None:
            self.paths: dict[str, Path] = {}

        def create(self, filename: str) -> Py7zIO:
            path = folder / str(len(self.paths) + 1)
            self.paths[filename] = path
            return Spooled(path, filename)

    return Factory()


def _bound_memory(archive: Any) -> None:
    """Raise LimitExceeded if the header of a 7z asks for more memory than WINDOW_BYTES."""
    streams = archive.header.main_streams
    for folder in streams.unpackinfo.folders if streams is not None else ():
        for coder in folder.coders:
            method, properties = coder["method"], coder.get("properties") or b""
            size = 0
            if method == b"\x21" and len(properties) == 1:  # LZMA2
                bits = properties[0]
                size = 0xFFFFFFFF if bits >= 40 else (2 | (bits & 1)) << (bits // 2 + 11)
            elif method in (b"\x03\x01\x01", b"\x03\x04\x01") and len(properties) >= 5:  # LZMA, PPMd
                size = int.from_bytes(properties[1:5], "little")
            if size > WINDOW_BYTES:
                raise LimitExceeded(f"{WINDOW_BYTES:,} bytes of memory to unpack", f"a 7z that wants {size:,}")


def _mail(opening: _Opening, stream: IO[bytes]) -> Iterator[Member | LeftOut]:
    content = _read_full(stream, MAIL_BYTES + 1)
    if len(content) > MAIL_BYTES:
        yield LeftOut("...", f"a mail of more than {MAIL_BYTES:,} bytes")
        return
    if content.startswith(b"From "):
        content = content[content.index(b"\n") + 1 :]
    mail = BytesParser(policy=policy.default).parsebytes(content)
    body = mail.get_body(("plain", "html"))
    if body is not None:
        plain = body.get_content_type() == "text/plain"
        stated = "".join(f"{name}: {mail[name]}\n" for name in ("Date", "Subject") if mail[name] and plain)
        text = (stated + "\n" if stated else "") + _text(body)
        yield _held(opening, "message.txt" if plain else "message.html", text.encode())
    other = mail.get_body(("html",)) if body is not None and body.get_content_type() == "text/plain" else None
    if other is not None:
        yield LeftOut("message.html", "the text of message.txt once more")
    number = 0
    for part in mail.walk():
        if (part.is_multipart() and part.get_content_type() != "message/rfc822") or part in (body, other):
            continue
        number += 1
        name = str(part.get_filename() or f"attachment-{number}")
        payload = part.get_content() if part.get_content_type() == "message/rfc822" else part.get_payload(decode=True)
        data = payload.as_bytes() if isinstance(payload, EmailMessage) else payload
        if isinstance(data, bytes):
            yield _held(opening, name, data)
        else:
            yield LeftOut(name, "an attachment without content")


def _text(body: Any) -> str:
    try:
        return str(body.get_content())
    except (LookupError, UnicodeError):  # an unknown or wrong charset
        payload = body.get_payload(decode=True)
        return payload.decode("latin-1") if isinstance(payload, bytes) else str(payload)


def _held(opening: _Opening, name: str, data: bytes) -> Member:
    opening.count(len(data), name)
    return Member(name, io.BytesIO(data))


_OPENERS: dict[str, Callable[[_Opening, IO[bytes]], Iterator[Member | LeftOut]]] = {
    "tar": _tar,
    "zip": _zip,
    "7z": _sevenzip,
    "mail": _mail,
}


def _instant(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (OverflowError, OSError, ValueError):
        return None


def _is_date(parts: tuple[int, ...]) -> bool:
    """Decide whether the parts are a real date: zip writes 1980 for an unknown one."""
    try:
        return datetime(*parts[:6]).year > 1980  # type: ignore[arg-type]  # six numbers, no zone
    except ValueError:
        return False


def _is_tar(block: bytes) -> bool:
    """Decide by its checksum whether a block is a tar header: the oldest tars have no other mark."""
    if len(block) < 512 or not block[0]:
        return False
    try:
        stated = int(block[148:156].split(b"\0")[0].strip() or b"x", 8)
    except ValueError:
        return False
    return stated == sum(block[:148]) + 8 * 32 + sum(block[156:])


def _is_mail(head: bytes) -> bool:
    """Decide whether a file is a mail that must be decoded first: several parts, or text in a transfer encoding."""
    first = head[:300].split(b"\n", 1)[0]
    start = head.index(b"\n") + 1 if first.startswith(b"From ") and b"\n" in head else 0
    name, colon, _ = head[start : start + 80].split(b"\n")[0].partition(b":")
    if not colon or not name.strip(b"-").replace(b"-", b"").isalnum():
        return False
    fields = BytesHeaderParser(policy=policy.compat32).parsebytes(head[start:])
    if sum(name in fields for name in _MAIL_FIELDS) < 2:
        return False
    kind = str(fields.get("Content-Type", "")).strip().lower()
    encoding = str(fields.get("Content-Transfer-Encoding", "")).strip().lower()
    return kind.startswith("multipart/") or encoding in ("base64", "quoted-printable")

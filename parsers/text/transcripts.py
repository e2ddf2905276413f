"""Make transcripts of files that are not text but can be written as lines: packet captures, web pages, cluster events.

A transcript is written once, in bounded memory, beside the tables as `transcript`; lines, rows and citations refer to
its lines, while sha256 and bytes stay those of the original. It gets its name only when it is complete, so a resumed
reading finds all of it or writes it again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from parsers.containers.disk import sync
from parsers.errors import LimitExceeded
from parsers.text import html, kube_events
from parsers.text.source import Limits

NAME = "transcript"

_SIGNED = 8
"""Number of first bytes that identify a capture file."""


@dataclass(frozen=True)
class Transcript:
    """Where the lines of an original stand, which module wrote them (`html`, `pcap`, `kube_events`), and a note on them for readers."""

    path: Path
    by: str
    note: str


@contextmanager
def transcribed(original: Path, reading: Path | None, limits: Limits) -> Iterator[Transcript | None]:
    """Write the transcript of a file that needs one, into `reading` or, without one, into a temporary file.

    Yields None for a file that is text already. Raises LimitExceeded when the transcript grows over
    `limits.file_bytes`.
    """
    scribe = scribe_of(original)
    if scribe is None:
        yield None
        return
    by, size = scribe.__name__.rpartition(".")[2], original.stat().st_size
    if size > limits.file_bytes:
        raise LimitExceeded(f"{limits.file_bytes} bytes a file", f"{size} bytes")
    if reading is not None:
        reading.mkdir(parents=True, exist_ok=True)
        yield _kept(original, scribe, by, reading, limits)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield _kept(original, scribe, by, Path(folder), limits)


def scribe_of(original: Path) -> ModuleType | None:
    """Return the module that can convert a file to lines, chosen by the first bytes and never by the name."""
    with original.open("rb") as stream:
        head = stream.read(html.HEAD_BYTES)
    if html.fits(head, original.stat().st_size):
        return html
    if kube_events.fits(head, original.stat().st_size):
        return kube_events
    if any(byte < 0x20 or byte > 0x7E for byte in head[:_SIGNED]):
        from parsers.text import pcap  # imports a library that few files need

        if head.startswith(pcap.SIGNATURE):
            return pcap
    return None


def _kept(original: Path, scribe: ModuleType, by: str, folder: Path, limits: Limits) -> Transcript:
    path, fresh, note_file = folder / NAME, folder / f"{NAME}.new", folder / f"{NAME}.note"
    if not path.exists():
        note, size = f"made into lines by parsers.{by}: line numbers are those of the transcript", 0
        with original.open("rb") as stream, fresh.open("wb") as out:
            lines = scribe.transcribe(stream)
            while True:
                try:
                    line = next(lines)
                except StopIteration as end:
                    note = end.value or note
                    break
                data = line.replace("\r", " ").replace("\n", " ").encode("utf-8", "backslashreplace") + b"\n"
                size += len(data)
                if size > limits.file_bytes:
                    raise LimitExceeded(f"{limits.file_bytes} bytes a transcript", original.name)
                out.write(data)
            out.flush()
            os.fsync(out.fileno())
        note_file.write_text(note, encoding="utf-8")
        sync(note_file)
        fresh.replace(path)
        sync(folder)
    return Transcript(path, by, note_file.read_text(encoding="utf-8"))

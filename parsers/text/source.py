"""Turn bytes into blocks of numbered lines: encodings, line ends, damage, the line index.

Lines are physical lines of the stored original, counted by LF (by CR if the head has CR and no LF). The text of a line
comes without its line end and without trailing blanks, so that no format needs to handle CR/LF or blanks that a mail
program appended.
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from parsers.containers import binaries
from parsers.containers.archives import container_of
from parsers.errors import LimitExceeded, NotText
from parsers.text.dress import FEW, second, undressed
from parsers.text.notes import ELISION

T = TypeVar("T")

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 4 * 1024
"""Number of bytes before the end of a block in which its last line end is searched first."""

INDEX_STEP = 1000
"""Distance in lines between entries of the line index (lines 1, 1001, 2001 ...)."""

Longs = npt.NDArray[np.int64]

Sightings = list[tuple[int, int, int, str, str]]
"""Secrets of a block: line number, first character, character behind, kind, text of the line."""

NO_ARCHIVES = "its files are read one by one, not the archive itself"
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\b\x1b\x1a\x07")


@dataclass(frozen=True)
class Hints:
    """Facts about a file from a person or from the lines above an output; None means unknown.

    `tz` is a zone name, `interval_s` the sampling interval in seconds, `command` the command line at the prompt above
    the output (`vmstat 5 12`), `date` the day of the first line (YYYY-MM-DD) if stamps have only a time of day.
    `date_order` is "dmy" or "mdy" for dates such as 07/04/07. `columns` names the columns of a table (`time=1
    value=3:ms label=2`, counted from 1, with a unit behind the colon).
    """

    kind: str | None = None
    variant: str | None = None
    host: str | None = None
    os: str | None = None
    tz: str | None = None
    interval_s: float | None = None
    year: int | None = None
    command: str | None = None
    date: str | None = None
    date_order: str | None = None
    columns: str | None = None


@dataclass(frozen=True)
class Limits:
    """Limits of a reading, in bytes unless the name has another unit.

    A line longer than `line_bytes` is cut there; it keeps its number and gets a note. `block_lines` and `run_lines`
    limit what is cut from text of very short lines.
    """

    file_bytes: int = 64 * 1024**3
    line_bytes: int = 1024 * 1024
    block_bytes: int = 3 * 1024 * 1024
    run_bytes: int = 32 * 1024 * 1024
    block_lines: int = 200_000
    run_lines: int = 3_000_000
    notes_per_batch: int = 2000
    ahead_bytes: int = 200 * 1024 * 1024
    """Size of a part above which child processes read it."""

    processes: int | None = None
    """Number of child processes; None: one for each core."""

    blocks_ahead: int = 1
    """With 0, no thread prepares the next block during work on one: where each core has a process, it would only
    compete.
    """


LONG_HEAD = 8192


@cache
def _any_of(words: tuple[str, ...]) -> str:
    return "|".join(map(pl.escape_regex, words))


@dataclass(frozen=True)
class Head:
    """The first 64 KiB as decoded lines; a last line cut at that border is left out unless it is the only one."""

    lines: list[str]
    name: str = ""
    whole: bool = True
    command: str = ""
    """Command at the prompt above the lines; it may show their columns, but lines that do not fit are not claimed."""
    known: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)
    """Cache of what was recognised: a head is examined during layout and again before its part is read."""

    @cached_property
    def text(self) -> str:
        """All lines in one text, for a quick first test: most heads belong to another format."""
        return "\n".join(self.lines)

    @cached_property
    def _column(self) -> pl.Series:
        return pl.Series(self.lines, dtype=pl.String)

    def fitting(self, pattern: str) -> list[str]:
        """Return the lines that match a pattern.

        The pattern must mean the same to Python and to Rust, which compiles it anew each time.
        """
        if self._long is None:
            return [line for line in self.lines if re.search(pattern, line)]
        return self._column.filter(self._column.str.contains(pattern)).to_list()

    @cached_property
    def _long(self) -> pl.Series | None:
        return pl.Series([self.text], dtype=pl.String) if len(self.text) > LONG_HEAD else None

    def any_of(self, words: tuple[str, ...]) -> bool:
        """Decide whether one of these words stands anywhere.

        A long text is searched for all at once, in a third of the time.
        """
        return any(word in self.text for word in words) if self._long is None else self.shows(_any_of(words))

    def shows(self, pattern: str) -> bool:
        """Decide whether a pattern matches anywhere.

        It must mean the same to Python and to Rust, whose engine is faster on long text.
        """
        if self._long is None:
            return re.search(pattern, self.text) is not None
        return bool(self._long.str.contains(pattern)[0])

    @cached_property
    def spread(self) -> list[str]:
        """Up to 64 filled lines, evenly spread: if most lines must fit a kind, these are enough to tell."""
        filled = [line for line in self.lines if line]
        return filled[:: len(filled) // 64 + 1]


@dataclass(frozen=True)
class Block:
    """About 3 MB of whole lines.

    `frame` is their data frame: line_no Int64, line String. `first` and `offset` are the number and byte offset of the
    first line; `made` is what `Source.ahead` returned for it.
    """

    frame: pl.DataFrame
    first: int
    offset: int
    made: Any = None


@dataclass(frozen=True)
class Piece:
    """Whole lines of a file.

    `starts` are relative to `offset`; `damage` lists what was wrong (index of line, note kind, words).
    """

    offset: int
    size: int
    lines: pl.Series
    starts: Longs
    damage: list[tuple[int, str, str]]


@dataclass(frozen=True)
class Beginning:
    offset: int
    size: int
    first: pl.Series


@dataclass(frozen=True)
class Position:
    """Where reading continues: the 1-based number of the next line and its byte offset."""

    line: int
    offset: int


class TextFile:
    """An open text file: its encoding, its size, and how it is cut into lines. Made by `open_text`."""

    def __init__(self, stream: io.BufferedReader, name: str, limits: Limits) -> None:
        self.stream = stream
        self._one_reads = threading.Lock()
        self._head: tuple[int, int, Head] | None = None
        self.name = name
        self.limits = limits
        self.size = stream.seek(0, 2)
        head = self.read(0, HEAD_BYTES)
        self.encoding, self.start = encoding_of(head)
        self.eol = "\n"
        if not len(self._ends(head)):
            self.eol = "\r"
            self.eol = "\r" if len(self._ends(head)) else "\n"

    @property
    def width(self) -> int:
        """Bytes per code unit: 2 for UTF-16, else 1."""
        return 2 if self.encoding.startswith("utf-16") else 1

    def sha256(self) -> str:
        self.stream.seek(0)
        return hashlib.file_digest(self.stream, "sha256").hexdigest()

    def head(self, start: int | None = None, end: int | None = None) -> Head:
        """Return the first 64 KiB of [start, end) as lines.

        A last line cut at that border is left out unless it is the only one.
        """
        start, end = self.start if start is None else start, self.size if end is None else end
        if self._head is not None and self._head[:2] == (start, end):
            return self._head[2]
        data = self.read(start, min(start + HEAD_BYTES, end))
        whole = end - start <= HEAD_BYTES
        ends = self._ends(data)
        if not whole and len(ends):
            data = data[: ends[-1]]
        head = Head(self._piece(start, data, len(data), self._ends(data)).lines.to_list(), self.name, whole)
        self._head = start, end, head
        return head

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """Yield [start, end) as pieces of whole lines, each up to `limits.block_bytes` or `block_lines`.

        The second limit is there because an empty line costs memory too. A line over `line_bytes` is cut; its rest is
        not read.
        """
        most = self.limits.block_lines
        for at, behind, size in self._stretches(start, end):
            stored = self.read(at, behind)
            ends = self._ends(stored)
            if size > behind - at or len(ends) <= most:
                yield self._piece(at, stored, size if size > behind - at else len(stored), ends)
            else:
                stops = [0, *ends[most - 1 :: most].tolist()]
                stops += [len(stored)] if stops[-1] < len(stored) else []
                for n, (begun, stop) in enumerate(pairwise(stops)):
                    inner = ends[n * most : (n + 1) * most] - begun
                    yield self._piece(at + begun, stored[begun:stop], stop - begun, inner)
            if len(stored) < behind - at:  # somebody truncated the file meanwhile
                return

    def beginnings(self, start: int, end: int, count: int) -> Iterator[Beginning]:
        """Yield the first lines of each piece: up to `count` lines or `count` times 256 bytes; nothing else is read.

        Pieces of very short lines are not split further, as they are in `pieces`.
        """
        for at, behind, size in self._stretches(start, end):
            stored = self.read(at, min(at + 256 * count, behind))
            ends = self._ends(stored)
            shown = int(ends[min(len(ends), count) - 1]) if len(ends) else len(stored)
            kept = size if size > behind - at else shown
            yield Beginning(at, size, self._piece(at, stored[:shown], kept, ends[ends <= shown]).lines)

    def _stretches(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield begin, end of the part that is read, and size of each stretch of whole lines; the size is larger if a
        line is cut.

        A stretch ends at the last line end before each `block_bytes`. That line end is searched first, so that the
        bytes are read only once and never copied: doing both would cost 0.1 s more for 100 MB.
        """
        size = max(self.limits.block_bytes // 2 * 2, 2)
        at = seen = start
        while at < end:
            before, seen = seen, min(seen + size, end)
            behind = seen if seen == end else self._last_end(before, seen)
            if behind is not None:
                yield at, behind, behind - at
                at = behind
            elif seen - at > self.limits.line_bytes:
                skipped = self.next_line(seen, end)
                yield at, seen, skipped - at
                at = seen = skipped

    def read(self, begin: int, end: int) -> bytes:
        """Read bytes [begin, end), as far as they exist. Safe to call from any thread."""
        with self._one_reads:
            self.stream.seek(begin)
            return self.stream.read(max(end - begin, 0))

    def _last_end(self, begin: int, end: int) -> int | None:
        for low in (max(begin, end - TAIL_BYTES), begin):
            tail = self.read(low, end)
            found = tail.rfind(self.eol.encode()) + 1 if self.width == 1 else int(self._ends(tail)[-1:].sum())
            if found:
                return low + found
        return None

    def _count(self, stored: bytes) -> int:
        """Count the line ends; on short lines bytes.count would take seven times as long."""
        if self.width == 1:
            return int(np.count_nonzero(np.frombuffer(stored, np.uint8) == ord(self.eol)))
        return len(self._ends(stored))

    def open_end(self) -> bool:
        """Decide whether the file ends within a line, without a line end behind its last character."""
        return not self.read(max(self.size - 2, 0), self.size).strip(b"\0").endswith((b"\n", b"\r"))

    def run_end(self, begin: int, end: int) -> int:
        """Return where a run that begins at `begin` ends: after about `run_bytes`, or `run_lines` if that is sooner."""
        return self.cut(begin, end, self.limits.run_bytes, self.limits.run_lines)

    def cut(self, begin: int, end: int, most_bytes: int, most_lines: int) -> int:
        """Return where about `most_bytes` of whole lines from `begin` on end, or `most_lines` if that is sooner, or
        `end`.
        """
        step = max(most_bytes // 2 * 2, 2)
        behind = end if begin + step >= end else self.next_line(begin + step, end)
        at, lines = begin, 0
        while behind - begin > most_lines and at < behind:
            chunk = self.read(at, min(at + max(self.limits.block_bytes // 2 * 2, 2), behind))
            if not chunk:
                break
            found = self._count(chunk)
            if lines + found >= most_lines:
                return at + int(self._ends(chunk)[most_lines - lines - 1])
            at, lines = at + len(chunk), lines + found
        return behind

    def piece(self, offset: int, size: int) -> Piece:
        """Read one piece again; of a cut line only the part that was read before."""
        kept = min(size, self.limits.line_bytes + self.limits.block_bytes)
        stored = self.read(offset, offset + kept)
        return self._piece(offset, stored, size, self._ends(stored))

    def next_line(self, offset: int, end: int | None = None) -> int:
        """Return the offset behind the first line end at or after `offset`, or `end` (default: the size of the file)."""
        end = self.size if end is None else end
        size = max(self.limits.block_bytes // 2 * 2, 2)
        while offset < end:
            chunk = self.read(offset, min(offset + size, end))
            ends = self._ends(chunk)
            if len(ends):
                return offset + int(ends[0])
            offset += max(len(chunk), 1)
        return end

    def count_lines(self, start: int, end: int) -> int:
        """Count the line ends in [start, end)."""
        size, count = max(self.limits.block_bytes // 2 * 2, 2), 0
        for at in range(start, end, size):
            count += self._count(self.read(at, min(at + size, end)))
        return count

    def line_offset(self, begin: Position, line: int) -> int:
        """Return the byte offset of a line at or after `begin`; the size of the file if it has fewer lines."""
        number = begin.line
        for piece in self.pieces(begin.offset, self.size):
            if line < number + len(piece.starts):
                return piece.offset + int(piece.starts[line - number])
            number += len(piece.starts)
        return self.size

    def _ends(self, data: bytes) -> Longs:
        """Return the positions right behind each line end, ascending."""
        if self.width == 1:
            return np.flatnonzero(np.frombuffer(data, np.uint8) == ord(self.eol)) + 1
        units = np.frombuffer(data[: len(data) // 2 * 2], "<u2" if self.encoding == "utf-16-le" else ">u2")
        return (np.flatnonzero(units == ord(self.eol)) + 1) * 2

    def _piece(self, offset: int, data: bytes, size: int, ends: Longs) -> Piece:
        if data and (not len(ends) or ends[-1] != len(data)):
            ends = np.append(ends, len(data))
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if len(ends) else ends
        lengths = ends - starts
        damage: list[tuple[int, str, str]] = []
        cap = self.limits.line_bytes
        if size > len(data):
            lengths = np.array([size])
        if len(lengths) and lengths.max() > cap:
            eol = self.eol.encode(self.encoding)
            whole = [
                data[s:e] if e - s <= cap else _whole_chars(data[s : s + cap], self.width) + eol
                for s, e in zip(starts, ends, strict=True)
            ]
            damage += [
                (int(i), "damaged", f"line of {lengths[i]} bytes, cut at {cap}") for i in np.flatnonzero(lengths > cap)
            ]
            data = b"".join(whole)
        text = self._utf8(data)
        if b"\0" in text:
            nul = np.flatnonzero(np.frombuffer(text, np.uint8) == 0)
            line_of = np.searchsorted(np.flatnonzero(np.frombuffer(text, np.uint8) == ord(self.eol)), nul)
            damage += [(int(i), "repaired", "NUL bytes dropped") for i in np.unique(line_of)]
            text = text.replace(b"\0", b"")
        if text is not data or damage:
            ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord(self.eol)) + 1
            if len(ends) < len(starts):
                ends = np.append(ends, len(text))
        if len(ends) <= FEW:
            cut = [text[begin:end].rstrip(b" \t\r\n").decode() for begin, end in pairwise((0, *ends.tolist()))]
            lines = pl.Series("line", cut, dtype=pl.String)
            return Piece(offset, size, lines, starts, damage)
        offsets = pa.py_buffer(np.concatenate([np.zeros(1, np.int64), ends]))
        array = pa.LargeStringArray.from_buffers(len(ends), offsets, pa.py_buffer(text))
        lines = pl.Series("line", array, dtype=pl.String).str.strip_chars_end(" \t\r\n")
        return Piece(offset, size, lines, starts, damage)

    def _utf8(self, data: bytes) -> bytes:
        """Return valid UTF-8.

        An invalid line is read as Windows-1252, whose five undefined bytes become `\\x81` and so on.
        """
        if self.width == 2:
            return data.decode(self.encoding, errors="replace").encode()
        if data.isascii():
            return data
        try:
            data.decode()
        except UnicodeDecodeError:
            eol = self.eol.encode()
            return eol.join(map(_line_utf8, data.split(eol)))
        return data


def encoding_of(head: bytes) -> tuple[str, int]:
    """Return the encoding and the length of the byte order mark.

    Raises NotText, naming what it is (packed, binary, empty).
    """
    if not head:
        raise NotText("the file is empty")
    if (container := container_of(head)) not in (None, "mail"):
        raise NotText(f"a {container} archive: {NO_ARCHIVES}")
    if (description := binaries.describe(head)) is not None:
        raise NotText(description)
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name, len(mark)
    controls = np.bincount(np.frombuffer(head, np.uint8), minlength=256)[:32]
    strange = int(controls.sum()) - sum(int(controls[c]) for c in _TEXT_CONTROLS)
    if strange * 20 > len(head):
        if int(controls[0]) * 3 > len(head):
            raise NotText("not text: NUL bytes everywhere (UTF-16 without a byte order mark, or a binary file)")
        raise NotText(f"not text but binary: {strange} control bytes in the first {len(head)} bytes")
    return "utf-8", 0


@contextmanager
def open_text(path: Path, limits: Limits | None = None, name: str | None = None) -> Iterator[TextFile]:
    """Open a file as text. Raises NotText (empty, binary, an archive), LimitExceeded (too large), OSError."""
    limits = limits or Limits()
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        if size > limits.file_bytes:
            raise LimitExceeded(f"{limits.file_bytes} bytes a file", f"{size} bytes")
        yield TextFile(stream, name or path.name, limits)


_MARK = re.compile(ELISION, re.MULTILINE)

SORTABLE_BYTES = 8 * 1024 * 1024
"""Maximum bytes of a trace that is read as a whole, so that its rows are in file order whatever waits for what."""


class InSteps(Protocol):
    """A reader that takes a part in steps; see `Source.feed`.

    `read_part` gets what `ready` made of a block and may modify it.
    """

    def read_whole(self, frame: pl.DataFrame) -> None: ...

    def ready(self, block: pl.DataFrame) -> Any: ...

    def read_part(self, ready: Any) -> None: ...


class Source:
    """One block run of one part: about 32 MB of whole lines, passed to a format as blocks.

    `last`: no bytes of the part follow this run. `whole`: this run is the whole part, so it can be sorted and repaired
    at once.
    """

    def __init__(
        self,
        text: TextFile,
        begin: Position,
        end: int,
        *,
        part: int,
        hints: Hints,
        last: bool,
        whole: bool,
        dress: tuple[str, ...] = (),
    ) -> None:
        self.text = text
        self.begin = self.at = begin
        self.end = end
        self.part = part
        self.hints = hints
        self.last = last
        self.whole = whole
        self.dress = dress
        """Dress that is removed from each line before scout and format see it."""
        self.index: list[tuple[int, int]] = []
        self.damage: list[tuple[int, str, str]] = []
        self.blank: list[Longs] = []
        self.elided: list[Longs] = []
        self._spans: list[tuple[int, int, int, int]] = []
        self._current: Block | None = None
        self.scout: Callable[[pl.DataFrame], Sightings] | None = None
        """Examines each block in file order, in the thread that reads ahead."""
        self.watch: Callable[[Sightings], None] | None = None
        """Receives what the scout found in a block right before the format gets the block."""
        self.ahead: Callable[[pl.DataFrame], Any] | None = None
        """A format's first steps with a block, in file order, in the thread that reads ahead, during work on the block
        before.
        """
        self._blocks = self._read()

    @property
    def first_line(self) -> int:
        return self.begin.line

    @property
    def next_line(self) -> int:
        """Number of the line behind the blocks yielded so far."""
        return self.at.line

    def blocks(self) -> Iterator[Block]:
        """Return the iterator of blocks in file order; a second call continues where the first one stopped."""
        return self._blocks

    def is_small(self, most_bytes: int = SORTABLE_BYTES) -> bool:
        """Decide whether the run is a whole part of at most `most_bytes`, which `frames` yields at once."""
        return self.whole and self.end - self.begin.offset <= most_bytes

    def frames(self, most_bytes: int = SORTABLE_BYTES) -> Iterator[pl.DataFrame]:
        """Yield data frames of lines (line_no, line): a small whole part as one, to be sorted or repaired; else one a
        block.
        """
        frames = (block.frame for block in self.blocks())
        if not self.is_small(most_bytes):
            yield from frames
        elif small := list(frames):
            yield pl.concat(small)

    def feed(self, trace: InSteps) -> None:
        """Let `trace` read a small whole part as one data frame, else block by block, each prepared during work on the
        one before.
        """
        if self.is_small():
            for frame in self.frames():
                trace.read_whole(frame)
            return
        self.ahead = trace.ready
        for block in self.blocks():
            trace.read_part(block.made)

    def _read(self) -> Iterator[Block]:
        coming = self._prepared()
        limits = self.text.limits
        if limits.blocks_ahead and self.end - self.begin.offset > limits.block_bytes:
            coming = _one_ahead(coming)
        for piece, frame, first, blank, elided, seen, made in coming:
            count = len(piece.lines)
            self._spans.append((first, count, piece.offset, piece.size))
            self.damage += [(first + i, kind, what) for i, kind, what in piece.damage]
            due = range(-(first - 1) % INDEX_STEP, count, INDEX_STEP)
            self.index += [(first + i, piece.offset + int(piece.starts[i])) for i in due]
            self.blank.append(blank)
            self.elided.append(elided)
            self.at = Position(first + count, piece.offset + piece.size)
            self._current = Block(frame, first, piece.offset)
            if self.watch is not None:
                self.watch(seen)
            yield Block(frame, first, piece.offset, made)
        if len(self._spans) > 1:
            self._current = None

    def _prepared(self) -> Iterator[tuple[Piece, pl.DataFrame, int, Longs, Longs, Sightings, Any]]:
        """Yield each piece with its data frame, first line, blank and elided lines, sightings of the scout and result
        of `ahead`.
        """
        first = self.begin.line
        for piece in self.text.pieces(self.begin.offset, self.end):
            lines = undressed(piece.lines, self.dress)
            frame = pl.DataFrame({"line_no": np.arange(first, first + len(lines)), "line": lines})
            if "doubled" in self.dress:
                # An empty line would separate records, so doubled lines are removed; their numbers are listed with the
                # blank lines.
                frame = frame.filter(~second(piece.lines))
            size = lines.str.len_bytes().to_numpy()
            short = np.flatnonzero((size >= 2) & (size <= 40))
            if len(short):
                some = lines.gather(short)
                marked = len(short) > FEW or _MARK.search("\n".join(some))
                short = short[some.str.contains(ELISION).to_numpy()] if marked else short[:0]
            seen = self.scout(frame) if self.scout is not None else []
            made = self.ahead(frame) if self.ahead is not None else None
            yield piece, frame, first, np.flatnonzero(size == 0) + first, short + first, seen, made
            first += len(lines)

    def text_of(self, line_no: int) -> str:
        """Return one line of this run; cheap for the latest block and for a run of one block."""
        block = self._current
        if block is not None and block.first <= line_no < block.first + len(block.frame):
            text: str = block.frame["line"][int(block.frame["line_no"].search_sorted(line_no))]
            return text
        return dict(self.texts(np.array([line_no])))[line_no]

    def texts(self, line_nos: Longs) -> Iterator[tuple[int, str]]:
        """Read lines of this run again (`line_nos` ascending), with one block at a time in memory."""
        for first, count, offset, size in self._spans:
            lo, hi = np.searchsorted(line_nos, [first, first + count])
            if lo < hi:
                block = self._current
                if block is not None and block.first == first and len(block.frame) == count:
                    lines = block.frame["line"]
                else:
                    lines = undressed(self.text.piece(offset, size).lines, self.dress)
                numbers = line_nos[lo:hi]
                if count <= FEW:
                    texts = lines.to_list()
                    yield from ((number, texts[number - first]) for number in numbers.tolist())
                else:
                    yield from zip(numbers.tolist(), lines.gather(numbers - first).to_list(), strict=True)


def _one_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items; a thread makes the next one while the caller works on the present one."""
    with ThreadPoolExecutor(1, "ahead") as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


def _line_utf8(line: bytes) -> bytes:
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="backslashreplace").encode()
    return line


def _whole_chars(data: bytes, width: int) -> bytes:
    """Remove the bytes of a character that the cut went through."""
    if width == 2:
        return data[: len(data) // 2 * 2]
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            need = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if need > back else data
    return data

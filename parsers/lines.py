"""Read lines of an original file by line number, decoded, with secrets masked and control characters made visible."""

from __future__ import annotations

import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from parsers.errors import OtherReading
from parsers.secrets.masks import mask_text
from parsers.tables import parquet
from parsers.text.dress import original_spans
from parsers.text.source import Limits, Position, TextFile
from parsers.text.spelling import visible

if TYPE_CHECKING:
    import pyarrow.parquet as pq


class Mask(NamedTuple):
    """A masked secret in a line.

    `begin` and `end` are a half-open range of characters in `Line.text`, `place` is the range in the line of the
    original file. `lifted`: the caller asked to unmask this place, so `Line.text` shows the secret.
    """

    begin: int
    end: int
    kind: str
    place: tuple[int, int]
    lifted: bool


@dataclass(frozen=True)
class Line:
    line_no: int
    text: str
    masks: tuple[Mask, ...] = ()


Lifted = Mapping[int, Collection[tuple[int, int]]]
"""Ranges of masks to lift, by line number. A range that is not exactly the range of one mask lifts nothing."""


class LineReader:
    """Reads lines of an original file through the line index of one of its readings.

    Line N of a file of 1 GB takes well under 5 ms. Raises OtherReading if the size of the original differs from the
    size in the manifest, FileNotFoundError if there is no manifest.
    """

    def __init__(self, original: Path, reading: Path) -> None:
        manifest = parquet.load_manifest(reading)
        if manifest is None:
            raise FileNotFoundError(f"no reading in {reading.name}")
        if original.stat().st_size != manifest["bytes"]:
            raise OtherReading("the reading belongs to another original")
        transcript = manifest.get("transcript")
        self._original = reading / transcript["name"] if transcript else original
        self._reading = reading
        self._dressed = [(p["line_from"], p["line_to"], tuple(p["dress"])) for p in manifest["parts"] if p.get("dress")]
        self._batches: list[tuple[int, int]] = [(b["batch"], b["line_next"]) for b in manifest["batches"]]
        self._files: dict[tuple[str, int], pq.ParquetFile | None] = {}
        self._index: dict[int, tuple[list[int], list[int]]] = {}
        self.count: int = manifest["lines"]
        """Number of lines read so far; all lines once the reading is complete."""

    def _file(self, table: str, batch: int) -> pq.ParquetFile | None:
        """Open one batch of the line index or of the secrets, None if it has none.

        The file stays open; a page needs few.
        """
        if (table, batch) not in self._files:
            file = parquet.batch_file(self._reading, table, batch)
            import pyarrow.parquet as pq  # see tables/parquet.py

            self._files[table, batch] = pq.ParquetFile(file) if file.exists() else None
        return self._files[table, batch]

    def _before(self, line: int) -> Position:
        """Return the nearest indexed line at or before `line`. A short batch may have no indexed line."""
        for number, _ in reversed(self._batches[: self._place(line) + 1]):
            file = self._file("line_index", number)
            if file is None:
                continue
            if number not in self._index:
                rows = file.read()
                self._index[number] = rows["line_no"].to_pylist(), rows["offset"].to_pylist()
            numbers, offsets = self._index[number]
            at = bisect.bisect_right(numbers, line) - 1
            if at >= 0:
                return Position(numbers[at], offsets[at])
        raise OtherReading("the reading has no line index")

    def _place(self, line: int) -> int:
        """Return the index, in the list of batches, of the batch that holds a line."""
        return bisect.bisect_right(self._batches, line, key=lambda b: b[1])

    def _secrets(self, first: int, last: int) -> dict[int, list[tuple[int, int, str]]]:
        """Return the secrets of lines `first` to `last` as (from, to, kind) by line number.

        A line that was held back is listed in a later batch than its own, so later batches are searched too.
        """
        spans: dict[int, list[tuple[int, int, str]]] = {}
        for number, _ in self._batches[self._place(first) :]:
            file = self._file("secrets", number)
            for group in range(file.metadata.num_row_groups if file is not None else 0):
                assert file is not None
                seen = file.metadata.row_group(group).column(0).statistics
                if seen is not None and seen.has_min_max and (seen.max < first or seen.min > last):
                    continue
                rows = pl.DataFrame(file.read_row_group(group))
                for row in rows.filter(pl.col("line_no").is_between(first, last)).iter_rows(named=True):
                    spans.setdefault(row["line_no"], []).append((row["from"], row["to"], row["kind"]))
        return spans

    def _masked(self, number: int, line: str, found: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        """Return the ranges of secrets in a line of the original, sorted and without overlaps.

        `found` holds ranges in the line without its dress (quotes, prefixes); they are mapped to the whole line here.
        """
        if not found:
            return []
        dress = next((d for first, last, d in self._dressed if first <= number <= last), ())
        placed = [(a, b, kind) for *span, kind in found for a, b in original_spans(line, dress, [(span[0], span[1])])]
        apart: list[tuple[int, int, str]] = []
        for begin, end, kind in sorted(placed):
            begin, end = max(begin, 0), min(end, len(line))
            if apart and begin < apart[-1][1]:
                apart[-1] = (apart[-1][0], max(end, apart[-1][1]), apart[-1][2])
            elif begin < end:
                apart.append((begin, end, kind))
        return apart

    def _shown(
        self, number: int, line: str, found: Sequence[tuple[int, int, str]], lifted: Collection[tuple[int, int]]
    ) -> Line:
        """Mask the secrets of a line and make its other control characters visible, each piece apart."""
        pieces: list[str] = []
        masks: list[Mask] = []
        at = length = 0
        for begin, end, kind in self._masked(number, line, found):
            open_ = (begin, end) in lifted
            inside = visible(line[begin:end]) if open_ else mask_text(line[begin:end], [(0, end - begin)])
            before = visible(line[at:begin])
            pieces += [before, inside]
            length += len(before)
            masks.append(Mask(length, length + len(inside), kind, (begin, end), open_))
            length += len(inside)
            at = end
        return Line(number, "".join([*pieces, visible(line[at:])]), tuple(masks))

    def lines(self, first: int, last: int, lifted: Lifted | None = None) -> list[Line]:
        """Return lines `first` to `last` (1-based, both included) as far as they exist, with each secret masked.

        Only the page where an incident lead lifts masks passes `lifted`; output that leaves the room never does.
        """
        secrets = self._secrets(first, last) if self._batches else {}
        return [
            self._shown(n, line, secrets.get(n, ()), (lifted or {}).get(n, ())) for n, line in self.texts(first, last)
        ]

    def texts(self, first: int, last: int) -> list[tuple[int, str]]:
        """Return decoded lines with their numbers, secrets and control characters included: for parsing, never for
        display.
        """
        last = min(last, self.count)
        first = max(first, 1)
        if last < first:
            return []
        found: list[tuple[int, str]] = []
        # Small blocks: skipping a thousand lines costs about 100 KB, and an endless line must not be read whole.
        limits = Limits(block_bytes=128 * 1024)
        with self._original.open("rb") as stream:
            text = TextFile(stream, self._original.name, limits)
            position = self._before(first)
            for piece in text.pieces(position.offset, text.size):
                behind = position.line + len(piece.lines)
                wanted = range(max(first, position.line), min(last + 1, behind))
                found += [(number, piece.lines[number - position.line]) for number in wanted]
                if behind > last:
                    break
                position = Position(behind, piece.offset + piece.size)
        return found


def stops_in_the_middle(original: Path, reading: Path) -> bool:
    """Decide whether the last line has no line end and an open bracket, so that the text was cut.

    One of these alone proves nothing: a paste rarely ends with a line end, and a call may be resumed lines later.
    """
    size = original.stat().st_size
    with original.open("rb") as file:
        file.seek(max(size - 2, 0))
        if file.read().strip(b"\0").endswith((b"\n", b"\r")):  # UTF-16 puts a zero before or behind
            return False
    reader = LineReader(original, reading)
    return any(line.text.count("(") > line.text.count(")") for line in reader.lines(reader.count, reader.count))

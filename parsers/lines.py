"""Lines of an original by number: decoded, masked, and nothing in them that a page or terminal would act upon."""

from __future__ import annotations

import bisect
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from parsers import parquet
from parsers.dress import original_spans
from parsers.errors import OtherReading
from parsers.masks import mask_text
from parsers.source import Limits, Position, TextFile


class Mask(NamedTuple):
    """A secret of a line: half-open character ranges in `Line.text` and, as `place`, in the line of the original.

    `lifted`: the text of the line shows it, since the caller asked for that place.
    """

    begin: int
    end: int
    kind: str
    place: tuple[int, int]
    lifted: bool


@dataclass(frozen=True)
class Line:
    """One physical line, ready to be shown."""

    line_no: int
    text: str
    masks: tuple[Mask, ...] = ()


Lifted = Mapping[int, Collection[tuple[int, int]]]
"""Places of masks to leave off, by line. A place that is not exactly one mask's leaves everything masked."""


class LineReader:
    """Reads lines of an original by the line index of one of its readings; line N of 1 GB costs well under 5 ms.

    Raises OtherReading if the original has another size than the manifest says, FileNotFoundError if there is no
    manifest.
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
        self.count: int = manifest["lines"]
        """Lines read so far (all of them once the reading is complete)."""

    @cached_property
    def _index(self) -> tuple[list[int], list[int]]:
        numbers: list[int] = []
        offsets: list[int] = []
        for file in parquet.files(self._reading, "line_index"):
            table = pq.read_table(file)
            numbers += table["line_no"].to_pylist()
            offsets += table["offset"].to_pylist()
        return numbers, offsets

    @cached_property
    def _secrets(self) -> dict[int, list[tuple[int, int, str]]]:
        spans: dict[int, list[tuple[int, int, str]]] = {}
        for file in parquet.files(self._reading, "secrets"):
            for row in pq.read_table(file).to_pylist():
                spans.setdefault(row["line_no"], []).append((row["from"], row["to"], row["kind"]))
        return spans

    def _masked(self, number: int, line: str) -> list[tuple[int, int, str]]:
        """Give the secrets of an original line, ascending and apart; they were found in it without its dress."""
        found = self._secrets.get(number, [])
        if not found:
            return found
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

    def _shown(self, number: int, line: str, lifted: Collection[tuple[int, int]]) -> Line:
        """Put asterisks over secrets and make visible what is left; both keep apart what is masked and what is not."""
        pieces: list[str] = []
        masks: list[Mask] = []
        at = length = 0
        for begin, end, kind in self._masked(number, line):
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
        """Give lines `first` to `last` (1-based, both included) as far as they exist, with a mask over each secret.

        Only the page where a lead lifts masks gives `lifted`; whatever leaves the room goes without.
        """
        return [self._shown(n, line, (lifted or {}).get(n, ())) for n, line in self.texts(first, last)]

    def texts(self, first: int, last: int) -> list[tuple[int, str]]:
        """Give the numbered lines as they were decoded, secrets and control characters and all: to be read, not shown."""
        last = min(last, self.count)
        first = max(first, 1)
        if last < first:
            return []
        numbers, offsets = self._index
        at = bisect.bisect_right(numbers, first) - 1
        found: list[tuple[int, str]] = []
        # Small blocks: a thousand lines to skip are about 100 KB, and a line without end must not be read whole.
        limits = Limits(block_bytes=128 * 1024)
        with self._original.open("rb") as stream:
            text = TextFile(stream, self._original.name, limits)
            position = Position(numbers[at], offsets[at])
            for piece in text.pieces(position.offset, text.size):
                behind = position.line + len(piece.lines)
                wanted = range(max(first, position.line), min(last + 1, behind))
                found += [(number, piece.lines[number - position.line]) for number in wanted]
                if behind > last:
                    break
                position = Position(behind, piece.offset + piece.size)
        return found


_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


def visible(text: str) -> str:
    r"""Show escapes, control, bidi and zero-width characters instead of sending them; tabs stay.

    >>> visible("\x1b[31mred\x07 \u202etxt.exe")
    '␛[31mred␇ ⟨U+202E⟩txt.exe'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible_char, text))


def _visible_char(char: str) -> str:
    code = ord(char)
    if char == "\t" or (char.isprintable() and char not in _ZERO_WIDTH):
        return char
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(char) == "Zs":
        return " " if code == 0xA0 else char
    return f"⟨U+{code:04X}⟩"

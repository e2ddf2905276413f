"""Decompress the output of compress(1) (`.Z`) as a stream: the adaptive Lempel-Ziv-Welch code of Unix since 1985.

The header has three bytes: 1f 9d, then the maximum code width (9 to 16 bits) and, in its highest bit, whether code 256
clears the table. Codes come in groups of eight, lowest bit first; when they grow wider or the table is cleared, the
rest of a group is padding. A text of one letter makes strings of 60,000 bytes: a string is stored as its last piece and
the code before it, never whole, so the table stays below 10 MB for any file.
"""

from __future__ import annotations

import io
from typing import IO, Any

SIGNATURE = b"\x1f\x9d"
_CLEAR = 256
_PIECE = 64
"""Maximum bytes of a string that its entry holds itself; a longer string continues in the entry before."""


class Lzw(io.RawIOBase):
    """Stream of the unpacked bytes. Raises EOFError for a code that is not in the table, or for a cut header.

    The format has neither checksum nor end mark: a file that was cut between codes is unpacked up to there without an
    error.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.ready = bytearray()
        self.widest, self.width, self.clears = 0, 9, False
        self.pieces: list[bytes] = []
        self.before: list[int] = []
        self.last: int | None = None

    def _begin(self) -> None:
        head = self.stream.read(3)
        if len(head) < 3 or head[:2] != SIGNATURE or not 9 <= head[2] & 0x1F <= 16:
            raise EOFError("no head of compress")
        self.widest, self.clears = head[2] & 0x1F, bool(head[2] & 0x80)
        self._empty()

    def _empty(self) -> None:
        """Reset the table to the 256 bytes (and the entry of the clearing code, which stands for no string)."""
        roots = 256 + self.clears
        self.pieces = [bytes([i & 0xFF]) for i in range(roots)]
        self.before = [-1] * roots
        self.last, self.width = None, 9

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self.widest:
            self._begin()
        while (size < 0 or len(self.ready) < size) and self._group():
            pass
        size = len(self.ready) if size < 0 else size
        data = bytes(self.ready[:size])
        del self.ready[:size]
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _group(self) -> bool:
        """Unpack eight codes, fewer where the width changes or the stream ends; return False at its end."""
        width = self.width
        group = self.stream.read(width)
        while 0 < len(group) < width and (more := self.stream.read(width - len(group))):
            group += more
        bits = int.from_bytes(group, "little")
        for _ in range(len(group) * 8 // width):
            code, bits = bits & ((1 << width) - 1), bits >> width
            if code == _CLEAR and self.clears:
                self._empty()
                return True
            self._take(code)
            if len(self.pieces) >= 1 << width and width < self.widest:
                self.width = width + 1
                return True
        return bool(group)

    def _take(self, code: int) -> None:
        """Append the string of a code to the output; add the previous string plus this one's first byte to the table."""
        pieces, last, full = self.pieces, self.last, len(self.pieces) >= 1 << self.widest
        if code > len(pieces) or (code == len(pieces) and (last is None or full)):
            raise EOFError(f"code {code} is not in the table of {len(pieces)}")
        text = self._string(last if code == len(pieces) and last is not None else code)
        if code == len(pieces):
            text += text[:1]
        if last is not None and not full:
            piece = pieces[last]
            room = len(piece) < _PIECE
            pieces.append(piece + text[:1] if room else text[:1])
            self.before.append(self.before[last] if room else last)
        self.ready += text
        self.last = code

    def _string(self, code: int) -> bytes:
        before = self.before[code]
        if before < 0:
            return self.pieces[code]
        parts = [self.pieces[code]]
        while before >= 0:
            parts.append(self.pieces[before])
            before = self.before[before]
        return b"".join(reversed(parts))

r"""Decode texts that a line holds in another form: buffers with a blank before each character, escapes, hex dumps.

A `View` is the plain text and, for each of its characters, the half-open ranges of the line that show it, so that a
secret found in the plain text can be masked where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Place = tuple[int, int, int]
"""Number of the line (within the joined rows) and a half-open range in it."""

_KEYS = (
    "passw",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "authoriz",
    "cookie",
    "identified",
    "sqlplus",
    "private",
)


def _escaped(word: str, form: str) -> str:
    return "".join(form.format(ord(c)) for c in word)


ESCAPED_WORDS = sorted(
    {
        _escaped(w, form)
        for key in _KEYS
        for w in (key[1:], key.upper())
        for form in (r"\x{:02x}", r"\{:o}", r"\u{:04x}")
    }
    | {r"\x40", r"\u0040", r"\100", r"\x34\x31\x31\x31"}
)
"""Words that mark secrets, in escapes (their first letter may be a capital), and some escaped characters."""

DUMP = (
    r"^[ \t]*(?:\| )?(?:(?:0x[0-9A-Fa-f]{4,8}:?|[0-9A-Fa-f]{4,8}:|[0-9]{1,5}:)[ \t]+(?:[0-9A-Fa-f]{2}){1,2} |"
    r"[0-9A-Fa-f]{4,8}[ \t]{2,3}(?:[0-9A-Fa-f]{2} {1,2}){4})"
)
"""A row of tcpdump -x, snoop -x, strace -e write=, xxd, hexdump -C, a protocol analyser. Rust and Python syntax."""

SPACED = r"^[ \t]{2,8}[!-~]?(?: [!-~]|  |\\[0-9A-Za-z]|[0-9A-F]{2})*(?: [A-Za-z]){2}(?: [!-~]|  |\\[0-9A-Za-z]|[0-9A-F]{2})*$"
"""A row of truss -r or -w: two columns a character, a blank or backslash and the character, or its hex."""

_ROW = re.compile(
    r"[ \t]*(?:\| )?(?:0x[0-9A-Fa-f]{4,8}:?|[0-9A-Fa-f]{4,8}:?|[0-9]{1,5}:)[ \t]+(?P<hex>(?:[0-9A-Fa-f]{2}){1,2}(?: {1,2}(?:[0-9A-Fa-f]{2}){1,2}){0,31})"
)
_BYTES = 16
"""Maximum number of bytes in a row of a dump."""

_CELL = re.compile(r" ([^\t\\])|\\([0-7]{3}|.)|([0-9A-F]{2})")
_RUN = re.compile(
    r"(?<![^ \t\"])(?:[!-~](?= [!-~] ))?(?:(?: [^\t\\]|\\[0-7]{3}|\\[^0-7]|\\[0-7]|[0-9A-F]{2}(?= |\\|[0-9A-F]{2}|$))(?![0-9a-z]{2})){8,}"
)
_ESCAPE = re.compile(r"\\x([0-9A-Fa-f]{2})|\\u00([0-9A-Fa-f]{2})|\\([0-7]{2,3})|%([0-9A-Fa-f]{2})")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "a": "\a"}


@dataclass
class View:
    """A plain text and the places of its characters."""

    text: str = ""
    places: list[tuple[Place, ...]] = field(default_factory=list)

    def add(self, char: str, *places: Place) -> None:
        self.text += char
        self.places.append(places)

    def spots(self, begin: int, end: int) -> Iterator[Place]:
        """Yield the ranges of the lines that show characters [begin, end); neighbours, also with one blank between, are
        joined.
        """
        places = sorted({p for shown in self.places[begin:end] for p in shown})
        last: Place | None = None
        for line, a, b in places:
            if last is not None and last[0] == line and a <= last[2] + 2:
                last = (line, last[1], max(b, last[2]))
                continue
            if last is not None:
                yield last
            last = (line, a, b)
        if last is not None:
            yield last


def views(line: str) -> Iterator[View]:
    """Yield the decoded texts of one line."""
    for run in _RUN.finditer(line):
        view = spaced(line, 0, run.start(), run.end())
        if len(view.text) >= 8:
            yield view
    if any(sign in line for sign in ("\\x", "\\u00", "\\1", "%3", "%2", "%4")):
        view, at = View(), 0
        for escape in _ESCAPE.finditer(line):
            for i in range(at, escape.start()):
                view.add(line[i], (0, i, i + 1))
            view.add(_unescaped(escape), (0, *escape.span()))
            at = escape.end()
        if at:
            for i in range(at, len(line)):
                view.add(line[i], (0, i, i + 1))
            yield view


def _unescaped(escape: re.Match[str]) -> str:
    hexed = escape[1] or escape[2] or escape[4]
    return chr(int(hexed, 16) if hexed else int(escape[3], 8) & 0xFF)


def plain_of(text: str) -> str:
    """Decode escapes, as formats do that show the content of a buffer."""
    return _ESCAPE.sub(_unescaped, text)


def spaced(line: str, number: int, begin: int, end: int) -> View:
    """Decode a range of two-column cells."""
    view, at = View(), begin
    if at < end and line[at] != " " and line[at] != "\\" and not _CELL.match(line, at, end):
        view.add(line[at], (number, at, at + 1))  # the first blank got lost
        at += 1
    while at < end and (cell := _CELL.match(line, at, end)):
        if cell[1]:
            view.add(cell[1], (number, cell.start(1), cell.end()))
        elif cell[2]:
            char = chr(int(cell[2], 8) & 0xFF) if len(cell[2]) == 3 else _NAMED.get(cell[2], cell[2])
            view.add(char, (number, *cell.span()))
        else:
            view.add(chr(int(cell[3], 16)), (number, *cell.span()))
        at = cell.end()
    return view


def row_text(line: str) -> str:
    """Return the content of a row of a dump, one character for each byte."""
    row = _ROW.match(line)
    if row is None:
        return _spaced_row(line, 0).text
    return bytes.fromhex(_pairs(row["hex"])).decode("latin-1")


def _pairs(hexed: str) -> str:
    digits = hexed.replace(" ", "")
    return digits[: min(len(digits) // 2 * 2, 2 * _BYTES)]


def dump_row(line: str, number: int) -> View:
    """Decode a row of a dump: each byte stands in hex and, if the row shows it, as a character."""
    row = _ROW.match(line)
    if row is None:
        return _spaced_row(line, number)
    view, base = View(), row.start("hex")
    found = list(re.finditer(r"[0-9A-Fa-f]{2}", row["hex"]))[:_BYTES]
    chars = [chr(int(f[0], 16)) for f in found]
    # The characters may themselves look like hex; then the last bytes of the row are in doubt, but not the first ones.
    shown = next(
        (at for n in range(len(chars), 0, -1) if (at := _shown_at(line, base + found[n - 1].end(), chars[:n]))), None
    )
    for i, char in enumerate(chars):
        hexed = (number, base + found[i].start(), base + found[i].end())
        if shown is None or shown + i >= len(line):
            view.add(char, hexed)
        else:
            view.add(char, hexed, (number, shown + i, shown + i + 1))
    return view


def _shown_at(line: str, behind: int, chars: Sequence[str]) -> int | None:
    """Return where the bytes stand as characters, behind their hex."""
    signs = "".join(re.escape(c) if "!" <= c <= "~" else "." for c in chars)
    # Trailing blanks of lines are removed, and with them the characters of blanks.
    while signs:
        found = re.compile(signs).search(line, behind + 1)
        if found:
            return found.start()
        if not chars or chars[-1] != " ":
            return None
        chars, signs = chars[:-1], signs[:-1].removesuffix("\\")
    return None


def _spaced_row(line: str, number: int) -> View:
    """Decode a row of truss -r or -w."""
    begin = len(line) - len(line.lstrip())
    at = max(begin - 1, 0) if line[begin] != "\\" else begin
    return spaced(line, number, at, len(line))


def joined(rows: Sequence[View]) -> View:
    """Join consecutive rows."""
    return View("".join(r.text for r in rows), [p for r in rows for p in r.places])

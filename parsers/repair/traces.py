"""Recover records of a trace from a damaged paste: quoted, encoded, flattened, exploded and wrapped lines.

For small texts only (line by line, in Python); afterwards the ordinary patterns read the records. Nothing is invented:
a record is its own text with line breaks removed or inserted, and knows the physical lines it came from. The caller's
`Grammar` describes a record.
"""

from __future__ import annotations

import html
import quopri
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from parsers.repair.rewrap import Break, break_of

MOST_LINES = 8
"""Maximum number of further lines over which a record is wrapped."""

LEADER_SHARE = 0.8
LEADERS = (
    re.compile(r"(?:[>|] ?)+|[ \t]*(?:# ?|// ?|\* )"),
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w./-]+(?:\[\d+\])?: "),
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* (?:\S+ [\w./-]+(?:\[\d+\])?: )?"),
)
_TAGS = re.compile(r"<br ?/?>|</?(?:pre|p|div|span|code|font|b|i|tt)(?: [^<>]*)?>", re.I)
_MARKUP = re.compile(r"<br ?/?>|</?pre\b|&(?:quot|lt|gt|amp|nbsp|#39);", re.I)
_BARE = re.compile(r"=(?![0-9A-F]{2}|$)")
_SOFT = re.compile(r"=3D|=20$|=09")


@dataclass(frozen=True)
class Grammar:
    """Patterns that recognise records.

    `start`: a line that begins one. `opened`: one that has begun and may continue. `complete`: one that has its result.
    `splits`: returns the positions within a line where another record begins. `more`: pairs (record so far, line that
    still belongs to it although the record could be complete). `apart`: lines that belong to no record (gap marks,
    comments).
    """

    start: re.Pattern[str]
    opened: re.Pattern[str]
    complete: re.Pattern[str]
    splits: Callable[[str], list[int]]
    more: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]
    apart: re.Pattern[str]


@dataclass
class Piece:
    """A record or a line: its physical lines, position within its line, text, and the repairs made (empty: none)."""

    line_no: int
    line_end: int
    text: str
    pos: int = 0
    how: list[str] = field(default_factory=list)
    width: int | None = None
    """Width of its last physical line, if that is unchanged."""


def repair(lines: Iterable[tuple[int, str]], grammar: Grammar) -> list[Piece]:
    """Return the text as records and single lines, in order; blank lines stay."""
    pieces = [Piece(number, number, text, width=len(text)) for number, text in lines]
    for step in (_decode_mail, _strip_leaders, _decode_markup):
        pieces = step(pieces)
    return list(_join(split(pieces, grammar), grammar, break_of_records(pieces, grammar.start)))


def break_of_records(pieces: Sequence[Piece], start: re.Pattern[str]) -> Break | None:
    """Return how lines that begin no record were broken off the one above, None without proof."""
    lines = [p.text for p in pieces]
    rest = [i for i in range(1, len(lines)) if lines[i].strip() and lines[i - 1].strip() and not start.match(lines[i])]
    return break_of(lines, rest) if rest else None


def _decode_mail(pieces: list[Piece]) -> list[Piece]:
    """Decode quoted-printable (escapes and soft line breaks) if `=3D` shows that it is there.

    A `=` that begins no escape shows that it is not: `tv_nsec=20` at the end of a line may be wrapped digits.
    """
    if not any(_SOFT.search(p.text) for p in pieces) or any(_BARE.search(p.text) for p in pieces):
        return pieces
    done: list[Piece] = []
    for p in pieces:
        soft = p.text.endswith("=") and not p.text.endswith(" =")
        text = quopri.decodestring((p.text[:-1] if soft else p.text).encode()).decode("utf-8", "replace")
        how = ["quoted-printable decoded"] if text != p.text else []
        if done and done[-1].how[-1:] == ["open"]:
            done[-1] = Piece(done[-1].line_no, p.line_no, done[-1].text + text, how=done[-1].how[:-1])
        else:
            done.append(Piece(p.line_no, p.line_no, text, how=how))
        if soft:
            done[-1].how.append("open")
    for p in done:
        p.how = [h for h in p.how if h != "open"]
    return done


def _strip_leaders(pieces: list[Piece]) -> list[Piece]:
    """Remove a leader that stands in front of at least four fifths of the lines."""
    filled = [p for p in pieces if p.text.strip()]
    for leader in LEADERS:
        led = sum(1 for p in filled if leader.match(p.text))
        if filled and led >= LEADER_SHARE * len(filled):
            for p in filled:
                if found := leader.match(p.text):
                    p.text = p.text[found.end() :]
                    p.how.append("line leader taken off")
            return _strip_leaders(pieces)
    return pieces


def _decode_markup(pieces: list[Piece]) -> list[Piece]:
    """Decode HTML tags and entities once if the text shows both; replace no-break blanks always."""
    markup = sum(1 for p in pieces if _MARKUP.search(p.text)) > 0 and any(
        _TAGS.search(p.text) or "&quot;" in p.text for p in pieces
    )
    for p in pieces:
        text = html.unescape(_TAGS.sub("", p.text)) if markup else p.text
        text = text.replace("\u00a0", " ")
        if text != p.text:
            p.how.append("HTML decoded" if markup else "no-break blanks replaced")
            p.text = text.rstrip()
    return pieces


def split(pieces: list[Piece], grammar: Grammar) -> list[Piece]:
    """Split lines that hold several records."""
    done: list[Piece] = []
    for p in pieces:
        at = grammar.splits(p.text)
        if not at:
            done.append(p)
            continue
        borders = [0, *at, len(p.text)]
        texts = [p.text[a:b].strip() for a, b in pairwise(borders)]
        for pos, text in enumerate(t for t in texts if t):
            done.append(Piece(p.line_no, p.line_end, text, pos, [*p.how, "several records on one line"]))
        done[-1].width = p.width
    return done


def _join(pieces: list[Piece], grammar: Grammar, how: Break | None) -> Iterable[Piece]:
    """Join wrapped and exploded records.

    An open record takes further lines only if it is complete after a few of them (or at the end of the text).
    """
    i = 0
    while i < len(pieces):
        now = pieces[i]
        i += 1
        while i < len(pieces):
            if any(end.search(now.text) and begin.match(pieces[i].text.strip()) for end, begin in grammar.more):
                now = glue(now, pieces[i], how)
                i += 1
                continue
            if how is not None and _broken_off(now, pieces[i], grammar, how):
                now = glue(now, pieces[i], how)
                i += 1
                continue
            longer, behind = _complete(now, pieces, i, grammar, how)
            if behind == i:
                break
            now, i = longer, behind
        yield now


def _broken_off(now: Piece, line: Piece, grammar: Grammar, how: Break) -> bool:
    """Decide whether a line is the rest of a record that could be complete without it: `= 22`, then `071 <0.000045>`."""
    rest = line.text.strip()
    if now.width is None or not rest or not grammar.complete.search(now.text) or not grammar.start.match(now.text):
        return False
    if grammar.start.match(line.text) or grammar.apart.match(rest):
        return False
    # A terminal cuts exactly at its width: if the line lacks columns, the rest is a guess.
    cut = now.width == how.width if how.hard else how.fits("x" * now.width, line.text)
    return cut and grammar.complete.search(glue(now, line, how).text) is not None


def _complete(now: Piece, pieces: list[Piece], i: int, grammar: Grammar, how: Break | None) -> tuple[Piece, int]:
    """Return the open record `now` with the lines that complete it and the index behind them; itself and `i` if none
    do.
    """
    if not now.text.strip() or not grammar.opened.match(now.text) or grammar.complete.search(now.text):
        return now, i
    longer = now
    for k in range(i, min(i + MOST_LINES, len(pieces))):
        text = pieces[k].text.strip()
        if not text or grammar.apart.match(text) or grammar.start.match(pieces[k].text):
            return now, i
        longer = glue(longer, pieces[k], how)
        if grammar.complete.search(longer.text):
            return longer, k + 1
    return (longer, len(pieces)) if i + MOST_LINES >= len(pieces) > i else (now, i)


def glue(record: Piece, line: Piece, broken: Break | None) -> Piece:
    """Join a line to its record as it was broken; if that is unknown, with one blank for the line break."""
    how = [*record.how, *(h for h in line.how if h not in record.how), "wrapped line joined"]
    hard = broken is not None and broken.hard and record.width is not None
    whole = f"{record.text.rstrip()} {line.text.strip()}"
    if hard and broken is not None and record.width is not None and broken.fits("x" * record.width, line.text):
        whole = record.text + " " * (broken.width - record.width) + line.text
    return Piece(record.line_no, line.line_end, whole, record.pos, how, line.width)

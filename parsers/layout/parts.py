"""Split a file into parts, each the output of one tool.

A mail, ticket, chat or page is split at sentences and fences. The lines between these walls are offered to the formats
whose `own` patterns match some of them, and the strongest claim takes them. A region ends where another tool's output
begins. A file of one kind stays one part. Parts ascend and do not overlap; the lines between them are prose. Borders
that a person set come first, and the splitter only works between them.

At most 64 MB (a window) are laid out at once. In a file above 8 MB whose head is claimed strongly, the part runs until
fewer of its lines match the format, or to the last matching line where another output stands behind it; then the rest
is laid out again. Nobody pastes by hand into the middle of such a file, and matching every line would take three times
as long as the reading. If nothing is found in the first window, the file is of unknown kind until an output begins.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from parsers.kinds import kind_of
from parsers.layout.line_owners import Bools, all_hits, hits, kinds_without_patterns, patterns_by_kind, patterns_of
from parsers.layout.recognition import Recognised, recognise
from parsers.provenance.collect_marks import Section, sections
from parsers.provenance.prompts import LEAD_LINES, interval_of, is_lead, named_by, prompt_of
from parsers.provenance.tree_marks import tree_sections
from parsers.registry import ENOUGH, all_formats, names_of
from parsers.text.dress import SURE as SURE_STEPS
from parsers.text.dress import characters_of, undressed
from parsers.text.notes import ELISION
from parsers.text.prose import CLOSED, FENCE, INFO, OPENED, RULE, TAGGED, TOOLISH, WRITTEN, sentences
from parsers.text.source import HEAD_BYTES, Head, Hints, Position, TextFile

WINDOW_BYTES = 64 * 1024 * 1024
WINDOW_LINES = 3_000_000
"""Maximum number of lines in a window, however short they are."""

ALONE = 0.5
"""Minimum claim strength on a single line, or on lines below a prompt."""

COMMENTED, SCRIPT = "#  ", "#!"
"""Beginnings of a commented command and of a script: the text of a script is no evidence."""

FEW_LINES = 3
"""Minimum number of lines of another kind's output if no prompt stands above it."""

STRANGER = 0.9
"""Minimum claim strength that ends another format's region where no prompt announces a new output."""

WATCHED_BYTES = 8 * 1024 * 1024
SURE = 0.9
"""Minimum claim strength on the head of a file above WATCHED_BYTES that takes the file until its lines fit no more."""

CUTS = 40
"""Maximum number of lines of a region that are tried as beginnings of another output."""

TAILED = 4000
"""In a region of more lines than this, the lines behind the kind's last own line are tried too, TAIL_CUTS of each sort.
"""

TAIL_CUTS = 4

BEGINNING = 12
"""Number of first lines of another output among which at least one must match its kind's own patterns."""

HANGING = 3
"""Maximum number of unmatched lines right behind an output that belong to it: a cut row, a lone count."""

COMMENT = re.compile(r"[ \t]*(?:#+|//) +[^\s0-9]")
"""A person's comment on an output in the middle of a listing."""

EXCERPTS = 40
"""Maximum number of lines of prose between two excerpts of one output."""

CHUNK = 1000
"""Number of lines matched against all kinds at once, where this was not done for the whole window."""

PIECES_KEPT = 2
PIECES_AT_ONCE = 16

FEW_SENTENCES = 0.02
"""Share of strong sentences up to which a file of one kind is not mixed: tools write sentences too."""

SAMPLED = 400
"""Number of lines of each block of a watched part that are examined."""

LEAST_SAMPLE = 20
"""Minimum number of lines at the end of a run that can show that a part has ended; fewer may all be headers or details.
"""

FALL = 0.25
"""Fraction of the head's hit rate below which the hit rate has fallen."""

FOREIGN_LINES = 2_000
"""Maximum number of lines between two outputs among which the first command is looked for."""

MOVES = re.compile(
    r"(?:sudo )?(?:cd|ls|ll|pwd|vim?|nano|view|less|more|echo|export|su|ssh|clear|exit|whoami|script|set|source)(?: .*)?"
)
"""Commands for moving around and looking at files; their output shows nothing about a host."""

CLIENT = re.compile(
    r"[ \t]*(?:SQL|ASMCMD|LSNRCTL|adrci|mysql|psql|crash|RMAN|DGMGRL)\b[^>]{0,80}>|[ \t]*[A-Za-z_][\w.-]*[=(*!^-][#>]"
)
"""Prompts of database clients; commands at them and their answers are one dialogue."""

FLAGS = ("blank", "fence", "own", "any", "prose", "strong", "toolish", "rule", "opened", "closed")


@dataclass(frozen=True)
class PartHint:
    """Borders that a person set: lines `line_from` to `line_to` (None = end of file), and hints about them.

    `hints.kind` "prose" means that these lines are no tool's output.
    """

    line_from: int
    line_to: int | None
    hints: Hints = field(default_factory=Hints)


@dataclass(frozen=True)
class Plan:
    """What to read next: a part (numbered from 1) or, with part None, prose between parts.

    `found`: the splitter made it, so its format is chosen without asking a person. `watched`: it ends where the hit
    rate falls or, if its kind is unknown, where an output begins. `behind`: byte offset of the line behind it, if
    known; for watched text of unknown kind, how far it was searched.
    """

    part: int | None
    line_from: int
    line_to: int | None
    hints: Hints
    found: bool = False
    watched: bool = False
    behind: int | None = None
    dress: tuple[str, ...] = ()
    """Dress of the document as a whole."""
    said: dict[str, str] = field(default_factory=dict)
    """Facts in the marks around it (`parsers/provenance/collect_marks.py`): host, system, release, command, times."""


@dataclass(frozen=True)
class Region:
    line_from: int
    line_to: int
    kind: str


def plan(known: Sequence[PartHint], hints: Hints) -> list[Plan]:
    """Lay out a file from line 1 to its end by a person's borders alone.

    Raises ValueError if known parts overlap or begin before line 1.

    >>> [(p.part, p.line_from, p.line_to) for p in plan([PartHint(3, 5)], Hints())]
    [(None, 1, 2), (1, 3, 5), (None, 6, None)]
    """
    if not known:
        return [Plan(1, 1, None, hints)]
    plans: list[Plan] = []
    following: int | None = 1
    number = 0
    for part in sorted(known, key=lambda p: p.line_from):
        backwards = part.line_to is not None and part.line_to < part.line_from
        if following is None or part.line_from < following or backwards:
            raise ValueError(f"parts overlap or run backwards at line {part.line_from}")
        if part.line_from > following:
            plans.append(Plan(None, following, part.line_from - 1, hints))
        if part.hints.kind == "prose":
            plans.append(Plan(None, part.line_from, part.line_to, part.hints))
        else:
            number += 1
            plans.append(Plan(number, part.line_from, part.line_to, part.hints))
        following = None if part.line_to is None else part.line_to + 1
    if following is not None:
        plans.append(Plan(None, following, None, hints))
    return plans


Heartbeat = Callable[[], None]
"""Callback that long work calls regularly as a sign of progress; it may raise to stop the work."""


def no_heartbeat() -> None:
    """Do nothing: no caller waits for signs of progress."""


def lay_out(text: TextFile, known: Sequence[PartHint], hints: Hints, heartbeat: Heartbeat = no_heartbeat) -> list[Plan]:
    """Lay out a file: a person's borders, and between them the parts that the splitter finds.

    The last plan may be open (`line_to` None); if it is watched, `lay_out_rest` goes on behind it.
    """
    given = plan(known, hints)
    if not known and hints.kind is None and (marked := sections(text) or tree_sections(text)):
        return _numbered(_by_marks(text, marked, hints))
    if not known:
        return _numbered(_span(text, Position(1, text.start), text.size, hints, heartbeat, whole=True))
    laid: list[Plan] = []
    at = Position(1, text.start)
    for what in given:
        end = text.size if what.line_to is None else text.line_offset(at, what.line_to + 1)
        if what.part is None and what.hints.kind is None and at.offset < end:
            laid += _span(text, at, end, replace(hints, kind=None), heartbeat, whole=False)
        else:
            laid.append(what)
        at = Position((what.line_to or 0) + 1, end)
    return _numbered(laid)


def _by_marks(text: TextFile, marked: Sequence[Section], hints: Hints) -> list[Plan]:
    """Lay out the output of a collecting tool: its marks are borders, and sections that no format claims are prose."""
    plans: list[Plan] = []
    following = 1
    for section in marked:
        known = replace(
            hints,
            host=hints.host or section.host,
            os=hints.os or section.os,
            tz=hints.tz or section.tz,
            command=section.command,
            date=hints.date or (section.began or "")[:10] or None,
            date_order=hints.date_order or "mdy",  # such tools set the C locale
            interval_s=hints.interval_s or interval_of(section.command),
        )
        head = text.head(section.begin, section.behind)
        if recognise(head, section.command).strength < ENOUGH:
            continue
        if section.line_from > following:
            plans.append(Plan(None, following, section.line_from - 1, hints, behind=section.begin))
        facts = {"host": section.host, "os": section.os, "os_release": section.release, "command": section.command}
        facts |= {"began": section.began, "ended": section.ended, "server_clock": section.server_clock}
        said = {name: value for name, value in facts.items() if value}
        plans.append(Plan(1, section.line_from, section.line_to, known, found=True, behind=section.behind, said=said))
        following = section.line_to + 1
    return [*plans, Plan(None, following, None, hints)]


def lay_out_rest(
    text: TextFile, begin: Position, hints: Hints, parts: int, heartbeat: Heartbeat = no_heartbeat
) -> list[Plan]:
    """Lay out the rest of a file behind a watched part; `parts` is the number of the last part so far."""
    return _numbered(_span(text, begin, text.size, hints, heartbeat, whole=False), parts)


def first_output(text: TextFile, begin: Position, end: int, heartbeat: Heartbeat = no_heartbeat) -> Position | None:
    """Return where the first output begins in [begin, end) of text of unknown kind, None if there is none."""
    scan = _Scan(text, begin, end, heartbeat)
    region = next(iter(_regions(scan)), None)
    return None if region is None else Position(region.line_from, scan.offset(region.line_from))


def _numbered(plans: Iterable[Plan], parts: int = 0) -> list[Plan]:
    numbered = []
    for what in plans:
        if what.part is not None:
            parts += 1
            what = replace(what, part=parts)
        numbered.append(what)
    return numbered


def _span(text: TextFile, begin: Position, end: int, hints: Hints, heartbeat: Heartbeat, *, whole: bool) -> list[Plan]:
    """Lay out [begin, end); a whole file in which nothing is found is one part of any kind."""
    alone = Plan(1, begin.line, None, hints)
    if whole and hints.kind is not None:
        return [alone]
    front = text.head(begin.offset, end)
    head = recognise(front, hints.command)
    large = end - begin.offset > min(WATCHED_BYTES, WINDOW_BYTES)
    if large and head.strength >= SURE and not _is_written(front, head):
        return [replace(alone, found=not whole, watched=True)]
    behind = text.cut(begin.offset, end, WINDOW_BYTES, WINDOW_LINES)
    kind = head.claims[0].format.kind if head.strength >= ENOUGH else None
    if whole and kind is not None and behind == end:
        scan = _Scan(text, begin, behind, heartbeat, tuple(s for s in head.dress if s != "tags"), kind)
        last = begin.line + scan.count - 1
        one = _one_kind(scan, kind)
        if one is not None:
            first, final = one
            plans = _between(scan, 1, first, hints)
            if final == last:
                return [*plans, Plan(1, first, None, hints)]
            plans.append(Plan(1, first, final, hints, behind=scan.offset(final + 1)))
            return _open_end([*plans, *_between(scan, final + 1, last + 1, hints)])
    # SURE_STEPS and tags are the dress of a listing, not of the document.
    worn = tuple(step for step in head.dress if step not in (*SURE_STEPS, "tags"))
    scan = _Scan(text, begin, behind, heartbeat, worn)
    last = begin.line + scan.count - 1
    regions = _regions(scan)
    if whole and not regions:
        return [alone if behind == end else replace(alone, watched=True, behind=behind)]
    plans, following = [], begin.line
    for region in regions:
        plans += _between(scan, following, region.line_from, hints)
        behind_it = scan.offset(region.line_to + 1)
        found = Plan(1, region.line_from, region.line_to, hints, found=True, behind=behind_it, dress=worn)
        plans.append(found)
        following = region.line_to + 1
    if behind < end:
        return _at_window_end(plans, begin.line, last, Plan(None, following, last, hints, behind=behind))
    plans += _between(scan, following, last + 1, hints)
    return _open_end(plans) if end == text.size else plans


def _open_end(plans: list[Plan]) -> list[Plan]:
    """Let the last plan of a file run to the end of the file."""
    return [*plans[:-1], replace(plans[-1], line_to=None, behind=None)] if plans else plans


def _between(scan: _Scan, line_from: int, behind: int, hints: Hints) -> list[Plan]:
    """Plan lines [line_from, behind) between outputs: prose, and outputs of commands that no format knows.

    No format claims such a part, so the general reader reads it.
    """
    plans, at, first = [], line_from, scan.begin.line
    while at < behind:
        shown = _shown_from(scan, at - first, behind - first)
        if shown is None or _leads_to(scan, shown, behind - first):
            break
        apart = np.concatenate([[True], scan.blank | scan.fence])[shown : behind - first]
        walls = np.flatnonzero(scan.fence[shown : behind - first] | (scan.prose[shown : behind - first] & apart))
        # The output of a command extends to the next fence or to a sentence after a blank line.
        end = first + shown + int(walls[0]) if len(walls) else behind
        if first + shown > at:
            plans.append(Plan(None, at, first + shown - 1, hints, behind=scan.offset(first + shown)))
        plans.append(Plan(1, first + shown, end - 1, hints, found=True, behind=scan.offset(end), dress=scan.dress))
        at = end
    if at < behind:
        plans.append(Plan(None, at, behind - 1, hints, behind=scan.offset(behind)))
    return plans


def _leads_to(scan: _Scan, first: int, behind: int) -> bool:
    """Decide whether lines [first, behind) belong to the output right behind them: no blank line and no command of that
    output's own stands between, so the same command printed both.
    """
    return behind < scan.count and not scan.blank[first:behind].any() and not _has_command(scan, behind, behind + 1)


def _shown_from(scan: _Scan, first: int, behind: int) -> int | None:
    """Return where the output of a command begins in lines [first, behind), None if there is none.

    It begins at a prompt whose command printed something, or at a block of lines most of which look like a tool's and
    none like a sentence.
    """
    filled = (np.flatnonzero(~(scan.blank | scan.fence)[first:behind]) + first)[:FOREIGN_LINES]
    if not len(filled):
        return None
    lines = scan.lines(first, int(filled[-1]) + 1).gather(filled - first).to_list()
    typed = [_shows(line) for line in lines]
    for at, (shown, below), printed in zip(filled.tolist(), pairwise(typed), lines[1:], strict=False):
        if shown and not below and not printed.startswith(SCRIPT):
            return int(at)
    if any(line.startswith(SCRIPT) for line in lines):
        return None  # the lines of a program look like a tool's
    # A block is a stretch of lines without a gap and without a sentence.
    filled = filled[~scan.prose[filled]]
    for block in np.split(filled, np.flatnonzero(np.diff(filled) > 1) + 1):
        if len(block) >= FEW_LINES and scan.toolish[block].sum() * 2 >= len(block):
            return int(block[0])
    return None


def _is_written(head: Head, found: Recognised) -> bool:
    """Decide whether a head holds sentences, as in a mail with outputs; lines of the claiming kind are not examined."""
    lines = undressed(pl.Series("line", head.lines, dtype=pl.String), found.dress)
    flags = _flags(seen_of(lines), found.claims[0].format.kind)
    return int(flags["strong"].sum()) > FEW_SENTENCES * int((~flags["blank"]).sum())


def _at_window_end(plans: list[Plan], first: int, last: int, rest: Plan) -> list[Plan]:
    """Plan how to continue at the end of a window, which may have cut an output.

    The last output is laid out again from its beginning, or watched if it filled the window.
    """
    anew = Plan(None, last + 1, None, rest.hints, watched=True)
    if not plans or plans[-1].part is None or rest.line_from <= last - HANGING:
        return [*plans, *([rest] if rest.line_from <= last else []), anew]
    if plans[-1].line_from > first:
        return [*plans[:-1], replace(anew, line_from=plans[-1].line_from)]
    return [replace(plans[-1], line_to=None, behind=None, watched=True)]


def seen_of(lines: pl.Series) -> pl.Series:
    """Remove what keeps a tool's lines from matching its patterns: single characters, quotes, bars, numbers, indents.

    Only for finding regions: the dress of a part is decided by its own head.
    """
    sample = "\n".join(lines.head(2000).to_list())
    seen = undressed(lines, characters_of(sample))
    glued = _glued(seen)
    if len(glued):
        seen = seen.scatter(glued, undressed(seen.gather(glued), ("tags",)))
    if seen.str.starts_with(">").any():
        seen = seen.str.replace(r"^(?:>[> ]*> ?|> ?)", "")
    if seen.str.contains(r"^\|.*\|$").any():
        cells = seen.str.contains(r"^[ \t]*\|.*\|$") & ~seen.str.contains(r"^\|[-| ]*\|$|--[0-9.]+%")
        plain = undressed(seen, ("wiki",))
        seen = pl.select(pl.when(cells).then(plain).otherwise(seen)).to_series()
    return seen


def _glued(lines: pl.Series) -> pl.Series:
    """Return the indices of lines that stand on one line with a tag that opens or closes a listing."""
    index = lines.str.contains(TAGGED).fill_null(False).arg_true()
    some = lines.gather(index)
    kept = (some.str.contains(OPENED) | some.str.contains(CLOSED)) & ~some.str.contains(INFO)
    return index.filter(kept)


@dataclass(frozen=True)
class _Lines:
    """The lines of a piece: `raw` without the document's dress, `seen` as patterns should see them."""

    raw: pl.Series
    seen: pl.Series


class _Scan:
    """Flags of the lines of a window, as arrays: index 0 is line `begin.line`.

    With `kind`, lines that match its own patterns are not examined further (`toolish` stays False there): this is
    enough to tell whether there is anything else and takes a tenth of the time. The kinds that a line matches are
    stored as bits, a few bytes a line; the lines themselves are read again piece by piece when they are needed.
    """

    def __init__(
        self,
        text: TextFile,
        begin: Position,
        end: int,
        heartbeat: Heartbeat = no_heartbeat,
        dress: tuple[str, ...] = (),
        kind: str | None = None,
    ) -> None:
        self.text, self.begin, self.end, self.dress, self.heartbeat, self.kind = (
            text,
            begin,
            end,
            dress,
            heartbeat,
            kind,
        )
        self._pieces: list[tuple[int, int, int]] = []
        self._kept: dict[int, _Lines] = {}
        self._own: dict[tuple[str, int], Bools] = {}
        flags: dict[str, list[Bools]] = {n: [] for n in FLAGS}
        count, starts, bits = 0, [], []
        for piece in text.pieces(begin.offset, end):
            starts.append(piece.starts + piece.offset)
            self._pieces.append((count, piece.offset, piece.size))
            count += len(piece.lines)
            lines = undressed(piece.lines, dress)
            marks = _marks_of(lines)
            lines = seen_of(lines)
            fits = None if kind is not None else all_hits(lines)
            for name, found in (_flags(lines, kind, fits) | marks).items():
                flags[name].append(found)
            if fits is not None:
                bits.append(np.packbits(fits, axis=1))
            heartbeat()
        self.count = count
        self._firsts = [number for number, _, _ in self._pieces]
        self._starts = np.concatenate(starts) if starts else np.zeros(0, np.int64)
        none = np.zeros(0, np.bool_)
        joined = {name: np.concatenate(found) if found else none for name, found in flags.items()}
        self.blank, self.fence, self.any = joined["blank"], joined["fence"], joined["any"]
        self.prose, self.strong, self.toolish = joined["prose"], joined["strong"], joined["toolish"]
        self.rule, self.opened, self.closed = joined["rule"], joined["opened"], joined["closed"]
        self._bits = np.concatenate(bits) if bits else np.zeros((count, (len(patterns_by_kind()) + 7) // 8), np.uint8)
        self._judged = np.full(count // CHUNK + 1, bool(bits))
        if kind is not None:
            for chunk in range(count // CHUNK + 1):
                self._own[kind, chunk] = joined["own"][chunk * CHUNK : (chunk + 1) * CHUNK]

    @cached_property
    def logged(self) -> Bools:
        """Return a mask of the sentences that a log wrote."""
        return _logged(self)

    def offset(self, line_no: int) -> int:
        """Return the byte offset of a line of the file, or the end of the window."""
        index = line_no - self.begin.line
        return int(self._starts[index]) if index < self.count else self.end

    def lines(self, first: int, behind: int, seen: bool = True) -> pl.Series:
        """Read lines [first, behind) again, as patterns should see them or, with `seen` False, without the document's
        dress only.
        """
        found = []
        at = bisect.bisect_right(self._firsts, first) - 1
        while 0 <= at < len(self._pieces) and self._firsts[at] < behind:
            number, piece = self._firsts[at], self._piece(at)
            lines = piece.seen if seen else piece.raw
            found.append(lines[max(first - number, 0) : behind - number])
            at += 1
        if len(found) == 1:
            return found[0]
        return pl.concat(found) if found else pl.Series("line", [], dtype=pl.String)

    def _piece(self, at: int) -> _Lines:
        if at not in self._kept:
            while len(self._kept) >= PIECES_KEPT:
                self._kept.pop(next(iter(self._kept)))
            _, offset, size = self._pieces[at]
            raw = undressed(self.text.piece(offset, size).lines, self.dress)
            self._kept[at] = _Lines(raw, seen_of(raw))
        return self._kept[at]

    def _judge(self, first: int, behind: int) -> None:
        """Match lines [first, behind) against all kinds if this was not done yet."""
        chunks = np.arange(first // CHUNK, (max(behind, first + 1) - 1) // CHUNK + 1)
        for chunk in chunks[~self._judged[chunks]].tolist():
            lines = self.lines(chunk * CHUNK, min((chunk + 1) * CHUNK, self.count))
            self._bits[chunk * CHUNK : chunk * CHUNK + len(lines)] = np.packbits(all_hits(lines), axis=1)
            self._judged[chunk] = True

    def kinds(self, first: int, behind: int) -> set[str]:
        """Return the kinds that have own lines in [first, behind)."""
        self._judge(first, behind)
        found = np.unpackbits(np.bitwise_or.reduce(self._bits[first:behind], axis=0))
        return {kind for kind, fits in zip(patterns_by_kind(), found.tolist(), strict=False) if fits}

    def mine(self, first: int, behind: int, kind: str) -> Bools:
        """Return a mask of the lines in [first, behind) that match a kind's own patterns; other kinds' patterns are not
        tried.
        """
        if kind not in patterns_by_kind() or behind <= first:
            return np.zeros(behind - first, np.bool_)
        place = list(patterns_by_kind()).index(kind)
        found: list[Bools] = []
        for chunk in range(first // CHUNK, (behind - 1) // CHUNK + 1):
            begin, end = chunk * CHUNK, min((chunk + 1) * CHUNK, self.count)
            if self._judged[chunk]:
                found.append((self._bits[begin:end, place // 8] & (128 >> place % 8)) != 0)
                continue
            if (kind, chunk) not in self._own:
                self._own[kind, chunk] = hits(self.lines(begin, end), patterns_of(kind))
            found.append(self._own[kind, chunk])
        whole: Bools = np.concatenate(found)
        return whole[first % CHUNK :][: behind - first]

    def head(self, first: int, behind: int) -> Head:
        lines, size, kept = self.lines(first, min(behind, first + 4000), seen=False).to_list(), 0, 0
        for line in lines:
            size += len(line) + 1
            if kept and size > HEAD_BYTES:
                break
            kept += 1
        return Head(lines[:kept], self.text.name, kept == behind - first)


def _marks_of(lines: pl.Series) -> dict[str, Bools]:
    """Return masks of lines on which a listing begins or ends because the author's tag shares the line."""
    found = {name: np.zeros(len(lines), np.bool_) for name in ("opened", "closed")}
    index = _glued(lines)
    if len(index):
        for name, pattern in (("opened", OPENED), ("closed", CLOSED)):
            found[name][index] = lines.gather(index).str.contains(pattern).to_numpy()
    return found


def _flags(lines: pl.Series, kind: str | None = None, fits: Bools | None = None) -> dict[str, Bools]:
    """Compute the flags of lines. A line that matches a format's own pattern (`fits`, from `all_hits`) is not prose."""
    size = len(lines)
    blank = (lines == "").to_numpy()
    if fits is not None:
        own = np.zeros(size, np.bool_)
        any_hit, rest = np.logical_or.reduce(fits, axis=1), ~blank
    else:
        own = np.zeros(size, np.bool_) if kind is None else hits(lines, patterns_of(kind))
        mine = own
        if mine.any():
            mine = mine & ~lines.str.contains(FENCE).to_numpy()
        rest = ~blank & ~mine
        any_hit = mine.copy()
        index = np.flatnonzero(rest)
        if len(index):
            any_hit[index] = all_hits(lines.gather(index)).any(axis=1)
    prose, strong, toolish, fence, rule = (np.zeros(size, np.bool_) for _ in range(5))
    index = np.flatnonzero(rest)
    # A line may match a format's pattern by accident, but a strong sentence is still a sentence.
    if len(index):
        some = lines.gather(index)
        judged = sentences(some)
        strong[index] = judged["strong"].to_numpy() & ~any_hit[index]
        prose[index] = judged["prose"].to_numpy() & ~any_hit[index]
        toolish[index] = (some.str.contains(TOOLISH) & ~some.str.contains(WRITTEN)).to_numpy() | some.str.contains(
            ELISION
        ).to_numpy()
        fence[index] = some.str.contains(FENCE).to_numpy()
        rule[index] = some.str.contains(RULE).to_numpy()
    return {
        "blank": blank,
        "fence": fence,
        "own": own,
        "any": any_hit & ~blank,
        "prose": prose & ~fence,
        "strong": strong,
        "toolish": toolish & ~prose,
        "rule": rule,
    }


def _one_kind(scan: _Scan, kind: str) -> tuple[int, int] | None:
    """Return the first and last line of the only output of a file, without the prose around it; None if the file is
    mixed.
    """
    filled = int((~scan.blank).sum())
    first, behind = 0, scan.count
    prose = scan.prose & ~scan.logged
    body = np.flatnonzero((scan.any | scan.toolish) & ~(prose | scan.fence | scan.rule))
    if not len(body):
        return (1, scan.count)
    # Unmatched lines that touch the output are a banner or a cut row; behind a blank line they are the author's.
    walls = np.flatnonzero(prose | scan.fence)
    gaps = np.flatnonzero(prose | scan.fence | scan.blank)
    if len(walls) and walls[0] < body[0]:
        first = _lead(scan, int(gaps[gaps < body[0]][-1]) + 1, 0)
    if len(walls) and walls[-1] > body[-1]:
        behind = int(gaps[gaps > body[-1]][0])
    if int((scan.strong & ~scan.logged)[first:behind].sum()) > FEW_SENTENCES * filled or scan.fence[first:behind].any():
        return None
    if scan.opened[first:behind].any() or scan.closed[first:behind].any():
        return None
    own = int(scan.mine(first, behind, kind).sum())
    if int(prose[first:behind].sum()) > own > 0 or _foreign_commands(scan, first, behind, kind):
        return None
    found = _cut(scan, first, behind, kind)
    sampled = kind_of(kind).sampled or prose[first:behind].any()
    if len(found) > 1 or (sampled and len(_at_prompts(scan, found)) > 1):
        return None
    # Where an author writes around the output, unmatched lines behind a blank line are not rows that happen to have no
    # pattern.
    if (first or behind < scan.count) and (bare := _trimmed(scan, first, behind, kind, 0)) is not None:
        if int((~scan.blank[first : bare[0]]).sum()) > HANGING:
            return None
        behind = bare[1] if scan.blank[bare[1] : behind].any() else behind
    return scan.begin.line + first, scan.begin.line + behind - 1


def _foreign_commands(scan: _Scan, first: int, behind: int, kind: str) -> bool:
    """Decide whether lines [first, behind) contain the command of another tool with output, none of whose lines match
    this kind's own patterns.
    """
    mine = scan.mine(first, behind, kind)
    strange = np.flatnonzero(~mine & ~scan.blank[first:behind])[:FOREIGN_LINES]
    if not mine.any() or not len(strange):
        return False
    lines = scan.lines(first, first + int(strange[-1]) + 1).gather(strange).to_list()
    prompts = ((at, line, prompt_of(line)) for at, line in zip(strange.tolist(), lines, strict=True))
    typed = [(at, p.command if _shows(line) else "") for at, line, p in prompts if p]
    names = {name for form, _ in all_formats() if form.kind == kind for name in names_of(form)}
    names |= set(kind_of(kind).tools)
    ends = [*(at for at, _ in typed), behind - first][1:]
    for (at, command), end in zip(typed, ends, strict=True):
        printed = int((~scan.blank[first + at + 1 : first + end]).sum())
        if command and printed and not mine[at:end].any() and not named_by(command, names):
            return True
    return False


def _regions(scan: _Scan) -> list[Region]:
    found: list[Region] = []
    for first, behind in _between_walls(scan):
        if not scan.any[first:behind].any():
            continue
        scan.heartbeat()
        least = found[-1].line_to + 1 - scan.begin.line if found else 0
        for kind, begin, end in _outputs(scan, first, behind, least):
            found.append(Region(begin + scan.begin.line, end - 1 + scan.begin.line, kind))
    return _joined(scan, found)


def _outputs(scan: _Scan, first: int, behind: int, least: int) -> Iterator[tuple[str, int, int]]:
    """Yield the outputs between two walls, ascending; lines that trimming removed from an output are tried again."""
    for kind, begin, end in _claimed(scan, first, behind):
        trimmed = _trimmed(scan, begin, end, kind, least)
        if trimmed is None:
            continue
        if trimmed != (begin, end) and _strength(scan, *trimmed, kind) < ENOUGH:
            # The claim rests on lines that the kind's patterns do not match, or trimming cut off everything that was
            # claimed.
            if _strength(scan, begin, end, kind) < ENOUGH and not scan.mine(begin, end, kind).any():
                continue
            filled = begin + np.flatnonzero(~scan.blank[begin:end])
            trimmed = max(int(filled[0]), least), int(filled[-1]) + 1
        for left, right in ((max(begin, least), trimmed[0]), trimmed, (trimmed[1], end)):
            if (left, right) == trimmed:
                yield kind, left, right
            elif scan.any[left:right].any() and scan.blank[left:right].any():
                yield from _outputs(scan, left, right, max(least, left))
        least = trimmed[1]


def _between_walls(scan: _Scan) -> Iterator[tuple[int, int]]:
    """Yield the stretches of lines between walls, which are sentences and fences."""
    wall = (scan.prose & ~scan.logged) | scan.fence
    edges = np.flatnonzero(np.diff(np.concatenate([[True], wall, [True]]).astype(np.int8)))
    borders = np.union1d(np.flatnonzero(scan.opened), np.flatnonzero(scan.closed) + 1)
    for first, behind in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        inside = borders[(borders > first) & (borders < behind)].tolist()
        yield from pairwise([first, *inside, behind])


def _logged(scan: _Scan) -> Bools:
    """Return a mask of the sentences that are messages of a log: those between its own lines, and all others in a
    listing that begins with its lines.

    A sentence that ends in a colon or a question mark introduces something else and is the author's.
    """
    found = np.zeros(scan.count, np.bool_)
    apart = np.concatenate([[True], scan.blank | scan.fence, [True]])
    edges = np.flatnonzero(np.diff(apart.astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    sentences_before = np.concatenate([[0], np.cumsum(scan.prose)])
    own_before = np.concatenate([[0], np.cumsum(scan.any)])
    written = sentences_before[ends] - sentences_before[starts]
    likely = (written > 0) & (own_before[ends] - own_before[starts] > written)
    for first, behind in zip(starts[likely].tolist(), ends[likely].tolist(), strict=True):
        for kind in (scan.kinds(first, min(first + 2, behind)) if scan.kind is None else {scan.kind}) & _logs():
            own, prose = scan.mine(first, behind, kind), scan.prose[first:behind]
            if own.sum() <= prose.sum():
                continue
            at = np.flatnonzero(prose)
            texts = scan.lines(first, behind).gather(at)
            mine = ~texts.str.contains(r"[:?]$").to_numpy()
            if not _is_listing(scan, first, behind):
                mine &= ~scan.strong[first:behind][at] & (at < np.flatnonzero(own)[-1])
            found[first + at[mine]] = True
    return found


@cache
def _logs() -> frozenset[str]:
    """Return the kinds whose lines are messages, so that a sentence may be a line of the tool."""
    return frozenset(form.kind for form, _ in all_formats() if form.tables[0] == "logs" and form.own)


def _is_listing(scan: _Scan, first: int, behind: int) -> bool:
    """Decide whether these lines fill a fence or are all indented."""
    if first and behind < scan.count and scan.fence[first - 1] and scan.fence[behind]:
        return True
    return bool(scan.lines(first, behind).str.contains(r"^(?:\t| {4})").all())


def _joined(scan: _Scan, regions: list[Region]) -> list[Region]:
    """Join excerpts of one output into one region if their format can tell; the words between them stay prose inside
    it.

    A prompt begins another run of the tool, even if its format would join the excerpts.
    """
    joined: list[Region] = []
    for region in regions:
        last = joined[-1] if joined else None
        tell = _continues().get(region.kind)
        if (
            last is not None
            and last.kind == region.kind
            and tell is not None
            and region.line_from - last.line_to <= EXCERPTS
        ):
            ends = [(r.line_from - scan.begin.line, r.line_to + 1 - scan.begin.line) for r in (last, region)]
            before, behind = (scan.lines(first, min(end, first + 400)).to_list() for first, end in ends)
            if not is_lead(behind[0]) and tell(before, behind):
                joined[-1] = Region(last.line_from, region.line_to, region.kind)
                continue
        joined.append(region)
    return joined


@cache
def _continues() -> dict[str, Callable[[list[str], list[str]], bool]]:
    """Return, by kind, the functions that decide whether one excerpt continues the trace of another."""
    return {form.kind: module.continues for form, module in all_formats() if hasattr(module, "continues")}


def _claimed(scan: _Scan, first: int, behind: int) -> list[tuple[str, int, int]]:
    """Claim the lines between two walls, all at once or else block by block between blank lines."""
    kind = _winner(scan, first, behind)
    if kind is not None:
        return _at_prompts(scan, _cut(scan, first, behind, kind))
    blocks = _blocks(scan, first, behind)
    found: list[tuple[str, int, int]] = []
    for begin, end in blocks:
        if not scan.any[begin:end].any():
            continue
        kind = _winner(scan, begin, end) if len(blocks) > 1 else None
        if kind is None:
            found += _stretches(scan, begin, end)
            continue
        if found and found[-1][0] == kind and _is_bare(scan, found[-1][2], begin):
            found[-1] = (kind, found[-1][1], end)
        else:
            found += _cut(scan, begin, end, kind)
    return _at_prompts(scan, found)


def _stretches(scan: _Scan, first: int, behind: int) -> list[tuple[str, int, int]]:
    """Find outputs among unclaimed lines without a blank line between them: several lines of one kind in a row."""
    runs: list[tuple[int, int, str]] = []
    for kind in scan.kinds(first, behind):
        own = np.flatnonzero(scan.mine(first, behind, kind)) + first
        for run in np.split(own, np.flatnonzero(np.diff(own) > HANGING) + 1):
            if len(run) >= FEW_LINES:
                runs.append((int(run[0]), int(run[-1]) + 1, kind))
    found: list[tuple[str, int, int]] = []
    for begin, end, kind in sorted(runs, key=lambda run: (run[0] - run[1], run))[:CUTS]:
        if any(begin < b and a < end for _, a, b in found) or (begin == first and end == behind):
            continue
        claims = recognise(scan.head(begin, end), kinds=scan.kinds(begin, end)).claims
        if claims and claims[0].format.kind == kind and claims[0].claim.strength >= STRANGER:
            found.append((kind, begin, end))
    if found and recognise(scan.head(first, behind)).strength >= ENOUGH:
        return []  # one format claims all lines but has no pattern for each of them
    return sorted(found, key=lambda part: part[1])


def _is_bare(scan: _Scan, first: int, behind: int) -> bool:
    """Decide whether there are only blank lines and marks of elision between two blocks."""
    return bool((scan.blank[first:behind] | scan.toolish[first:behind]).all())


def _blocks(scan: _Scan, first: int, behind: int) -> list[tuple[int, int]]:
    blank = scan.blank[first:behind]
    edges = np.flatnonzero(np.diff(np.concatenate([[True], blank, [True]]).astype(np.int8))) + first
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _winner(scan: _Scan, first: int, behind: int) -> str | None:
    """Return the kind of the strongest claim on lines [first, behind), among kinds with own lines there or without
    patterns.
    """
    head = scan.head(first, behind)
    asked = scan.kinds(first, first + len(head.lines)) | kinds_without_patterns()
    found = recognise(head, kinds=asked)
    if found.strength < ENOUGH and (below := _below_heading(scan, first, behind)) > first:
        head = scan.head(below, behind)
        found = recognise(head, kinds=asked)
    if found.strength < ENOUGH:
        return None
    kind = found.claims[0].format.kind
    few = sum(1 for line in head.lines if line) <= 1 + found.lead.lines
    if few and found.strength < ALONE:
        return None
    return kind


def _cut(scan: _Scan, first: int, behind: int, kind: str) -> list[tuple[str, int, int]]:
    """Cut a region where an output of another kind begins: at a prompt, at a foreign header, behind a blank line."""
    parts: list[tuple[str, int, int]] = []
    begin, tries = first, 0
    seams = _seams(scan, first, behind, kind)
    starts = [first, *(at for at in seams if at > first)]
    tail = _tail_from(scan, first, behind, kind)
    for place, at in enumerate(starts):
        if tries >= CUTS and at < tail:
            continue
        # The output of a command extends to the next command, with its banner and blank lines.
        later = (x for x in starts[place + 1 :] if seams[x] or (x > at + 2 and not seams.get(at)))
        following = next(later, behind)
        if seams.get(at):
            following = _indent_ends(scan, at, following)
        if not seams.get(at) and _is_familiar(scan, at, following, kind):
            continue
        others = scan.kinds(at, min(following, at + BEGINNING)) - {kind}
        if not others:
            continue
        tries += 1
        claims = recognise(scan.head(at, min(following, at + 300)), kinds={*others, kind}).claims
        below = _below_heading(scan, at, following)
        if below > at and (not claims or claims[0].claim.strength < STRANGER):
            claims = recognise(scan.head(below, min(following, at + 300)), kinds={*others, kind}).claims or claims
        if not claims or claims[0].format.kind == kind:
            continue
        same = max((c.claim.strength for c in claims if c.format.kind == kind), default=0.0)
        strength = claims[0].claim.strength
        enough = ALONE if seams.get(at) else STRANGER
        if (at == first or scan.blank[at - 1]) and _is_wholly(scan, at, following, claims[0].format.kind, kind):
            enough = ENOUGH
        if strength - same < 0.1 or strength < enough:
            continue
        if at > begin:
            parts.append((kind, begin, at))
        begin, kind, tries = at, claims[0].format.kind, 0
    parts.append((kind, begin, behind))
    return parts


def _below_heading(scan: _Scan, first: int, behind: int) -> int:
    """Return the line below a heading that announces an output (`# /var/log/messages`), else `first`.

    No format reads such a heading, and it would lower the strength of a claim.
    """
    at = first + int(np.argmin(scan.blank[first:behind]))
    if (
        behind - at > BEGINNING
        or at + 1 >= behind
        or scan.any[at]
        or scan.toolish[at]
        or not scan.any[at + 1]
        or _has_command(scan, at, at + 1)
    ):
        return first
    return at + 1


def _indent_ends(scan: _Scan, first: int, behind: int) -> int:
    """Return the end of a listing that begins with an indented prompt: the first line that is indented less."""
    line = scan.lines(first, first + 1)[0]
    front = line[: len(line) - len(line.lstrip())]
    if not front:
        return behind
    lines = scan.lines(first, min(behind, first + 300)).to_list()
    out = next((i for i, text in enumerate(lines) if text.strip() and not text.startswith(front)), None)
    return behind if out is None else first + out


def _is_familiar(scan: _Scan, first: int, behind: int, kind: str) -> bool:
    """Decide whether these lines are the kind's own although another kind may claim them, or too few to decide."""
    behind = min(behind, first + 300)
    filled = np.flatnonzero(~scan.blank[first:behind])
    own = scan.mine(first, behind, kind)[filled]
    return len(filled) < FEW_LINES or bool(own[0] and own.sum() * 2 >= len(own))


def _is_wholly(scan: _Scan, first: int, behind: int, kind: str, not_of: str) -> bool:
    """Decide whether there are several lines that all match `kind` and none matches `not_of`, whose format would not
    read them.
    """
    filled = ~scan.blank[first:behind]
    mine, others = scan.mine(first, behind, kind), scan.mine(first, behind, not_of)
    return int(filled.sum()) >= FEW_LINES and bool(mine[filled].all()) and not others.any()


def _seams(scan: _Scan, first: int, behind: int, kind: str) -> dict[int, bool]:
    """Return the lines where another output may begin, ascending, each with whether a prompt stands there."""
    window = slice(first, behind)
    mine = scan.mine(first, behind, kind)
    filled = ~scan.blank[window]
    foreign = scan.any[window] & ~mine
    starts = np.flatnonzero(foreign & ~np.concatenate([[False], foreign[:-1]]))
    after_blank = np.flatnonzero(filled & np.concatenate([[False], ~filled[:-1]]))
    strange = np.flatnonzero(filled & ~mine)
    near = strange[: 20 * CUTS]
    near = near[near < 200_000]
    texts = scan.lines(first, first + int(near[-1]) + 1).gather(near).to_list() if len(near) else []
    prompts = {int(i) for i, line in zip(near, texts, strict=True) if (p := prompt_of(line)) and p.command}
    likely = prompts | set(starts[: 4 * CUTS].tolist()) | set(after_blank[: 4 * CUTS].tolist())
    tail = _tail_from(scan, first, behind, kind) - first
    for late in (strange, starts, after_blank) if tail < behind - first else ():
        for i in late[late >= tail][:TAIL_CUTS].tolist():
            likely.add(i)
            if _has_command(scan, first + i, first + i + 1):
                prompts.add(i)
    return {first + i: i in prompts for i in sorted(likely)}


def _tail_from(scan: _Scan, first: int, behind: int, kind: str) -> int:
    """Return the line after a kind's last own line in a large region, else `behind`.

    From there on, another output is searched even if many lines above were tried already.
    """
    if behind - first <= TAILED:
        return behind
    own = np.flatnonzero(scan.mine(first, behind, kind))
    return first + int(own[-1]) + 1 if len(own) else behind


def _at_prompts(scan: _Scan, regions: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Cut regions where a prompt with a command stands between lines of the same kind: a new output begins there."""
    found = []
    for kind, first, behind in regions:
        size = min(behind - first, 100_000)
        mine = scan.mine(first, first + size, kind)
        cuts, fresh = [first], False
        strange = np.flatnonzero(~mine & ~scan.blank[first : first + size])[:5000]
        if len(own := np.flatnonzero(mine)):
            strange = strange[(strange > own[0]) & (strange < own[-1])]
        if not (len(own) and len(strange)):
            found.append((kind, first, behind))
            continue
        lines = scan.lines(first, first + size).gather(strange).to_list()
        for i, line in zip(strange.tolist(), lines, strict=True):
            prompt = prompt_of(line)
            if not prompt or not prompt.command:
                continue
            before = mine[cuts[-1] - first : i]
            fresh = bool(before.any()) and bool(mine[i:].any())
            if fresh:
                cuts.append(first + i)
        found += [(kind, a, b) for a, b in zip(cuts, [*cuts[1:], behind], strict=True)]
    return found


def _trimmed(scan: _Scan, first: int, behind: int, kind: str, least: int) -> tuple[int, int] | None:
    """Return the region without a heading above its first own line and without extra lines below its last; the lead
    above it is included. None if no line looks like the kind's.
    """
    size = min(behind - first, 100_000)
    own = scan.mine(first, first + size, kind) if kind in patterns_by_kind() else scan.any[first : first + size]
    front = np.flatnonzero(own)
    if not len(front):
        front = np.flatnonzero(scan.toolish[first : first + size])
    if not len(front):
        return None
    begin = _head_of(scan, first + int(front[0]), first)
    led = _lead(scan, begin, max(least, first))
    bare = scan.blank[first:led].all() or _has_command(scan, led, begin + 1)
    if not bare and _strength(scan, led, behind, kind) < _strength(scan, first, behind, kind):
        begin = first + int(np.flatnonzero(~scan.blank[first:begin])[0])  # a banner that matches no pattern
    tail = max(first, behind - 100_000)
    last = (
        scan.mine(tail, behind, kind) | scan.logged[tail:behind]
        if kind in patterns_by_kind()
        else scan.any[tail:behind]
    )
    final = np.flatnonzero(last)
    end = _tail_of(scan, tail + int(final[-1]) + 1 if len(final) else begin + 1, behind)
    return max(_lead(scan, begin, least), least), _hang_of(scan, end, behind)


def _head_of(scan: _Scan, begin: int, first: int) -> int:
    """Return the first line of an output above its first own line: its command, else lines and blocks right above that
    look like a tool's.
    """
    head = begin
    while head > first:
        filled = np.flatnonzero(~scan.blank[first:head])
        if not len(filled):
            break
        bottom = first + int(filled[-1])
        gap = np.flatnonzero(scan.blank[first : bottom + 1])
        top = first + int(gap[-1]) + 1 if len(gap) else first
        shown = [at for at in range(bottom, max(top, bottom - LEAD_LINES) - 1, -1) if _has_command(scan, at, at + 1)]
        if shown:
            return shown[0]
        tools = scan.toolish[top : bottom + 1] & ~scan.rule[top : bottom + 1]
        if not (tools.all() if bottom < head - 1 else tools.any()):
            break
        head = top if tools.all() else top + int(np.flatnonzero(tools)[0])
        if head > top:
            break
    return head


def _tail_of(scan: _Scan, end: int, behind: int) -> int:
    """Move down from an output's last own line over lines and blocks that look like a tool's.

    A few unmatched lines right behind a row are passed if such a block follows.
    """
    tail, at = end, end
    while at < behind:
        filled = np.flatnonzero(~scan.blank[at:behind])
        if not len(filled):
            break
        top = at + int(filled[0])
        gap = np.flatnonzero(scan.blank[top:behind])
        bottom = top + int(gap[0]) if len(gap) else behind
        tools = scan.toolish[top:bottom] & ~scan.rule[top:bottom]
        if top > at and not tools.all():
            break
        if tools.any():
            tail = top + int(np.flatnonzero(tools)[-1]) + 1
        if bottom - max(tail, top) > HANGING:
            break
        at = bottom
    return end + _uncommented(scan, end, min(tail, end + LEAD_LINES), tail)


def _hang_of(scan: _Scan, end: int, behind: int) -> int:
    """Include the few unmatched lines right behind an output, but not a comment on it."""
    blanks = np.flatnonzero(scan.blank[end : end + HANGING + 1])
    if end >= behind or not len(blanks):
        return end
    hanging = min(end + int(blanks[0]), behind)
    return end + _uncommented(scan, end, hanging, hanging)


def _uncommented(scan: _Scan, first: int, last: int, behind: int) -> int:
    """Count lines [first, behind), or only those up to a comment or the next command in [first, last)."""
    texts = scan.lines(first, last).to_list()
    count = next((i for i, text in enumerate(texts) if COMMENT.match(text) or _commands(text)), None)
    if count is None:
        return behind - first
    return next((i + 1 for i in range(count - 1, -1, -1) if texts[i]), 0)


def _has_command(scan: _Scan, first: int, behind: int) -> bool:
    """Decide whether a prompt with a command stands in lines [first, behind)."""
    return any(_commands(line) for line in scan.lines(first, behind).to_list())


def _commands(line: str) -> bool:
    prompt = prompt_of(line)
    return prompt is not None and bool(prompt.command)


def _shows(line: str) -> bool:
    """Decide whether a command at a shell's prompt stands in a line that may print something about a host."""
    prompt = prompt_of(line)
    if prompt is None or not prompt.command or CLIENT.match(line) or line.startswith(COMMENTED):
        return False
    return MOVES.fullmatch(prompt.command) is None


def _strength(scan: _Scan, first: int, behind: int, kind: str) -> float:
    return recognise(scan.head(first, behind), kinds={kind}).strength


def _lead(scan: _Scan, begin: int, least: int) -> int:
    """Return the first of the prompts, dates and marks right above a line."""
    top = max(least, begin - LEAD_LINES)
    lines = scan.lines(top, begin).to_list()
    first, blanks = begin, 0
    for at in range(begin - 1, top - 1, -1):
        text = lines[at - top]
        if not text:
            blanks += 1
            if blanks > 2:
                break
            continue
        if not is_lead(text):
            break
        first, blanks = at, 0
    return first


def end_of_fit(text: TextFile, begin: Position, end: int, own: Sequence[str], rate: float) -> Position | None:
    """Return where in [begin, end) the lines of a watched part stop matching its kind's patterns; None if they go on.

    Only the first lines of each block are examined, so a foreign stretch shorter than a block may stay inside, and so
    may the few lines of another output at the end of a block.
    """
    blocks = text.beginnings(begin.offset, end, SAMPLED)
    while some := list(islice(blocks, PIECES_AT_ONCE)):
        samples = [seen_of(block.first.head(SAMPLED)) for block in some]
        # Polars compiles the patterns once for each series, so the samples are joined.
        fits = np.split(hits(pl.concat(samples), own), np.cumsum([len(sample) for sample in samples])[:-1])
        for block, sample, mine in zip(some, samples, fits, strict=True):
            filled = int((sample != "").sum())
            if filled < LEAST_SAMPLE or mine.sum() >= FALL * rate * filled:
                continue
            piece = text.piece(block.offset, block.size)
            known = np.flatnonzero(hits(seen_of(piece.lines), own))
            at = 0 if not len(known) or known[0] > SAMPLED else _stretch_end(known)
            if at < len(piece.lines):
                line = begin.line + text.count_lines(begin.offset, block.offset)
                return Position(line + at, piece.offset + int(piece.starts[at]))
    return None


def _stretch_end(mine: npt.NDArray[np.int64]) -> int:
    """Return the index behind the first stretch of hits without a gap of more than 200 lines."""
    gaps = np.flatnonzero(np.diff(mine) > 200)
    return int(mine[gaps[0]] if len(gaps) else mine[-1]) + 1


def hit_rate(lines: Sequence[str], kind: str) -> float:
    """Return the share of the filled lines of a head that match a kind's own patterns."""
    seen = seen_of(pl.Series("line", list(lines), dtype=pl.String))
    filled = int((seen != "").sum())
    return float(hits(seen, patterns_of(kind)).sum()) / filled if filled else 0.0

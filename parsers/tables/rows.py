"""Collect the rows, notes and line account of one block run: data frames in, row groups of the schema out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from typing import Any, Literal, Protocol, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from parsers.kinds import kind_of
from parsers.provenance.prompts import is_lead
from parsers.secrets.masks import SECRETS, Masks
from parsers.secrets.scan import OF_ITS_LINE, Scanner, spans
from parsers.tables import clock_domains as clocks
from parsers.tables.schema import TABLES, schema
from parsers.text.notes import LINE_ACCOUNT, NOTE_CHARS, NOTE_KINDS, LineAccount, Note, clip
from parsers.text.source import Longs, Sightings, Source

JSON = None | bool | int | float | str | list[Any] | dict[str, Any]
State = dict[str, Any]
"""A format's small state between block runs; it must be JSON-able and is saved with each batch."""

Lines = Iterable[int] | pl.Series | npt.NDArray[np.int64]

_NOTES = pl.Schema({"line_no": pl.Int64(), "line_end": pl.Int64(), "kind": pl.String(), "text": pl.String()})
_NOTED = {"unknown", "elided", "damaged"}
_PROMPTS = 20_000
"""Maximum number of unaccounted lines of a run that are checked for prompts."""

_NO_ROWS = {"notes", "hosts", "profile_meta"}
"""Tables that a heading alone may fill."""


_PASTE = 256 * 1024
"""Maximum bytes of a part that is checked for damage of pasting: wrapped, or all on one line."""

_ONE_LINE = 110
"""Number of characters above which a part of one line was probably several lines."""

_STAMP = re.compile(
    r"[\[(<]*(?:(?:19|20)[0-9]{2}[-/.][01]?[0-9][-/.][0-3]?[0-9]|[A-Z][a-z]{2} +[0-9]{1,2}|[0-9]{1,2}/[A-Z][a-z]{2}/[0-9]{4})"
    r"[T :]{1,3}[0-9]{1,2}:[0-9]{2}:[0-9]{2}"
)
"""A stamp of a log. A line that begins with the only one in it is one line of a log, however long."""

_NARROW = 60
"""Minimum width in columns at which a terminal or mail program wraps."""

_BEYOND = 2.0**63
"""Smallest value that shows that a counter fell below zero and wrapped."""

_COUNTED = {
    table.name: [c.name for c in table.columns if c.dtype == pl.Float64 and c.name not in ("t_local", "lo", "hi")]
    for table in TABLES.values()
    if table.name not in ("params", "resource_use", "statements", "artifacts")
}
"""The columns with measured counts, by table; tables of settings are left out, because a setting may have any size."""

_ROW = 1
_CODE = {"read": 2, "elided": 3, "damaged": 4, "blank": 5, "prose": 6, "unknown": 7}
_NEEDS_NOTE = np.isin(np.arange(8), [_CODE[k] for k in _NOTED])
"""By line code: whether its lines need a note."""


@dataclass(frozen=True)
class Domain:
    """A clock domain, that is a source of time, within a part.

    `kind` is the kind of clock, `base` the ISO time of its zero, `zone` its name; times are in seconds. `lines`: the
    ranges of lines whose rows belong to it. If it is reported again under the same number, the two are united.
    `resolution_s`: the step that its stamps are multiples of. `direction`: how times go down the lines: forward,
    backward (newest first) or mixed. `stamps`: what they mark: start or end (of a call, an interval, a wait) or moment.
    Of these three, what a format leaves NULL is measured from the rows.
    """

    domain: int
    kind: str
    base: str | None = None
    zone: str | None = None
    t_begin: float | None = None
    t_end: float | None = None
    lines: list[tuple[int, int]] = field(default_factory=list)
    resolution_s: float | None = None
    direction: str | None = None
    stamps: str | None = None

    def unite(self, later: Domain) -> Domain:
        begins = [t for t in (self.t_begin, later.t_begin) if t is not None]
        ends = [t for t in (self.t_end, later.t_end) if t is not None]
        lines: list[tuple[int, int]] = []
        for first, last in sorted([*self.lines, *later.lines]):
            if lines and first <= lines[-1][1] + 1:
                lines[-1] = (lines[-1][0], max(last, lines[-1][1]))
            else:
                lines.append((first, last))
        steps = [r for r in (self.resolution_s, later.resolution_s) if r is not None]
        ways = {d for d in (self.direction, later.direction) if d is not None}
        return replace(
            later,
            resolution_s=min(steps, default=None),
            direction="mixed" if len(ways) > 1 else ways.pop() if ways else None,
            stamps=self.stamps or later.stamps,
            base=self.base or later.base,
            zone=self.zone or later.zone,
            t_begin=min(begins, default=None),
            t_end=max(ends, default=None),
            lines=lines,
        )


class Sink(Protocol):
    """Receiver of row groups; see `parsers/tables/parquet.py`."""

    def write(self, table: str, rows: pa.Table) -> None: ...


@dataclass(frozen=True)
class Batch:
    """Result of one block run, apart from the rows that went to the sink."""

    account: LineAccount
    tables: dict[str, int]
    notes: list[Note]


def line_span(rows: pl.DataFrame) -> tuple[int, int]:
    """Return the first and last line of `rows`, from line_no and, if there is one, line_end; rows may be in any order.

    >>> line_span(pl.DataFrame({"line_no": [7, 3], "line_end": [9, 3]})), line_span(pl.DataFrame({"line_no": [7, 8]}))
    ((3, 9), (7, 8))
    """
    last = rows["line_end" if "line_end" in rows.columns else "line_no"]
    return int(rows["line_no"].to_numpy().min()), int(last.to_numpy().max())


class Tables:
    """Receives what a format reads from one block run: rows, notes, domains, facts, the fate of each line."""

    def __init__(self, source: Source, sink: Sink | None = None) -> None:
        self._source = source
        self._sink = sink
        self._masks = Masks()
        self.scanner = Scanner(names=not kind_of(source.hints.kind).masks_descriptors)
        """Finds secrets that the format does not know of; its state goes from run to run."""
        source.scout, source.watch = self._scan, self._mask_seen
        self._codes = np.zeros(4096, np.uint8)
        self._depth = np.zeros(4097, np.int32)
        self._printed = np.zeros(0, np.int64)
        self._notes: list[pl.DataFrame] = []
        self._single: list[Note] = []
        self.rows: dict[str, int] = {}
        self.facts: dict[str, JSON] = {}
        self.domains: dict[int, Domain] = {}
        self._seen = clocks.Seen()
        self.prompts = False
        """Whether prompts, bare dates and collectors' marks count as read where the format does not account for them.
        """

    def add(self, table: str, frame: pl.DataFrame, *, span: Literal["all", "ends", "none"] = "all") -> None:
        """Add rows with any subset of the table's columns, `line_no` among them.

        `line_end` defaults to `line_no`; NaN becomes NULL. Lines `line_no` to `line_end` count as read; with span
        "ends" only these two do (halves of a row with other lines between them), with "none" the account stays as it
        is. Raises ValueError for a column that the table does not have, a missing `line_no` or a type that does not
        cast.
        """
        if frame.is_empty():
            return
        full = self._counted(table, self._conform(table, frame))
        if span != "none":
            self._mark(full["line_no"].to_numpy(), full["line_end"].to_numpy(), span)
        self._seen.see(table, full)
        self._write(table, full)

    def _counted(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Set counters that fell below zero to NULL, with a note."""
        names = [n for n in _COUNTED.get(table, []) if n in rows.columns]
        if not any((cast("float | None", rows[name].max()) or 0.0) >= _BEYOND for name in names):
            return rows
        for name in names:
            lines = rows.filter(pl.col(name) >= _BEYOND)["line_no"].unique().sort()
            for line_no in lines[: self._source.text.limits.notes_per_batch]:
                self.note(
                    line_no, line_no, "damaged", f"{name} is beyond 2^63: a counter that fell below zero, left out"
                )
        return rows.with_columns_seq(pl.when(pl.col(n) < _BEYOND).then(pl.col(n)).alias(n) for n in names)

    def note(self, line_from: int, line_to: int, kind: str, text: str) -> None:
        """Add a note on lines; `kind` is one of `notes.NOTE_KINDS`.

        A note does not change the account (see `account` and `read`).
        """
        self._check_kind(kind)
        # Mask before the text is cut: half a secret would not be recognised.
        text = self._masks.in_lines(line_from, line_to, text)
        self._single.append(Note(line_from, line_to, kind, clip(text)))

    def notes(self, frame: pl.DataFrame) -> None:
        """Add many notes: columns line_no, line_end (default line_no), kind, text."""
        if "line_end" not in frame.columns:
            frame = frame.with_columns_seq(line_end=pl.col("line_no"))
        frame = frame.select_seq(pl.col(c).cast(t) for c, t in _NOTES.items())
        for kind in frame["kind"].unique():
            self._check_kind(kind)
        self._notes.append(frame)

    def read(self, line_nos: Lines) -> None:
        """Count lines as read that give no row of their own: headers, details, halves of records held in the state."""
        self._set(line_nos, _CODE["read"])

    def printed(self, line_nos: pl.Series) -> None:
        """Count output of the program that the tool runs as read; the general reader reads these lines too."""
        self.read(line_nos)
        self._printed = np.union1d(self._printed, line_nos.to_numpy())

    def account(self, kind: str, line_nos: Lines) -> None:
        self._set(line_nos, _CODE[kind])

    def secret(self, line_no: int, begin: int, end: int, kind: str) -> None:
        """Mask characters [begin, end) of a line everywhere.

        Must be called before rows of that line are added, else it raises ValueError.
        """
        index = line_no - self._source.first_line
        if index < 0:
            raise ValueError(f"line {line_no} lies before this run")
        covered = index < len(self._codes) and (self._codes[index] == _ROW or self._depth[: index + 1].sum() > 0)
        if covered:
            raise ValueError(f"secret in line {line_no} named after its rows were added")
        self._masks.keep(line_no, begin, end, kind, self._source.text_of(line_no))

    def _scan(self, frame: pl.DataFrame) -> Sightings:
        texts: dict[int, str] = {}
        seen: Sightings = []
        for line_no, begin, end, kind in self.scanner.scan(frame):
            if line_no not in texts:
                texts[line_no] = frame["line"][int(frame["line_no"].search_sorted(line_no))]
            seen.append((line_no, begin, end, kind, texts[line_no]))
        return seen

    def _mask_seen(self, seen: Sightings) -> None:
        for line_no, begin, end, kind, text in seen:
            self._masks.keep(line_no, begin, end, kind, text, everywhere=kind not in OF_ITS_LINE)

    def secrets(self, frame: pl.DataFrame) -> None:
        """Mask many places (columns line_no, from, to, kind), but only in quotes of their own lines.

        For payloads that are half of a trace. The format must mask what it puts into tables and notes of these lines
        itself.
        """
        self._masks.keep_places(frame)

    def joined_lines(self, pieces: list[tuple[int, str, int]], whole: str) -> None:
        """Record that lines (line_no, text, where it begins in `whole`) are one broken line.

        They are noted, counted as read, and secrets in the joined text are masked.
        """
        first, last = pieces[0][0], pieces[-1][0]
        self.read([number for number, _, _ in pieces])
        ends = list(accumulate((len(text) for _, text, _ in pieces), initial=0))
        tight = [(n, text, at) for (n, text, _), at in zip(pieces, ends, strict=False)]
        # A blank inserted at a break may stand within a secret, so the text without it is searched too.
        for lines, text in ((pieces, whole), (tight, "".join(text for _, text, _ in pieces))):
            for begin, end, kind in spans(text):
                torn = [(n, max(begin - at, 0), min(end - at, len(piece))) for n, piece, at in lines]
                places = [place for place in torn if place[1] < place[2]]
                if not self.scanner.names and kind in OF_ITS_LINE:  # the format itself masks names in its rows
                    rows = [(*place, kind) for place in places]
                    self._masks.keep_places(pl.DataFrame(rows, schema=SECRETS, orient="row"))
                    continue
                starts = {n: at for n, _, at in pieces}
                shown = whole[starts[places[0][0]] + places[0][1] : starts[places[-1][0]] + places[-1][2]]
                self._masks.keep_torn(places, kind, shown)
        self.note(first, last, "repaired", "a line that was broken here, joined: the breaks show how")

    def strange(self) -> npt.NDArray[np.int64]:
        """Return the numbers of the run's lines, ascending, that the format left over or that a program printed."""
        left = self._source.next_line - self._source.first_line
        self._room(left)
        codes = self._codes[:left].copy()
        codes[np.cumsum(self._depth[:left]) > 0] = _ROW
        for numbers in (*self._source.blank, *self._source.elided):
            codes[numbers - self._source.first_line] = _ROW
        return np.union1d(np.flatnonzero(codes == 0) + self._source.first_line, self._printed)

    def domain(self, domain: Domain) -> None:
        old = self.domains.get(domain.domain)
        self.domains[domain.domain] = old.unite(domain) if old else domain

    def fact(self, name: str, value: JSON) -> None:
        """Report a fact about the part: tool_opts, os, os_release, label, tz, interval_s, stamp, role ..."""
        self.facts[name] = value

    def ask(self, question: dict[str, Any]) -> None:
        """Add a question to a person (`clocks.question`), once a part for each hint."""
        asked: list[Any] = self.facts.get("questions") or []  # type: ignore[assignment]  # a list, or not there
        if all(old["ask"] != question["ask"] for old in asked):
            self.facts["questions"] = [*asked, question]

    def finish(self, state: State) -> tuple[Batch, State]:
        """Close the run: decide the fate of unaccounted lines, write notes and secrets, mask the state.

        The last run of a part has no state to pass on: it is dropped.
        """
        source = self._source
        self._clocks()
        codes = self._note_doubts(self._line_codes())
        counts = np.bincount(codes, minlength=8)
        account = LineAccount(**{k: int(counts[_CODE[k]]) for k in LINE_ACCOUNT})
        notes = self._all_notes(codes)
        listed: list[Note] = []
        if len(notes):
            self._write("notes", self._conform("notes", notes))
            shown = self._masks.apply(notes) if self._masks else notes
            listed = [Note(*row) for row in shown.select_seq("line_no", "line_end", "kind", "text").iter_rows()]
        if self._masks.found and self._sink:
            self._sink.write("secrets", self._masks.frame().to_arrow(compat_level=pl.CompatLevel.oldest()))
        if source.index and self._sink:
            index = pa.table({"line_no": [i[0] for i in source.index], "offset": [i[1] for i in source.index]})
            self._sink.write("line_index", index)
        self.facts = self._masks.apply_json(self.facts)
        source.scout = source.watch = source.ahead = (
            None  # a reference cycle keeps a run's arrays until Python looks for cycles
        )
        if source.last:
            return Batch(account, self.rows, listed), {}
        # As a resumed reading would see it: tuples become lists, keys become texts.
        carried: State = json.loads(json.dumps(self._masks.apply_json(state), allow_nan=False))
        return Batch(account, self.rows, listed), carried

    def _clocks(self) -> None:
        """Measure the run's domains from their rows; note rows that fall in an hour that a zone has twice or never."""
        for number, domain in self.domains.items():
            if domain.kind == "none" or not domain.lines:
                continue
            resolution_s, direction, stamps = self._seen.measure(domain.lines)
            self.domains[number] = replace(
                domain,
                resolution_s=domain.resolution_s or resolution_s,
                direction=domain.direction or direction,
                stamps=domain.stamps or stamps,
            )
            # A name such as CET shows summer time itself, and a time of day without a date belongs to no particular
            # night.
            zone = domain.zone or self._source.hints.tz
            if domain.kind != "wall-local" or domain.base is None or zone is None or "/" not in zone:
                continue
            found = self._seen.trouble(domain.lines, zone, domain.base)
            self._single += found.notes
            if found.question is not None:
                self.ask(found.question)

    def _check_kind(self, kind: str) -> None:
        if kind not in NOTE_KINDS:
            raise ValueError(f"no such kind of note: {kind!r}")

    def _conform(self, table: str, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns that the data frame has, and `part` and `line_end`, in the table's order and types."""
        columns, types = schema(table), frame.schema
        strange = [c for c in types if c not in columns]
        if strange:
            raise ValueError(f"table {table} has no column {', '.join(strange)}")
        if "line_no" not in types or frame["line_no"].null_count():
            raise ValueError(f"rows of {table} without line_no")
        exprs = []
        for name, dtype in columns.items():
            if name == "part":
                expr = pl.lit(self._source.part, dtype)
            elif name == "line_end":
                expr = pl.coalesce([c for c in ("line_end", "line_no") if c in types]).cast(dtype)
            elif name not in types:
                continue
            else:
                expr = pl.col(name) if types[name] == dtype else pl.col(name).cast(dtype)
                if dtype == pl.Float64:
                    expr = expr.fill_nan(None)
            exprs.append(expr.alias(name))
        try:
            return frame.select_seq(exprs)
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"rows of {table} do not fit its columns: {error}") from error

    def _write(self, table: str, frame: pl.DataFrame) -> None:
        if self._masks:
            frame = self._masks.apply(frame)
        self.rows[table] = self.rows.get(table, 0) + frame.height
        if self._sink:
            self._sink.write(table, _stored(table, frame))

    def _room(self, size: int) -> None:
        if size > len(self._codes):
            size = max(size, 2 * len(self._codes))
            self._codes = np.concatenate([self._codes, np.zeros(size - len(self._codes), np.uint8)])
            self._depth = np.concatenate([self._depth, np.zeros(size + 1 - len(self._depth), np.int32)])

    def _mark(self, first: Longs, last: Longs, span: str) -> None:
        """Count the lines of rows as read. Lines of earlier runs were accounted for there."""
        base = self._source.first_line
        first, last = np.asarray(first) - base, np.asarray(last) - base
        self._room(int(max(first.max(), last.max())) + 1)
        single = first == last
        ends = first[single] if span == "all" else np.concatenate([first, last])
        self._codes[ends[ends >= 0]] = _ROW
        if span == "all" and not single.all():
            wide = ~single & (last >= 0)
            np.add.at(self._depth, np.maximum(first[wide], 0), 1)
            np.add.at(self._depth, last[wide] + 1, -1)

    def _set(self, line_nos: Lines, code: int) -> None:
        numbers = line_nos.to_numpy() if isinstance(line_nos, pl.Series) else np.fromiter(line_nos, np.int64)
        index = numbers - self._source.first_line
        index = index[index >= 0]
        if len(index):
            self._room(int(index.max()) + 1)
            here = self._codes[index]
            self._codes[index] = np.where((here == _ROW) | (here == _CODE["read"]), here, code)

    def _line_codes(self) -> npt.NDArray[np.uint8]:
        """Return the final code of each line of the run.

        In order of precedence: rows, codes that the format set, damage, marks of elision, blank lines.
        """
        source = self._source
        count = source.next_line - source.first_line
        self._room(count)
        if self._codes[count:].any():
            raise ValueError("lines were named that the run does not have")
        codes = self._codes[:count].copy()
        codes[(np.cumsum(self._depth[:count]) > 0) | (codes == _ROW)] = _CODE["read"]
        fallbacks = (
            ([np.array([n for n, kind, _ in source.damage if kind == "damaged"], np.int64)], "damaged"),
            (source.elided, "elided"),
            (source.blank, "blank"),
        )
        for groups, kind in fallbacks:
            for numbers in groups:
                index = numbers - source.first_line
                codes[index[codes[index] == 0]] = _CODE[kind]
        if self.prompts:
            left = np.flatnonzero(codes == 0)[:_PROMPTS] + source.first_line
            found = [n - source.first_line for n, text in source.texts(left) if is_lead(text)]
            codes[found] = _CODE["read"]
        codes[codes == 0] = _CODE["unknown"]
        return codes

    def _note_doubts(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Add notes where a reading may have gone wrong unnoticed: headings without any row, a last line without an
        end.
        """
        source = self._source
        read = np.flatnonzero(codes == _CODE["read"])
        if (
            source.whole
            and len(read)
            and not kind_of(source.hints.kind).rows_optional
            and not self.rows.keys() - _NO_ROWS
        ):
            first, last = int(read[0]) + source.first_line, int(read[-1]) + source.first_line
            self._single.append(Note(first, last, "remark", "headings only: no row was read below them"))
        if source.is_small(_PASTE):
            self._note_joined_lines(codes)
        for numbers in source.elided:
            # An elision mark within the lines of a row is read with it, but lines were still left out.
            for number in numbers[codes[numbers - source.first_line] != _CODE["elided"]]:
                self.note(int(number), int(number), "elided", source.text_of(int(number)).strip())
        ends = source.last and source.end == source.text.size and len(codes) and codes[-1] == _CODE["read"]
        noted = any(note.line_to == source.next_line - 1 for note in self._single)
        if ends and not noted and self.rows and source.text.open_end():
            self.note(source.next_line - 1, source.next_line - 1, "remark", "the last line has no end: it may be cut")
        return codes

    def _note_joined_lines(self, codes: npt.NDArray[np.uint8]) -> None:
        """Add notes on lines of a paste that may be joined or wrapped, so that a row holds more or less than one line
        of the tool.
        """
        source = self._source
        filled = np.flatnonzero(codes != _CODE["blank"])
        texts = dict(source.texts(filled + source.first_line))
        widths = {n: len(text) for n, text in texts.items()}
        widest = max(widths.values(), default=0)
        read = {int(n) + source.first_line for n in np.flatnonzero(codes == _CODE["read"])}
        unknown = {int(n) + source.first_line for n in np.flatnonzero(codes == _CODE["unknown"])}
        repaired = any(note.kind == "repaired" for note in self._single)
        repaired |= any((notes["kind"] == "repaired").any() for notes in self._notes)
        alone = len(widths) == 1 and widest > _ONE_LINE and read and not repaired
        one = texts[min(texts)] if texts else ""
        if alone and not re.match(r"[\[{]\s*[\"{]", one) and not (_STAMP.match(one) and len(_STAMP.findall(one)) == 1):
            self.note(min(read), min(read), "damaged", "all on one line: if it was several, they are read as one")
        telling = unknown and widest >= _NARROW and not kind_of(source.hints.kind).any_lines
        for n in sorted(read) if telling else ():
            if widths[n] == widest and n + 1 in unknown:
                words = "as wide as the paste, and the next line is not understood: it may be cut here"
                self.note(n, n, "damaged", words)
            elif n - 1 in unknown and widths[n - 1] == widest:
                words = "the line above is as wide as the paste and not understood: this may be its end"
                self.note(n, n, "damaged", words)

    def _all_notes(self, codes: npt.NDArray[np.uint8]) -> pl.DataFrame:
        """Return the notes of source and format, and one for each stretch of lines that needs a note; limited in
        number.
        """
        source, cap = self._source, self._source.text.limits.notes_per_batch
        single = [*self._single, *(Note(n, n, kind, text) for n, kind, text in source.damage)]
        if not single and not self._notes and not _NEEDS_NOTE[codes].any():
            return pl.DataFrame(schema=_NOTES)
        rows = [(n.line_from, n.line_to, n.kind, n.text) for n in single]
        reported = pl.concat([pl.DataFrame(rows, schema=_NOTES, orient="row"), *self._notes])
        covered = np.zeros(len(codes) + 1, np.int32)
        for first, last in reported.filter(pl.col("kind").is_in(_NOTED)).select_seq("line_no", "line_end").iter_rows():
            lo, hi = first - source.first_line, last - source.first_line + 1
            covered[min(max(lo, 0), len(codes))] += 1
            covered[min(max(hi, 0), len(codes))] -= 1
        bare = _NEEDS_NOTE[codes] & (np.cumsum(covered[:-1]) == 0)
        reported = self._masks.apply(reported).with_columns_seq(pl.col("text").str.slice(0, NOTE_CHARS))
        notes = _merged(pl.concat([reported, self._stretches(np.flatnonzero(bare), codes, cap)]))
        if len(notes) > cap:
            rest = notes[cap:]
            last = (
                rest["line_no"].min(),
                rest["line_end"].max(),
                rest["kind"][0],
                f"more than {cap} notes: the rest is not listed",
            )
            notes = pl.concat([notes[:cap], pl.DataFrame([last], schema=_NOTES, orient="row")])
        return notes

    def _stretches(self, index: Longs, codes: npt.NDArray[np.uint8], cap: int) -> pl.DataFrame:
        """Return one note for each stretch of adjacent lines with the same code; its text is that of the first lines."""
        if not len(index):
            return pl.DataFrame(schema=_NOTES)
        base = self._source.first_line
        breaks = np.flatnonzero((np.diff(index) != 1) | (np.diff(codes[index]) != 0)) + 1
        groups = np.split(index, breaks) if len(breaks) <= cap else np.split(index, breaks[: cap + 1])
        kinds = {v: k for k, v in _CODE.items()}
        # The first lines fill the note: more than a few dozen cannot show in 300 characters.
        wanted = np.concatenate([g[:40] for g in groups]) + base
        texts = self._masks.by_place(dict(self._source.texts(wanted)))
        rows = [
            (
                int(g[0]) + base,
                int(g[-1]) + base,
                kinds[int(codes[g[0]])],
                clip("\n".join(texts[int(i) + base] for i in g[:40])),
            )
            for g in groups
        ]
        return pl.DataFrame(rows, schema=_NOTES, orient="row")


@cache
def _arrow_schema(table: str) -> pa.Schema:
    """Return the Arrow types of a table's columns on disk."""
    return pl.DataFrame(schema=schema(table)).to_arrow(compat_level=pl.CompatLevel.oldest()).schema


def _stored(table: str, frame: pl.DataFrame) -> pa.Table:
    """Convert rows to Arrow at once, because text views of Polars keep the whole block alive.

    Missing columns are NULL.
    """
    rows = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    fields, there = _arrow_schema(table), set(frame.columns)
    # One array for all missing columns of a type: half of a table's columns are not filled by a given tool.
    nulls = {kind: pa.nulls(len(rows), kind) for kind in {f.type for f in fields if f.name not in there}}
    return pa.table([rows[f.name] if f.name in there else nulls[f.type] for f in fields], schema=fields)


def _merged(notes: pl.DataFrame) -> pl.DataFrame:
    """Sort notes by line and merge neighbours with the same text."""
    if len(notes) < 2:
        return notes
    notes = notes.with_row_index("given").sort("kind", "text", "line_no", "line_end", maintain_order=True)
    same = (
        (pl.col("kind") == pl.col("kind").shift())
        & (pl.col("text") == pl.col("text").shift())
        & (pl.col("line_no") <= pl.col("line_end").shift() + 1)
    )
    grouped = notes.with_columns_seq(group=(~same.fill_null(False)).cum_sum()).group_by("group", maintain_order=True)
    columns = [pl.col(c).first() for c in ("line_no", "kind", "text", "given")]
    merged = grouped.agg(*columns, pl.col("line_end").max()).sort("line_no", "line_end", "given")
    return merged.select_seq(_NOTES.names())

"""Read one file into a reading directory: recognise its kind, parse it run by run, account for every line.

Each block run ends in a batch; small parts share one. The batch's files are synced before the manifest is replaced. A
killed reading continues behind the last batch in the manifest, and its tables come out the same. The manifest is the
only record: `Account` is made from it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from parsers import errors, parallel
from parsers.declarations import Format
from parsers.errors import NotText, OtherReading, ParserError, UnknownFormat, WrongFormat
from parsers.layout.line_owners import patterns_of
from parsers.layout.parts import PartHint, Plan, end_of_fit, first_output, hit_rate, lay_out, lay_out_rest, plan
from parsers.layout.recognition import Recognised, recognise
from parsers.layout.tails import strange_tail
from parsers.progress import Progress
from parsers.provenance.prompts import Lead
from parsers.registry import ENOUGH, Ranked, choose, general
from parsers.tables import parquet
from parsers.tables.clock_domains import date_question, is_zone, year_of, zone_question
from parsers.tables.rows import Domain, State, Tables
from parsers.text.dress import undressed_lines
from parsers.text.notes import LineAccount, Note
from parsers.text.source import Hints, Limits, Position, Source, TextFile, open_text
from parsers.text.transcripts import NAME, Transcript, transcribed

SCHEMA = 1
NOTES_KEPT = 200
"""Maximum number of notes in the account; the table `notes` holds all."""

CLAIMS_KEPT = 5
"""Maximum number of claims stored with each part."""

FIRST_BYTES = 2 * 1024 * 1024
"""Size of the first run of a large file; it is small, so that the first rows can be seen at once."""

HEARTBEAT_S = 1.0
"""Maximum time between calls of `progress` while a large document is laid out; it may report the same numbers again."""

SHARED_BYTES = 2 * 1024 * 1024
SHARED_RUNS = 64
"""Maximum number of runs in a batch, unless an eighth of the runs before is more.

A batch also ends at SHARED_BYTES. Each batch takes a moment to write, and the manifest grows with the parts.
"""

WATCHABLE = 0.2
"""Minimum share of lines that match the format's own patterns for a part to be watched; below it the part runs to the
end.
"""

NO_ROWS_OF = ("notes", "artifacts")


@dataclass(frozen=True)
class PartAccount:
    """One part of a file.

    `kind` is None where it is unknown; `facts` are what the format reported (tool_opts, os ...).
    """

    part: int
    line_from: int
    line_to: int
    kind: str | None
    variant: str | None
    version: str | None
    system: str | None
    account: LineAccount
    tables: dict[str, int]
    facts: dict[str, Any]
    domains: list[Domain]
    dress: list[str] = field(default_factory=list)
    """Names of the dress removed from its lines before parsing; see `parsers/text/dress.py`."""

    claims: list[dict[str, Any]] = field(default_factory=list)
    """The strongest claims on the part, as in `Account.claims`."""

    @property
    def clock(self) -> dict[str, Any] | None:
        """The first clock domain with the keys of the command line's JSON, None if the part has none."""
        if not self.domains:
            return None
        keys = ("kind", "base", "zone", "t_begin", "t_end")
        return {k: getattr(self.domains[0], k) for k in keys}


@dataclass(frozen=True)
class Misfit:
    """A kind that a person named and that does not fit the lines; they were read as the recognised kind."""

    kind: str
    line_from: int
    first_line: int
    text: str

    def __str__(self) -> str:
        return f"{WrongFormat(self.kind, self.first_line, self.text)}; read as what it is"


@dataclass(frozen=True)
class Account:
    """Result of reading one file; `as_json` is the JSON object of the command line."""

    file: str
    sha256: str | None
    bytes: int
    lines: int
    encoding: str | None
    claims: list[dict[str, Any]]
    parts: list[PartAccount]
    account: LineAccount
    tables: dict[str, int]
    notes: list[Note]
    notes_total: int
    seconds: float
    error: str | None
    misfits: list[Misfit] = field(default_factory=list)

    @property
    def kind(self) -> str | None:
        kinds = {p.kind for p in self.parts}
        return None if not kinds else kinds.pop() if len(kinds) == 1 else "mixed"

    def as_json(self) -> dict[str, Any]:
        one = self.parts[0] if len(self.parts) == 1 else None
        return {
            "schema": SCHEMA,
            "file": self.file,
            "sha256": self.sha256,
            "bytes": self.bytes,
            "lines": self.lines,
            "encoding": self.encoding,
            "kind": self.kind,
            "variant": one.variant if one else None,
            "system": one.system if one else None,
            "claims": self.claims,
            "parts": [_part_json(p) | {"clock": p.clock} for p in self.parts],
            "account": asdict(self.account),
            "tables": self.tables,
            "notes": [asdict(n) for n in self.notes],
            "notes_total": self.notes_total,
            "misfits": [asdict(m) for m in self.misfits],
            "clock": one.clock if one else None,
            "seconds": round(self.seconds, 3),
            "error": self.error,
        }


def read(
    path: Path,
    hints: Hints,
    out: Path | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
    limits: Limits | None = None,
    known: Sequence[PartHint] = (),
    name: str | None = None,
    sha256: str | None = None,
) -> Account:
    """Read one file; with `out`, write into that directory and continue a reading that it holds.

    `sha256` is the file's hash in hex, if the caller knows it; otherwise the whole file is hashed before the first
    batch counts.

    Text that no format recognises is of kind `text`, and the general reader reads it. If the kind in the hints does not
    fit, the kind is recognised without the hint, and the account lists it in `misfits`.

    Raises ParserError (its `account` and the manifest hold what is known) and OSError. If the general reader finds no
    row, the text is numbered and indexed before UnknownFormat is raised (WrongFormat if a person named a kind), so that
    its lines can be shown.
    """
    limits = limits or Limits()
    name = name or path.name
    began = time.perf_counter()
    try:
        # A transcript left by a killed reading is used again, but only after the check that the reading is of these
        # bytes.
        _check_original(path, out)
        with (
            transcribed(path, out, limits) as transcript,
            open_text(transcript.path if transcript else path, limits, name) as text,
            ThreadPoolExecutor(1, "sha256") as thread,
        ):
            hashed = thread.submit(lambda: sha256 or _sha256(path))
            original = _Original(hashed, path.stat().st_size, transcript)
            return _Reading(text, original, hints, out, limits, known, progress, began).run()
    except NotText as error:
        manifest = _fresh_manifest(hints, sha256 or _sha256(path), path.stat().st_size, None)
        _fail(manifest, error, out)
        error.account = account_of(manifest, name)
        raise


def empty_account(name: str, error: str) -> Account:
    """Return the account of a file that could not be opened; `error` is the reason."""
    manifest = _fresh_manifest(Hints(), None, 0, None) | {"error": error}
    return account_of(manifest, name)


def account_of(manifest: dict[str, Any], name: str) -> Account:
    """Return the account that a manifest describes; `name` is the file's name to show."""
    parts = [_part_of(p) for p in manifest["parts"]]
    tables: dict[str, int] = {}
    for batch in manifest["batches"]:
        for table, count in batch["tables"].items():
            if table not in NO_ROWS_OF:
                tables[table] = tables.get(table, 0) + count
    return Account(
        file=name,
        sha256=manifest["sha256"],
        bytes=manifest["bytes"],
        lines=manifest["lines"],
        encoding=manifest["encoding"],
        claims=manifest["claims"],
        parts=parts,
        account=LineAccount(**manifest["account"]),
        tables=tables,
        notes=[Note(**n) for n in manifest["notes"]],
        notes_total=manifest["notes_total"],
        seconds=manifest["seconds"],
        error=manifest["error"],
        misfits=[Misfit(**m) for m in manifest.get("misfits", [])],
    )


@dataclass(frozen=True)
class _Chosen:
    """How a part is read.

    `ranked` is the format and its claim (None: two kinds are equally likely), `rate` the share of lines that match the
    kind's own patterns. `unknown`: no format recognises it, so the general reader reads it.
    """

    ranked: Ranked | None
    hints: Hints
    recognised: Recognised
    rate: float = 0.0
    unknown: UnknownFormat | None = None


@dataclass(frozen=True)
class _Original:
    """The original file, whose bytes differ from the text that is read if it has a transcript."""

    sha256: Future[str]
    bytes: int
    transcript: Transcript | None


class _NotOfKind(Exception):
    """A part was read to its end and is not of the kind that a person named."""

    def __init__(self, misfit: Misfit) -> None:
        super().__init__(str(misfit))
        self.misfit = misfit


class _Reading:
    """State of one call of `read`: it reads the plans run by run; some runs make a batch."""

    def __init__(
        self,
        text: TextFile,
        original: _Original,
        hints: Hints,
        out: Path | None,
        limits: Limits,
        known: Sequence[PartHint],
        progress: Callable[[Progress], None] | None,
        began: float,
    ) -> None:
        self.text, self.out, self.limits, self.progress = text, out, limits, progress
        self.known, self.hints = known, hints
        plan(known, hints)  # raises ValueError if borders overlap
        self._hashed, self.transcript = original.sha256, original.transcript
        hints_json = asdict(hints) | {"known": [asdict(k) for k in known]}
        self.manifest = _fresh_manifest(hints, None, original.bytes, text.encoding)
        self.manifest.update(hints=hints_json, eol=text.eol)
        if self.transcript is not None:
            self.manifest["transcript"] = {"name": NAME, "by": self.transcript.by, "note": self.transcript.note}
        old = parquet.load_manifest(out) if out else None
        if old is not None:
            if (old["sha256"], old["hints"], old["schema"]) != (self._hashed.result(), hints_json, SCHEMA):
                raise OtherReading(f"{out} holds a reading of another file or with other hints")
            self.manifest = {"misfits": []} | old
        self.began = began - float(self.manifest["seconds"])
        self._writer: parquet.Writer | None = None
        self._last_progress = time.monotonic()
        self._open: tuple[int, int] | None = None
        """The open batch: the offset where it began and its number of runs."""

    def run(self) -> Account:
        manifest = self.manifest
        if not manifest["complete"]:
            if self.out:
                self.out.mkdir(parents=True, exist_ok=True)
                parquet.drop_uncounted(self.out, len(manifest["batches"]))
            try:
                self._read_as_it_is()
            except BaseException as fault:
                if self._writer is not None:
                    self._writer.abandon()
                if isinstance(fault, pl.exceptions.PanicException):
                    # PanicException is a BaseException: a caller would take it for the end of the process.
                    raise RuntimeError(f"Polars gave up: {fault}") from fault
                raise
            manifest["complete"] = True
            self._save()
        account = account_of(manifest, self.text.name)
        if manifest["error"] is not None:
            kind: type[ParserError] = getattr(errors, manifest["error_type"])
            error = kind.__new__(kind, manifest["error"])
            error.account = account
            raise error
        return account

    def _read_as_it_is(self) -> None:
        """Read all parts; if a kind that a person named does not fit, read again without it."""
        manifest = self.manifest
        while True:
            try:
                self._read_all()
                break
            except _NotOfKind as fault:
                if self._writer is not None:
                    self._writer.abandon()
                self._writer = self._open = None
                fresh = _fresh_manifest(self.hints, None, manifest["bytes"], manifest["encoding"])
                kept = ("hints", "sha256", "eol", "transcript", "misfits", "seconds")
                manifest.update(fresh | {name: manifest[name] for name in kept})
                manifest["misfits"] = [*manifest["misfits"], asdict(fault.misfit)]
                self._save()
                if self.out:
                    parquet.drop_uncounted(self.out, 0)
        if manifest["misfits"] and manifest["error_type"] == UnknownFormat.__name__:
            first = Misfit(**manifest["misfits"][0])
            error = WrongFormat(first.kind, first.first_line, first.text)
            manifest.update(error=str(error), error_type=type(error).__name__)

    def _believed(self) -> tuple[Sequence[PartHint], Hints]:
        """Return a person's parts and hints without the kinds that did not fit."""
        wrong = {m["line_from"] for m in self.manifest["misfits"]}
        if not self.known:
            return self.known, replace(self.hints, kind=None, variant=None) if wrong else self.hints
        known = [
            replace(k, hints=replace(k.hints, kind=None, variant=None)) if k.line_from in wrong else k
            for k in self.known
        ]
        return known, self.hints

    def _read_all(self) -> None:
        manifest = self.manifest
        if manifest.get("plans") is None:
            known, hints = self._believed()
            manifest["plans"] = [asdict(p) for p in lay_out(self.text, known, hints, self._progress_if_due)]
        while manifest["plan_next"] < len(manifest["plans"]):
            saved = manifest["plans"][manifest["plan_next"]]
            self._read_plan(Plan(**(saved | {"hints": Hints(**saved["hints"]), "dress": tuple(saved["dress"])})))
        self._close_batch()

    def _progress_if_due(self) -> None:
        """Call `progress` if the last call was HEARTBEAT_S ago, though no batch is complete."""
        if time.monotonic() - self._last_progress >= HEARTBEAT_S:
            self._call_progress()

    def _call_progress(self) -> None:
        self._last_progress = time.monotonic()
        if self.progress:
            counted = self.manifest["batches"][: -1 if self._open else None]
            lines, at = (counted[-1]["line_next"] - 1, counted[-1]["offset_next"]) if counted else (0, 0)
            self.progress(Progress(lines, at, self.text.size))

    @property
    def _at(self) -> Position:
        batches = self.manifest["batches"]
        return (
            Position(batches[-1]["line_next"], batches[-1]["offset_next"]) if batches else Position(1, self.text.start)
        )

    def _read_plan(self, what: Plan) -> None:
        at, text, manifest = self._at, self.text, self.manifest
        end = text.size if what.line_to is None else what.behind or text.line_offset(at, what.line_to + 1)
        if manifest["plan_begun"] is None:
            manifest["plan_begun"] = at.offset
        begin = Position(what.line_from, manifest["plan_begun"])
        if begin.offset >= end and what.part is not None:
            self._record_error(
                ParserError(f"part {what.part} begins at line {what.line_from}, behind the end of the file")
            )
        chosen = self._choose(what, begin, end) if what.part is not None and begin.offset < end else None
        alone = False
        while self._at.offset < end:
            in_order = chosen is None or chosen.ranked is None or chosen.unknown is not None
            if in_order or self._at.offset == begin.offset or alone:
                end = self._read_run(what, chosen, begin, end)
            else:
                assert chosen is not None
                assert chosen.ranked is not None
                self._read_ahead(what, chosen, chosen.ranked, end)
                alone = True
        if what.part is not None and manifest["parts"] and manifest["parts"][-1]["part"] == what.part:
            self._close_part(what, chosen)
        if what.watched and end < text.size:
            self._go_on(what, end)
        manifest.update(plan_next=manifest["plan_next"] + 1, plan_begun=None, state={})

    def _go_on(self, what: Plan, end: int) -> None:
        """Lay out the rest of the file behind a part whose lines stopped matching (or behind a window of prose)."""
        plans = self.manifest["plans"]
        plans[self.manifest["plan_next"]] |= {"line_to": self._at.line - 1, "behind": end, "watched": False}
        self._close_batch()
        rest = lay_out_rest(
            self.text, self._at, self.hints, max([p["part"] or 0 for p in plans]), self._progress_if_due
        )
        plans += [asdict(p) for p in rest]

    def _choose(self, what: Plan, begin: Position, end: int) -> _Chosen:
        """Recognise a part by its head. An error is recorded, and the lines are numbered and indexed all the same."""
        head = self.text.head(begin.offset, end)
        recognised = recognise(head, what.hints.command, worn=what.dress)
        hints = recognised.lead.fill(what.hints)
        if not self.manifest["claims"]:
            self.manifest["claims"] = _claims_json(recognised)
        try:
            # No person is asked about each output of a mail: the best claim takes it, and a person may correct it.
            best = recognised.claims[0] if what.found and recognised.strength >= ENOUGH else None
            chosen, unknown = best or choose(recognised.claims, hints), None
        except UnknownFormat as error:
            chosen, unknown = general(), error
        except ParserError as error:
            if not what.found:  # one unreadable output of a document does not stop the others
                self._record_error(error)
            return _Chosen(None, hints, recognised)
        version = version_of(chosen.format)
        parts = self.manifest["parts"]
        if parts and parts[-1]["part"] == what.part and parts[-1]["version"] != version:
            raise OtherReading(f"{self.out} was begun with {parts[-1]['version']}, now it is {version}")
        hints = replace(hints, kind=chosen.format.kind, variant=chosen.variant)
        if unknown is not None:
            return _Chosen(chosen, hints, recognised, unknown=unknown)
        rate = hit_rate(undressed_lines(head.lines, recognised.dress), chosen.format.kind) if what.watched else 0.0
        return _Chosen(chosen, hints, recognised, rate)

    def _read_run(self, what: Plan, chosen: _Chosen | None, begin: Position, part_end: int) -> int:
        """Read one block run; return the end of the part, which for a watched part may be found only here."""
        manifest, text, at = self.manifest, self.text, self._at
        end = text.run_end(at.offset, part_end)
        if end < part_end and at.offset == text.start:
            end = text.cut(at.offset, part_end, min(FIRST_BYTES, self.limits.run_bytes), self.limits.run_lines)
        if what.watched:
            stop = self._stop(what, chosen, at, end)
            if stop is not None:
                part_end = end = stop
                if end == at.offset:
                    return end
        ranked = chosen.ranked if chosen else None
        whole = at.offset == begin.offset and end >= part_end
        source = Source(
            text,
            at,
            end,
            part=what.part or 1,
            hints=chosen.hints if chosen else what.hints,
            last=end >= part_end,
            whole=whole,
            dress=chosen.recognised.dress if chosen else (),
        )
        tables = Tables(source, self._batch_writer())
        tables.scanner.key_lines = manifest["key_lines"]
        if self.transcript is not None and source.first_line == 1:
            tables.note(1, 1, "remark", self.transcript.note)
        if chosen is not None and chosen.recognised.note and at.offset == begin.offset:
            tables.note(source.first_line, source.first_line, "remark", chosen.recognised.note)
        if chosen is not None and chosen.unknown is not None and at.offset == begin.offset:
            words = f"{str(chosen.unknown)[:200]}; read as plain text"
            tables.note(source.first_line, source.first_line, "remark", words)
        for misfit in (Misfit(**m) for m in manifest.get("misfits", [])):
            if misfit.line_from == source.first_line:
                tables.note(source.first_line, source.first_line, "remark", str(misfit))
        state = manifest["state"] or ({"variant": ranked.variant} if ranked else {})
        if ranked is not None:
            state = ranked.module.parse(source, tables, state)
            tables.prompts = True
            if source.is_small(FIRST_BYTES) and tables.rows and ranked.format.kind != general().format.kind:
                general().module.take_strange(source, tables)
        for block in source.blocks():
            if what.part is None:
                filled = (block.frame["line"] != "").to_numpy()
                tables.account("prose", block.frame["line_no"].to_numpy()[filled])
        if what.part is not None and ranked is None and source.next_line > source.first_line:
            tables.note(source.first_line, source.next_line - 1, "unknown", "kind unknown: kept, numbered, not read")
        batch, state = tables.finish(state)
        ran = parallel.Outcome(
            False,
            {},
            {},
            0,
            state,
            tables.scanner.key_lines,
            source.next_line,
            batch,
            tables.facts,
            tables.domains,
        )
        begun, runs = self._open or (at.offset, 0)
        self._count_run(what, chosen, end, ran, state)
        self._open = begun, runs + 1
        batches = manifest["batches"]
        shows = len(batches) == 1 and any(name not in NO_ROWS_OF for name in batches[0]["tables"])
        full = end - begun >= min(SHARED_BYTES, self.limits.run_bytes) or runs + 1 >= max(
            SHARED_RUNS, manifest["plan_next"] // 8
        )
        if shows or full:
            self._close_batch()
        return part_end

    def _batch_writer(self) -> parquet.Writer | None:
        """Return the writer of the open batch; open a batch if there is none."""
        if self._writer is None and self.out is not None:
            self._writer = parquet.Writer(self.out, len(self.manifest["batches"]) + 1)
        return self._writer

    def _close_batch(self) -> None:
        """Close the open batch and save the manifest that counts it."""
        if self._open is None:
            return
        if self._writer is not None:
            self._writer.close()
        self._writer = self._open = None
        self._save()
        self._call_progress()

    def _read_ahead(self, what: Plan, chosen: _Chosen, ranked: Ranked, end: int) -> None:
        """Read the rest of a large part in child processes, as far as that pays."""
        if end - self._at.offset <= self.limits.ahead_bytes:
            return
        form = ranked.format
        # With an interval from a person, times are computed from sample numbers, which are not known ahead of time.
        apart = form.split == "lines" and chosen.hints.interval_s is None
        count = parallel.processes(self.limits) if apart else 1
        job = parallel.Job(
            path=Path(self.text.stream.name),
            name=self.text.name,
            limits=replace(self.limits, blocks_ahead=int(count == 1)),
            out=self.out,
            part=what.part or 1,
            part_end=end,
            hints=chosen.hints,
            dress=chosen.recognised.dress,
            module=ranked.module.__name__,
            own=patterns_of(form.kind),
            counters=form.counters,
            rate=chosen.rate if what.watched and chosen.rate >= WATCHABLE else None,
        )
        self._close_batch()
        manifest = self.manifest
        batch = len(manifest["batches"]) + 1
        with closing(
            parallel.runs(self.text, job, self._at, batch, manifest["state"], manifest["key_lines"], count)
        ) as done:
            for one in done:
                self._count_run(what, chosen, one.run.end, one.outcome, one.state)
                self._save()
                self._call_progress()

    def _count_run(self, what: Plan, chosen: _Chosen | None, end: int, ran: parallel.Outcome, state: State) -> None:
        """Add a run to the manifest, in the open batch or in a batch of its own.

        It counts once the manifest is saved.
        """
        manifest, batch = self.manifest, ran.batch
        if what.part is not None:
            self._count_part(what, chosen, ran)
        manifest["state"], manifest["key_lines"] = state, ran.key_lines
        batches = manifest["batches"]
        if self._open is None:
            batches.append({"batch": len(batches) + 1, "tables": {}})
        counts = batches[-1]["tables"]
        counts |= {name: counts.get(name, 0) + count for name, count in batch.tables.items()}
        batches[-1] |= {"line_next": ran.next_line, "offset_next": end}
        manifest["lines"] = ran.next_line - 1
        manifest["account"] = asdict(LineAccount(**manifest["account"]) + batch.account)
        manifest["notes_total"] += len(batch.notes)
        manifest["notes"] += [asdict(n) for n in batch.notes[: NOTES_KEPT - len(manifest["notes"])]]

    def _stop(self, what: Plan, chosen: _Chosen | None, at: Position, end: int) -> int | None:
        """Return the offset where a watched part ends within [at, end), None if it goes on."""
        if chosen is None:  # prose at the end of a window: lay out what follows at once
            return at.offset
        if (chosen.ranked is None or chosen.unknown is not None) and what.behind is not None:
            begin = Position(at.line, at.offset)
            if begin.offset < what.behind:
                begin = Position(at.line + self.text.count_lines(at.offset, min(what.behind, end)), what.behind)
            found = first_output(self.text, begin, end, self._progress_if_due) if begin.offset < end else None
            return None if found is None else found.offset
        if chosen.ranked is None or chosen.rate < WATCHABLE:
            return None
        own = patterns_of(chosen.ranked.format.kind)
        stop = end_of_fit(self.text, at, end, own, chosen.rate)
        if stop is None and end == self.text.size:
            stop = self._other_output(chosen.ranked.format.kind, strange_tail(self.text, at, end, own))
        return None if stop is None else stop.offset

    def _other_output(self, kind: str, begin: Position | None) -> Position | None:
        """Return where the unmatched lines at the end of a file begin, if another kind's output stands among them."""
        found = begin and first_output(self.text, begin, self.text.size, self._progress_if_due)
        claims = recognise(self.text.head(found.offset)).claims if found else []
        return begin if claims and claims[0].format.kind != kind else None

    def _count_part(self, what: Plan, chosen: _Chosen | None, ran: parallel.Outcome) -> None:
        parts, batch = self.manifest["parts"], ran.batch
        if not parts or parts[-1]["part"] != what.part:
            assert what.part is not None
            parts.append(_part_json(_new_part(what, what.part, chosen)))
        old = _part_of(parts[-1])
        domains = {d.domain: d for d in old.domains}
        for number, domain in ran.domains.items():
            # A printed zone name without a known offset (CST, IST) gives way to the zone that a person set.
            if domain.kind == "wall-local" and what.hints.tz and not (domain.zone and is_zone(domain.zone)):
                domain = replace(domain, zone=what.hints.tz)
            domains[number] = domains[number].unite(domain) if number in domains else domain
        facts = old.facts | ran.facts
        facts |= _asked(old.facts, ran.facts)
        counts = {t: old.tables.get(t, 0) + batch.tables.get(t, 0) for t in {**old.tables, **batch.tables}}
        parts[-1] = _part_json(
            PartAccount(
                part=old.part,
                line_from=old.line_from,
                line_to=ran.next_line - 1,
                kind=old.kind,
                variant=old.variant,
                version=old.version,
                system=what.hints.os or facts.get("os") or old.system,
                account=old.account + batch.account,
                tables={t: n for t, n in counts.items() if t not in NO_ROWS_OF},
                facts=facts,
                domains=[domains[n] for n in sorted(domains)],
                dress=old.dress,
                claims=old.claims,
            )
        )

    def _close_part(self, what: Plan, chosen: _Chosen | None) -> None:
        """Check a part that was read to its end: if a person named its kind and there is no row, it is not of that
        kind. Raises _NotOfKind.
        """
        part = self.manifest["parts"][-1]
        ranked = chosen.ranked if chosen else None
        if ranked is not None and not part["domains"]:
            lines = [(part["line_from"], part["line_to"])]
            part["domains"] = [_domain_json(Domain(1, "none", lines=lines))]
        _ask_of_clocks(part)
        unread = part["account"]["unknown"] > 0 and not any(part["tables"].values())
        unknown = chosen.unknown if chosen else None
        if unknown is not None and not what.found and not any(part["tables"].values()):
            self._record_error(unknown)
        if what.hints.kind is not None and ranked is not None and unknown is None and unread:
            unread_lines = (
                n for n in self.manifest["notes"] if n["kind"] == "unknown" and n["line_from"] >= part["line_from"]
            )
            first = next(unread_lines, {"line_from": part["line_from"], "text": ""})
            text = first["text"].split("\n")[0]
            raise _NotOfKind(Misfit(what.hints.kind, part["line_from"], first["line_from"], text))

    def _record_error(self, error: ParserError) -> None:
        if self.manifest["error"] is None:
            self.manifest.update(error=str(error), error_type=type(error).__name__)

    def _save(self) -> None:
        self.manifest.update(sha256=self._hashed.result(), seconds=time.perf_counter() - self.began)
        if self.manifest["version"] is None and self.manifest["parts"]:
            self.manifest["version"] = self.manifest["parts"][0]["version"]
        if self.out:
            parquet.save_manifest(self.out, self.manifest)


def _asked(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Merge the questions of several runs; the first of each name stays."""
    questions: dict[str, Any] = {}
    for asked in (*before.get("questions", []), *now.get("questions", [])):
        questions.setdefault(asked["ask"], asked)
    return {"questions": list(questions.values())} if questions else {}


def _ask_of_clocks(part: dict[str, Any]) -> None:
    """Ask for the zone and the day of a part's wall clock where they are unknown; record what its stamps mark."""
    facts = part["facts"]
    marks = {d["stamps"] for d in part["domains"]} & {"start", "end"}
    if len(marks) == 1:
        facts.setdefault("stamp", marks.pop())
    asked = {q["ask"] for q in facts.get("questions", [])}
    questions = []
    for d in part["domains"]:
        if d["kind"] != "wall-local" or not d["lines"]:
            continue
        line = d["lines"][0][0]
        if d["base"] is None and not asked & {"date", "year"}:
            questions.append(date_question(line))
        if "tz" not in asked and not (d["zone"] and is_zone(d["zone"])):
            questions.append(zone_question(d["zone"], line, year_of(d["base"], d["t_begin"])))
        asked |= {q["ask"] for q in questions}
    if questions:
        facts["questions"] = [*facts.get("questions", []), *questions]


def version_of(form: Format) -> str:
    """Return a format's name with its version, as in manifests."""
    return f"{form.kind}/{form.variant} {form.version}"


def _fresh_manifest(hints: Hints, sha256: str | None, size: int, encoding: str | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": None,
        "hints": asdict(hints),
        "sha256": sha256,
        "bytes": size,
        "lines": 0,
        "encoding": encoding,
        "eol": "\n",
        "transcript": None,
        "complete": False,
        "plans": None,
        "plan_next": 0,
        "plan_begun": None,
        "batches": [],
        "state": {},
        "key_lines": 0,
        "claims": [],
        "account": asdict(LineAccount()),
        "parts": [],
        "notes": [],
        "notes_total": 0,
        "seconds": 0.0,
        "error": None,
        "error_type": None,
        "misfits": [],
    }


def _fail(manifest: dict[str, Any], error: ParserError, out: Path | None) -> None:
    manifest.update(complete=True, error=str(error), error_type=type(error).__name__)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        parquet.save_manifest(out, manifest)


def _check_original(path: Path, out: Path | None) -> None:
    old = parquet.load_manifest(out) if out else None
    if old is not None and old["bytes"] != path.stat().st_size:
        raise OtherReading(f"{out} holds a reading of another file")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _claims_json(recognised: Recognised) -> list[dict[str, Any]]:
    return [
        {"kind": c.format.kind, "variant": c.variant, "strength": c.claim.strength, "reason": c.claim.reason}
        for c in recognised.claims
    ]


def _new_part(what: Plan, part: int, chosen: _Chosen | None) -> PartAccount:
    form = chosen.ranked.format if chosen and chosen.ranked else None
    lead = chosen.recognised.lead if chosen else Lead()
    marked: dict[str, str | None] = {"command": lead.command, "host": lead.host, **what.said}
    system = what.hints.os
    if form and not system:
        # A dialect with a system's name is of that system; otherwise only a format of a single system shows it.
        system = form.variant if form.variant in form.systems else form.systems[0] if len(form.systems) == 1 else None
    return PartAccount(
        part=part,
        line_from=what.line_from,
        line_to=what.line_from,
        kind=form.kind if form else None,
        variant=form.variant if form else None,
        version=version_of(form) if form else None,
        system=system,
        account=LineAccount(),
        tables={},
        facts={key: value for key, value in marked.items() if value},
        domains=[],
        dress=list(chosen.recognised.dress) if chosen else [],
        claims=_claims_json(chosen.recognised)[:CLAIMS_KEPT] if chosen else [],
    )


def _domain_json(domain: Domain) -> dict[str, Any]:
    return asdict(domain) | {"lines": [list(pair) for pair in domain.lines]}


def _part_json(part: PartAccount) -> dict[str, Any]:
    return asdict(part) | {"domains": [_domain_json(d) for d in part.domains]}


def _part_of(part: dict[str, Any]) -> PartAccount:
    domains = [Domain(**(d | {"lines": [(a, b) for a, b in d["lines"]]})) for d in part["domains"]]
    return PartAccount(**(part | {"account": LineAccount(**part["account"]), "domains": domains}))

"""Read one file into a reading directory: identify, parse run by run, account for every line.

Each block run ends in a batch: its files are synced, then the manifest is replaced. A killed reading goes on behind the
last batch that the manifest counts, and the tables come out equal. The manifest is the only truth: `Account` is made
from it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from parsers import errors, parquet
from parsers.errors import NotText, OtherReading, ParserError, WrongFormat
from parsers.notes import LineAccount, Note
from parsers.parts import PartHint, Plan, plan
from parsers.registry import Format, Ranked, choose, rank
from parsers.source import Hints, Limits, Position, Source, TextFile, open_text
from parsers.tables import Batch, Domain, Tables
from parsers.transcripts import NAME, Transcript, transcribed

SCHEMA = 1
NOTES_KEPT = 200
"""So many notes stand in the account; all of them are in the table `notes`."""

NO_ROWS_OF = ("notes", "artifacts")
"""Tables left out of the account's row counts."""


@dataclass(frozen=True)
class Progress:
    """How far a reading is; `lines` and `bytes` from the start of the file, those of a resumed reading included."""

    lines: int
    bytes: int
    bytes_total: int


@dataclass(frozen=True)
class PartAccount:
    """One part of a file. `kind` is None where nobody knew it; `facts` are what the format reported (tool_opts, os
    ...).
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

    @property
    def clock(self) -> dict[str, Any] | None:
        """The first clock domain in the words of the command line, None if the part has none."""
        if not self.domains:
            return None
        keys = ("kind", "base", "zone", "t_begin", "t_end")
        return {k: getattr(self.domains[0], k) for k in keys}


@dataclass(frozen=True)
class Account:
    """What became of one file; `as_json` is the object of the command line."""

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

    @property
    def kind(self) -> str | None:
        kinds = {p.kind for p in self.parts}
        return None if not kinds else kinds.pop() if len(kinds) == 1 else "mixed"

    def as_json(self) -> dict[str, Any]:
        """Give the fields of the command line's JSON object (schema 1)."""
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
) -> Account:
    """Read one file; with `out` into that directory, going on behind the last batch of a reading that stands there.

    Raises ParserError (`.account` tells what is known all the same; the manifest has it too) and OSError. A file of
    unknown kind is numbered and indexed before UnknownFormat is raised, so that its lines can be shown.
    """
    limits = limits or Limits()
    name = name or path.name
    began = time.perf_counter()
    try:
        # A transcript left by a killed reading is used again; one beside a reading of other bytes is never looked at.
        _check_original(path, out)
        with (
            transcribed(path, out, limits) as transcript,
            open_text(transcript.path if transcript else path, limits, name) as text,
        ):
            original = _Original(_sha256(path), path.stat().st_size, transcript)
            return _Reading(text, original, hints, out, limits, known, progress, began).run()
    except NotText as error:
        manifest = _fresh_manifest(hints, _sha256(path), path.stat().st_size, None)
        _fail(manifest, error, out)
        error.account = account_of(manifest, name)
        raise


def empty_account(name: str, error: str) -> Account:
    """Make the account of a file of which nothing is known but why it could not be opened."""
    manifest = _fresh_manifest(Hints(), None, 0, None) | {"error": error}
    return account_of(manifest, name)


def account_of(manifest: dict[str, Any], name: str) -> Account:
    """Make the account from a manifest; `name` is the file's name to show."""
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
    )


@dataclass(frozen=True)
class _Original:
    """The stored bytes, which may be others than the text that is read."""

    sha256: str
    bytes: int
    transcript: Transcript | None


class _Reading:
    """One run of `read`: walks the plan, one batch per block run."""

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
        self.plans = plan(known, hints)
        sha256, self.transcript = original.sha256, original.transcript
        said = asdict(hints) | {"known": [asdict(k) for k in known]}
        self.manifest = _fresh_manifest(hints, sha256, original.bytes, text.encoding)
        self.manifest.update(hints=said, eol=text.eol)
        if self.transcript is not None:
            self.manifest["transcript"] = {"name": NAME, "by": self.transcript.by, "note": self.transcript.note}
        old = parquet.load_manifest(out) if out else None
        if old is not None:
            if (old["sha256"], old["hints"], old["schema"]) != (sha256, said, SCHEMA):
                raise OtherReading(f"{out} holds a reading of another file or with other hints")
            self.manifest = old
        self.began = began - float(self.manifest["seconds"])

    def run(self) -> Account:
        manifest = self.manifest
        if not manifest["complete"]:
            if self.out:
                self.out.mkdir(parents=True, exist_ok=True)
                parquet.drop_uncounted(self.out, len(manifest["batches"]))
            while manifest["plan_next"] < len(self.plans):
                self._read_plan(self.plans[manifest["plan_next"]])
            manifest["complete"] = True
            self._save()
        account = account_of(manifest, self.text.name)
        if manifest["error"] is not None:
            kind: type[ParserError] = getattr(errors, manifest["error_type"])
            error = kind.__new__(kind, manifest["error"])
            error.account = account
            raise error
        return account

    @property
    def _at(self) -> Position:
        batches = self.manifest["batches"]
        return (
            Position(batches[-1]["line_next"], batches[-1]["offset_next"]) if batches else Position(1, self.text.start)
        )

    def _read_plan(self, what: Plan) -> None:
        """Read one part (or the prose between parts) to its end."""
        at, text = self._at, self.text
        end = text.size if what.line_to is None else text.line_offset(at, what.line_to + 1)
        if self.manifest["plan_begun"] is None:
            self.manifest["plan_begun"] = at.offset
        begin = Position(what.line_from, self.manifest["plan_begun"])
        if begin.offset >= end and what.part is not None:
            self._keep(ParserError(f"part {what.part} begins at line {what.line_from}, behind the end of the file"))
        chosen = self._choose(what, begin, end) if what.part is not None and begin.offset < end else None
        while self._at.offset < end:
            self._read_run(what, chosen, begin, end)
        if what.part is not None and self.manifest["parts"] and self.manifest["parts"][-1]["part"] == what.part:
            self._close_part(what, chosen)
        self.manifest.update(plan_next=self.manifest["plan_next"] + 1, plan_begun=None, state={})

    def _choose(self, what: Plan, begin: Position, end: int) -> Ranked | None:
        """Identify a part by its head. A failure is kept: the lines are numbered and indexed all the same."""
        claims = rank(self.text.head(begin.offset, end))
        if not self.manifest["claims"]:
            self.manifest["claims"] = [
                {"kind": c.format.kind, "variant": c.variant, "strength": c.claim.strength, "reason": c.claim.reason}
                for c in claims
            ]
        try:
            chosen = choose(claims, what.hints)
        except ParserError as error:
            self._keep(error)
            return None
        version = version_of(chosen.format)
        parts = self.manifest["parts"]
        if parts and parts[-1]["part"] == what.part and parts[-1]["version"] != version:
            raise OtherReading(f"{self.out} was begun with {parts[-1]['version']}, now it is {version}")
        return chosen

    def _read_run(self, what: Plan, chosen: Ranked | None, begin: Position, part_end: int) -> None:
        manifest, text, at = self.manifest, self.text, self._at
        step = max(self.limits.run_bytes // 2 * 2, 2)
        end = part_end if at.offset + step >= part_end else text.next_line(at.offset + step, part_end)
        hints = Hints(
            **(asdict(what.hints) | ({"kind": chosen.format.kind, "variant": chosen.variant} if chosen else {}))
        )
        whole = at.offset == begin.offset and end >= part_end
        source = Source(text, at, end, part=what.part or 1, hints=hints, last=end >= part_end, whole=whole)
        number = len(manifest["batches"]) + 1
        with _writer(self.out, number) as writer:
            tables = Tables(source, writer)
            if self.transcript is not None and source.first_line == 1:
                tables.note(1, 1, "remark", self.transcript.note)
            state = manifest["state"] or ({"variant": chosen.variant} if chosen else {})
            if chosen is not None:
                state = chosen.module.parse(source, tables, state)
                tables.prompts = True
            for block in source.blocks():
                if what.part is None:
                    tables.account("prose", block.frame.filter(block.frame["line"] != "")["line_no"])
            if what.part is not None and chosen is None and source.next_line > source.first_line:
                tables.note(
                    source.first_line, source.next_line - 1, "unknown", "kind unknown: kept, numbered, not read"
                )
            batch, state = tables.finish(state)
        if what.part is not None:
            self._count_part(what, chosen, source, tables, batch)
        manifest["state"] = state
        manifest["batches"].append(
            {"batch": number, "line_next": source.next_line, "offset_next": end, "tables": batch.tables}
        )
        manifest["lines"] = source.next_line - 1
        manifest["account"] = asdict(LineAccount(**manifest["account"]) + batch.account)
        manifest["notes_total"] += len(batch.notes)
        manifest["notes"] += [asdict(n) for n in batch.notes[: NOTES_KEPT - len(manifest["notes"])]]
        self._save()
        if self.progress:
            self.progress(Progress(manifest["lines"], end, text.size))

    def _count_part(self, what: Plan, chosen: Ranked | None, source: Source, tables: Tables, batch: Batch) -> None:
        parts = self.manifest["parts"]
        if not parts or parts[-1]["part"] != what.part:
            assert what.part is not None
            parts.append(_part_json(_new_part(what.part, what.line_from, chosen, what.hints)))
        old = _part_of(parts[-1])
        domains = {d.domain: d for d in old.domains}
        for number, domain in tables.domains.items():
            if domain.kind == "wall-local" and domain.zone is None:
                domain = replace(domain, zone=what.hints.tz)
            domains[number] = domains[number].unite(domain) if number in domains else domain
        facts = old.facts | tables.facts
        counts = {t: old.tables.get(t, 0) + batch.tables.get(t, 0) for t in {**old.tables, **batch.tables}}
        parts[-1] = _part_json(
            PartAccount(
                part=old.part,
                line_from=old.line_from,
                line_to=source.next_line - 1,
                kind=old.kind,
                variant=old.variant,
                version=old.version,
                system=what.hints.os or facts.get("os") or old.system,
                account=old.account + batch.account,
                tables={t: n for t, n in counts.items() if t not in NO_ROWS_OF},
                facts=facts,
                domains=[domains[n] for n in sorted(domains)],
            )
        )

    def _close_part(self, what: Plan, chosen: Ranked | None) -> None:
        """Judge a part that was read to its end: a named kind that gave no row is not of that kind."""
        part = self.manifest["parts"][-1]
        if chosen is not None and not part["domains"]:
            lines = [(part["line_from"], part["line_to"])]
            part["domains"] = [_domain_json(Domain(1, "none", lines=lines))]
        unread = part["account"]["unknown"] > 0 and not any(part["tables"].values())
        if what.hints.kind is not None and chosen is not None and unread:
            unknown = (
                n for n in self.manifest["notes"] if n["kind"] == "unknown" and n["line_from"] >= part["line_from"]
            )
            first = next(unknown, {"line_from": part["line_from"], "text": ""})
            self._keep(WrongFormat(what.hints.kind, first["line_from"], first["text"].split("\n")[0]))

    def _keep(self, error: ParserError) -> None:
        if self.manifest["error"] is None:
            self.manifest.update(error=str(error), error_type=type(error).__name__)

    def _save(self) -> None:
        self.manifest["seconds"] = time.perf_counter() - self.began
        if self.manifest["version"] is None and self.manifest["parts"]:
            self.manifest["version"] = self.manifest["parts"][0]["version"]
        if self.out:
            parquet.save_manifest(self.out, self.manifest)


def version_of(form: Format) -> str:
    """Name a format with its version, as manifests keep it."""
    return f"{form.kind}/{form.variant} {form.version}"


@contextmanager
def _writer(out: Path | None, batch: int) -> Iterator[parquet.Writer | None]:
    if out is None:
        yield None
        return
    writer = parquet.Writer(out, batch)
    try:
        yield writer
    except BaseException:
        writer.abandon()
        raise
    writer.close()


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
        "plan_next": 0,
        "plan_begun": None,
        "batches": [],
        "state": {},
        "claims": [],
        "account": asdict(LineAccount()),
        "parts": [],
        "notes": [],
        "notes_total": 0,
        "seconds": 0.0,
        "error": None,
        "error_type": None,
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


def _new_part(part: int, line_from: int, chosen: Ranked | None, hints: Hints) -> PartAccount:
    form = chosen.format if chosen else None
    system = hints.os
    if form and not system:
        # A dialect named like a system is that system's; else only a format of one system tells.
        system = form.variant if form.variant in form.systems else form.systems[0] if len(form.systems) == 1 else None
    return PartAccount(
        part=part,
        line_from=line_from,
        line_to=line_from,
        kind=form.kind if form else None,
        variant=form.variant if form else None,
        version=version_of(form) if form else None,
        system=system,
        account=LineAccount(),
        tables={},
        facts={},
        domains=[],
    )


def _domain_json(domain: Domain) -> dict[str, Any]:
    return asdict(domain) | {"lines": [list(pair) for pair in domain.lines]}


def _part_json(part: PartAccount) -> dict[str, Any]:
    return asdict(part) | {"domains": [_domain_json(d) for d in part.domains]}


def _part_of(part: dict[str, Any]) -> PartAccount:
    domains = [Domain(**(d | {"lines": [(a, b) for a, b in d["lines"]]})) for d in part["domains"]]
    return PartAccount(**(part | {"account": LineAccount(**part["account"]), "domains": domains}))

"""Read an artifact into tables: one resumable reading with progress. The parsers decide what a file is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from incidents.models.evidence.artifact import Artifact, ArtifactState, Border, CorrectedField, Correction
from incidents.models.evidence.reading import Part, Reading, ReadingState
from incidents.models.judging.case import Host
from incidents.models.room.incident import RoomCounter
from incidents.models.room.job import Job, JobState, LeaseLost
from incidents.storage import live, store
from incidents.storage.database import AWAY, patiently
from incidents.work import unpacking
from parsers.errors import (
    AmbiguousFormat,
    LimitExceeded,
    NotText,
    OtherReading,
    ParserError,
    UnknownFormat,
    WrongFormat,
)
from rules.case.case_yaml import CaseFile, load_case_yaml
from rules.errors import CaseInvalid

if TYPE_CHECKING:
    from parsers.reading import Account, Progress

log = structlog.get_logger(__name__)

# Corrections that change how bytes are read; the others only change how rows are shown and rewrite no file.
_READ_BY = (
    CorrectedField.KIND,
    CorrectedField.OS,
    CorrectedField.TZ,
    CorrectedField.YEAR,
    CorrectedField.INTERVAL_S,
    CorrectedField.DATE,
    CorrectedField.DATE_ORDER,
    CorrectedField.COLUMNS,
)
TEXT = "text"  # the kind of what no format recognises
READ_AS_TEXT = (
    "Kind unknown: no format recognises the first lines, so this is read as plain text. Say its kind, or add the header "
    "lines of the tool's output."
)
PROGRESS_S = 1.0  # minimum interval between two reports of progress
CUT_OFF = (
    "The last line stops in the middle: the file seems to be cut there. What comes before was read; if you have the "
    "rest, add the whole file."
)


def out_of_date(artifact: Artifact) -> bool:
    """Tell whether the newest reading was made with other corrections than there are now."""
    newest = artifact.readings.order_by("-number").first()
    return newest is None or newest.hints != _said(artifact)


def ingest(job: Job) -> None:
    """Read the job's artifact, continuing an interrupted earlier attempt. Its exceptions fail or repeat the job.

    The result is written in one transaction that first checks that the job is still ours.
    """
    artifact = patiently(lambda: Artifact.objects.select_related("incident").get(jobs=job))
    if unpacking.is_archive(artifact):
        unpacking.unpack(job, artifact)
        return
    reading = patiently(lambda: _begin(job, artifact))
    if reading is None:
        return
    # Imported here: the worker's parent loads this module, and Polars must not be loaded in a process that forks.
    from parsers.reading import read
    from parsers.text.source import Limits

    remark: str | None
    odd: str | None = None
    with store.lock_reading(reading):
        try:
            account = read(
                store.original(artifact),
                hints_of(reading.hints["file"]),
                store.reading_dir(reading),
                progress=_reporter(job, artifact),
                limits=Limits(processes=settings.EXHIBIT_READ_PROCESSES),
                known=_known_parts(reading.hints["parts"]),
                name=artifact.name,
                sha256=artifact.sha256,
            )
        except OtherReading:  # begun by another version of the format: it cannot be continued
            patiently(lambda: _begin_anew(job, reading))
            return
        except LeaseLost:
            artifact.refresh_from_db()
            if artifact.purged:  # what this attempt wrote after the purge must be removed as well
                store.purge(artifact)
            raise
        except ParserError as error:
            cause, kind = in_plain_words(error), type(error).__name__
            known = error.account
            # Text that nobody knows is shown, searched and cited; one unreadable part of several does not affect the
            # others.
            as_text = isinstance(error, (UnknownFormat, WrongFormat)) and known is not None and bool(known.parts)
            if known is None or not (as_text or (len(known.parts) > 1 and known.tables)):
                patiently(lambda: _fail(job, artifact, reading, cause, known, kind))
                return
            account, remark, odd = known, READ_AS_TEXT if isinstance(error, UnknownFormat) and as_text else cause, kind
        else:
            remark, odd = _oddity(account, reading)
            if remark is None and _is_cut_off(artifact, reading):
                remark = CUT_OFF
        if account.kind == TEXT and (case := _of_a_case(artifact)) is not None:
            patiently(lambda: _fail(job, artifact, reading, case, account, UnknownFormat.__name__))
            return
    patiently(lambda: _complete(job, artifact, reading, account, remark, odd))


def _oddity(account: Account, reading: Reading) -> tuple[str | None, str | None]:
    """Return what is odd about a reading, and the class of error whose remedies the pages offer; None if nothing is.

    A kind that a person gave is an opinion: where it does not fit, the text was read as what it is.
    """
    if account.misfits:
        said = "; ".join(str(misfit) for misfit in account.misfits)
        return f"{said[:1].upper()}{said[1:]}.", WrongFormat.__name__
    if account.kind == TEXT and not reading.hints["file"].get("kind"):
        return READ_AS_TEXT, UnknownFormat.__name__
    return None, None


def fail(job: Job, cause: str) -> None:
    """Record that the job's artifact could not be read, for errors that the file did not cause."""
    artifact = Artifact.objects.get(jobs=job)
    reading = artifact.readings.filter(state=ReadingState.RUNNING).first()
    _fail(job, artifact, reading, cause, None, None)


def _begin(job: Job, artifact: Artifact) -> Reading | None:
    with transaction.atomic():
        RoomCounter.lock(artifact.incident_id)
        job.hold()
        artifact.refresh_from_db()
        if artifact.purged:
            job.finish()
            return None
        hints = _said(artifact)
        reading = artifact.readings.filter(state=ReadingState.RUNNING).first()
        if reading is not None and reading.hints != hints:  # corrected since: start again with the present corrections
            _replace(reading)
            reading = None
        if reading is None:
            last = artifact.readings.order_by("-number").values_list("number", flat=True).first() or 0
            reading = Reading.objects.create(artifact=artifact, number=last + 1, hints=hints)
        _set(artifact, state=ArtifactState.READING, cause=None, lines_read=0, bytes_read=0)
        return reading


def _begin_anew(job: Job, reading: Reading) -> None:
    with transaction.atomic():
        job.hold()
        _replace(reading)
        job.queue_again()


def _replace(reading: Reading) -> None:
    Reading.objects.filter(pk=reading.pk).update(state=ReadingState.REPLACED, finished_at=timezone.now())


def _is_cut_off(artifact: Artifact, reading: Reading) -> bool:
    """Tell whether the last line has no line end and an open bracket.

    Either alone means little: a paste rarely ends with a line end, and a call may be resumed lines later.
    """
    from parsers.lines import LineReader  # loads PyArrow: see `ingest`

    with store.open_original(artifact) as file:
        file.seek(max(artifact.size - 2, 0))
        if file.read().strip(b"\0").endswith((b"\n", b"\r")):  # UTF-16 puts a zero before or behind
            return False
    reader = LineReader(store.original(artifact), store.reading_dir(reading))
    return any(line.text.count("(") > line.text.count(")") for line in reader.lines(reader.count, reader.count))


def _complete(
    job: Job, artifact: Artifact, reading: Reading, account: Account, remark: str | None, odd: str | None
) -> None:
    report: dict[str, Any] = account.as_json()
    with transaction.atomic():
        RoomCounter.lock(artifact.incident_id)
        job.hold()
        artifact.refresh_from_db()
        if artifact.purged:  # purged while it was read: its folder is gone, so the result must be dropped
            job.finish()
            return
        if _said(artifact) != reading.hints:  # corrected meanwhile: this reading is out of date
            _replace(reading)
            job.queue_again()
            return
        _write_reading(reading, report, ReadingState.COMPLETE, remark if odd else None, odd)
        hosts = list(Host.objects.filter(incident_id=artifact.incident_id))
        known = set(artifact.incident.phases.values_list("phase", flat=True))
        told = unpacking.told_of(artifact)
        Part.objects.bulk_create(
            _part(reading, found, guess_part(found, artifact.name, hosts, known, told.get("host")))
            for found in report["parts"]
        )
        artifact.readings.filter(state=ReadingState.COMPLETE).exclude(pk=reading.pk).update(state=ReadingState.REPLACED)
        _set(
            artifact,
            state=ArtifactState.READ,
            cause=remark,
            reading=reading,
            lines_read=report["lines"],
            bytes_read=report["bytes"],
        )
        Job.objects.ask_judge(artifact.incident_id)
        job.finish()


def _part(reading: Reading, found: dict[str, Any], guess: Guess) -> Part:
    return Part(
        reading=reading,
        part=found["part"],
        line_from=found["line_from"],
        line_to=found["line_to"],
        kind=found["kind"],
        variant=found["variant"],
        system=found["system"],
        host=guess.host,
        os=guess.os,
        role=guess.role,
        phase=guess.phase,
        account=found["account"],
        facts=found["facts"],
        domains=found["domains"],
        claims=found.get("claims") or [],
    )


def _fail(
    job: Job, artifact: Artifact, reading: Reading | None, cause: str, account: Account | None, kind: str | None
) -> None:
    """Record a failed reading. An earlier reading that succeeded stays in use."""
    with transaction.atomic():
        RoomCounter.lock(artifact.incident_id)
        job.hold()
        artifact.refresh_from_db()
        if reading is not None:
            _write_reading(reading, account.as_json() if account else None, ReadingState.FAILED, cause, kind)
        if not artifact.purged:
            _set(artifact, state=ArtifactState.FAILED, cause=cause, lines_read=None, bytes_read=None)
            Job.objects.ask_judge(artifact.incident_id)
        job.finish(JobState.FAILED, cause)


def _write_reading(
    reading: Reading, report: dict[str, Any] | None, state: ReadingState, cause: str | None, error: str | None
) -> None:
    """Store the result of a reading. `error` is the error's class name: the pages offer different remedies for each."""
    reading.state, reading.cause, reading.error, reading.finished_at = state, cause, error, timezone.now()
    if report is not None:
        reading.kind, reading.variant = report["kind"], report["variant"]
        reading.version = report["parts"][0]["version"] if report["parts"] else None
        reading.encoding = report["encoding"]
        reading.lines, reading.account = report["lines"], report["account"]
        reading.tables, reading.claims = report["tables"], report["claims"]
    reading.save()


def _set(artifact: Artifact, **fields: Any) -> None:
    """Change the artifact's row and publish it to the room; inside a transaction."""
    for name, value in fields.items():
        setattr(artifact, name, value)
    artifact.version += 1
    artifact.save(update_fields=(*fields, "version"))
    live.tell(artifact.incident_id, "artifact", artifact.number, artifact.version)


def _reporter(job: Job, artifact: Artifact) -> Callable[[Progress], None]:
    """Return a function that renews the lease and publishes progress, at most once a second; the first rows at once.

    A database that is away for a moment does not stop the reading: the lease is long enough to wait for it.
    """
    last, told = 0.0, 0

    def report(progress: Progress) -> None:
        nonlocal last, told
        if time.monotonic() - last < PROGRESS_S and (told or not progress.lines):
            return
        last, told = time.monotonic(), progress.lines
        try:
            job.renew()
            Artifact.objects.filter(pk=artifact.pk).update(lines_read=progress.lines, bytes_read=progress.bytes)
        except AWAY as error:
            log.warning("ingest.database_away", error=str(error))
            connection.close()
        live.progress(artifact.incident_id, artifact.number, progress.lines, progress.bytes, progress.bytes_total)

    return report


# --- corrections as hints -----------------------------------------------------------------------------------------


def _said(artifact: Artifact) -> dict[str, Any]:
    """Collect the corrections that change the reading, for the file and for parts of it. Stored with the reading.

    A border or a kind on lines makes them a separate part, or prose; lines between such parts are split as if there were
    no corrections. Any other correction of lines applies to the part that holds the first of them, or to the whole file
    if there are no borders. A corrected host implies its system and time zone, as on the command line.
    """
    fields = (*_READ_BY, CorrectedField.HOST, CorrectedField.BORDER)
    rows = Correction.objects.filter(artifact=artifact, field__in=fields, value__isnull=False)
    corrections = list(rows.order_by("pk"))
    file: dict[str, str] = {}
    parts: dict[tuple[int, int], dict[str, str]] = {}
    for said in reversed(corrections):  # if two borders overlap, the newest one wins
        first, last = said.line_from, said.line_to
        if said.field not in (CorrectedField.KIND, CorrectedField.BORDER) or first is None or last is None:
            continue
        if not any(first <= b and last >= a for a, b in parts if (a, b) != (first, last)):
            parts.setdefault((first, last), {})
    for said in corrections:
        line, field, value = said.line_from, said.field, said.value or ""
        holding = next((part for part in parts if line is not None and part[0] <= line <= part[1]), None)
        if said.field == CorrectedField.BORDER:
            if value != Border.PROSE or (line, said.line_to) != holding:
                continue
            field, value = CorrectedField.KIND, Border.PROSE.value
        (file if holding is None else parts[holding])[field] = value
    hosts = {host.name: host for host in Host.objects.filter(incident_id=artifact.incident_id)}
    for words in (file, *parts.values()):
        host = hosts.get(words.pop(CorrectedField.HOST, ""))
        if host is not None and host.os:
            words.setdefault(CorrectedField.OS, host.os)
        if host is not None and host.tz:
            words.setdefault(CorrectedField.TZ, host.tz)
    told = unpacking.told_of(artifact)
    return {
        "file": {key: told[key] for key in ("os", "tz", "date") if key in told} | file,
        "parts": [{"line_from": a, "line_to": b, "hints": said} for (a, b), said in sorted(parts.items())],
    }


def hints_of(said: dict[str, str]) -> Any:
    from parsers.text.source import Hints  # loads Polars: see `ingest`

    kind, _, variant = said.get("kind", "").partition("/")
    return Hints(
        kind=kind or None,
        variant=variant or None,
        os=said.get("os"),
        tz=said.get("tz"),
        year=int(said["year"]) if "year" in said else None,
        interval_s=float(said["interval_s"]) if "interval_s" in said else None,
        date=said.get("date"),
        date_order=said.get("date_order"),
        columns=said.get("columns"),
    )


def _known_parts(parts: list[dict[str, Any]]) -> list[Any]:
    from parsers.layout.parts import PartHint  # loads Polars: see `ingest`

    return [PartHint(part["line_from"], part["line_to"], hints_of(part["hints"])) for part in parts]


def in_plain_words(error: ParserError) -> str:
    """Return the parsers' message with advice for the page instead of the command line."""
    advice: dict[type[ParserError], str] = {
        NotText: "The file is kept as it is. Add the text itself: what was packed in it, or the tool's output as text.",
        UnknownFormat: "The file is kept as it is. Say its kind, or add the header lines of the tool's output.",
        AmbiguousFormat: "Say which kind it is.",
        WrongFormat: "Say another kind, or none to have it recognised.",
        LimitExceeded: "The file is kept as it is. Send the part of it that matters.",
    }
    message = str(error).replace("; name one with --kind", "")
    return f"{message[:1].upper()}{message[1:]}. {advice.get(type(error), 'The file is kept as it is.')}"


def _of_a_case(artifact: Artifact) -> str | None:
    """Return the message for an uploaded case file, with the problems in it; None for any other text."""
    if not (artifact.name.endswith((".yaml", ".yml")) and artifact.size < 2**20):
        return None
    with store.open_original(artifact) as file:
        text = file.read().decode(errors="replace")
    try:
        told = load_case_yaml(text)
        problems = list(told.problems())
    except CaseInvalid as wrong:
        if not artifact.name.endswith("case.yaml"):
            return None
        told, problems = None, [str(wrong)]
    if told == CaseFile():
        return None
    said = "".join(f" {artifact.name}: {problem}." for problem in problems)
    return f"A case file is no evidence: nothing of it was taken over. Say it on the page Case of this room.{said}"


# --- guesses ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guess:
    host: str | None
    os: str | None
    role: str | None
    phase: str | None


_ROLES = frozenset({"client", "listener", "server"})
_ROLE_OF_HOST = {"client": "client", "listener": "db", "server": "db"}
_PHASE = re.compile(r"(?<![a-z])(before|after)(?:[-_ ]?(\d{1,2}))?(?![a-z0-9])", re.IGNORECASE)


def guess_part(found: dict[str, Any], name: str, hosts: list[Host], phases: set[str], told: str | None = None) -> Guess:
    """Guess host, system, role and phase of a part. Pages show a guess as such; an ambiguous one is left out.

    The role comes from the variant (which side wrote the trace); the host from a fact in the file, from the archive it
    came in (`told`), or from the only host of the room with that role and system; the phase from a word in the file's
    name.
    """
    facts = found.get("facts") or {}
    os = facts.get("os") or found.get("system")
    role = next((word for word in (found.get("variant"), facts.get("role")) if word in _ROLES), None)
    return Guess(_guess_host(facts, os, role, hosts, told), os, role, _guess_phase(name, phases))


def _guess_host(
    facts: dict[str, Any], os: str | None, role: str | None, hosts: list[Host], told: str | None
) -> str | None:
    if isinstance(named := facts.get("host"), str) and named:
        return named
    if told is not None:
        return told
    fitting = [
        host
        for host in hosts
        if (os is None or host.os is None or host.os.lower() == os.lower())
        and (role is None or host.role is None or host.role == _ROLE_OF_HOST[role])
        # At least one property must match; no mismatch is not enough.
        and ((os is not None and host.os is not None) or (role is not None and host.role is not None))
    ]
    return fitting[0].name if len(fitting) == 1 else None


def _guess_phase(name: str, phases: set[str]) -> str | None:
    for phase in sorted(phases, key=len, reverse=True):
        if re.search(rf"(?<![A-Za-z0-9]){re.escape(phase)}(?![A-Za-z0-9])", name, re.IGNORECASE):
            return phase
    if match := _PHASE.search(name):
        word, number = match[1].lower(), match[2]
        return f"{word}-{int(number)}" if number else word
    return None

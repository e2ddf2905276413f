"""Read an artifact into tables: one resumable reading with progress. The parsers decide what a file is."""

from __future__ import annotations

import atexit
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from incidents.errors import StoreAway
from incidents.models.evidence.artifact import Artifact, ArtifactState, Border, CorrectedField, Correction
from incidents.models.evidence.reading import Part, Reading, ReadingState
from incidents.models.judging.case import Host
from incidents.models.room.incident import RoomCounter
from incidents.models.room.job import Job, JobState, LeaseLost, Queue
from incidents.storage import live, store
from incidents.storage.database import AWAY, patiently
from incidents.work import unpacking
from parsers.errors import (
    AmbiguousFormat,
    LimitExceeded,
    NotText,
    OtherReading,
    ParserError,
    TookTooLong,
    TookTooMuch,
    UnknownFormat,
    WrongFormat,
)
from parsers.progress import Progress
from parsers.reader import SCRATCH, Bounds, DiskFull, Outcome
from parsers.reader import Reader as FileReader
from parsers.scratch_folder import remove_abandoned
from rules.case.case_yaml import CaseFile, load_case_yaml
from rules.errors import CaseInvalid

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
TURN_S = 20.0  # seconds after which a reading leaves the workers of small files
LARGE_TURN_S = 60.0  # seconds after which a reading that came further gives way, if another room waits
SEND_S = 10.0  # minimum interval between two times that a reading under way is given to the object store
SPACE_AGAIN = timedelta(seconds=60)
NO_SPACE = (
    "The server's disk for evidence is full, so reading waits. Nothing is lost: it goes on by itself where it stopped, "
    "within a minute after an administrator has made room."
)
CUT_OFF = (
    "The last line stops in the middle: the file seems to be cut there. What comes before was read; if you have the "
    "rest, add the whole file."
)


_READER = FileReader(
    Bounds(settings.EXHIBIT_READ_MB, settings.EXHIBIT_READ_SECONDS, settings.EXHIBIT_READ_SECONDS_PER_MB),
    [settings.EVIDENCE_ROOT],
)
atexit.register(_READER.close)


def warm() -> None:
    """Start the process that reads, so that the first file need not wait for the formats to load.

    What workers left that were killed goes first.
    """
    remove_abandoned(SCRATCH)
    _READER.warm()


@cache
def fences() -> Mapping[str, bool]:
    """Return which sandbox restrictions work for reading on this server; tested once in each process."""
    return FileReader(_READER.bounds, _READER.folders).fences()


def out_of_date(artifact: Artifact) -> bool:
    """Tell whether the newest reading was made with other corrections than there are now, and could be made again."""
    if not artifact.has_original:
        return False
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
    with store.lock_reading(reading):
        try:
            outcome = _READER.read(
                store.bring_original(artifact),
                hint_fields(reading.hints["file"]),
                store.reading_dir(reading),
                progress=_reporter(job, artifact, reading),
                processes=settings.EXHIBIT_READ_PROCESSES,
                known=[part | {"hints": hint_fields(part["hints"])} for part in reading.hints["parts"]],
                name=artifact.name,
                sha256=artifact.sha256,
            )
        except _TurnOver:
            _send(job, reading)  # whoever goes on may be on another host
            patiently(lambda: job.give_way(Queue.LARGE))
            return
        except DiskFull:
            patiently(lambda: wait(job, NO_SPACE))
            return
        except LeaseLost:
            artifact.refresh_from_db()
            if artifact.purged:  # what this attempt wrote after the purge must be removed as well
                store.purge(artifact)
            raise
        reading.stored = store.send_reading(reading)
    if isinstance(outcome.error, OtherReading):  # begun by another version of the format: it cannot be continued
        patiently(lambda: _begin_anew(job, reading))
        return
    report, error = outcome.report, outcome.error
    if report is None or (error is not None and not _usable(report, error)):
        assert error is not None
        cause, kind = in_plain_words(error), type(error).__name__
        patiently(lambda: _fail(job, artifact, reading, cause, report, kind))
        return
    if report["kind"] == TEXT and (case := _of_a_case(artifact)) is not None:
        patiently(lambda: _fail(job, artifact, reading, case, report, UnknownFormat.__name__))
        return
    remark, odd = _oddity(outcome, reading)
    patiently(lambda: _complete(job, artifact, reading, report, remark, odd))


def _usable(report: dict[str, Any], error: ParserError) -> bool:
    """Tell whether a reading with an error is of use.

    Text that nobody knows is shown, searched and cited; one unreadable part of several does not affect the others.
    """
    as_text = isinstance(error, (UnknownFormat, WrongFormat)) and bool(report["parts"])
    return as_text or (len(report["parts"]) > 1 and bool(report["tables"]))


def _oddity(outcome: Outcome, reading: Reading) -> tuple[str | None, str | None]:
    """Return a remark on a reading, and the class of error whose remedies the pages offer; None if there is none.

    If a kind that a person gave does not fit the text, the text was read as its recognised kind.
    """
    report, error = outcome.report, outcome.error
    assert report is not None
    if isinstance(error, UnknownFormat) and report["parts"]:
        return READ_AS_TEXT, UnknownFormat.__name__
    if error is not None:
        return in_plain_words(error), type(error).__name__
    if outcome.misfits:
        said = "; ".join(outcome.misfits)
        return f"{said[:1].upper()}{said[1:]}.", WrongFormat.__name__
    if report["kind"] == TEXT and not reading.hints["file"].get("kind"):
        return READ_AS_TEXT, UnknownFormat.__name__
    return CUT_OFF if outcome.cut_off else None, None


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


def wait(job: Job, cause: str) -> None:
    """Let the reading wait until storage serves again; it goes on by itself, however long that takes."""
    with transaction.atomic():
        RoomCounter.lock(job.incident_id)
        job.give_way(job.queue, SPACE_AGAIN, cause)
        artifact = Artifact.objects.get(jobs=job)
        if not artifact.purged:
            _set(artifact, state=ArtifactState.QUEUED, cause=cause)


def _send(job: Job, reading: Reading) -> None:
    """Give the object store what was read so far, and name it in the row if the job is still ours."""
    stored = store.send_reading(reading)
    if not stored or stored == reading.stored:
        return
    with transaction.atomic():
        job.hold()
        Reading.objects.filter(pk=reading.pk).update(stored=stored)
    reading.stored = stored


def _begin_anew(job: Job, reading: Reading) -> None:
    with transaction.atomic():
        job.hold()
        _replace(reading)
        job.queue_again()


def _replace(reading: Reading) -> None:
    Reading.objects.filter(pk=reading.pk).update(state=ReadingState.REPLACED, finished_at=timezone.now())


def _complete(
    job: Job, artifact: Artifact, reading: Reading, report: dict[str, Any], remark: str | None, odd: str | None
) -> None:
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
    job: Job,
    artifact: Artifact,
    reading: Reading | None,
    cause: str,
    report: dict[str, Any] | None,
    kind: str | None,
) -> None:
    """Record a failed reading. An earlier reading that succeeded stays in use."""
    with transaction.atomic():
        RoomCounter.lock(artifact.incident_id)
        job.hold()
        artifact.refresh_from_db()
        if reading is not None:
            _write_reading(reading, report, ReadingState.FAILED, cause, kind)
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


class _TurnOver(Exception):
    """This reading has had its turn: others wait. It goes on later where it stopped."""


def _reporter(job: Job, artifact: Artifact, reading: Reading) -> Callable[[Progress], None]:
    """Return a function that renews the lease and publishes progress, at most once a second; the first rows at once.

    It gives an object store what was read, for other hosts to show and to go on with. It raises LeaseLost where the
    reading was stopped, and _TurnOver where others should have their turn. A database or a store that is away for a
    moment does not stop the reading: the lease is long enough to wait for it.
    """
    began = time.monotonic()
    last, told, first, sent = 0.0, 0, 0, began

    def report(progress: Progress) -> None:
        nonlocal last, told, first, sent
        if time.monotonic() - last < PROGRESS_S and (told or not progress.lines):
            return
        last, told = time.monotonic(), progress.lines
        first = first or progress.lines
        try:
            job.renew()
            taken = last - began
            if job.queue == Queue.SMALL and taken > TURN_S:
                raise _TurnOver
            if taken > LARGE_TURN_S and progress.lines > first and job.others_wait():
                raise _TurnOver
            Artifact.objects.filter(pk=artifact.pk).update(lines_read=progress.lines, bytes_read=progress.bytes)
            if last - sent > SEND_S:
                sent = last
                _send(job, reading)
        except StoreAway as error:  # it is sent with the next report, at the latest in the end
            log.warning("ingest.store_away", error=str(error))
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
        "file": {key: told[key] for key in unpacking.HINTS if key in told} | file,
        "parts": [{"line_from": a, "line_to": b, "hints": said} for (a, b), said in sorted(parts.items())],
    }


def hint_fields(said: dict[str, str]) -> dict[str, Any]:
    """Return the fields of the parsers' `Hints` for a person's corrections."""
    kind, _, variant = said.get("kind", "").partition("/")
    return {
        "kind": kind or None,
        "variant": variant or None,
        "os": said.get("os"),
        "tz": said.get("tz"),
        "year": int(said["year"]) if "year" in said else None,
        "interval_s": float(said["interval_s"]) if "interval_s" in said else None,
        "command": said.get("command"),
        "date": said.get("date"),
        "date_order": said.get("date_order"),
        "columns": said.get("columns"),
    }


def in_plain_words(error: ParserError) -> str:
    """Return the parsers' message with advice for the page instead of the command line."""
    advice: dict[type[ParserError], str] = {
        NotText: "The file is kept as it is. Add the text itself: what was packed in it, or the tool's output as text.",
        UnknownFormat: "The file is kept as it is. Say its kind, or add the header lines of the tool's output.",
        AmbiguousFormat: "Say which kind it is.",
        WrongFormat: "Say another kind, or none to have it recognised.",
        LimitExceeded: "The file is kept as it is. Send the part of it that matters.",
        TookTooLong: "The file is kept as it is. Send the part of it that matters.",
        TookTooMuch: "The file is kept as it is. Send the part of it that matters.",
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

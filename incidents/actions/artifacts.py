"""Receive evidence, correct what is known of it, and read it again."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable, Mapping
from datetime import date

from django.conf import settings
from django.utils import timezone

from incidents import tasks
from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.content.visible import visible_name
from incidents.errors import AlreadyHere, OverQuota, Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState, CorrectedField, Correction, Way
from incidents.models.room.incident import RoomCounter
from incidents.models.room.job import Job, JobState, Queue
from incidents.storage import quotas, store
from incidents.work.ingest import out_of_date

Said = Mapping[str, str | None]


def receive_stream(
    room: Room, name: str, chunks: Iterable[bytes], way: str = Way.PAGE, said: Said | None = None
) -> Artifact:
    """Store a stream as an artifact. Rights are checked before the first byte is written and again at the end."""
    room.require(Right.UPLOAD)
    incoming = store.receive_all(chunks)
    try:
        return receive(room, incoming, name, way, said)
    finally:
        incoming.discard()


def receive(room: Room, incoming: store.Incoming, name: str, way: str, said: Said | None = None) -> Artifact:
    """Make an incoming file of the store an artifact of the room; every kind of upload ends here.

    The bytes are in place and safe on disk before the row is committed. Raises `AlreadyHere` for content that the room
    already holds, `OverQuota` for more than it or the sender may bring. May be called again after a fault, and never
    discards `incoming`: its creator must do that.
    """
    if incoming.size == 0:
        raise Refused("The file is empty. Nothing was stored.")
    words = checked(said or {})
    incoming.send_ahead(room.incident.pk)
    try:
        return _received(room, incoming, name, way, words)
    except OverQuota:
        incoming.take_back(room.incident.pk)
        raise


def _received(room: Room, incoming: store.Incoming, name: str, way: str, words: Said) -> Artifact:
    with deed(room, Right.UPLOAD) as doing:
        incident = doing.incident
        same = incident.artifacts.filter(sha256=incoming.sha256).exclude(state=ArtifactState.PURGED).first()
        if same is not None:
            raise AlreadyHere(same.number, same.name)
        if way != Way.TUS:  # a tus upload was checked when it began, and has been counted since
            token = doing.room.token
            quotas.left(incident.pk, doing.room.user.pk, token.pk if token else None).spend(incoming.size)
        incoming.keep(incident.pk)
        artifact = Artifact.objects.create(
            incident=incident,
            number=RoomCounter.next_number(incident.pk, "artifact_number"),
            sha256=incoming.sha256,
            name=visible_name(name),
            size=incoming.size,
            way=way,
            uploader=doing.room.user,
            token=doing.room.token,
            state=ArtifactState.QUEUED,
        )
        Correction.objects.bulk_create(
            Correction(artifact=artifact, field=field, value=value, author=doing.room.user, corrected_at=timezone.now())
            for field, value in words.items()
            if value
        )
        doing.record(
            "uploaded", f"artifact {artifact.number}", sha256=artifact.sha256, size=artifact.size, name=artifact.name
        )
        doing.tell("artifact", artifact.number)
        _queue(artifact)
    return artifact


def correct(room: Room, number: int, fields: Said, lines: tuple[int, int] | None = None) -> Artifact:
    """Correct fields of the artifact, or of the part that holds these lines. Corrections overrule all guesses.

    A value of None means unknown; an empty text withdraws an earlier correction. The file is read again if the
    corrections change how its bytes are understood.
    """
    if lines is not None and not 1 <= lines[0] <= lines[1]:
        raise Refused("The lines must be first to last, from 1.")
    words = checked(fields)
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        take_words(doing, artifact, words, lines)
        doing.record("corrected", f"artifact {number}", lines=lines, **words)
        after_words(doing, artifact)
        return artifact


def take_words(doing: Deed, artifact: Artifact, words: Mapping[str, str | None], lines: tuple[int, int] | None) -> None:
    """Store checked corrections of an artifact or of lines of it; an empty text withdraws the earlier correction."""
    line_from, line_to = lines or (None, None)
    for field, value in words.items():
        place = artifact.corrections.filter(line_from=line_from, line_to=line_to, field=field)
        if value == "":
            place.delete()
        elif not place.update(value=value, author=doing.room.user, corrected_at=timezone.now()):
            Correction.objects.create(
                artifact=artifact,
                line_from=line_from,
                line_to=line_to,
                field=field,
                value=value,
                author=doing.room.user,
            )


def after_words(doing: Deed, artifact: Artifact) -> None:
    """Queue another reading if the corrections change how the bytes are understood, else only another judgement."""
    if out_of_date(artifact):
        _read_again(doing, artifact)
    else:
        bump(doing, artifact)
        doing.rejudge()


def retry(room: Room, number: int) -> Artifact:
    """Read an artifact again whose reading failed."""
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        if artifact.state != ArtifactState.FAILED:
            raise Refused("This artifact did not fail.", 409)
        doing.record("retried", f"artifact {number}")
        _read_again(doing, artifact)
        return artifact


def reread(room: Room, number: int) -> Artifact:
    """Read the artifact again, for instance after a new version of its format."""
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        doing.record("asked to read again", f"artifact {number}")
        _read_again(doing, artifact)
        return artifact


def stop(room: Room, number: int) -> Artifact:
    """Stop reading an artifact.

    The worker notices when it next renews its lease that it has lost the job. What it wrote stays and can be seen; the
    next reading continues from there.
    """
    with deed(room, Right.CORRECT) as doing:
        artifact = artifact_in(doing, number)
        if artifact.state not in (ArtifactState.QUEUED, ArtifactState.READING):
            raise Refused("This artifact is not being read.", 409)
        who = f"Stopped by {doing.room.actor_name}"
        Job.objects.filter(artifact=artifact, state__in=(JobState.QUEUED, JobState.RUNNING)).update(
            state=JobState.FAILED, cause=who, lease_until=None, finished_at=timezone.now()
        )
        lines = artifact.lines_read
        far = (
            f" after {lines:,} lines: they can be seen, and are not judged. To read again goes on from there."
            if lines
            else "."
        )
        artifact.state, artifact.cause = ArtifactState.STOPPED, f"{who}{far}"
        artifact.save(update_fields=("state", "cause"))
        doing.record("stopped reading", f"artifact {number}", lines=lines)
        bump(doing, artifact)
        return artifact


def take_in(room: Room, number: int, position: int) -> Artifact:
    """Take in a file of an archive that was left out because no format recognises it."""
    with deed(room, Right.UPLOAD) as doing:
        archive = artifact_in(doing, number)
        member = archive.members.filter(position=position, became__isnull=True).first()
        if member is None:
            raise Refused("There is no such file in the archive, or it was taken in already.", 404)
        if not member.offered:
            raise Refused(f"This file cannot be taken in: {member.why}.", 409)
        member.wanted = True
        member.save(update_fields=("wanted",))
        doing.record("asked for", f"artifact {number}", member=member.path)
        _read_again(doing, archive)
        return archive


def note_download(room: Room, number: int) -> Artifact:
    """Check the right to download an original, and record the download."""
    with deed(room, Right.ORIGINAL) as doing:
        artifact = artifact_in(doing, number)
        doing.record("downloaded", f"artifact {number}", sha256=artifact.sha256)
        return artifact


def checked(said: Said) -> dict[str, str | None]:
    """Return checked corrections; raise `Refused` for a value that makes no sense. None stays None, "" stays ""."""
    words: dict[str, str | None] = {}
    for field, value in said.items():
        if field not in CorrectedField.values or field == CorrectedField.BORDER:
            raise Refused(f"There is nothing called {field} to say about an artifact.")
        text = value.strip() if value is not None else None
        if text and not _makes_sense(field, text):
            raise Refused(f"This does not fit as {CorrectedField(field).label}: {text[:60]!r}.")
        words[field] = text
    return words


def _makes_sense(field: str, text: str) -> bool:
    if len(text) > (1000 if field == CorrectedField.COLUMNS else 200) or not text.isprintable():
        return False
    if field == CorrectedField.KIND:
        return re.fullmatch(r"[a-z][a-z0-9_]*(/[a-z0-9_-]+)?", text) is not None
    if field == CorrectedField.YEAR:
        return re.fullmatch(r"(19[7-9]\d|20\d\d|2100)", text) is not None
    if field == CorrectedField.INTERVAL_S:
        return re.fullmatch(r"\d{1,6}(\.\d{1,6})?", text) is not None and float(text) > 0
    if field == CorrectedField.DATE:
        return _is_day(text)
    if field == CorrectedField.DATE_ORDER:
        return text in ("dmy", "mdy")
    if field == CorrectedField.TZ:
        return text in zoneinfo.available_timezones()
    return True


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def artifact_in(doing: Deed, number: int) -> Artifact:
    artifact = doing.incident.artifacts.filter(number=number).first()
    if artifact is None:
        raise Refused("There is no such artifact.", 404)
    if artifact.purged:
        raise Refused("This artifact was purged.", 410)
    return artifact


def read_again_what_is_out_of_date(doing: Deed) -> None:
    """Read every artifact again that a change of the case affects: a host's operating system or time zone."""
    for artifact in doing.incident.artifacts.exclude(state=ArtifactState.PURGED):
        if out_of_date(artifact):
            _read_again(doing, artifact)


def _read_again(doing: Deed, artifact: Artifact) -> None:
    if not artifact.has_original:
        raise Refused(store.WITHOUT_ORIGINAL, 410)
    artifact.state, artifact.cause = ArtifactState.QUEUED, None
    artifact.lines_read = artifact.bytes_read = None
    artifact.save(update_fields=("state", "cause", "lines_read", "bytes_read"))
    bump(doing, artifact)
    _queue(artifact)


def bump(doing: Deed, artifact: Artifact) -> None:
    artifact.version += 1
    artifact.save(update_fields=("version",))
    doing.tell("artifact", artifact.number, artifact.version)


def _queue(artifact: Artifact) -> None:
    queue = Queue.LARGE if artifact.size >= settings.EXHIBIT_LARGE_BYTES else Queue.SMALL
    Job.objects.ask_ingest(artifact, queue)
    tasks.hint_on_commit(queue)

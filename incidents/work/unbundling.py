"""Fill an empty room from a bundle: files first, each checked while it is written, then all rows in one transaction."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction

from incidents.content import foreign_chain, judged_before, room_rows
from incidents.models.evidence.artifact import Artifact, ArtifactState, Way
from incidents.models.evidence.reading import Reading, ReadingState
from incidents.models.people.stand_ins import STAND_IN
from incidents.models.room.activity import Activity
from incidents.models.room.bundle import BundleState, Holds, Origin
from incidents.models.room.incident import RoomCounter
from incidents.models.room.job import Job, JobState, Queue
from incidents.models.words.note import Note
from incidents.storage import bundles, live, store
from incidents.storage.bundles import BundleRefused
from incidents.storage.database import patiently
from incidents.work.bundling import RENEW_S

#: Maximum size of one of the three documents, which are read into memory.
DOCUMENT_BYTES = 256 * 2**20
NOT_READ = "Its tables were not in the bundle: it was not read where it came from."


def unbundle(job: Job) -> None:
    """Fill the job's room. Its exceptions fail or repeat the job; a repeated one writes the same files again."""
    origin = patiently(lambda: Origin.objects.select_related("incident", "brought_by").get(job=job))
    progress = _Progress(job, origin)
    patiently(progress.begin)
    documents: dict[str, Any] = {}
    files: set[str] = set()
    with bundles.opened(store.bring_bundle(origin.incident_id, origin.pk)) as reader:
        for member, stream in reader.members():
            if packed := bundles.ORIGINAL.fullmatch(member.name):
                _place_original(origin, packed[1], progress.counted(bundles.unpacked(member, stream)))
                files.add(packed[1])
            elif table := bundles.TABLE.fullmatch(member.name):
                pieces = progress.counted(iter(partial(stream.read, bundles.PIECE), b""))
                store.place_table(origin.incident_id, int(table[1]), table[2], table[3] or "", pieces)
                files.add(table[1])
            else:
                documents[member.name] = _document(member, stream)
    stored = {number: store.send_tables(origin.incident_id, int(number)) for number in files if number.isdecimal()}
    patiently(lambda: _fill(job, origin, documents, files, stored))
    store.drop_bundle(origin.incident_id, origin.pk)


def fail(job: Job, cause: str) -> None:
    """Record that the room could not be filled; its pages show why."""
    with transaction.atomic():
        origin = Origin.objects.get(job=job)
        RoomCounter.lock(origin.incident_id)
        job.finish(JobState.FAILED, cause)
        Origin.objects.filter(pk=origin.pk).update(state=BundleState.FAILED, cause=cause)
        live.tell(origin.incident_id, "export")


class _Progress:
    """Counts the bytes written, renews the lease and publishes the progress. Raises `LeaseLost`."""

    def __init__(self, job: Job, origin: Origin) -> None:
        self.job, self.origin = job, origin
        self.done, self.renewed = 0, time.monotonic()

    def begin(self) -> None:
        self.job.renew()
        Origin.objects.filter(pk=self.origin.pk).update(state=BundleState.RUNNING, done_bytes=0, cause="")

    def counted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            yield piece
            self.done += len(piece)
            if time.monotonic() - self.renewed > RENEW_S:
                self.renewed = time.monotonic()
                patiently(self.job.renew)
                patiently(lambda: Origin.objects.filter(pk=self.origin.pk).update(done_bytes=self.done))


def _place_original(origin: Origin, sha256: str, pieces: Iterator[bytes]) -> None:
    incoming = store.receive_all(pieces)
    try:
        if incoming.sha256 != sha256:
            raise BundleRefused(
                f"originals/{sha256}.zst of this bundle holds something else. Nothing of it was taken in."
            )
        incoming.keep(origin.incident_id)
    finally:
        incoming.discard()


def _document(member: bundles.Member, stream: IO[bytes]) -> Any:
    if member.size > DOCUMENT_BYTES:
        raise BundleRefused(f"{member.name} of this bundle is larger than {DOCUMENT_BYTES / 2**20:,.0f} MiB.")
    try:
        return json.loads(stream.read())
    except (ValueError, RecursionError) as error:
        raise BundleRefused(f"{member.name} of this bundle is no JSON.") from error


def _fill(job: Job, origin: Origin, documents: dict[str, Any], files: set[str], stored: dict[str, str]) -> None:
    rows = room_rows.Rows(documents["room.json"], origin.holds == Holds.TABLES)
    activity, chain = foreign_chain.checked(documents["activity.json"])
    judged = judged_before.digest(documents["report.json"])
    try:
        with transaction.atomic():
            RoomCounter.lock(origin.incident_id)
            job.hold()
            _Filling(origin, rows, files, stored).run()
            Origin.objects.filter(pk=origin.pk).update(
                state=BundleState.READY,
                judged=judged,
                activity=activity,
                chain=chain.as_json(),
                done_bytes=origin.total_bytes,
            )
            Activity.objects.append(
                origin.incident_id,
                None,
                "Exhibit",
                "filled",
                "room",
                bundle=str(origin.pk),
                artifacts=len(rows.rows["artifact"]),
            )
            Job.objects.ask_judge(origin.incident_id)
            live.tell(origin.incident_id, "export")
            live.tell(origin.incident_id, "case")
            job.finish()
    except (IntegrityError, DataError) as error:
        raise BundleRefused(
            "The rows in this bundle contradict each other, so the room could not be filled."
        ) from error


class _Filling:
    """Writes the rows of a bundle into its room."""

    def __init__(self, origin: Origin, rows: room_rows.Rows, files: set[str], stored: dict[str, str]) -> None:
        self.origin, self.rows, self.files, self.stored = origin, rows, files, stored
        self.incident, self.bringer = origin.incident, origin.brought_by
        self.people: dict[int, User] = {}

    def run(self) -> None:
        for name, value in self.rows.room.items():
            setattr(self.incident, name, value)
        self.incident.save(update_fields=tuple(self.rows.room))
        of_reading = {"number": 1, "state": ReadingState.COMPLETE}
        completed = {Artifact: self.artifact, Reading: lambda values: of_reading}
        made = self.rows.make(self.incident, self.person, completed)
        for artifact in made["artifact"]:
            self.make_readable(artifact)
        for reading in made.get("reading", ()):
            reading.artifact.reading = reading
            reading.artifact.lines_read, reading.artifact.bytes_read = reading.lines, reading.artifact.size
            reading.artifact.save(update_fields=("reading", "lines_read", "bytes_read"))
            if stored := self.stored.get(str(reading.artifact.number)):
                Reading.objects.filter(pk=reading.pk).update(stored=stored)
        for dispute in self.rows.disputes:
            self.note_of(dispute)
        numbers = [artifact.number for artifact in made["artifact"]]
        RoomCounter.objects.filter(incident=self.incident).update(artifact_number=max(numbers, default=0))

    def person(self, index: int) -> User:
        """Return the account that stands in for somebody of the other site: nobody can sign in with it."""
        if index not in self.people:
            self.people[index], _ = User.objects.get_or_create(
                username=f"{STAND_IN}{self.incident.pk}:{index + 1}",
                defaults={"first_name": self.rows.people[index], "is_active": False, "password": make_password(None)},
            )
        return self.people[index]

    def artifact(self, values: room_rows.Json) -> room_rows.Json:
        """Return the columns of an artifact that say how it came here."""
        originals = self.origin.holds == Holds.ORIGINALS
        there = (values["sha256"] if originals else str(values["number"])) in self.files
        came: room_rows.Json = {"uploader": self.bringer, "has_original": originals}
        came["way"] = Way.BUNDLE
        if values["state"] in (ArtifactState.PURGED, ArtifactState.UNPACKED):
            return came
        if originals and not there:
            raise BundleRefused(f"The original of artifact {values['number']} is not in this bundle.")
        if originals:
            return came | {"state": ArtifactState.QUEUED, "cause": None}
        return came | (
            {"state": ArtifactState.READ}
            if there
            else {"state": ArtifactState.FAILED, "cause": values["cause"] or NOT_READ}
        )

    def make_readable(self, artifact: Artifact) -> None:
        live.tell(self.incident.pk, "artifact", artifact.number, artifact.version)
        if artifact.state == ArtifactState.QUEUED:
            queue = Queue.LARGE if artifact.size >= settings.EXHIBIT_LARGE_BYTES else Queue.SMALL
            Job.objects.ask_ingest(artifact, queue)

    def note_of(self, dispute: room_rows.Json) -> None:
        """Write a dispute of the other site as a note on its finding; whoever agrees with it here disputes again."""
        key, reason, answer = dispute.get("finding_key"), dispute.get("reason"), dispute.get("answer")
        author = dispute.get("author")
        if not isinstance(key, str) or not isinstance(reason, str) or not isinstance(author, int) or len(key) != 16:
            raise room_rows.Unfit("A dispute in this bundle is not complete.")
        if not 0 <= author < len(self.rows.people):
            raise room_rows.Unfit("A dispute in this bundle names somebody who is not in it.")
        state = "Taken back" if dispute.get("withdrawn") is True else "Answered" if isinstance(answer, str) else "Open"
        text = f"{state} dispute where this room came from: {reason}"
        if isinstance(answer, str):
            text += f"\n\nAnswer: {answer}"
        Note.objects.create(
            incident=self.incident, text=text.replace("\0", ""), finding_key=key, author=self.person(author)
        )

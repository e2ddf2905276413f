"""Make a bundle of a room: its documents, and its originals or the tables of its readings, as one signed file."""

from __future__ import annotations

import hashlib
import json
import tarfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from incidents.content import foreign_chain, room_rows
from incidents.content.names import known_as
from incidents.errors import Refused, StoreError
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.room.activity import Activity
from incidents.models.room.bundle import BundleState, Export, Holds
from incidents.models.room.incident import RoomCounter
from incidents.models.room.job import Job, JobState
from incidents.storage import bundles, live, signing, store
from incidents.storage.database import patiently
from incidents.work import analysis, judge_process, redacting

KEPT = timedelta(days=7)
RENEW_S = 2.0  # interval at which the lease is renewed and progress is told
#: Folders of a reading that stay behind: where secrets stand in an original is of use only beside it.
STAYS = frozenset({"secrets", "line_index"})


def bundle(job: Job) -> None:
    """Make the bundle that the job is for. Its exceptions fail or repeat the job."""
    export = patiently(lambda: Export.objects.select_related("incident", "made_by").get(job=job))
    documents, artifacts = patiently(lambda: _begin(job, export))
    progress = _Progress(job, export)
    if export.holds in (Holds.PARQUET, Holds.REDACTED):
        digest = _files(export, documents["report.json"], progress)
        patiently(lambda: _finish(job, export, artifacts, digest))
        return
    with store.bundle_in_the_making(export.incident_id, export.pk) as (body, whole):
        writer = bundles.Writer(body, progress.more)
        for name, told in documents.items():
            writer.add_bytes(name, json.dumps(told, ensure_ascii=False).encode())
        for artifact in artifacts:
            if export.holds == Holds.ORIGINALS:
                _add_original(writer, artifact)
            else:
                _add_tables(writer, artifact)
        writer.finish(whole, lambda members: _manifest(export, members))
        whole.flush()
        digest = _sha256(whole)
    patiently(lambda: _finish(job, export, artifacts, digest))


def fail(job: Job, cause: str) -> None:
    """Record that a bundle could not be made; its page shows why."""
    with transaction.atomic():
        export = Export.objects.get(job=job)
        RoomCounter.lock(export.incident_id)
        job.finish(JobState.FAILED, cause)
        Export.objects.filter(pk=export.pk).update(state=BundleState.FAILED, cause=cause)
        live.tell(export.incident_id, "export")


def forget_old() -> None:
    """Remove expired bundles, and again the files of bundles that expired during the last day."""
    now = timezone.now()
    for export in Export.objects.filter(state=BundleState.READY, expires_at__lt=now):
        with transaction.atomic():
            RoomCounter.lock(export.incident_id)
            Export.objects.filter(pk=export.pk).update(state=BundleState.GONE, cause="It was there for a week.")
            live.tell(export.incident_id, "export")
        store.drop_bundle(export.incident_id, export.pk)
    for export in Export.objects.filter(state=BundleState.GONE, asked_at__gt=now - KEPT - timedelta(days=1)):
        store.drop_bundle(export.incident_id, export.pk)


class _Progress:
    """Publishes how many bytes were written so far, and renews the lease. Raises `LeaseLost`."""

    def __init__(self, job: Job, export: Export) -> None:
        self.job, self.export = job, export
        self.done, self.renewed = 0, time.monotonic()

    def more(self, size: int) -> None:
        self.done += size
        if time.monotonic() - self.renewed > RENEW_S:
            self.renewed = time.monotonic()
            patiently(self.job.renew)
            patiently(lambda: Export.objects.filter(pk=self.export.pk).update(done_bytes=self.done))


def _begin(job: Job, export: Export) -> tuple[dict[str, Any], list[Artifact]]:
    """Return the documents and the artifacts as they are at one moment, under the room's lock."""
    with transaction.atomic():
        RoomCounter.lock(export.incident_id)
        job.hold()
        incident = export.incident
        tables = export.holds != Holds.ORIGINALS
        artifacts = list(
            incident.artifacts.exclude(state=ArtifactState.PURGED).select_related("reading").order_by("number")
        )
        if not tables and [artifact.number for artifact in artifacts if not artifact.has_original]:
            raise Refused("Some artifacts came in a bundle of tables: their originals are not here. Choose the tables.")
        newest = incident.evaluations.filter(accepted=True).order_by("-number").first()
        documents = {
            "room.json": room_rows.document(incident, tables),
            "activity.json": foreign_chain.document(incident),
            "report.json": newest.report if newest else None,
        }
        total = sum(artifact.size for artifact in artifacts) if not tables else sum(map(_table_bytes, artifacts))
        Export.objects.filter(pk=export.pk).update(state=BundleState.RUNNING, total_bytes=total, done_bytes=0, cause="")
        live.tell(incident.pk, "export")
        return documents, artifacts


def _files(export: Export, report: dict[str, Any] | None, progress: _Progress) -> tuple[int, str]:
    """Write the room's tables as Parquet files with a description, packed as a plain tar; names replaced if asked for."""
    spec = patiently(lambda: analysis.case_of(export.incident, judged=False))
    cache = store.cache_dir(export.incident_id)
    with (
        store.tables_in_the_making(export.incident_id, export.pk) as folder,
        store.bundle_in_the_making(export.incident_id, export.pk) as (_, whole),
    ):

        def tables() -> None:
            judge_process.write_tables(spec, lambda: progress.more(0), cache, folder)

        if export.holds == Holds.REDACTED:
            export.names = redacting.write(export.incident, report, export.also, folder, tables)
        else:
            tables()
        with tarfile.open(fileobj=whole, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for file in sorted(folder.iterdir(), key=lambda file: (file.name != "schema.json", file.name)):
                told = tarfile.TarInfo(file.name)
                told.size, told.mode = file.stat().st_size, 0o600
                with file.open("rb") as content:
                    archive.addfile(told, content)
                progress.more(told.size)
        whole.flush()
        return _sha256(whole)


def _add_original(writer: bundles.Writer, artifact: Artifact) -> None:
    with store.open_original(artifact) as file:
        writer.add_packed(f"originals/{artifact.sha256}.zst", file)


def _add_tables(writer: bundles.Writer, artifact: Artifact) -> None:
    at = f"tables/{artifact.number}"
    try:
        for file in _table_files(artifact):
            if file.name == "manifest.json":
                writer.add_bytes(f"{at}/{file.name}", _without_text(json.loads(file.read_bytes())))
                continue
            with file.open("rb") as source:
                writer.add(f"{at}/{file.parent.name}/{file.name}", source, file.stat().st_size)
    except OSError as error:
        raise StoreError(f"tables of artifact {artifact.number}: {error.strerror}") from error


def _without_text(manifest: dict[str, Any]) -> bytes:
    """Return the manifest of a reading without what may repeat lines of the original, or points at files that stay."""
    return json.dumps({**manifest, "state": {}, "transcript": None}).encode()


def _table_files(artifact: Artifact) -> list[Path]:
    """Return the files of the reading in use to export, without transcripts, which contain the text unmasked."""
    if artifact.reading is None:
        return []
    artifact.reading.artifact = artifact
    folder = store.bring_reading(artifact.reading)
    batches = [file for file in sorted(folder.glob("*/*.parquet")) if file.parent.name not in STAYS]
    return [folder / "manifest.json", *batches]


def _table_bytes(artifact: Artifact) -> int:
    return sum(file.stat().st_size for file in _table_files(artifact))


def _manifest(export: Export, members: tuple[bundles.Member, ...]) -> bundles.Manifest:
    return bundles.Manifest(
        id=str(export.pk),
        title=export.incident.title,
        holds=export.holds,
        site=settings.EXHIBIT_URL,
        made_by=known_as(export.made_by),
        made_at=timezone.now().replace(microsecond=0),
        key=signing.public_key(),
        members=members,
    )


def _sha256(file: BinaryIO) -> tuple[int, str]:
    """Return size and SHA-256 of a written file."""
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(bundles.PIECE):
        digest.update(piece)
    return file.tell(), digest.hexdigest()


def _finish(job: Job, export: Export, artifacts: list[Artifact], made: tuple[int, str]) -> None:
    """Offer the bundle for download; if evidence in it was purged meanwhile, make it again without that."""
    with transaction.atomic():
        RoomCounter.lock(export.incident_id)
        job.hold()
        now, numbers = timezone.now(), [artifact.number for artifact in artifacts]
        if export.incident.artifacts.filter(number__in=numbers, state=ArtifactState.PURGED).exists():
            transaction.on_commit(lambda: store.drop_bundle(export.incident_id, export.pk))
            job.queue_again(cause="an artifact was purged meanwhile")
            return
        Export.objects.filter(pk=export.pk).update(
            state=BundleState.READY,
            done_bytes=made[0],
            total_bytes=made[0],
            size=made[0],
            sha256=made[1],
            names=export.names,
            ready_at=now,
            expires_at=now + KEPT,
        )
        Activity.objects.append(
            export.incident_id, None, "Exhibit", "made", "room bundle", holds=export.holds, size=made[0], sha256=made[1]
        )
        live.tell(export.incident_id, "export")
        job.finish()

"""Unpack an archive into artifacts: one for each file that a format can read, and a list of the others with reasons.

A retried job continues: files that became artifacts before are not taken in twice. Small archives are taken in whole,
since a person chose their files; of a collector's tree with thousands of files only those that a format recognises, and
members can ask for any other file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import IO, Any

from django.conf import settings
from django.db import transaction

from incidents.errors import NoSpace, OverQuota, TooLarge
from incidents.models.evidence.archive import NOT_RECOGNISED, ArchiveMember
from incidents.models.evidence.artifact import Artifact, ArtifactState, Way
from incidents.models.room.activity import Activity
from incidents.models.room.incident import RoomCounter
from incidents.models.room.job import Job, JobState, Queue
from incidents.storage import live, quotas, store
from incidents.storage.database import patiently
from parsers.containers.archives import HEAD_BYTES, LeftOut, Member, container_of, open_members
from parsers.containers.collectors import SMALL, Tree, collector_of, names_a_zone
from parsers.errors import LimitExceeded, NotText

TAKEN_WHOLE = 100
"""Maximum number of files of an archive that is taken in whole."""

UNKNOWN_BYTES = 64 * 2**20
"""So much of what no format recognises is taken out of such an archive; the rest stays in it, packed, and can be asked for."""

RENEW_S = 5.0  # interval at which the lease is renewed
PIECE = 1024 * 1024  # bytes read at a time
ACTOR = "Exhibit"

HINTS = ("os", "tz", "date", "command")
"""What a tree says of a file that its reading needs (`told_of`)."""


def is_archive(artifact: Artifact) -> bool:
    """Tell by its first bytes whether the original is an archive."""
    with store.open_original(artifact) as file:
        head = file.read(HEAD_BYTES)
    try:
        return container_of(head, artifact.size) is not None
    except NotText:  # an archive that cannot be opened: the reading reports that
        return False


def told_of(artifact: Artifact) -> dict[str, str]:
    """Return what the archive of an artifact says about it (host, os, tz, date, command); empty without an archive."""
    members = sorted(artifact.came_in.all(), key=lambda member: member.pk)  # prefetched, where there are many artifacts
    told: dict[str, str] = members[0].told if members else {}
    return told


def unpack(job: Job, artifact: Artifact) -> None:
    """Take in the archive's files. A limit ends this with a cause; files taken in before stay."""
    if not patiently(lambda: _begin(job, artifact)):
        return
    walk = _Walk(job, artifact)
    try:
        walk.run(only_known=True)
        if walk.seen <= TAKEN_WHOLE and walk.unknown:
            walk.run(only_known=False)
        capped, cause = None, walk.words()
    except (LimitExceeded, NoSpace, OverQuota, TooLarge) as error:
        capped = f"Not everything was unpacked: {str(error).rstrip('.')}."
        cause = f"{capped} The files before it are there."
    walk.tell_zones()
    patiently(lambda: _finish(job, artifact, cause, capped))


def _begin(job: Job, artifact: Artifact) -> bool:
    with transaction.atomic():
        RoomCounter.lock(artifact.incident_id)
        job.hold()
        artifact.refresh_from_db()
        if artifact.purged:
            job.finish()
            return False
        _set(artifact, ArtifactState.READING, None)
        return True


def _finish(job: Job, artifact: Artifact, cause: str | None, capped: str | None = None) -> None:
    with transaction.atomic():
        RoomCounter.lock(artifact.incident_id)
        job.hold()
        artifact.refresh_from_db()
        nothing = None
        if not artifact.purged:
            taken = artifact.members.filter(became__isnull=False).count()
            if taken:
                _set(artifact, ArtifactState.UNPACKED, cause)
            else:
                nothing = f"{capped or _why_nothing(artifact)} The file is kept as it is."
                _set(artifact, ArtifactState.FAILED, nothing)
            Activity.objects.append(
                artifact.incident_id, None, ACTOR, "unpacked", f"artifact {artifact.number}", files=taken
            )
        job.finish(JobState.DONE if nothing is None else JobState.FAILED, nothing)


def _why_nothing(artifact: Artifact) -> str:
    first = artifact.members.exclude(why__isnull=True).first()
    if first is None:
        return "The archive is empty, or cut before its first file."
    return f"Nothing in the archive could be taken in: {first.why}."


def _set(artifact: Artifact, state: str, cause: str | None) -> None:
    artifact.state, artifact.cause = state, cause
    artifact.lines_read = artifact.bytes_read = None
    artifact.version += 1
    artifact.save(update_fields=("state", "cause", "lines_read", "bytes_read", "version"))
    live.tell(artifact.incident_id, "artifact", artifact.number, artifact.version)


class _Walk:
    """Walks through the files of one archive and holds what is known of them."""

    def __init__(self, job: Job, artifact: Artifact) -> None:
        self.job, self.artifact = job, artifact
        self.tree = Tree(artifact.name)
        self.seen = self.unknown = self.unknown_bytes = 0
        self.left = quotas.left(artifact.incident_id, artifact.uploader_id, artifact.token_id)
        self.renewed = time.monotonic()

    def run(self, only_known: bool) -> None:
        known = {member.position: member for member in self.artifact.members.all()}
        self.seen = self.unknown = 0
        for found in open_members(store.bring_original(self.artifact), self.artifact.name):
            self.seen += 1
            self.renew()
            before = known.get(self.seen)
            if before is not None and before.became_id is not None:
                continue
            if isinstance(found, LeftOut):
                self.tree.learn_link(found.path, found.why)
                self.note(found.path, None, found.why)
            else:
                self.member(found, only_known, before is not None and before.wanted)

    def tell_zones(self) -> None:
        """Set the zone of files that became artifacts before the zone of their host was found; read them again.

        A file that is being read at that moment asks a person for its zone, like a file from no archive.
        """
        for member in self.artifact.members.filter(became__isnull=False).select_related("became"):
            zone = self.tree.facts_of(member.path).tz
            if zone is not None and "tz" not in member.told and member.became is not None:
                member.told |= {"tz": zone}
                patiently(partial(self.tell_zone, member, member.became))

    def tell_zone(self, member: ArchiveMember, taken: Artifact) -> None:
        with transaction.atomic():
            RoomCounter.lock(self.artifact.incident_id)
            self.job.hold()
            member.save(update_fields=("told",))
            taken.refresh_from_db()
            if taken.way == Way.ARCHIVE and taken.state in (ArtifactState.READ, ArtifactState.FAILED):
                _set(taken, ArtifactState.QUEUED, None)
                Job.objects.ask_ingest(taken, _queue_of(taken))

    def member(self, found: Member, only_known: bool, wanted: bool) -> None:
        """Take a file in, or record why not. `wanted`: a person asked for it."""
        incoming = store.Incoming()
        try:
            for piece in self.pieces(found.stream):
                incoming.write(piece)
            odd = f"damaged in the archive: {found.damage}" if found.damage else None
            if names_a_zone(found.path) and incoming.size <= SMALL:
                self.tree.learn(found.path, incoming.path.read_text(encoding="utf-8", errors="replace"))
            if incoming.size == 0:
                self.note(found.path, 0, odd or "empty")
            elif wanted or self.chooses(incoming, only_known):
                patiently(lambda: self.take(found.path, incoming, odd))
            else:
                self.unknown += 1
                self.note(found.path, incoming.size, NOT_RECOGNISED)
        finally:
            incoming.discard()

    def chooses(self, incoming: store.Incoming, only_known: bool) -> bool:
        if _recognised(incoming):
            return True
        if only_known:
            return False
        self.unknown_bytes += incoming.size
        return self.unknown_bytes <= UNKNOWN_BYTES

    def pieces(self, stream: IO[bytes]) -> Iterator[bytes]:
        while piece := stream.read(PIECE):
            self.renew()
            yield piece

    def take(self, path: str, incoming: store.Incoming, odd: str | None) -> None:
        """Make a file an artifact, in one transaction with its `ArchiveMember`. Its uploader is that of the archive."""
        with transaction.atomic():
            RoomCounter.lock(self.artifact.incident_id)
            self.job.hold()
            incident = self.artifact.incident
            same = incident.artifacts.filter(sha256=incoming.sha256).exclude(state=ArtifactState.PURGED).first()
            if same is not None:
                self.note(path, incoming.size, f"the same content as artifact {same.number}", same)
                return
            from incidents.content.visible import visible_name  # loads Polars: see `ingest.ingest`

            self.left.spend(incoming.size)
            incoming.keep(incident.pk)
            taken = Artifact.objects.create(
                incident=incident,
                number=RoomCounter.next_number(incident.pk, "artifact_number"),
                sha256=incoming.sha256,
                name=visible_name(path.replace("!", "/")),
                size=incoming.size,
                way=Way.ARCHIVE,
                uploader=self.artifact.uploader,
                token=self.artifact.token,
                state=ArtifactState.QUEUED,
            )
            self.note(path, incoming.size, odd, taken)
            live.tell(incident.pk, "artifact", taken.number, taken.version)
            Job.objects.ask_ingest(taken, _queue_of(taken))

    def note(self, path: str, size: int | None, why: str | None, became: Artifact | None = None) -> None:
        from incidents.content.visible import visible  # as above
        from parsers.secrets.words import without_secrets

        fields: dict[str, Any] = {
            "path": without_secrets(visible(path)),
            "size": size,
            "why": visible(why) if why else None,
            "became": became,
            "told": self.tree.facts_of(path).as_json(),
        }
        ArchiveMember.objects.update_or_create(archive=self.artifact, position=self.seen, defaults=fields)

    def renew(self) -> None:
        if time.monotonic() - self.renewed > RENEW_S:
            self.renewed = time.monotonic()
            patiently(self.job.renew)

    def words(self) -> str | None:
        """Return a remark on the whole archive: its collector and how many files were left out."""
        collector = collector_of(self.artifact.members.values_list("path", flat=True))
        rest = self.artifact.members.filter(became__isnull=True).count()
        said = [
            f"A tree made by {collector}." if collector else "",
            f"{rest} of {self.seen} files were not taken in." if rest else "",
        ]
        return " ".join(word for word in said if word) or None


def _queue_of(artifact: Artifact) -> str:
    return Queue.LARGE if artifact.size >= settings.EXHIBIT_LARGE_BYTES else Queue.SMALL


def _recognised(incoming: store.Incoming) -> bool:
    """Tell by its head whether a format claims a file, or whether it is a terminal transcript."""
    from parsers.registry import ENOUGH, rank  # loads Polars: see `ingest.ingest`
    from parsers.text.source import open_text
    from parsers.text.transcripts import scribe_of

    if scribe_of(incoming.path) is not None:
        return True
    try:
        with open_text(incoming.path) as text:
            claims = rank(text.head(text.start, text.size))
    except NotText:
        return False
    return bool(claims) and claims[0].claim.strength >= ENOUGH

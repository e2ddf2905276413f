"""The search over lines of artifacts: a scan that ends after a while, says how far it came, and can be gone on with.

Lines are matched as they are shown: with every secret masked, whatever a lead lifted. The bytes of a line are looked at first
only because that is ten times as fast; what is masked is not found, not counted and not told apart from what is not there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db.models import Prefetch, Q, QuerySet
from django.urls import reverse

from incidents.content.visible import visible
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.evidence.reading import Reading
from incidents.models.room.incident import Incident
from incidents.pages.search.rooms_search import Query, around
from incidents.storage import store
from parsers.errors import ParserError

if TYPE_CHECKING:
    from parsers.lines import LineReader

SECONDS = 2.0
MOST_HITS = 40
_BLOCK = 2_000  # lines looked at between two looks at the clock
_AT_A_TIME = 1_000  # artifacts fetched
# A scan keeps a processor busy: whoever comes third waits, so that the pages of rooms stay quick.
_AT_ONCE = threading.BoundedSemaphore(2)
# Spelled out for the page, so never in the bytes; a line is read as it is shown when such a sign is looked for.
_SPELLED = frozenset("*⟨⟩␡") | frozenset(map(chr, range(0x2400, 0x2421)))


@dataclass(frozen=True)
class Place:
    """Where a scan stands: a room, an artifact of it by number, a line. Rooms go newest first."""

    room: int
    number: int
    line: int

    def __str__(self) -> str:
        return f"{self.room}.{self.number}.{self.line}"

    @classmethod
    def of(cls, text: str) -> Place | None:
        """Read a place out of an address; nonsense is refused, nothing is None."""
        if not text:
            return None
        parts = text.split(".")
        if len(parts) != 3 or not all(part.isdecimal() and len(part) < 16 for part in parts):
            raise Refused("This link does not say where the search stood. Search again.", 422)
        return cls(*map(int, parts))


@dataclass(frozen=True)
class LineHit:
    artifact: Artifact
    line_no: int
    pieces: list[tuple[str, bool]]

    @property
    def name(self) -> str:
        return visible(self.artifact.name)

    @property
    def href(self) -> str:
        address = reverse("lines", args=[self.artifact.incident.slug, self.artifact.number])
        return f"{address}?at={self.line_no}#L{self.line_no}"


@dataclass
class Scan:
    """What a scan came to. `next` is where to go on, None at the end; `unread` could not be opened."""

    files: int  # in all, of what was asked for from its beginning
    hits: list[LineHit] = field(default_factory=list)
    lines: int = 0
    passed: int = 0  # files read to their end in this pass
    unread: list[str] = field(default_factory=list)
    waiting: int = 0  # nothing of them was read yet, or they are archives, whose members are files of their own
    next: Place | None = None
    busy: bool = False


def scan(rooms: QuerySet[Incident], query: Query, after: Place | None = None, seconds: float = SECONDS) -> Scan:
    """Look through the lines of these rooms from `after` on, for so many seconds or MOST_HITS hits.

    A scan always comes a block further than where it began, so going on ends. `busy`: others scan; nothing was looked at.
    """
    query.check()
    ids = list(rooms.values_list("pk", flat=True))
    done = Scan(_files(ids).count())
    if not _AT_ONCE.acquire(timeout=seconds):
        done.busy, done.next = True, after
        return done
    try:
        _run(ids, query, after, time.monotonic() + seconds, done)
    finally:
        _AT_ONCE.release()
    return done


def _run(rooms: list[int], query: Query, after: Place | None, deadline: float, done: Scan) -> None:
    for artifact in _from(rooms, after):
        first = after.line if after and (after.room, after.number) == (artifact.incident_id, artifact.number) else 1
        try:
            reader = store.lines_of(artifact)
            if reader is None:
                done.waiting += 1
            else:
                if not _look_through(artifact, reader, max(first, 1), query, deadline, done):
                    return
                done.passed += 1
        except (OSError, ParserError):  # its file is away, or it is being read anew: the page says so
            done.unread.append(visible(artifact.name))
        if time.monotonic() > deadline:
            done.next = Place(artifact.incident_id, artifact.number + 1, 1)
            return


def _look_through(
    artifact: Artifact, reader: LineReader, first: int, query: Query, deadline: float, done: Scan
) -> bool:
    """Look through one file; False when the scan is to end within it."""
    for begin in range(first, reader.count + 1, _BLOCK):
        for line_no, text in _matches(reader, begin, min(begin + _BLOCK - 1, reader.count), query):
            if len(done.hits) == MOST_HITS:
                done.next = Place(artifact.incident_id, artifact.number, line_no)
                return False
            done.hits.append(LineHit(artifact, line_no, around(text, query)))
        done.lines += min(_BLOCK, reader.count - begin + 1)
        if time.monotonic() > deadline and begin + _BLOCK <= reader.count:
            done.next = Place(artifact.incident_id, artifact.number, begin + _BLOCK)
            return False
    return True


def _from(rooms: list[int], after: Place | None) -> Iterator[Artifact]:
    """Artifacts of these rooms from a place on, some at a time: nobody waits for files that this pass never comes to."""
    readings = Prefetch("readings", Reading.objects.only("artifact_id", "number", "state"))
    ordered = (
        _files(rooms)
        .select_related("incident", "reading")
        .defer("reading__claims", "reading__tables", "reading__hints", "reading__account")
        .prefetch_related(readings)
        .order_by("-incident_id", "number")
    )
    at = Q() if after is None else Q(incident_id__lt=after.room) | Q(incident_id=after.room, number__gte=after.number)
    while batch := list(ordered.filter(at)[:_AT_A_TIME]):
        yield from batch
        if len(batch) < _AT_A_TIME:
            return
        last = batch[-1]
        at = Q(incident_id__lt=last.incident_id) | Q(incident_id=last.incident_id, number__gt=last.number)


def _files(rooms: list[int]) -> QuerySet[Artifact]:
    return Artifact.objects.filter(incident__in=rooms).exclude(state=ArtifactState.PURGED)


def _matches(reader: LineReader, first: int, last: int, query: Query) -> Iterator[tuple[int, str]]:
    """Give the lines that match as they are shown. What is left out is asked of the masked text alone: it, too, would tell."""
    if any(sign in _SPELLED for term in query.terms for sign in term):
        near = [first, last]
    else:
        wanted = Query(query.groups)
        near = [number for number, text in reader.texts(first, last) if wanted.matches(_flat(text, query))]
    if not near:
        return
    for line in reader.lines(near[0], near[-1]):
        if query.matches(_flat(line.text, query)):
            yield line.line_no, line.text


def _flat(text: str, query: Query) -> str:
    """A phrase is found whatever blanks and tabs stand between its words."""
    return " ".join(text.split()) if query.has_phrase else text

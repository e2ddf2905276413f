"""Search the lines of artifacts: a scan that ends after some seconds, reports how far it came, and can be continued.

Lines are matched as they are shown, with every secret masked, even if a lead lifted the mask. The raw bytes of a line
are checked first only because that is ten times as fast. Masked text is neither found nor counted, so a search cannot
reveal it.
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
_BLOCK = 2_000  # lines searched between two looks at the clock
_AT_A_TIME = 1_000  # artifacts fetched at once
# A scan keeps a processor busy: a third scan waits, so that the pages of rooms stay quick.
_AT_ONCE = threading.BoundedSemaphore(2)
# Characters that only the shown text has, never the raw bytes; if one is searched for, lines are read as they are
# shown.
_SPELLED = frozenset("*⟨⟩␡") | frozenset(map(chr, range(0x2400, 0x2421)))


@dataclass(frozen=True)
class Place:
    """The position of a scan: a room, the number of an artifact, a line. Rooms are scanned newest first."""

    room: int
    number: int
    line: int

    def __str__(self) -> str:
        return f"{self.room}.{self.number}.{self.line}"

    @classmethod
    def of(cls, text: str) -> Place | None:
        """Read a place from an address; None for an empty one; raise `Refused` for nonsense."""
        if not text:
            return None
        parts = text.split(".")
        if len(parts) != 3 or not all(part.isdecimal() and len(part) < 16 for part in parts):
            raise Refused("This link does not say where the search stopped. Search again.", 422)
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
    """The result of a scan. `next` is where to continue, None at the end; `unread` could not be opened."""

    files: int  # number of all files in the search
    hits: list[LineHit] = field(default_factory=list)
    lines: int = 0
    passed: int = 0  # files read to their end in this pass
    unread: list[str] = field(default_factory=list)
    waiting: int = 0  # nothing of them was read yet, or they are archives, whose members are files of their own
    next: Place | None = None
    busy: bool = False


def scan(rooms: QuerySet[Incident], query: Query, after: Place | None = None, seconds: float = SECONDS) -> Scan:
    """Search the lines of these rooms from `after` on, for this many seconds or up to MOST_HITS hits.

    A scan always advances by at least a block, so continuing it comes to an end. `busy`: other scans run, nothing was
    searched.
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
        except (OSError, ParserError):  # the file is away, or it is being read again: the page says so
            done.unread.append(visible(artifact.name))
        if time.monotonic() > deadline:
            done.next = Place(artifact.incident_id, artifact.number + 1, 1)
            return


def _look_through(
    artifact: Artifact, reader: LineReader, first: int, query: Query, deadline: float, done: Scan
) -> bool:
    """Search one file; return False if the scan must stop before its end."""
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
    """Yield the artifacts of these rooms from a place on, in batches, so that no unneeded file is fetched."""
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
    """Yield the lines that match as they are shown. Excluded words are tested on masked text."""
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
    """Join words with single blanks, so that a phrase is found whatever blanks and tabs stand between its words."""
    return " ".join(text.split()) if query.has_phrase else text

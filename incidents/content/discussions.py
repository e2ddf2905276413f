"""Discussions of notes as a reader sees them: place, rendered text, and what this reader may do with each note.

A page of discussions takes the same few queries, however many notes it shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Count, F, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from incidents.access import Right, Room
from incidents.content import markup, references
from incidents.content.references import Known
from incidents.models.judging.finding import Dispute
from incidents.models.words.note import Note

UNDO_FOR = timedelta(minutes=10)
A_PAGE = 20
REPLIES_SHOWN = 5


@dataclass(frozen=True)
class Place:
    """Address of what a discussion is about, and words for it."""

    href: str
    text: str


@dataclass(frozen=True)
class Seen:
    """A note as this reader sees it. `undo`: this reader deleted it a moment ago and may restore it."""

    note: Note
    html: SafeString
    mine: bool
    undo: bool = False
    place: Place | None = None

    @property
    def deleted(self) -> bool:
        return self.note.deleted_at is not None


@dataclass(frozen=True)
class Thread:
    """A first note with its newest replies; `earlier` counts the replies that are not shown."""

    first: Seen
    replies: list[Seen] = field(default_factory=list)
    earlier: int = 0
    whole: bool = False  # all replies are shown, because the discussion has a page to itself

    @property
    def pk(self) -> int:
        return self.first.note.pk

    @property
    def resolved(self) -> bool:
        return self.first.note.resolved_at is not None

    @property
    def begins(self) -> str:
        """Return the first words, as the title of a resolved discussion that is folded."""
        return "This note was deleted." if self.first.deleted else references.short(markup.plain(self.first.note.text))

    @property
    def count(self) -> int:
        return self.earlier + len(self.replies)


def roots(room: Room) -> QuerySet[Note]:
    """Return the first notes of the room's discussions that this reader may see, oldest first.

    A deleted first note stays while it has replies, and for the person who deleted it as long as undo is offered.
    """
    alive = Q(deleted_at__isnull=True)
    just_now = Q(deleted_by=room.user, deleted_at__gt=timezone.now() - UNDO_FOR)
    answered = Q(pk__in=_living_replies(room).values("reply_to"))
    return (
        room.incident.notes.filter(reply_to__isnull=True)
        .filter(alive | just_now | answered)
        .select_related("author", "edited_by", "deleted_by", "resolved_by")
        .order_by("created_at", "id")
    )


def living(room: Room) -> QuerySet[Note]:
    """Return all notes of the room that are not deleted, including replies."""
    return room.incident.notes.filter(deleted_at__isnull=True)


def on_finding(room: Room, key: str) -> QuerySet[Note]:
    return roots(room).filter(finding_key=key)


def on_lines(room: Room, sha256: str) -> QuerySet[Note]:
    return roots(room).filter(sha256=sha256).order_by("line_from", "created_at", "id")


def on_range(room: Room, sha256: str, first: int, last: int) -> QuerySet[Note]:
    """Return the first notes of discussions whose lines overlap the range, both ends included."""
    return on_lines(room, sha256).filter(line_from__lte=last, line_to__gte=first)


def newest(notes: QuerySet[Note], most: int = A_PAGE) -> tuple[list[Note], int]:
    """Return the newest notes of a list, oldest first, and how many notes come before them, in one query."""
    counted = list(notes.annotate(of=Window(Count("pk"))).order_by("-created_at", "-id")[:most])
    before: int = counted[0].of - len(counted) if counted else 0
    return [*counted[::-1]], before


def threads(
    room: Room, first: Sequence[Note], known: Known | None = None, replies_of: int = REPLIES_SHOWN
) -> list[Thread]:
    """Join first notes with their newest replies, places and rendered texts."""
    known = known or Known(room)
    by_root: dict[int, list[Note]] = {}
    counted: dict[int, int] = {}
    if first:
        ranked = _replies(room).filter(reply_to__in=[note.pk for note in first])
        ranked = ranked.annotate(
            from_the_end=Window(RowNumber(), partition_by=F("reply_to"), order_by=F("id").desc()),
            of=Window(Count("pk"), partition_by=F("reply_to")),
        ).filter(from_the_end__lte=replies_of)
        for reply in sorted(ranked, key=lambda reply: reply.pk):
            root_id = reply.reply_to_id or 0
            by_root.setdefault(root_id, []).append(reply)
            counted[root_id] = reply.of
    everyone = [*first, *(reply for replies in by_root.values() for reply in replies)]
    seen = {note.pk: (note, html) for note, html in zip(everyone, rendered(known, everyone), strict=True)}
    held = known.by_hash()
    return [
        Thread(
            _seen(room, *seen[note.pk], held),
            [_seen(room, *seen[reply.pk], held) for reply in by_root.get(note.pk, ())],
            counted.get(note.pk, 0) - len(by_root.get(note.pk, ())),
        )
        for note in first
    ]


def whole(room: Room, root: Note, replies: Iterable[Note]) -> Thread:
    """Return one discussion with the replies passed in."""
    listed = list(replies)
    everyone = [root, *listed]
    known = Known(room)
    texts = rendered(known, everyone)
    held = known.by_hash()
    seen = [_seen(room, note, html, held) for note, html in zip(everyone, texts, strict=True)]
    return Thread(seen[0], seen[1:], whole=True)


def replies(room: Room, root: Note) -> QuerySet[Note]:
    """Return the replies of a discussion that this reader may see, oldest first."""
    return _replies(room).filter(reply_to=root).order_by("id")


def rendered(known: Known, notes: Sequence[Note]) -> list[SafeString]:
    """Render the texts of notes with all their references looked up together; a deleted note has no text."""
    hashes = [note.sha256 for note in notes if note.sha256]
    return render(known, [note.text if note.deleted_at is None else "" for note in notes], hashes)


def render(known: Known, texts: Sequence[str], hashes: Sequence[str] = ()) -> list[SafeString]:
    """Render texts that members of a room wrote, the way notes are rendered."""
    parsed = [markup.parse(text) for text in texts]
    found = references.look_up(known, (ref for text in parsed for ref in text.refs), hashes)
    return [text.html(found) for text in parsed]


@dataclass(frozen=True)
class Objection:
    """A dispute as this reader sees it."""

    dispute: Dispute
    reason: SafeString
    answer: SafeString
    mine: bool
    may_answer: bool


def objections(room: Room, key: str, known: Known | None = None) -> list[Objection]:
    """Return the disputes of a finding: open ones first, then answered and withdrawn ones, newest first."""
    rows = list(
        room.incident.disputes.filter(finding__key=key).select_related("author", "answered_by").order_by("-pk")[:100]
    )
    rows.sort(key=lambda row: not row.open)
    texts = render(known or Known(room), [text for row in rows for text in (row.reason, row.answer or "")])
    return [
        Objection(
            row,
            texts[2 * i],
            texts[2 * i + 1],
            row.author_id == room.user.pk,
            row.open and row.author_id != room.user.pk and room.may(Right.DISPUTE),
        )
        for i, row in enumerate(rows)
    ]


def place_of(room: Room, note: Note, held: dict[str, tuple[int, str]]) -> Place | None:
    """Name what a discussion is about; None for the room as a whole. `held`: number and name of artifacts by hash."""
    slug = room.incident.slug
    if note.finding_key:
        return Place(reverse("finding", args=[slug, note.finding_key]), "on a finding")
    if note.sha256 and note.sha256 in held:
        number, name = held[note.sha256]
        where = ""
        if note.line_from:
            where = f" {note.line_from}" + (f"–{note.line_to}" if note.line_to != note.line_from else "")
        return Place(references.lines_address(room, number, note.line_from, note.line_to), f"{name}{where}")
    if note.clock or note.lane:
        said = [f"lane {note.lane_label or note.lane}"] if note.lane else []
        if note.clock and note.t_from is not None and note.t_to is not None:
            said.append(f"clock {note.clock}, {note.t_from:.3f} to {note.t_to:.3f} s")
        elif note.clock and not note.lane:
            said.append(f"clock {note.clock}")
        return Place(references.place_address(room, note.clock, note.t_from, note.t_to, note.lane), ", ".join(said))
    return None


def _seen(room: Room, note: Note, html: SafeString, held: dict[str, tuple[int, str]]) -> Seen:
    own = note.author_id == room.user.pk or room.may(Right.PEOPLE)
    fresh = note.deleted_at is not None and note.deleted_at > timezone.now() - UNDO_FOR
    undo = fresh and own and note.deleted_by_id == room.user.pk
    return Seen(note, html, own, undo, None if note.reply_to_id else place_of(room, note, held))


def _living_replies(room: Room) -> QuerySet[Note]:
    return room.incident.notes.filter(reply_to__isnull=False, deleted_at__isnull=True)


def _replies(room: Room) -> QuerySet[Note]:
    just_now = Q(deleted_by=room.user, deleted_at__gt=timezone.now() - UNDO_FOR)
    shown = room.incident.notes.filter(reply_to__isnull=False).filter(Q(deleted_at__isnull=True) | just_now)
    return shown.select_related("author", "edited_by", "deleted_by", "resolved_by")

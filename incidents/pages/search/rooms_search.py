"""Search the database for what a person may see. Lines of artifacts are searched by `line_scan`.

Access is checked in the same SELECT (`access.visible_to`), so neither a hit nor a count reveals another room. What was
deleted, withdrawn, purged or archived is not found; a search inside an archived room finds its own things.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.contrib.postgres.search import SearchQuery, SearchRank
from django.db.models import Count, F, Q, QuerySet, Value, Window
from django.db.models.fields.json import KeyTextTransform
from django.urls import reverse

from incidents.access import Room, visible_to
from incidents.content.visible import visible
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.judging.case import Host, Statement
from incidents.models.judging.finding import Finding
from incidents.models.judging.observation import Observation
from incidents.models.plan.action import Action
from incidents.models.plan.decision import Decision
from incidents.models.plan.entry import Entry
from incidents.models.plan.review import FollowUp, Review
from incidents.models.room.incident import SEARCHED, Incident
from incidents.models.words.note import Note
from incidents.models.words.wording import GRAM, Grams, said, words

LONGEST = 200
MOST_TERMS = 8
#: Maximum number of the newest rows of a kind that are ranked; above it the count is shown as "more than".
MOST = 1_000
_AROUND = 80
_TOKEN = re.compile(r'(-?)"([^"]*)"?|(\S+)')


@dataclass(frozen=True)
class Query:
    """What was typed: any of `groups`, of which every term must occur, and none of `without`. Case does not matter."""

    groups: tuple[tuple[str, ...], ...]
    without: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Query:
        """Read what somebody typed: words, "phrases", -without, or. Anything else is searched as it stands.

        >>> Query.of('shmat "DISM memory" -pmap')
        Query(groups=(('shmat', 'dism memory'),), without=('pmap',))
        >>> Query.of('ORA-12170 or 0x7f "open')
        Query(groups=(('ora-12170',), ('0x7f', 'open')), without=())
        """
        text = text.replace("\x00", " ")
        if len(text) > LONGEST:
            raise Refused(f"Search for at most {LONGEST} characters; you typed {len(text)}. Part of it is enough.", 422)
        groups: list[list[str]] = [[]]
        without: list[str] = []
        for minus, quoted, word in _TOKEN.findall(text):
            if word.lower() == "or" and groups[-1]:
                groups.append([])
                continue
            # A dash before a word excludes it; a dash alone, or "->", excludes nothing.
            if word.startswith("-") and word[1:2].isalnum():
                minus, word = "-", word[1:]
            term = " ".join((quoted or word).lower().split())
            if term:
                (without if minus else groups[-1]).append(term)
        kept = tuple(tuple(dict.fromkeys(group)) for group in groups if group)
        if sum(map(len, kept)) + len(without) > MOST_TERMS:
            raise Refused(f"Search for at most {MOST_TERMS} words at once; put a phrase in quotes.", 422)
        return cls(kept, tuple(dict.fromkeys(without)))

    @property
    def empty(self) -> bool:
        return not self.groups

    @property
    def terms(self) -> list[str]:
        return [term for group in self.groups for term in group]

    @property
    def has_phrase(self) -> bool:
        return any(" " in term for term in (*self.terms, *self.without))

    def matches(self, text: str) -> bool:
        """Return whether a text contains what was asked for, by parts of words."""
        lower = text.lower()
        if any(term in lower for term in self.without):
            return False
        return any(all(term in lower for term in group) for group in self.groups)

    def check(self) -> None:
        """Refuse what no index can answer: punctuation alone, or too few characters."""
        for group in self.groups:
            if not any(len(term) >= GRAM or term.isalnum() for term in group):
                raise Refused("Search for a word, or for at least three characters of one.", 422)


@dataclass(frozen=True)
class Hit:
    """Something found. `pieces` are its text around the match: (piece, whether it is the match)."""

    kind: str
    title: str
    href: str
    pieces: list[tuple[str, bool]]
    room: str
    room_href: str


@dataclass(frozen=True)
class Found:
    """The hits of one kind on one page; `count` of all, or MOST if there are that many or more."""

    kind: Kind
    hits: list[Hit]
    count: int

    @property
    def more(self) -> bool:
        return self.count > len(self.hits)

    @property
    def capped(self) -> bool:
        return self.count >= MOST


@dataclass(frozen=True)
class Kind:
    """One kind of thing that is searched: its rows in some rooms, its text, and how a row is shown."""

    name: str
    title: str
    rows: Callable[[QuerySet[Incident]], QuerySet[Any]]
    fields: tuple[str, ...]
    show: Callable[[Any], tuple[str, str, str]]  # title, text, address


def _alive(model: Any) -> Callable[[QuerySet[Incident]], QuerySet[Any]]:
    return lambda rooms: model.objects.filter(incident__in=rooms, deleted_at__isnull=True)


def _findings(rooms: QuerySet[Incident]) -> QuerySet[Finding]:
    standing = Finding.objects.filter(incident__in=rooms, gone_since__isnull=True, withdrawn=False)
    return standing.annotate(
        headline=KeyTextTransform("headline", "current__content"),
        expert=KeyTextTransform("expert", "current__content"),
    )


def _artifacts(rooms: QuerySet[Incident]) -> QuerySet[Artifact]:
    return Artifact.objects.filter(incident__in=rooms).exclude(state=ArtifactState.PURGED)


def _room(row: Incident) -> tuple[str, str, str]:
    texts = [row.symptom_text, row.affected, row.last_change, row.measured_how]
    return row.title, " · ".join(filter(None, texts)), reverse("room", args=[row.slug])


def _finding(row: Any) -> tuple[str, str, str]:
    return (
        row.headline or row.rule,
        f"{row.rule} · {row.expert or ''}",
        reverse("finding", args=[row.incident.slug, row.key]),
    )


def _observation(row: Observation) -> tuple[str, str, str]:
    lines = reverse("lines", args=[row.incident.slug, row.artifact_no])
    return row.headline, row.said.removeprefix(row.headline), f"{lines}?at={row.line_no}#L{row.line_no}"


def _note(row: Note) -> tuple[str, str, str]:
    return "", row.text, reverse("note-thread", args=[row.incident.slug, row.reply_to_id or row.pk])


def _statement(row: Statement) -> tuple[str, str, str]:
    return f"{row.name}, {row.author_label}", row.text, reverse("case", args=[row.incident.slug])


def _decision(row: Decision) -> tuple[str, str, str]:
    return row.words, row.outcome or "", f"{reverse('plan', args=[row.incident.slug])}#decision-{row.pk}"


def _action(row: Action) -> tuple[str, str, str]:
    return row.text, row.expected or "", f"{reverse('plan', args=[row.incident.slug])}#action-{row.pk}"


def _entry(row: Entry) -> tuple[str, str, str]:
    return row.get_kind_display(), row.text, f"{reverse('log', args=[row.incident.slug])}#entry-{row.pk}"


def _review(row: Review) -> tuple[str, str, str]:
    text = "\n".join(text for text in (row.surprised, row.helped, row.hindered) if text)
    return "Review", text, reverse("review", args=[row.incident.slug])


def _follow_up(row: FollowUp) -> tuple[str, str, str]:
    return "Follow-up", row.text, f"{reverse('review', args=[row.incident.slug])}#follow-up-{row.pk}"


def _artifact(row: Artifact) -> tuple[str, str, str]:
    return row.name, "", reverse("lines", args=[row.incident.slug, row.number])


KINDS = (
    Kind("room", "Rooms", lambda rooms: Incident.objects.filter(pk__in=rooms), SEARCHED, _room),
    Kind("finding", "Findings", _findings, ("said",), _finding),
    Kind("observation", "What the evidence shows", lambda rooms: Observation.objects.filter(incident__in=rooms), ("said",), _observation),
    Kind("note", "Notes", _alive(Note), ("text",), _note),
    Kind("decision", "Decisions", _alive(Decision), ("question", "outcome"), _decision),
    Kind("action", "Actions", _alive(Action), ("text", "expected"), _action),
    Kind("entry", "What people did", _alive(Entry), ("text",), _entry),
    Kind("review", "Reviews", lambda rooms: Review.objects.filter(incident__in=rooms), ("surprised", "helped", "hindered"), _review),
    Kind("follow-up", "Follow-ups", _alive(FollowUp), ("text",), _follow_up),
    Kind("statement", "Statements", lambda rooms: Statement.objects.filter(incident__in=rooms), ("name", "text", "author_label"), _statement),
    Kind("artifact", "Artifacts", _artifacts, ("name",), _artifact),
)  # fmt: skip
NAMES = tuple(kind.name for kind in KINDS)


def scope(user: User | AnonymousUser, room: Room | None) -> QuerySet[Incident]:
    """Return the rooms to search as a queryset: one, or all visible ones that are not archived."""
    if room is not None:
        return Incident.objects.filter(pk=room.incident.pk).order_by()
    return visible_to(user).filter(archived_at__isnull=True).order_by()


def search(rooms: QuerySet[Incident], query: Query, kinds: Sequence[Kind], first: int, count: int) -> list[Found]:
    """Query each kind once: hits `first` to `first + count` by rank, newest first among equals, and the total."""
    query.check()
    return [_ask(kind, rooms.values("pk"), query, first, count) for kind in kinds]


def search_room(room: Room, query: Query, kinds: Sequence[Kind], first: int, count: int) -> list[Found]:
    """Search one room. Its own texts were read when it was entered, so the database is asked for all others only."""
    query.check()
    found = []
    for kind in kinds:
        if kind.name == "room":
            texts = " ".join(str(getattr(room.incident, name) or "") for name in SEARCHED)
            hits = [_hit(kind, room.incident, query)] if query.matches(texts) else []
            found.append(Found(kind, hits[first : first + count], len(hits)))
        else:
            found.append(_ask(kind, scope(room.user, room).values("pk"), query, first, count))
    return found


def _ask(kind: Kind, rooms: Any, query: Query, first: int, count: int) -> Found:
    text = said(*kind.fields)
    of_kind = kind.rows(rooms).annotate(the_text=text, the_words=words(text), the_grams=Grams(text))
    match = _matching(query, kind)
    newest = of_kind.filter(match).order_by("-pk").values("pk")[:MOST]
    asked = SearchQuery(" ".join(query.terms), config="simple", search_type="plain")
    ranked = (
        kind.rows(rooms)
        .filter(pk__in=newest)
        .annotate(relevance=SearchRank(words(text), asked), in_all=Window(Count("*")))
        .order_by("-relevance", "-pk")
    )
    if kind.name != "room":
        ranked = ranked.select_related("incident")
    rows = list(ranked[first : first + count])
    return Found(kind, [_hit(kind, row, query) for row in rows], rows[0].in_all if rows else 0)


def _matching(query: Query, kind: Kind) -> Q:
    match = Q()
    for group in query.groups:
        every = Q()
        for term in group:
            every &= _holds(term, kind)
        match |= every
    for term in query.without:
        match &= ~Q(the_text__icontains=term)
    return match


def _holds(term: str, kind: Kind) -> Q:
    """Return the condition for a term: an index of trigrams or word beginnings, then a check of the rows."""
    if len(term) < GRAM and not term.isalnum():
        return Q(the_text__icontains=term)
    if len(term) < GRAM:
        holds = Q(the_words=SearchQuery(f"'{term}':*", config="simple", search_type="raw"))
    else:
        holds = Q(the_grams__contains=Grams(Value(term))) & Q(the_text__icontains=term)
    if kind.name == "room" and len(term) >= GRAM:
        hosts = Host.objects.annotate(the_grams=Grams(F("name"))).filter(the_grams__contains=Grams(Value(term)))
        holds |= Q(pk__in=hosts.filter(name__icontains=term).values("incident"))
    return holds


def _hit(kind: Kind, row: Any, query: Query) -> Hit:
    title, text, href = kind.show(row)
    incident = row if kind.name == "room" else row.incident
    room_href = reverse("room", args=[incident.slug])
    return Hit(kind.name, visible(title), href, around(visible(text, keep="\n"), query), incident.title, room_href)


def around(text: str, query: Query, width: int = 2 * _AROUND) -> list[tuple[str, bool]]:
    """Cut a text down to the surroundings of the first match, with every match marked. Nothing is escaped here.

    >>> around("the gap ends at the shmat call", Query.of("shmat"))
    [('the gap ends at the ', False), ('shmat', True), (' call', False)]
    >>> "".join(piece for piece, _ in around("x" * 500 + " shmat " + "y" * 500, Query.of("SHMAT")))[:5]
    '… xxx'
    """
    text = " ".join(text.split())
    terms = sorted(query.terms, key=len, reverse=True)
    if not terms or not text:
        return [(text[:width], False)] if text else []
    pattern = re.compile("|".join(map(re.escape, terms)), re.IGNORECASE)
    first = pattern.search(text)
    begin = max(0, (first.start() if first else 0) - _AROUND // 2) if len(text) > width else 0
    end = min(len(text), max(begin + width, first.end() if first else 0))
    # Cut at a word border if one is near.
    if begin and 0 < (blank := text.find(" ", begin, begin + 20)) < (first.start() if first else 0):
        begin = blank + 1
    if end < len(text) and (blank := text.rfind(" ", end - 20, end)) > (first.end() if first else 0):
        end = blank
    shown = f"{'… ' if begin else ''}{text[begin:end]}{' …' if end < len(text) else ''}"
    pieces: list[tuple[str, bool]] = []
    at = 0
    for match in pattern.finditer(shown):
        pieces += [(shown[at : match.start()], False)] if match.start() > at else []
        pieces.append((match.group(), True))
        at = match.end()
    return pieces + ([(shown[at:], False)] if at < len(shown) else [])

"""Look up what references in a room's notes point at, for a whole page at once, and offer references to complete.

Nothing of another room is ever found: every query starts at the room that the reader entered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.urls import reverse

from incidents.access import Room
from incidents.content.markup import Ref, Target, plain, spoken
from incidents.content.visible import visible
from incidents.models.evidence.artifact import ArtifactState
from incidents.models.people.membership import Membership
from incidents.models.words.note import Note

MOST_OFFERED = 6  # maximum number of offers of each kind
LONGEST_TITLE = 70
_LINES = re.compile(r"^(?P<name>.*?)[:\s]+L?(?P<first>\d{1,15})(?:[-–]L?(?P<last>\d{1,15}))?$")


@dataclass(frozen=True)
class Offer:
    """An entry of the completion: the text to insert, what the entry shows, and its kind."""

    insert: str
    text: str
    detail: str
    kind: str


def lines_address(room: Room, number: int, first: int | None, last: int | None) -> str:
    """Return the address of lines of an artifact, as the lines page expects it."""
    address = reverse("lines", args=[room.incident.slug, number])
    if not first:
        return address
    return f"{address}?at={first}#L{first}" + (f"-L{last}" if last and last != first else "")


def place_address(
    room: Room, clock: str | None, begin: float | None, end: float | None, lane: str | None = None
) -> str:
    """Return the address of a time range or a lane of the timeline."""
    return time_place(room.incident.slug, clock, begin, end, lane)


def time_place(slug: str, clock: str | None, begin: float | None, end: float | None, lane: str | None = None) -> str:
    """Return the address of a time range or a lane of the timeline of the room with this slug."""
    parameters = {"clock": clock, "from": begin, "to": end, "lane": lane}
    named = urlencode({name: value for name, value in parameters.items() if value is not None})
    return f"{reverse('room', args=[slug])}#{named}"


@dataclass
class Known:
    """Things of a room that a page has read already, so that it does not query for them again.

    `artifacts`: number to name and hash; `findings`: key to rule and headline. `learn` looks up what is missing.
    """

    room: Room
    artifacts: dict[int, tuple[str, str]] = field(default_factory=dict)
    findings: dict[str, tuple[str, str]] = field(default_factory=dict)
    people: dict[str, User | None] = field(default_factory=dict)
    notes: dict[int, bool] = field(default_factory=dict)

    def learn(self, refs: Iterable[Ref], hashes: Iterable[str] = ()) -> None:
        """Look up those that are not known yet, in at most four queries."""
        wanted, incident = set(refs), self.room.incident
        keys = {ref.name for ref in wanted if ref.kind == "finding"} - self.findings.keys()
        if keys:
            rows = incident.findings.filter(key__in=keys).values_list("key", "rule", "current__content__headline")
            self.findings |= {key: (rule, headline or rule) for key, rule, headline in rows}
        numbers = {int(ref.name) for ref in wanted if ref.kind in ("artifact", "lines")} - self.artifacts.keys()
        hashed = set(hashes) - {sha256 for _, sha256 in self.artifacts.values()}
        if numbers or hashed:
            held = incident.artifacts.filter(Q(number__in=numbers) | Q(sha256__in=hashed))
            self.artifacts |= {n: (name, sha) for n, name, sha in held.values_list("number", "name", "sha256")}
        ids = {int(ref.name) for ref in wanted if ref.kind == "note"} - self.notes.keys()
        if ids:
            existing = set(incident.notes.filter(pk__in=ids, deleted_at__isnull=True).values_list("pk", flat=True))
            self.notes |= {id: id in existing for id in ids}
        names = {ref.name for ref in wanted if ref.kind == "person"} - self.people.keys()
        if names:
            members = {member.user.get_username().lower(): member.user for member in members_named(self.room, names)}
            self.people |= {name: members.get(name) for name in names}

    def by_hash(self) -> dict[str, tuple[int, str]]:
        """Return number and name of the artifacts by hash."""
        return {sha256: (number, name) for number, (name, sha256) in self.artifacts.items()}

    def target(self, ref: Ref) -> Target | None:
        """Return the target of a reference; None if this room has no such thing."""
        slug = self.room.incident.slug
        match ref.kind:
            case "finding" if ref.name in self.findings:
                rule, headline = self.findings[ref.name]
                return Target(short(headline), reverse("finding", args=[slug, ref.name]), rule)
            case "artifact" | "lines" if int(ref.name) in self.artifacts:
                first, last = (int(ref.begin), int(ref.end)) if ref.kind == "lines" else (None, None)
                text = short(self.artifacts[int(ref.name)][0])
                if first:
                    text += f" {first}" + (f"–{last}" if last != first else "")
                return Target(text, lines_address(self.room, int(ref.name), first, last), spoken(ref))
            case "note" if self.notes.get(int(ref.name)):
                return Target(f"note {ref.name}", reverse("note-thread", args=[slug, int(ref.name)]))
            case "person" if user := self.people.get(ref.name):
                return Target(f"@{user.get_username()}", title=user.get_full_name())
            case "time":
                return Target(spoken(ref), place_address(self.room, ref.name, ref.begin, ref.end))
            case "lane":
                return Target(short(spoken(ref)), place_address(self.room, None, None, None, ref.name), "lane")
        return None


def look_up(known: Known, refs: Iterable[Ref], hashes: Iterable[str] = ()) -> dict[Ref, Target]:
    """Find the targets of references; those without a target in this room are left out."""
    wanted = set(refs)
    known.learn(wanted, hashes)
    return {ref: target for ref in wanted if (target := known.target(ref)) is not None}


def members_named(room: Room, names: Iterable[str]) -> QuerySet[Membership]:
    """Return the memberships of people with these user names (in lower case) who still have an account."""
    named = Membership.objects.filter(incident=room.incident, user__is_active=True).select_related("user")
    return named.alias(lower=Lower("user__username")).filter(lower__in=set(names))


def people(room: Room, typed: str) -> list[Offer]:
    """Offer members by user name or full name."""
    members = Membership.objects.filter(incident=room.incident, user__is_active=True).select_related("user")
    wanted = (
        Q(user__username__icontains=typed) | Q(user__first_name__icontains=typed) | Q(user__last_name__icontains=typed)
    )
    rows = members.filter(wanted).order_by(Lower("user__username"))[:MOST_OFFERED]
    return [
        Offer(
            f"@{member.user.get_username()}",
            visible(member.user.get_full_name() or member.user.get_username()),
            member.get_team_display(),
            "person",
        )
        for member in rows
    ]


def things(room: Room, typed: str) -> list[Offer]:
    """Offer findings, artifacts with or without a range of lines, notes, and lanes that already have notes."""
    offers: list[Offer] = []
    findings = room.incident.findings.filter(gone_since__isnull=True)
    if typed:
        findings = findings.filter(Q(rule__icontains=typed) | Q(current__content__headline__icontains=typed))
    for key, rule, headline in findings.order_by("rank").values_list("key", "rule", "current__content__headline")[
        :MOST_OFFERED
    ]:
        offers.append(Offer(f"#finding-{key}", short(headline or rule), visible(rule), "finding"))
    lines = _LINES.match(typed)
    name = (lines["name"] if lines else typed).removeprefix("artifact-").strip()
    artifacts = room.incident.artifacts.exclude(state=ArtifactState.PURGED)
    if name:
        numbered = Q(number=int(name)) if name.isascii() and name.isdigit() and len(name) < 10 else Q()
        artifacts = artifacts.filter(Q(name__icontains=name) | numbered)
    for number, held in artifacts.values_list("number", "name")[:MOST_OFFERED]:
        cited, words = f"#artifact-{number}", f"artifact {number}"
        if lines and name:
            first, last = int(lines["first"]), int(lines["last"] or lines["first"])
            cited += f":{first}" + (f"-{last}" if last != first else "")
            words += f", lines {first}–{last}" if last != first else f", line {first}"
        offers.append(Offer(cited, short(held), words, "lines" if lines and name else "artifact"))
    notes = room.incident.notes.filter(deleted_at__isnull=True)
    if typed:
        wanted = typed.removeprefix("note-")
        same = Q(pk=int(wanted)) if wanted.isascii() and wanted.isdigit() and len(wanted) < 16 else Q()
        notes = notes.filter(Q(text__icontains=typed) | same)
    newest: QuerySet[Note] = notes.order_by("-created_at", "-id")
    for id, text in newest.values_list("pk", "text")[:MOST_OFFERED]:
        offers.append(Offer(f"#note-{id}", short(plain(text)), f"note {id}", "note"))
    lanes = room.incident.notes.filter(lane__isnull=False, deleted_at__isnull=True)
    if typed:
        lanes = lanes.filter(Q(lane__icontains=typed) | Q(lane_label__icontains=typed))
    for lane, label in lanes.order_by("lane").values_list("lane", "lane_label").distinct()[:MOST_OFFERED]:
        if lane:
            offers.append(Offer(lane_text(lane, label), short(label or lane), "lane", "lane"))
    return offers


def lane_text(lane: str, label: str | None) -> str:
    """Write a reference to a lane, without the characters that would end it early."""
    plain = re.sub(r"[()|\n]", " ", label or "").strip()
    return f"#lane({lane}|{plain})" if plain and plain != lane else f"#lane({lane})"


def short(text: str) -> str:
    """Cut a title to the length of a link, with invisible characters spelled out."""
    seen = visible(" ".join(text.split()))
    return seen if len(seen) <= LONGEST_TITLE else f"{seen[: LONGEST_TITLE - 1]}…"

"""What references in notes point at, in one room: looked up for all notes of a page at once, and offered while typing.

Nothing of another room is ever found here: every query begins at the room that the reader entered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.urls import reverse

from incidents.access import Room
from incidents.markup import Ref, Target, plain, spoken
from incidents.models.artifact import ArtifactState
from incidents.models.membership import Membership
from incidents.models.note import Note
from incidents.visible import visible

MOST_OFFERED = 6  # of each kind
LONGEST_TITLE = 70
_LINES = re.compile(r"^(?P<name>.*?)[:\s]+L?(?P<first>\d{1,15})(?:[-–]L?(?P<last>\d{1,15}))?$")


@dataclass(frozen=True)
class Offer:
    """A line of the completion: what is put into the text, what the line says, and of what kind it is."""

    insert: str
    text: str
    detail: str
    kind: str


def lines_address(room: Room, number: int, first: int | None, last: int | None) -> str:
    """Address lines of an artifact as the lines page does."""
    address = reverse("lines", args=[room.incident.slug, number])
    if not first:
        return address
    return f"{address}?at={first}#L{first}" + (f"-L{last}" if last and last != first else "")


def place_address(
    room: Room, clock: str | None, begin: float | None, end: float | None, lane: str | None = None
) -> str:
    """Address a time range or a lane of the timeline."""
    said = {"clock": clock, "from": begin, "to": end, "lane": lane}
    named = urlencode({name: value for name, value in said.items() if value is not None})
    return f"{reverse('room', args=[room.incident.slug])}#{named}"


def look_up(room: Room, refs: Iterable[Ref]) -> dict[Ref, Target]:
    """Find what references point at; those that point at nothing in this room are not in the answer."""
    wanted = set(refs)
    found: dict[Ref, Target] = {}
    slug = room.incident.slug
    if keys := {ref.name for ref in wanted if ref.kind == "finding"}:
        rows = room.incident.findings.filter(key__in=keys)
        said = {
            key: (rule, headline)
            for key, rule, headline in rows.values_list("key", "rule", "current__content__headline")
        }
        for ref in wanted:
            if ref.kind == "finding" and ref.name in said:
                rule, headline = said[ref.name]
                found[ref] = Target(short(headline or rule), reverse("finding", args=[slug, ref.name]), rule)
    if numbers := {int(ref.name) for ref in wanted if ref.kind in ("artifact", "lines")}:
        held = dict(room.incident.artifacts.filter(number__in=numbers).values_list("number", "name"))
        for ref in wanted:
            if ref.kind in ("artifact", "lines") and int(ref.name) in held:
                first, last = (int(ref.begin), int(ref.end)) if ref.kind == "lines" else (None, None)
                text = short(held[int(ref.name)])
                if first:
                    text += f" {first}" + (f"–{last}" if last != first else "")
                found[ref] = Target(text, lines_address(room, int(ref.name), first, last), spoken(ref))
    if ids := {int(ref.name) for ref in wanted if ref.kind == "note"}:
        there = set(room.incident.notes.filter(pk__in=ids, deleted_at__isnull=True).values_list("pk", flat=True))
        for ref in wanted:
            if ref.kind == "note" and int(ref.name) in there:
                found[ref] = Target(f"note {ref.name}", reverse("note-thread", args=[slug, int(ref.name)]))
    if names := {ref.name for ref in wanted if ref.kind == "person"}:
        people = {member.user.get_username().lower(): member.user for member in members_named(room, names)}
        for ref in wanted:
            if ref.kind == "person" and ref.name in people:
                user = people[ref.name]
                found[ref] = Target(f"@{user.get_username()}", title=user.get_full_name())
    for ref in wanted:
        if ref.kind == "time":
            found[ref] = Target(spoken(ref), place_address(room, ref.name, ref.begin, ref.end))
        elif ref.kind == "lane":
            found[ref] = Target(short(spoken(ref)), place_address(room, None, None, None, ref.name), "lane")
    return found


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
    """Offer findings, artifacts with or without a range of lines, notes, and lanes that notes already stand on."""
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
    """Write a reference to a lane; what would end it early is left out."""
    plain = re.sub(r"[()|\n]", " ", label or "").strip()
    return f"#lane({lane}|{plain})" if plain and plain != lane else f"#lane({lane})"


def short(text: str) -> str:
    """Cut a title for a link, with everything invisible spelled out."""
    seen = visible(" ".join(text.split()))
    return seen if len(seen) <= LONGEST_TITLE else f"{seen[: LONGEST_TITLE - 1]}…"

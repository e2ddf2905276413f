"""What the room holds and how it was read; the lines themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from incidents import access, analysis, store
from incidents.access import Room
from incidents.errors import Refused
from incidents.glosses import words_of
from incidents.models.artifact import Artifact, ArtifactState, CorrectedField
from incidents.models.reading import Part
from incidents.report import Outlook
from incidents.shares import ACCOUNT, Share, account_shares
from incidents.views.notes import line_notes, placed
from incidents.views.room import newest
from incidents.views.shell import shell
from incidents.visible import visible
from parsers import parquet
from parsers.errors import ParserError
from parsers.lines import LineReader

A_PAGE = 50
SHOWN_FIELDS = (
    CorrectedField.KIND,
    CorrectedField.HOST,
    CorrectedField.ROLE,
    CorrectedField.PHASE,
    CorrectedField.CLOCK,
)
LINES_A_PAGE = 400
MOST_LINES = 2000
MOST_NOTES = 40
LONGEST_LINE = 4000


# --- the list -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownValue:
    name: str
    label: str
    holds: str | None
    corrected: bool


@dataclass(frozen=True)
class PartRow:
    part: Part
    shown: list[ShownValue]
    clocks: str
    lines: int
    shares: list[Share]


@dataclass(frozen=True)
class ArtifactRow:
    artifact: Artifact
    lines: int | None
    kind: str
    shares: list[Share]
    parts: list[PartRow]

    @property
    def one(self) -> PartRow | None:
        """The only part, whose values stand in the artifact's own row."""
        return self.parts[0] if len(self.parts) == 1 else None


@require_GET
def evidence(request: HttpRequest, slug: str) -> HttpResponse:
    """List the artifacts with their parts. `?part=count` and `?part=state&n=` answer with a few words for scripts."""
    room = access.enter(request.user, slug)
    if request.GET.get("part") == "count":
        return HttpResponse(str(shell(room, "evidence")["artifact_count"]), content_type="text/plain")
    if request.GET.get("part") == "state":
        return HttpResponse(state_words(artifact_of(room, request.GET.get("n", ""))), content_type="text/plain")
    found = (
        room.incident.artifacts.select_related("reading", "uploader", "purged_by", "token")
        .prefetch_related("reading__parts", "corrections", "came_in__archive")
        .order_by("number")
    )
    paged = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    rows = [artifact_row(artifact) for artifact in paged]
    context = shell(room, "evidence") | {"artifacts": rows, "paged": paged, "account_names": ACCOUNT, "query": ""}
    return render(request, "incidents/evidence.html", context)


def artifact_row(artifact: Artifact) -> ArtifactRow:
    """Lay an artifact out for the list; the caller prefetched reading, parts and corrections."""
    reading = artifact.reading
    parts = [_part_row(values) for values in analysis.values_of(artifact)]
    said = {c.field: c.value for c in artifact.corrections.all() if c.line_from is None}
    kind = (reading.kind if reading else None) or said.get(CorrectedField.KIND) or ""
    lines = reading.lines if reading else artifact.lines_read if artifact.purged else None
    return ArtifactRow(artifact, lines, kind, account_shares(reading.account) if reading else [], parts)


def _part_row(values: analysis.PartValues) -> PartRow:
    part = values.part
    shown = [
        ShownValue(field, field.label.capitalize(), values.values[field].holds, values.values[field].corrected)
        for field in SHOWN_FIELDS
    ]
    clocks = ", ".join(sorted({str(domain.get("kind") or "none") for domain in part.domains}))
    return PartRow(part, shown, clocks, part.line_to - part.line_from + 1, account_shares(part.account))


def state_words(artifact: Artifact) -> str:
    """Say in a few words what became of an artifact, for the row of its upload."""
    reading = artifact.reading
    if artifact.state == ArtifactState.FAILED:
        return f"not read: {visible(artifact.cause or '')}"
    if artifact.state == ArtifactState.UNPACKED:
        taken, every = artifact.members.filter(became__isnull=False).count(), artifact.members.count()
        words = f"unpacked: {taken} of {every} files taken in"
        return f"{words}. {visible(artifact.cause)}" if artifact.cause else words
    if artifact.state != ArtifactState.READ or reading is None:
        return artifact.get_state_display()
    unread = sum(reading.account.get(name, 0) for name in ("unknown", "damaged"))
    kind = f"recognised as {reading.kind}" if reading.kind else "kept, but of no known kind"
    words = f"{kind}; {reading.lines:,} lines read" + (f", {unread:,} of them not understood" if unread else "")
    return f"{words}. {visible(artifact.cause)}" if artifact.cause else words


def artifact_of(room: Room, number: str | int) -> Artifact:
    """Return an artifact of the room by its number; `Refused` with 404 for none."""
    text = str(number)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Refused("There is no such artifact.", 404)
    found = room.incident.artifacts.select_related("reading", "purged_by").filter(number=int(text)).first()
    if found is None:
        raise Refused("There is no such artifact.", 404)
    return found


# --- lines --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cited:
    """A range that a claim cites, or a claim's place for one range."""

    first: int
    last: int
    headline: str
    href: str

    @property
    def anchor(self) -> str:
        return f"L{self.first}" if self.first == self.last else f"L{self.first}-L{self.last}"

    @property
    def where(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True)
class Unread:
    """Lines that gave no row, and why."""

    first: int
    last: int
    kind: str
    text: str


@dataclass(frozen=True)
class ShownLine:
    number: int
    text: str
    cited: bool
    noted: bool
    state: str
    said: str
    anchors: list[str]


@require_GET
def lines(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show lines of the original, a page of them around `?at=`; the page's script takes over from there."""
    room = access.enter(request.user, slug)
    artifact = artifact_of(room, number)
    context: dict[str, Any] = shell(room, "evidence") | {"artifact": artifact, "count": None, "readable": False}
    reader = None if artifact.purged else reader_of(artifact)
    inside = artifact.members.select_related("became").order_by("position")
    if not artifact.purged and inside.exists():
        context |= {"paged": Paginator(inside, A_PAGE * 4).get_page(request.GET.get("page")), "query": ""}
    if reader is not None:
        outlook, _, _ = newest(room)
        at = _whole(request.GET.get("at"), 1, 1, max(reader.count, 1))
        first = max(1, (at - 1) // LINES_A_PAGE * LINES_A_PAGE + 1)
        last = min(first + LINES_A_PAGE - 1, reader.count)
        cited = cited_ranges(outlook, artifact.number)
        notes = placed(room, line_notes(room, artifact.sha256))
        noted = [(note.line_from or 0, note.line_to or 0) for note in notes]
        unread, unread_count = unread_lines(artifact, MOST_NOTES)
        context |= {
            "readable": True,
            "count": reader.count,
            "at": at,
            "first": first,
            "last": last,
            "before": first - LINES_A_PAGE if first > 1 else None,
            "after": last + 1 if last < reader.count else None,
            "lines": _shown(reader, first, last, cited, noted, unread_between(artifact, first, last)),
            "cited": cited,
            "line_notes": notes,
            "unread": [{"from": u.first, "to": u.last, "kind": u.kind, "text": u.text} for u in unread],
            "unread_count": unread_count,
        }
    return render(request, "incidents/lines.html", context)


@require_GET
def lines_data(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Answer with lines `from` to `to` as JSON, with what cites them, notes on them, how they were read, words in them."""
    room = access.enter(request.user, slug)
    artifact = artifact_of(room, number)
    reader = None if artifact.purged else reader_of(artifact)
    if reader is None:
        raise Refused("The lines of this artifact cannot be shown.", 410 if artifact.purged else 409)
    first = _whole(request.GET.get("from"), 1, 1, max(reader.count, 1))
    last = _whole(request.GET.get("to"), first + LINES_A_PAGE - 1, first, first + MOST_LINES - 1)
    outlook, _, _ = newest(room)
    shown = line_notes(room, artifact.sha256).filter(deleted_at__isnull=True)
    notes = list(shown.filter(line_from__lte=last, line_to__gte=first))
    texts = [(line.line_no, _short(line.text)) for line in reader.lines(first, last)]
    return JsonResponse(
        {
            "from": first,
            "count": reader.count,
            "lines": [{"n": n, "text": text} for n, text in texts],
            "cited": [
                {"from": c.first, "to": c.last, "headline": visible(c.headline), "href": c.href}
                for c in cited_ranges(outlook, artifact.number)
                if c.first <= last and c.last >= first
            ],
            "notes": [
                {
                    "from": note.line_from,
                    "to": note.line_to,
                    "text": visible(note.text, keep="\n"),
                    "author": visible(note.author.get_full_name() or note.author.get_username()),
                    "at": timezone.localtime(note.created_at).strftime("%Y-%m-%d %H:%M UTC"),
                }
                for note in notes
            ],
            "read": [
                {"from": u.first, "to": u.last, "kind": u.kind, "text": visible(u.text)}
                for u in unread_between(artifact, first, last)
            ],
            "words": words_of((text for _, text in texts), artifact.reading.kind if artifact.reading else None),
        }
    )


def reader_of(artifact: Artifact) -> LineReader | None:
    """Open the lines of an artifact by the reading in use; None as long as there is none to go by."""
    reading = artifact.reading
    if reading is None:
        return None
    reading.artifact = artifact
    try:
        return LineReader(store.original(artifact), store.reading_dir(reading))
    except (OSError, ParserError) as error:
        raise Refused("The lines cannot be read just now. They are kept; try again in a moment.", 503) from error


def cited_ranges(outlook: Outlook, number: int) -> list[Cited]:
    """List what the newest findings cite of an artifact, in line order, each range and claim once."""
    ranges = {
        Cited(citation.line_from, citation.line_to, claim.headline, claim.href if claim.key else citation.href)
        for claim in outlook.claims
        for citation in claim.citations
        if citation.artifact == number
    }
    return sorted(ranges, key=lambda cited: (cited.first, cited.last, cited.headline))


def unread_lines(artifact: Artifact, most: int) -> tuple[list[Unread], int]:
    """Return the first lines that gave no row, and how many such notes there are."""
    notes = _notes(artifact)
    if notes is None:
        return [], 0
    count = int(notes.select(pl.len()).collect().item())
    return _unread(notes.sort("line_no").head(most)), count


def unread_between(artifact: Artifact, first: int, last: int) -> list[Unread]:
    notes = _notes(artifact)
    if notes is None:
        return []
    end = pl.col("line_end").fill_null(pl.col("line_no"))
    return _unread(notes.filter((pl.col("line_no") <= last) & (end >= first)).sort("line_no").head(MOST_LINES))


def _notes(artifact: Artifact) -> pl.LazyFrame | None:
    if artifact.reading is None:
        return None
    folder = store.reading_dir(artifact.reading)
    return parquet.scan(folder, "notes") if "notes" in parquet.tables(folder) else None


def _unread(notes: pl.LazyFrame) -> list[Unread]:
    found = notes.select("line_no", "line_end", "kind", "text").collect()
    return [Unread(no, no if end is None else end, kind, text or "") for no, end, kind, text in found.iter_rows()]


def _shown(
    reader: LineReader,
    first: int,
    last: int,
    cited: list[Cited],
    noted: list[tuple[int, int]],
    unread: Iterable[Unread],
) -> list[ShownLine]:
    states = {n: note for note in unread for n in range(max(note.first, first), min(note.last, last) + 1)}
    shown = []
    for line in reader.lines(first, last):
        n = line.line_no
        state = states.get(n)
        shown.append(
            ShownLine(
                n,
                _short(line.text),
                any(c.first <= n <= c.last for c in cited),
                any(begin <= n <= end for begin, end in noted),
                state.kind if state else "",
                f"{state.kind}: {state.text}" if state else "",
                sorted({c.anchor for c in cited if c.first == n and c.first != c.last}),
            )
        )
    return shown


def _short(text: str) -> str:
    """Cut a line that no page can show whole; the original has the rest."""
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} … ({len(text):,} characters)"


def _whole(text: str | None, default: int, least: int, most: int) -> int:
    if text is None or not (text.isascii() and text.isdigit() and len(text) < 16):
        return min(max(default, least), most)
    return min(max(int(text), least), most)

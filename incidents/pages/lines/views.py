"""The lines of an artifact: how each was read, what cites it, what is masked in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import Any
from urllib.parse import quote

import polars as pl
from django.core.paginator import Paginator
from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from incidents import access
from incidents.access import Right
from incidents.content import discussions
from incidents.content.markup import plain
from incidents.content.names import known_as
from incidents.content.report import Outlook
from incidents.content.visible import visible
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState, LiftedMask
from incidents.pages.evidence.views import A_PAGE, Prose, artifact_of, artifact_row, part_of
from incidents.pages.notes.views import lines_section
from incidents.pages.room.views import artifacts_of, known_of, newest
from incidents.pages.shell import shell
from incidents.storage import store
from incidents.work import analysis
from parsers.errors import ParserError
from parsers.lines import Line, LineReader, Mask
from parsers.reference.glossary import Entry, words_of
from parsers.registry import all_formats
from parsers.tables import parquet

LINES_A_PAGE = 400
MOST_LINES = 2000
MOST_NOTES = 40
MOST_TABLES = 5
ROWS_OF_A_TABLE = 100
LONGEST_LINE = 4000
# Until a reading is finished, the lines page shows the lines that exist, and more as they come.
UNDER_WAY = (ArtifactState.QUEUED, ArtifactState.READING, ArtifactState.STOPPED)


@dataclass(frozen=True)
class Cited:
    """A range that a claim cites, or the place of a claim for one range."""

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
    """Lines that gave no row, and the reason."""

    first: int
    last: int
    kind: str
    text: str


@dataclass(frozen=True)
class TextTable:
    """A table that no format knows, as in the text: rows with line and cells; `more` rows are not shown."""

    number: int
    heading: list[str]
    rows: list[tuple[int, list[str]]]
    more: int

    @property
    def first(self) -> int:
        return self.rows[0][0]


@dataclass(frozen=True)
class Piece:
    """A piece of a line; `mask` says in words what is masked there."""

    text: str
    mask: str = ""
    lifted: bool = False


@dataclass(frozen=True)
class ShownLine:
    number: int
    pieces: list[Piece]
    cited: bool
    noted: bool
    state: str
    said: str
    anchors: list[str]


@require_GET
def lines(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show lines of the original, a page of them around `?at=`; the page's script loads the others.

    `?first=unknown` goes to the first line with a note of that kind, within part `&part=`; `?notes=` lists these lines.
    """
    room = access.enter(request.user, slug)
    artifact = artifact_of(room, number)
    part = part_of(artifact, request.GET.get("part"))
    if wanted := request.GET.get("first"):
        return _first_of(artifact, part, wanted)
    held, counts = artifacts_of(room)
    context: dict[str, Any] = shell(room, "evidence", counts) | {"artifact": artifact, "count": None, "readable": False}
    # Prefetched because the layout of the artifact needs it repeatedly; with a reading in use the others are not
    # needed.
    rest = () if artifact.reading is not None and artifact.state == ArtifactState.READ else ("readings",)
    prefetch_related_objects([artifact], "reading__parts", "corrections", *rest)
    reader = None if artifact.purged else reader_of(artifact)
    inside = artifact.members.select_related("became").order_by("position")
    if not artifact.purged and artifact.reading is None and inside.exists():
        context |= {"paged": Paginator(inside, A_PAGE * 4).get_page(request.GET.get("page")), "query": ""}
    row = artifact_row(artifact)
    context |= {"row": row, "error": row.error, "undo": bool(artifact.borders_before)}
    if reader is not None and reader.count:
        outlook, _, _ = newest(room, held)
        at = _whole(request.GET.get("at"), 1, 1, max(reader.count, 1))
        first = max(1, (at - 1) // LINES_A_PAGE * LINES_A_PAGE + 1)
        last = min(first + LINES_A_PAGE - 1, reader.count)
        cited = cited_ranges(outlook, artifact.number)
        notes = lines_section(room, artifact.number, artifact.sha256, known_of(room, outlook))
        noted = [(seen.first.note.line_from or 0, seen.first.note.line_to or 0) for seen in notes["line_notes"]]
        listed = request.GET.get("notes", "")
        unread, counts = unread_lines(artifact, MOST_NOTES, listed, part)
        context |= {
            "readable": True,
            "count": reader.count,
            "at": at,
            "first": first,
            "last": last,
            "before": first - LINES_A_PAGE if first > 1 else None,
            "after": last + 1 if last < reader.count else None,
            "lines": _shown(reader, artifact, first, last, cited, noted),
            "cited": cited,
            **notes,
            "part": part,
            "listed": listed,
            "unread": [{"from": u.first, "to": u.last, "kind": u.kind, "text": u.text} for u in unread],
            "note_counts": counts,
            "unread_count": sum(counts.values()),
            "kinds": sorted({form.kind for form, _ in all_formats()}) if room.may(Right.CORRECT) else [],
            "text_tables": text_tables(artifact),
            "growing": artifact.reading is None and artifact.state in UNDER_WAY,
        }
    return render(request, "lines/lines.html", context)


def _first_of(artifact: Artifact, part: analysis.PartValues | None, kind: str) -> HttpResponse:
    """Go to the first line with a kind of note (or of prose), with the list of all such lines beside it."""
    address = reverse("lines", args=[artifact.incident.slug, artifact.number])
    line = part.part.line_from if part else 1
    if kind == "prose":
        prose = next((piece for piece in artifact_row(artifact).tree if isinstance(piece, Prose)), None)
        line = prose.first if prose else line
        return redirect(f"{address}?at={line}#L{line}")
    found, _ = unread_lines(artifact, 1, kind, part)
    line = found[0].first if found else line
    within = f"&part={part.part.part}" if part else ""
    return redirect(f"{address}?at={line}&notes={quote(kind)}{within}#L{line}")


@require_GET
def lines_data(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Answer with lines `from` to `to` as JSON: masks, citations, notes, how they were read, explained words."""
    room = access.enter(request.user, slug)
    artifact = artifact_of(room, number)
    reader = None if artifact.purged else reader_of(artifact)
    if reader is None:
        raise Refused("The lines of this artifact cannot be shown.", 410 if artifact.purged else 409)
    first = _whole(request.GET.get("from"), 1, 1, max(reader.count, 1))
    last = _whole(request.GET.get("to"), first + LINES_A_PAGE - 1, first, first + MOST_LINES - 1)
    outlook, _, _ = newest(room)
    shown = discussions.on_lines(room, artifact.sha256).filter(deleted_at__isnull=True)
    notes = list(shown.filter(line_from__lte=last, line_to__gte=first))
    lifted = lifted_masks(artifact, first, last)
    found = reader.lines(first, last, lifted)
    reading = store.shown_reading(artifact)
    parts = [v for v in analysis.values_of(artifact) if v.part.line_from <= last and v.part.line_to >= first]
    return JsonResponse(
        {
            "from": first,
            "count": reader.count,
            "lines": [
                {"n": line.line_no, "text": _short(line.text), "masks": _masks(line, lifted)}
                if line.masks
                else {"n": line.line_no, "text": _short(line.text)}
                for line in found
            ],
            "parts": [
                {
                    "from": values.part.line_from,
                    "to": values.part.line_to,
                    "part": values.part.part,
                    "kind": values["kind"] or "unknown kind",
                    "host": values["host"],
                    "phase": values["phase"],
                }
                for values in parts
            ],
            "cited": [
                {"from": c.first, "to": c.last, "headline": visible(c.headline), "href": c.href}
                for c in cited_ranges(outlook, artifact.number)
                if c.first <= last and c.last >= first
            ],
            "notes": [
                {
                    "from": note.line_from,
                    "to": note.line_to,
                    "text": "\n".join(plain(line) for line in note.text.split("\n")),
                    "author": known_as(note.author),
                    "at": note.created_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
                }
                for note in notes
            ],
            "read": [
                {"from": u.first, "to": u.last, "kind": u.kind, "text": visible(u.text)}
                for u in unread_between(artifact, first, last)
            ],
            "words": _words(found, parts, reading.kind if reading else None),
        }
    )


def _words(found: list[Line], parts: list[analysis.PartValues], kind: str | None) -> dict[str, list[str]]:
    """Return word -> [address, explanation, sort, source] for the words on these lines that the glossary knows."""
    meant: dict[str, Entry] = {}
    for values in parts:
        begin, end = values.part.line_from, values.part.line_to
        meant |= words_of((line.text for line in found if begin <= line.line_no <= end), values["kind"] or kind)
    if not parts:
        meant = words_of((line.text for line in found), kind)
    return {
        word: [reverse("help-term", args=[entry.key]), entry.text, entry.kind, entry.source]
        for word, entry in meant.items()
    }


Lifts = dict[int, dict[tuple[int, int], LiftedMask]]


def lifted_masks(artifact: Artifact, first: int, last: int) -> Lifts:
    """Return the masks that leads lifted on lines `first` to `last`, by line and place. Only lines pages use it."""
    lifts: Lifts = {}
    rows = artifact.lifted_masks.filter(sha256=artifact.sha256, line__gte=first, line__lte=last)
    for row in rows.select_related("lifted_by"):
        lifts.setdefault(row.line, {})[row.begin, row.end] = row
    return lifts


def _masks(line: Line, lifts: Lifts) -> list[dict[str, Any]]:
    """Describe each mask: its place, what it hides, the length of that, and who lifted it."""
    entries = []
    for mask in line.masks:
        if mask.begin >= LONGEST_LINE:
            break
        entry: dict[str, Any] = {
            "from": mask.begin,
            "to": min(mask.end, LONGEST_LINE),
            "kind": mask.kind,
            "place": list(mask.place),
            "words": mask_words(mask, lifts.get(line.line_no, {}).get(mask.place)),
            "lifted": mask.lifted,
        }
        entries.append(entry)
    return entries


def mask_words(mask: Mask, lift: LiftedMask | None) -> str:
    length = mask.place[1] - mask.place[0]
    what = f"{mask.kind}, {length} character{'' if length == 1 else 's'}"
    if lift is None:
        return f"{what}, masked"
    who = visible(lift.lifted_by.get_full_name() or lift.lifted_by.get_username())
    at = lift.lifted_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{what}; {who} lifted the mask on {at}: {visible(lift.reason)}"


def reader_of(artifact: Artifact) -> LineReader | None:
    """Open the lines of an artifact; None if nothing of it can be read yet."""
    if not artifact.has_original:
        raise Refused(store.WITHOUT_ORIGINAL, 410)
    try:
        return store.lines_of(artifact)
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


def unread_lines(
    artifact: Artifact, most: int, kind: str = "", part: analysis.PartValues | None = None
) -> tuple[list[Unread], dict[str, int]]:
    """Return the first notes on how lines were read (of one kind, in one part), and the number of each kind."""
    notes = _notes(artifact)
    if notes is None:
        return [], {}
    if part is not None:
        end = pl.col("line_end").fill_null(pl.col("line_no"))
        notes = notes.filter((pl.col("line_no") <= part.part.line_to) & (end >= part.part.line_from))
    counted = notes.group_by("kind").len().sort("kind").collect()
    counts = {str(name): int(n) for name, n in counted.iter_rows()}
    if kind in counts:
        notes = notes.filter(pl.col("kind") == kind)
    return _unread(notes.sort("line_no").head(most)), counts


def unread_between(artifact: Artifact, first: int, last: int) -> list[Unread]:
    notes = _notes(artifact)
    if notes is None:
        return []
    end = pl.col("line_end").fill_null(pl.col("line_no"))
    return _unread(notes.filter((pl.col("line_no") <= last) & (end >= first)).sort("line_no").head(MOST_LINES))


def text_tables(artifact: Artifact) -> list[TextTable]:
    """Return the first tables that the general reader found in an artifact, each with its first rows."""
    reading = store.shown_reading(artifact)
    folder = store.bring_reading(reading) if reading is not None else None
    if folder is None or "rows" not in parquet.tables(folder):
        return []
    rows = parquet.scan(folder, "rows").with_columns(rank=pl.struct("part", "table_no").rank("dense"))
    few = rows.filter((pl.col("rank") <= MOST_TABLES) & (pl.col("row_no") <= ROWS_OF_A_TABLE))
    counts = dict(rows.group_by("rank").len().collect().iter_rows())
    found = few.select("rank", "line_no", "heading", "cells").sort("rank", "line_no").collect()
    return [
        TextTable(
            number,
            [visible(_short(name)) for name in held["heading"][0]],
            [
                (no, [visible(_short(cell)) for cell in cells])
                for no, cells in held.select("line_no", "cells").iter_rows()
            ],
            counts[number] - held.height,
        )
        for (number,), held in found.group_by("rank", maintain_order=True)
    ]


def _notes(artifact: Artifact) -> pl.LazyFrame | None:
    reading = store.shown_reading(artifact)
    if reading is None:
        return None
    folder = store.bring_reading(reading)
    return parquet.scan(folder, "notes") if "notes" in parquet.tables(folder) else None


def _unread(notes: pl.LazyFrame) -> list[Unread]:
    found = notes.select("line_no", "line_end", "kind", "text").collect()
    return [Unread(no, no if end is None else end, kind, text or "") for no, end, kind, text in found.iter_rows()]


def _shown(
    reader: LineReader, artifact: Artifact, first: int, last: int, cited: list[Cited], noted: list[tuple[int, int]]
) -> list[ShownLine]:
    unread = unread_between(artifact, first, last)
    states = {n: note for note in unread for n in range(max(note.first, first), min(note.last, last) + 1)}
    lifted = lifted_masks(artifact, first, last)
    shown = []
    for line in reader.lines(first, last, lifted):
        n = line.line_no
        state = states.get(n)
        shown.append(
            ShownLine(
                n,
                _pieces(line, lifted),
                any(c.first <= n <= c.last for c in cited),
                any(begin <= n <= end for begin, end in noted),
                state.kind if state else "",
                f"{state.kind}: {state.text}" if state else "",
                sorted({c.anchor for c in cited if c.first == n and c.first != c.last}),
            )
        )
    return shown


def _pieces(line: Line, lifts: Lifts) -> list[Piece]:
    """Cut a line at its masks."""
    pieces, at, text = [], 0, _short(line.text)
    for mask in _masks(line, lifts):
        pieces.append(Piece(text[at : mask["from"]]))
        pieces.append(Piece(text[mask["from"] : mask["to"]], mask["words"], mask["lifted"]))
        at = mask["to"]
    return [piece for piece in (*pieces, Piece(text[at:])) if piece.text]


def _short(text: str) -> str:
    """Cut a line that is too long for any page; the original has the rest."""
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} … ({len(text):,} characters)"


def _whole(text: str | None, default: int, least: int, most: int) -> int:
    if text is None or not (text.isascii() and text.isdigit() and len(text) < 16):
        return min(max(default, least), most)
    return min(max(int(text), least), most)

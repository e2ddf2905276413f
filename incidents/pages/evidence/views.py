"""The room's artifacts and how they were read, with their parts in the order of the file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from incidents import access
from incidents.access import Room
from incidents.content.visible import visible
from incidents.drawing import flame_graph
from incidents.drawing.shares import ACCOUNT, Share, account_shares
from incidents.errors import Refused
from incidents.models.evidence.archive import ArchiveMember
from incidents.models.evidence.artifact import Artifact, ArtifactState, CorrectedField
from incidents.models.evidence.reading import Part, Reading
from incidents.models.room.incident import Incident
from incidents.pages.shell import counts_of, shell
from incidents.storage import store
from incidents.work import analysis
from incidents.work.drawable import newest_report
from incidents.work.ingest import TEXT
from parsers.preview import first_rows
from parsers.tables import parquet
from parsers.tables.schema import TABLES

A_PAGE = 50
PARTS = 50
"""Maximum number of parts of an artifact in the list; further parts have pages of their own."""

SHOWN_FIELDS = (
    CorrectedField.KIND,
    CorrectedField.HOST,
    CorrectedField.ROLE,
    CorrectedField.PHASE,
    CorrectedField.CLOCK,
)


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
    questions: int


@dataclass(frozen=True)
class Prose:
    """Lines between parts: an author's text, which gives no rows."""

    first: int
    last: int

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a table while its file is still being read."""

    table: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class ArtifactRow:
    artifact: Artifact
    lines: int | None
    kind: str
    shares: list[Share]
    parts: list[PartRow]
    tree: list[PartRow | Prose]
    error: str | None
    tables: list[tuple[str, int]]
    first_rows: FirstRows | None
    more_parts: bool = False
    stacks: bool = False

    @property
    def one(self) -> PartRow | None:
        """Return the part if it is the only one; its values are shown in the artifact's own row."""
        alone = len(self.parts) == 1 and len(self.tree) == 1 and self.parts[0].part.part == 1
        return self.parts[0] if alone else None

    @property
    def has_lines(self) -> bool:
        return bool(self.lines)

    @property
    def questions(self) -> int:
        return sum(part.questions for part in self.parts)


@require_GET
def evidence(request: HttpRequest, slug: str) -> HttpResponse:
    """List the artifacts with their first parts; `?of=3&parts=2` shows one artifact with the second page of its parts.

    `?part=count` and `?part=state&n=` answer with a few words for scripts.
    """
    room = access.enter(request.user, slug)
    if request.GET.get("part") == "count":
        return HttpResponse(str(shell(room, "evidence")["artifact_count"]), content_type="text/plain")
    if request.GET.get("part") == "state":
        return HttpResponse(state_words(artifact_of(room, request.GET.get("n", ""))), content_type="text/plain")
    found = room.incident.artifacts.select_related("reading", "uploader", "purged_by", "token").order_by("number")
    of = artifact_of(room, request.GET["of"]) if "of" in request.GET else None
    first = 0
    parts: Page[Part] | None = None
    if of is not None:
        found = found.filter(pk=of.pk)
        held = of.reading.parts.order_by("part") if of.reading else Part.objects.none()
        parts = Paginator(held, PARTS).get_page(request.GET.get("parts"))
        first = (parts.number - 1) * PARTS
    # Selected by number, because an artifact may have thousands of parts, and a page shows fifty artifacts.
    shown = Part.objects.filter(part__gt=first, part__lte=first + PARTS + 1)
    came_in = Prefetch("came_in", ArchiveMember.objects.select_related("archive"))
    found = found.prefetch_related(Prefetch("reading__parts", shown), "corrections", came_in, "readings")
    counts = counts_of(room)
    pages = Paginator(found, A_PAGE)
    if of is None:
        pages.count = counts["total"] + counts["purged"]  # already counted
    paged = pages.get_page(request.GET.get("page"))
    days = Days(room.incident)
    rows = [artifact_row(artifact, PARTS, days) for artifact in paged]
    context = shell(room, "evidence", counts) | {
        "artifacts": rows,
        "paged": paged,
        "account_names": ACCOUNT,
        "query": "",
    }
    context |= {"of": of, "parts_paged": parts, "of_query": f"of={of.number}&" if of else ""}
    from incidents.pages.evidence.questions import open_questions  # it looks at single artifacts through this module

    context["asked"] = open_questions(room, days)
    return render(request, "evidence/evidence.html", context)


def artifact_row(artifact: Artifact, most: int | None = None, days: Days | None = None) -> ArtifactRow:
    """Lay out an artifact for the list; the caller prefetched reading, parts, readings and corrections.

    With `most`, only the first parts are laid out, and the row says whether there are more.
    """
    reading = store.shown_reading(artifact)
    in_use = artifact.reading if artifact.state == ArtifactState.READ else None
    newest = in_use or max(artifact.readings.all(), key=lambda r: r.number, default=None)
    days = days or Days(artifact.incident)
    every = [_part_row(values, artifact.number, days) for values in analysis.values_of(artifact)]
    parts = every[:most]
    said = {c.field: c.value for c in artifact.corrections.all() if c.line_from is None}
    kind = (reading.kind if reading else None) or said.get(CorrectedField.KIND) or ""
    lines = (reading.lines if reading else None) or artifact.lines_read or None
    tables, first = _so_far(artifact, newest)
    return ArtifactRow(
        artifact,
        lines,
        kind,
        account_shares(reading.account) if reading else [],
        parts,
        _tree(
            parts,
            reading,
            len(parts) == len(every),
            {c.line_from for c in artifact.corrections.all() if c.field == CorrectedField.BORDER},
        ),
        newest.error if newest and artifact.state in (ArtifactState.FAILED, ArtifactState.READ) else None,
        tables,
        first,
        len(parts) < len(every),
        bool(reading and reading.tables.get(flame_graph.TABLE)),
    )


def _tree(
    parts: list[PartRow], reading: Reading | None, to_the_end: bool, said: set[int | None]
) -> list[PartRow | Prose]:
    """Put the prose between the parts, in the order of the file.

    A single line between two parts is a blank one, unless a person marked it as prose (first lines of such marks:
    `said`).
    """
    if reading is None or not reading.account.get("prose"):
        return list(parts)
    tree: list[PartRow | Prose] = []
    following = 1 if parts and parts[0].part.part == 1 else parts[0].part.line_from if parts else 1
    for row in parts:
        gap = row.part.line_from - following
        if gap > 1 or (gap == 1 and (following == 1 or following in said)):
            tree.append(Prose(following, row.part.line_from - 1))
        tree.append(row)
        following = row.part.line_to + 1
    if parts and to_the_end and (reading.lines or 0) > following:
        tree.append(Prose(following, reading.lines or following))
    return tree


def _so_far(artifact: Artifact, newest: Reading | None) -> tuple[list[tuple[str, int]], FirstRows | None]:
    """Return what a running or stopped reading has written: rows per table, and the first rows of the largest table."""
    if newest is None or artifact.state not in (ArtifactState.READING, ArtifactState.STOPPED):
        return [], None
    newest.artifact = artifact
    folder = store.bring_reading(newest)
    manifest = parquet.load_manifest(folder) or {}
    counts: dict[str, int] = {}
    for batch in manifest.get("batches", []):
        for table, count in batch["tables"].items():
            if table in TABLES and table not in ("notes", "artifacts"):
                counts[table] = counts.get(table, 0) + count
    tables = sorted(counts.items(), key=lambda pair: -pair[1])[:4]
    return tables, FirstRows(tables[0][0], *first_rows(folder, tables[0][0])) if tables else None


def _part_row(values: analysis.PartValues, number: int, days: Days) -> PartRow:
    part = values.part
    shown = [
        ShownValue(field, field.label.capitalize(), values.values[field].holds, values.values[field].corrected)
        for field in SHOWN_FIELDS
    ]
    clocks = ", ".join(
        sorted({f"{d.get('kind') or 'none'}{', ' + d['zone'] if d.get('zone') else ''}" for d in part.domains})
    )
    lines = part.line_to - part.line_from + 1
    return PartRow(part, shown, clocks, lines, account_shares(part.account), len(asked_of(values, number, days)))


class Days:
    """What the last judgement found about days that stamps do not show (`rules/clocks/days.py`)."""

    def __init__(self, incident: Incident) -> None:
        self._incident = incident

    @cached_property
    def _clocks(self) -> dict[tuple[int, int], dict[str, Any]]:
        report = newest_report(self._incident) or {}
        return {(row["artifact"], row["part"]): row for row in report.get("clocks", ()) if row.get("base_why")}

    def settle(self, question: dict[str, Any], artifact: int, part: int) -> dict[str, Any] | None:
        """Return a question, with why the day stays open; None if other evidence has answered it."""
        if question["ask"] not in (CorrectedField.DATE, CorrectedField.YEAR):
            return question
        clock = self._clocks.get((artifact, part))
        if clock is None:
            return question
        return {**question, "reason": clock["base_why"]} if clock["lacks"] else None


def asked_of(values: analysis.PartValues, number: int, days: Days) -> list[dict[str, Any]]:
    """Return the questions of a part of artifact `number` that neither a person nor other evidence has answered.

    If nothing is known of a zone, the question is asked once for the host (`views/questions.py`), not for each part.
    """
    asked = values.part.facts.get("questions")
    opened = [
        q
        for q in (asked if isinstance(asked, list) else [])
        if q["ask"] in CorrectedField.values
        and not values.values[q["ask"]].corrected
        and not (q["ask"] == CorrectedField.TZ and not q.get("default") and not q.get("choices"))
    ]
    return [kept for q in opened if (kept := days.settle(q, number, values.part.part)) is not None]


def part_of(artifact: Artifact, number: str | None) -> analysis.PartValues | None:
    """Return the part that an address names, None without one; raise `Refused` for a part that does not exist."""
    if number is None:
        return None
    for values in analysis.values_of(artifact):
        if str(values.part.part) == number:
            return values
    raise Refused("There is no such part.", 404)


def said_on(artifact: Artifact, values: analysis.PartValues | None) -> tuple[int, int] | None:
    """Return the lines that a correction of a part covers; None if the part is the whole file."""
    if values is None or artifact.reading is None:
        return None
    part = values.part
    whole = part.line_from == 1 and part.line_to >= (artifact.reading.lines or 0)
    return None if whole else (part.line_from, part.line_to)


def state_words(artifact: Artifact) -> str:
    """Describe the state of an artifact in a few words, for the row of its upload."""
    reading = artifact.reading
    if artifact.state == ArtifactState.FAILED:
        return f"not read: {visible(artifact.cause or '')}"
    if artifact.state == ArtifactState.STOPPED:
        return visible(artifact.cause or "stopped")
    if artifact.state == ArtifactState.UNPACKED:
        taken, every = artifact.members.filter(became__isnull=False).count(), artifact.members.count()
        words = f"unpacked: {taken} of {every} files taken in"
        return f"{words}. {visible(artifact.cause)}" if artifact.cause else words
    if artifact.state != ArtifactState.READ or reading is None:
        return artifact.get_state_display()
    unread = sum(reading.account.get(name, 0) for name in ("unknown", "damaged"))
    words = f"{reading.lines:,} {'line' if reading.lines == 1 else 'lines'} read"
    if reading.kind != TEXT:  # of which no line can be understood: the cause says so
        kind = f"recognised as {reading.kind}" if reading.kind else "kept, but of no known kind"
        words = f"{kind}; {words}" + (f", {unread:,} of them not understood" if unread else "")
    return f"{words}. {visible(artifact.cause)}" if artifact.cause else words


def artifact_of(room: Room, number: str | int) -> Artifact:
    """Return an artifact of the room by its number; raise `Refused` with 404 if there is none."""
    text = str(number)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Refused("There is no such artifact.", 404)
    found = room.incident.artifacts.select_related("reading", "purged_by").filter(number=int(text)).first()
    if found is None:
        raise Refused("There is no such artifact.", 404)
    return found

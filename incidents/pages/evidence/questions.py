"""Questions that only a person can answer: which kind, which columns, which zone, year or order of day and month."""

from __future__ import annotations

import zoneinfo
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from incidents import access
from incidents.access import Right, Room
from incidents.actions import artifacts as actions
from incidents.actions import borders, case
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState, CorrectedField, Correction
from incidents.pages.evidence.views import Days, artifact_of, asked_of, part_of, said_on
from incidents.pages.lines.views import reader_of
from incidents.pages.shell import shell
from incidents.storage import store
from incidents.work import analysis
from incidents.work.analysis import PartValues
from incidents.work.ingest import hint_fields
from parsers.columns.column_roles import ROLES, UNITS, Columns, parse_columns
from parsers.preview import Preview, preview
from parsers.registry import RACE, all_formats
from parsers.text.source import Hints

NOBODY_KNOWS = "?"
WALL_WITHOUT_ZONE = [{"kind": "wall-local", "zone": None}]
ORDERS = {"dmy": "day first", "mdy": "month first"}
_FIELDS = {
    CorrectedField.YEAR: "number",
    CorrectedField.INTERVAL_S: "number",
    CorrectedField.DATE: "date",
    CorrectedField.TZ: "zone",
    CorrectedField.DATE_ORDER: "order",
    CorrectedField.COLUMNS: "columns",
}


@dataclass(frozen=True)
class Column:
    """One column of a table whose columns are in question, and its present meaning."""

    position: int
    name: str
    role: str


@dataclass(frozen=True)
class Side:
    """One answer with a preview of the reading that it would give."""

    value: str
    label: str
    reason: str
    preview: Preview | None


@dataclass(frozen=True)
class Question:
    """`ask` is the field that an answer corrects; `part` is None for the whole artifact."""

    artifact: Artifact
    part: PartValues | None
    ask: str
    text: str
    default: str
    reason: str
    choices: list[str] = field(default_factory=list)
    line: int | None = None

    @property
    def form(self) -> str:
        return _FIELDS.get(CorrectedField(self.ask), "text") if self.ask in CorrectedField.values else "none"

    @property
    def default_words(self) -> str:
        return ORDERS.get(self.default, self.default) or "nothing: this stays unknown"


@dataclass(frozen=True)
class ZoneQuestion:
    """The time zone of a host's clock; `host` is None for artifacts of unknown hosts."""

    host: str | None
    artifacts: list[Artifact]
    default: str
    reason: str


@dataclass(frozen=True)
class Open:
    """All open questions of a room."""

    kinds: list[Artifact]
    parts: list[Question]
    zones: list[ZoneQuestion]

    @property
    def count(self) -> int:
        return len(self.kinds) + len(self.parts) + len(self.zones)


def open_questions(room: Room, days: Days | None = None) -> Open:
    """Gather the questions of the readings in use, and of files that were not read because two kinds claim them.

    A caller that has looked up the `days` passes them on.
    """
    asked = (
        Q(reading__parts__facts__has_key="questions")
        | Q(reading__parts__domains__contains=WALL_WITHOUT_ZONE)
        | Q(state=ArtifactState.FAILED, readings__error="AmbiguousFormat")
    )
    rows = room.incident.artifacts.exclude(state=ArtifactState.PURGED).select_related("reading")
    ids = rows.filter(asked).values("pk")
    found = list(rows.filter(pk__in=ids).prefetch_related("reading__parts", "corrections").order_by("number"))
    prefetch_related_objects([artifact for artifact in found if artifact.state == ArtifactState.FAILED], "readings")
    days = days or Days(room.incident)
    kinds, parts, without = [], [], list[tuple[Artifact, PartValues]]()
    for artifact in found:
        if is_race(artifact):
            kinds.append(artifact)
        values = analysis.values_of(artifact)
        for value in values:
            parts += _of_part(artifact, value, days)
            without += [(artifact, value)] if _lacks_zone(value) else []
    return Open(kinds, parts, _zones(room, without))


def is_race(artifact: Artifact) -> bool:
    if artifact.state != ArtifactState.FAILED:
        return False
    newest = max(artifact.readings.all(), key=lambda r: r.number, default=None)
    return newest is not None and newest.error == "AmbiguousFormat"


def _of_part(artifact: Artifact, values: PartValues, days: Days) -> list[Question]:
    return [
        Question(
            artifact,
            values,
            q["ask"],
            q["text"],
            q.get("default") or "",
            q.get("reason") or "",
            list(q.get("choices") or []),
            q.get("line"),
        )
        for q in asked_of(values, artifact.number, days)
    ]


def _lacks_zone(values: PartValues) -> bool:
    clocks = values.part.domains
    return not values.values[CorrectedField.TZ].corrected and any(
        clock.get("kind") == "wall-local" and not clock.get("zone") for clock in clocks
    )


def _zones(room: Room, without: list[tuple[Artifact, PartValues]]) -> list[ZoneQuestion]:
    """Ask once per host; a host whose zone the case names needs no question, since the rules use that zone."""
    known = {host.name: host.tz for host in room.incident.hosts.all()} if without else {}
    zones = {name: tz for name, tz in known.items() if tz}
    by_host: dict[str | None, dict[int, Artifact]] = {}
    for artifact, values in without:
        if values["host"] not in zones:
            by_host.setdefault(values["host"], {})[artifact.pk] = artifact
    default = next(iter(zones.values())) if len(set(zones.values())) == 1 else ""
    known_zones = ", ".join(f"{name} keeps {tz}" for name, tz in sorted(zones.items()))
    reason = known_zones or "no host of this room has a zone yet"
    return [ZoneQuestion(host, list(held.values()), default, reason) for host, held in by_host.items()]


# --- pages --------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the room's open questions. A POST states the zone of a host, or of the artifacts without one."""
    room = access.enter(request.user, slug)
    asked = open_questions(room)
    if request.method == "POST":
        room.require(Right.CORRECT)
        host, zone = request.POST.get("host", ""), request.POST.get("tz", "").strip()
        question = next((q for q in asked.zones if (q.host or "") == host), None)
        if question is None:
            raise Refused("This was answered already.", 409)
        if zone == "" or (host and zone == NOBODY_KNOWS):
            raise Refused("Name a time zone, such as Europe/Zagreb or UTC.")
        if host:
            actions.checked({CorrectedField.TZ: zone})
            case.put_host(room, host, {"tz": zone})
        else:
            for artifact in question.artifacts:
                actions.correct(room, artifact.number, {CorrectedField.TZ: None if zone == NOBODY_KNOWS else zone})
        return redirect("questions", slug)
    context = shell(room, "evidence") | {"asked": asked, "zone_names": _zone_names()}
    return render(request, "evidence/questions.html", context)


@require_http_methods(["GET", "POST"])
def question(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show the questions about one artifact with a preview for each answer; a POST answers one."""
    room = access.enter(request.user, slug)
    artifact = artifact_of(room, number)
    if artifact.purged:
        raise Refused("This artifact was purged.", 410)
    days = Days(room.incident)
    asked = [q for values in analysis.values_of(artifact) for q in _of_part(artifact, values, days)]
    if request.method == "POST":
        room.require(Right.CORRECT)
        part, ask = request.POST.get("part", ""), request.POST.get("ask", "")
        answered = next((q for q in asked if q.ask == ask and q.part and str(q.part.part.part) == part), None)
        if answered is None:
            raise Refused("This was answered already.", 409)
        value = _columns_said(request, answered) if ask == CorrectedField.COLUMNS else request.POST.get("value", "")
        if not value.strip():
            raise Refused("Nothing was chosen.")
        word = None if value == NOBODY_KNOWS else value
        borders.answer(room, number, said_on(artifact, answered.part), {ask: word})
        return redirect("evidence", slug)
    reader = reader_of(artifact)
    entries = []
    for q in asked:
        assert q.part is not None
        entry: dict[str, Any] = {"q": q, "columns": [], "sides": [], "unit": "s"}
        if q.form == "columns":
            entry["columns"], entry["unit"] = _columns_of(q)
        values = q.choices if q.ask in (CorrectedField.DATE_ORDER, CorrectedField.TZ) and len(q.choices) > 1 else []
        for value in values or ([""] if q.form == "columns" else []):
            shown = preview(reader, artifact.name, _with(artifact, q, value), *_lines(q.part)) if reader else None
            entry["sides"].append(Side(value, ORDERS.get(value, value) or "as it is read now", "", shown))
        entries.append(entry)
    context = {"artifact": artifact, "entries": entries, "roles": ROLES, "units": UNITS, "zone_names": _zone_names()}
    return render(request, "evidence/question.html", shell(room, "evidence") | context)


@require_http_methods(["GET", "POST"])
def kind(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show which kinds claim the artifact (or its part `?part=`) and how they would read it; a POST picks one."""
    room = access.enter(request.user, slug)
    artifact = artifact_of(room, number)
    if artifact.purged:
        raise Refused("This artifact was purged.", 410)
    part = part_of(artifact, request.GET.get("part"))
    lines = said_on(artifact, part)
    if request.method == "POST":
        room.require(Right.CORRECT)
        word = request.POST.get("kind", "").strip()
        borders.answer(room, number, lines, {CorrectedField.KIND: word})
        return redirect("evidence", slug)
    kinds = sorted({form.kind: form.man for form, _ in reversed(all_formats())}.items())
    reading = store.shown_reading(artifact)
    claims = _claims(part.part.claims if part and part.part.claims else reading.claims if reading else [])
    tried = request.GET.get("try", "")
    sides = []
    reader = reader_of(artifact)
    if reader is not None:
        best = [claim["kind"] for claim in claims[:2]]
        picked = list(dict.fromkeys([*([tried] if tried in dict(kinds) else []), *best]))[:2]
        reasons = {claim["kind"]: claim["reason"] for claim in claims}
        for name in picked:
            shown = preview(
                reader, artifact.name, _hints_for(artifact, {"kind": name}), *(_lines(part) if part else ())
            )
            sides.append(Side(name, name, reasons.get(name, "no format claims it: you would choose it"), shown))
    near = len(claims) > 1 and claims[0]["strength"] - claims[1]["strength"] < RACE
    now = part.values[CorrectedField.KIND] if part else None
    context = {"artifact": artifact, "part": part, "claims": claims, "kinds": kinds, "sides": sides, "near": near}
    return render(request, "evidence/kind.html", shell(room, "evidence") | context | {"now": now, "lines": lines})


def _claims(claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the strongest claim of each kind."""
    best: dict[str, dict[str, Any]] = {}
    for claim in claims:
        best.setdefault(claim["kind"], claim)
    return list(best.values())


def _lines(values: PartValues) -> tuple[int, int]:
    return values.part.line_from, values.part.line_to


def _hints_for(artifact: Artifact, words: dict[str, str]) -> Any:
    """Return people's statements about the whole artifact, overridden by these words."""
    rows: list[Correction] = [row for row in artifact.corrections.all() if row.line_from is None and row.value]
    stated = {row.field: row.value or "" for row in rows}
    return Hints(**hint_fields(stated | words))


def _with(artifact: Artifact, asked: Question, value: str) -> Any:
    assert asked.part is not None
    part = asked.part.part
    said = {name: value.said for name, value in asked.part.values.items() if value.corrected and value.said}
    words = said | {"kind": f"{part.kind}/{part.variant}" if part.variant else str(part.kind)}
    return _hints_for(artifact, words | ({asked.ask: value} if value else {}))


def _columns_of(asked: Question) -> tuple[list[Column], str]:
    try:
        now = parse_columns(asked.default, asked.choices)
    except ValueError:
        now = Columns()
    roles = {getattr(now, role): role for role in ROLES if role != "values" and getattr(now, role) is not None}
    roles |= dict.fromkeys(now.values, "values")
    unit = next((name for name, seconds in UNITS.items() if seconds == now.unit_s), "s")
    return [Column(n, name, roles.get(n, "")) for n, name in enumerate(asked.choices)], unit


def _columns_said(request: HttpRequest, asked: Question) -> str:
    """Write the roles chosen for the columns as a correction; raise `Refused` for a role chosen twice."""
    taken: dict[str, int] = {}
    values: list[int] = []
    for n in range(len(asked.choices)):
        role = request.POST.get(f"role-{n}", "")
        if role == "values":
            values.append(n)
        elif role in ROLES:
            if role in taken:
                raise Refused(f"Two columns cannot both be {role}.")
            taken[role] = n
    unit_s = UNITS.get(request.POST.get("unit", "s"), 1.0)
    return Columns(**taken, unit_s=unit_s, values=tuple(values)).words(asked.choices)


def _zone_names() -> list[str]:
    """Return zones by the names that people use: places and UTC."""
    return [
        "UTC",
        *sorted(name for name in zoneinfo.available_timezones() if "/" in name and not name.startswith("Etc/")),
    ]

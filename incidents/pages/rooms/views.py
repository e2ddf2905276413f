"""The list of rooms, a new room, the sample rooms."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.db.models.functions import Greatest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents.access import sees_any, visible_to
from incidents.actions import rooms as actions
from incidents.actions import sample as sample_actions
from incidents.content.durations import length
from incidents.content.faces import EMPTY, JUDGING, OPEN, Face, face_of, unread_face
from incidents.content.milestones import OnDuty, lead_and_duties, standings
from incidents.content.names import known_as
from incidents.content.report import LAYERS, layer_name, quantity
from incidents.content.visible import visible
from incidents.drawing.exports import flat
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.judging.finding import OPEN_DISPUTE, Dispute
from incidents.models.judging.verdict import Verdict
from incidents.models.room.incident import Incident, Status
from incidents.models.room.job import CHANGING, Job, JobState
from incidents.models.room.standing import Milestone
from incidents.pages.forms import HostForm, NewRoomForm, rows_of
from incidents.pages.rooms import listing
from incidents.pages.rooms.listing import ARCHIVED, Again, Wanted
from incidents.storage import live

A_PAGE = 40
BAR = 112
"""Width in px of the picture of a symptom."""
CSV_MOST = 20_000
CSV_COLUMNS = (
    *("title", "address", "state", "severity", "verdict", "leading cause", "support", "cause layer", "layers cleared"),
    *(
        "opened",
        "first verdict",
        "minutes to verdict",
        "next update",
        "next update by",
        "artifacts",
        "last event",
        "again",
    ),
)


@dataclass(frozen=True)
class Row:
    """A room in the list. `verdict` is None until it is judged; `reading` counts files that are being read, `unread` those
    of which no line was understood.
    """

    incident: Incident
    verdict: Verdict | None
    disputed: bool
    inside: list[User]
    milestones: list[Milestone]
    again: Again | None
    reading: int
    unread: int

    @property
    def on_duty(self) -> list[OnDuty]:
        """Return each person with their duties, the lead first."""
        added = listing.listed(self.incident)
        people: list[OnDuty] = lead_and_duties({"leads": added.leads, "on_duty": added.on_duty})["on_duty"]
        return people

    @property
    def face(self) -> Face:
        if self.verdict:
            could_change = self.unread and self.verdict.state in OPEN and not self.reading
            return unread_face(self.unread) if could_change else face_of(self.verdict.state)
        return JUDGING if self.reading else EMPTY

    @property
    def sentence(self) -> str:
        """Return the room's own sentence, or what it waits for."""
        if self.verdict:
            return self.verdict.sentence
        if self.reading:
            return f"Reading {self.reading} file{'s' if self.reading > 1 else ''}. No verdict before all are judged."
        return "Nothing was judged yet: there is no evidence that could be read."

    @property
    def age(self) -> str:
        """Say how long the room has been open, or has been in its present state if that is known."""
        room = self.incident
        if room.delete_at:
            return f"to be deleted on {room.delete_at:%Y-%m-%d}"
        if room.archived_at:
            return f"archived {listing.ago(room.archived_at)}"
        reached = {one.kind: one.at for one in self.milestones} | ({"closed": room.closed_at} if room.closed_at else {})
        if room.status == Status.OPEN:
            since = listing.age(room.created_at)
            return f"open {since}" if since != "now" else "opened just now"
        at = reached.get(room.status)
        return f"{room.status} {listing.ago(at)}" if at else str(room.status)

    @property
    def took(self) -> str:
        """Write the time from the opening of the room to its first cause or suspect."""
        return length(listing.listed(self.incident).took)

    @property
    def bars(self) -> tuple[float, float] | None:
        """Return the lengths of the pictures of the bad and the normal value; None if one of them was not given."""
        bad, normal = self.incident.symptom_bad, self.incident.symptom_normal
        if bad is None or normal is None or min(bad, normal) < 0 or max(bad, normal) == 0:
            return None
        whole = max(bad, normal)
        return round(BAR * bad / whole, 1), round(BAR * normal / whole, 1)

    @property
    def bad(self) -> str:
        return quantity(self.incident.symptom_bad, self.incident.symptom_unit)

    @property
    def normal(self) -> str:
        return quantity(self.incident.symptom_normal, self.incident.symptom_unit)

    @property
    def changed(self) -> str:
        return listing.change_words(listing.listed(self.incident).changed)

    @property
    def changed_ago(self) -> str:
        at = listing.listed(self.incident).last_event
        return listing.age(at) if at else ""


@dataclass(frozen=True)
class Section:
    """The rooms of one group on this page; without a name if the list is not sorted by urgency."""

    name: str
    count: int
    rows: list[Row]


@dataclass(frozen=True)
class Choice:
    """One link that narrows or sorts the list."""

    label: str
    query: str
    chosen: bool
    count: int | None = None


@require_GET
def rooms(request: HttpRequest) -> HttpResponse:
    """List the rooms that this person may know of, those that burn first. `?wall`: large, without controls."""
    wanted = Wanted.of(request.GET.dict())
    counts = listing.group_counts(request.user, wanted)
    paged = Paginator(listing.found(request.user, wanted), A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    like = visible_to(request.user).filter(slug=wanted.same).first() if wanted.same else None
    tally = listing.tally(request.user)
    context: dict[str, Any] = {
        "any": bool(any(tally.by_filter.values())) or sees_any(request.user),
        "paged": paged,
        "sections": sections(rows(request.user, list(paged)), counts, wanted),
        "wanted": wanted,
        "tally": tally,
        "like": like,
        "filters": [
            Choice(title, _with(request, status=name), wanted.shown == name, tally.by_filter[name])
            for name, title in listing.FILTERS.items()
        ],
        "layers": [Choice("any layer", _with(request, layer=""), not wanted.layer)]
        + [Choice(name, _with(request, layer=code), wanted.layer == code) for code, (_, name) in LAYERS.items()],
        "layer": LAYERS[wanted.layer][1] if wanted.layer in LAYERS else "",
        "sorts": list(_sorts(request, wanted)),
        "sort": next((words for sort, words in _sort_words() if sort == wanted.sort), ""),
        "samples": sample_actions.SAMPLES,
        "wall": "wall" in request.GET,
        "query": f"{query.urlencode()}&" if query else "",
        "asked": query.urlencode(),
    }
    return render(request, "rooms/rooms.html", context)


def _with(request: HttpRequest, **changed: str) -> str:
    """Return this page's query with some values changed; empty ones are left out."""
    query = request.GET.copy()
    query.pop("page", None)
    for name, value in changed.items():
        query[name] = value
        if not value:
            del query[name]
    return query.urlencode()


def _sort_words() -> Iterator[tuple[str, str]]:
    yield listing.URGENCY, "severity, then change"
    for name, title in listing.COLUMNS.items():
        yield name, f"{title} ↑"
        yield f"-{name}", f"{title} ↓"


def _sorts(request: HttpRequest, wanted: Wanted) -> Iterator[Choice]:
    for sort, words in _sort_words():
        asked = "" if sort == listing.URGENCY else sort
        yield Choice(words, _with(request, sort=asked), wanted.sort == sort)


def sections(found: list[Row], counts: Mapping[str, int], wanted: Wanted) -> list[Section]:
    """Part the rows of a page by group; in any other order than that of urgency they are one list."""
    if wanted.sort != listing.URGENCY:
        return [Section("", sum(counts.values()), found)] if found else []
    by_group: dict[str, list[Row]] = {}
    for row in found:
        by_group.setdefault(listing.listed(row.incident).group, []).append(row)
    return [
        Section(title, counts.get(group, 0), by_group[group])
        for group, title in listing.GROUPS.items()
        if group in by_group
    ]


def rows(user: User | AnonymousUser, incidents: list[Incident]) -> list[Row]:
    """Join rooms with disputes of their verdict, the people inside and what came before, one query each."""
    disputed: dict[int, set[str]] = {}
    disputes = Dispute.objects.filter(OPEN_DISPUTE, incident__in=incidents)
    for incident_id, key in disputes.values_list("incident_id", "finding__key").order_by().distinct():
        disputed.setdefault(incident_id, set()).add(key)
    present = live.present_in([incident.pk for incident in incidents])
    inside = {id: [here.user_id for here in people] for id, people in present.items()}
    milestones = standings(incidents)
    users = User.objects.in_bulk({id for ids in inside.values() for id in ids}) if any(inside.values()) else {}
    before = listing.again(user, incidents)
    verdicts = {incident.pk: getattr(incident, "verdict", None) for incident in incidents}
    undecided = [pk for pk, verdict in verdicts.items() if verdict is None or verdict.state in OPEN]
    reading = dict(
        Job.objects.filter(incident__in=undecided, kind__in=CHANGING, state__in=(JobState.QUEUED, JobState.RUNNING))
        .order_by()
        .values("incident")
        .annotate(n=Greatest(Count("artifact", distinct=True), 1))
        .values_list("incident", "n")
    )
    unread = unread_in(undecided)
    made = []
    for incident in incidents:
        pk, verdict = incident.pk, verdicts[incident.pk]
        carried = bool(verdict and disputed.get(incident.pk, set()) & set(verdict.carriers))
        people = [users[id] for id in inside[pk] if id in users]
        counts = reading.get(pk, 0), unread.get(pk, 0)
        made.append(Row(incident, verdict, carried, people, milestones[pk], before.get(pk), *counts))
    return made


def unread_in(rooms: list[int]) -> dict[int, int]:
    """Count the files of rooms that could not be read, or of which no line was understood: the larger number of both."""
    blank = Q(state=ArtifactState.READ, reading__account__read=0, reading__account__unknown__gt=0)
    counted = (
        Artifact.objects.filter(incident__in=rooms)
        .order_by()
        .values("incident")
        .annotate(n=Greatest(Count("pk", filter=Q(state=ArtifactState.FAILED)), Count("pk", filter=blank)))
    )
    return dict(counted.values_list("incident", "n"))


@require_GET
def rooms_csv(request: HttpRequest) -> HttpResponse:
    """Hand out the whole list, filtered and sorted as shown, as CSV; no cell reads as a formula."""
    found = list(listing.found(request.user, Wanted.of(request.GET.dict()))[:CSV_MOST])
    before = listing.again(request.user, found)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(CSV_COLUMNS)
    for incident in found:
        writer.writerow([flat.guarded(cell) for cell in _cells(request, incident, before.get(incident.pk))])
    answer = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="rooms.csv"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _cells(request: HttpRequest, incident: Incident, before: Again | None) -> list[object]:
    verdict: Verdict | None = getattr(incident, "verdict", None)
    added = listing.listed(incident)
    took = added.took
    return [
        visible(incident.title),
        request.build_absolute_uri(reverse("room", args=[incident.slug])),
        ARCHIVED if incident.archived else incident.status,
        incident.severity or "",
        verdict.state if verdict else "",
        visible(verdict.sentence) if verdict else "",
        verdict.support if verdict else "",
        layer_name(verdict.layer) if verdict and verdict.layer else "",
        ", ".join(layer_name(one["layer"]) for one in verdict.cleared) if verdict else "",
        _iso(incident.created_at),
        _iso(verdict.first_at) if verdict else "",
        round(took.total_seconds() / 60, 1) if took is not None else "",
        _iso(incident.next_update_at),
        known_as(incident.next_update_by) if incident.next_update_by else "",
        added.artifact_count,
        _iso(added.last_event),
        before.words if before else "",
    ]


def _iso(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else ""


@require_http_methods(["GET", "POST"])
def room_new(request: HttpRequest) -> HttpResponse:
    """Ask about the incident; everything but the title may be skipped."""
    hosts_class = rows_of(HostForm, 2)
    form = NewRoomForm(request.POST or None)
    hosts = hosts_class(request.POST or None, prefix="hosts")
    if request.method == "POST" and form.is_valid() and hosts.is_valid():
        named = [{key: value for key, value in host.items() if key != "id"} for host in hosts.kept]
        answers = actions.Answers(**form.cleaned_data, hosts=tuple(actions.HostAnswer(**host) for host in named))
        try:
            return redirect("room", actions.create(request_user(request), answers).slug)
        except Refused as refused:
            form.add_error(None, refused.message)
    status = 422 if request.method == "POST" else 200
    return render(request, "rooms/room_new.html", {"form": form, "hosts": hosts}, status=status)


@require_POST
def sample(request: HttpRequest) -> HttpResponse:
    """Open a sample room: one of five published incidents, sent through the ordinary upload path."""
    number = request.POST.get("number") or sample_actions.FIRST
    return redirect("room", sample_actions.open_sample(request_user(request), number).slug)


def request_user(request: HttpRequest) -> User:
    """Return the signed-in user; `page` in `shell.py` lets nobody else reach this."""
    if not isinstance(request.user, User):
        raise Refused("Sign in first.", 401)
    return request.user

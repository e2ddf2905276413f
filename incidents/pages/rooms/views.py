"""The list of rooms, a new room, the sample rooms."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents.access import sees_any, visible_to
from incidents.actions import rooms as actions
from incidents.actions import sample as sample_actions
from incidents.content.milestones import standings
from incidents.content.names import known_as
from incidents.content.report import LAYERS, layer_name
from incidents.content.visible import visible
from incidents.drawing import exports
from incidents.errors import Refused
from incidents.models.judging.finding import OPEN_DISPUTE, Dispute
from incidents.models.judging.verdict import Verdict
from incidents.models.room.incident import Incident
from incidents.models.room.standing import Milestone
from incidents.pages.forms import HostForm, SymptomForm, rows_of
from incidents.pages.rooms import listing
from incidents.pages.rooms.listing import ARCHIVED, Again, Wanted, length
from incidents.storage import live

A_PAGE = 40
CSV_MOST = 20_000
CSV_COLUMNS = (
    *("title", "address", "state", "verdict", "leading cause", "support", "cause layer", "layers cleared"),
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
    """A room in the list. `verdict` is None until it is judged."""

    incident: Incident
    verdict: Verdict | None
    disputed: bool
    inside: list[User]
    milestones: list[Milestone]
    again: Again | None

    @property
    def cleared(self) -> list[tuple[str, str, str]]:
        """Return letters, name and bound of each layer that is cleared."""
        entries = self.verdict.cleared if self.verdict else []
        return [(LAYERS.get(one["layer"], ("?", ""))[0], layer_name(one["layer"]), one["bound"]) for one in entries]

    @property
    def took(self) -> str:
        return length(self.incident.took)  # type: ignore[attr-defined]  # annotated by listing.found


@dataclass(frozen=True)
class Column:
    """A heading that sorts: `sort` is the value that a click asks for."""

    name: str
    title: str
    sort: str
    state: str  # value of aria-sort; "" while another column sorts
    query: str


@require_GET
def rooms(request: HttpRequest) -> HttpResponse:
    """List the rooms that this person may know of: verdict, time to it, next update, who is inside, what recurs."""
    wanted = Wanted.of(request.GET.dict())
    paged = Paginator(listing.found(request.user, wanted), A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    like = visible_to(request.user).filter(slug=wanted.same).first() if wanted.same else None
    context: dict[str, Any] = {
        "any": bool(paged.paginator.count) or sees_any(request.user),
        "paged": paged,
        "page_rooms": rows(request.user, list(paged)),
        "wanted": wanted,
        "like": like,
        "states": listing.STATES,
        "layers": [(code, name) for code, (_, name) in LAYERS.items()],
        "columns": {column.name: column for column in _columns(request, wanted)},
        "sorts": [
            (f"{sign}{name}", f"{title}{words}")
            for name, title in listing.COLUMNS.items()
            for sign, words in (("", " ↑"), ("-", " ↓"))
        ],
        "samples": sample_actions.SAMPLES,
        "query": f"{query.urlencode()}&" if query else "",
        "asked": query.urlencode(),
    }
    return render(request, "rooms/rooms.html", context)


def _columns(request: HttpRequest, wanted: Wanted) -> Iterator[Column]:
    for name, title in listing.COLUMNS.items():
        here = wanted.column == name
        # The first click sorts times and counts largest first, names from A.
        first_down = name not in ("title", "status", "next", "took")
        sort = name if (here and wanted.down) or (not here and not first_down) else f"-{name}"
        query = request.GET.copy()
        query.pop("page", None)
        query["sort"] = sort
        state = ("descending" if wanted.down else "ascending") if here else ""
        yield Column(name, title, sort, state, query.urlencode())


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
    made = []
    for incident in incidents:
        verdict = getattr(incident, "verdict", None)
        carried = bool(verdict and disputed.get(incident.pk, set()) & set(verdict.carriers))
        people = [users[id] for id in inside[incident.pk] if id in users]
        made.append(Row(incident, verdict, carried, people, milestones[incident.pk], before.get(incident.pk)))
    return made


@require_GET
def rooms_csv(request: HttpRequest) -> HttpResponse:
    """Hand out the whole list, filtered and sorted as shown, as CSV; no cell reads as a formula."""
    found = list(listing.found(request.user, Wanted.of(request.GET.dict()))[:CSV_MOST])
    before = listing.again(request.user, found)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(CSV_COLUMNS)
    for incident in found:
        writer.writerow([exports.guarded(cell) for cell in _cells(request, incident, before.get(incident.pk))])
    answer = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="rooms.csv"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _cells(request: HttpRequest, incident: Incident, before: Again | None) -> list[object]:
    verdict: Verdict | None = getattr(incident, "verdict", None)
    took = incident.took  # type: ignore[attr-defined]  # annotated by listing.found, like the next two
    return [
        visible(incident.title),
        request.build_absolute_uri(reverse("room", args=[incident.slug])),
        ARCHIVED if incident.archived else incident.status,
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
        incident.artifact_count,  # type: ignore[attr-defined]
        _iso(incident.last_event),  # type: ignore[attr-defined]
        before.words if before else "",
    ]


def _iso(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else ""


@require_http_methods(["GET", "POST"])
def room_new(request: HttpRequest) -> HttpResponse:
    """Ask about the incident; everything but the title may be skipped."""
    hosts_class = rows_of(HostForm, 2)
    form = SymptomForm(request.POST or None)
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

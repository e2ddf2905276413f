"""The list of rooms, a new room, the sample room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count, DateTimeField, Exists, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import live
from incidents.access import sees_any, visible_to
from incidents.actions import rooms as actions
from incidents.actions import sample as sample_actions
from incidents.errors import Refused
from incidents.forms import HostForm, SymptomForm, rows_of
from incidents.models.activity import Activity
from incidents.models.artifact import Artifact, ArtifactState
from incidents.models.case import Host
from incidents.models.finding import OPEN_DISPUTE, Dispute, Evaluation
from incidents.models.incident import Incident, Status
from incidents.models.standing import Milestone
from incidents.report import Outlook
from incidents.views.milestones import standings

A_PAGE = 40
ARCHIVED = "archived"
SORTS = {"-last_event": "last event", "-created_at": "newest", "title": "title", "status": "state"}


@dataclass(frozen=True)
class Row:
    incident: Incident
    outlook: Outlook
    inside: list[User]
    milestones: list[Milestone]


@require_GET
def rooms(request: HttpRequest) -> HttpResponse:
    """List the rooms that this person may know of, with a search over titles, symptoms and hosts."""
    mine = visible_to(request.user)
    q = request.GET.get("q", "").replace("\x00", "").strip()
    status = request.GET.get("status", "")
    sort = request.GET.get("sort", "")
    sort = sort if sort in SORTS else "-last_event"
    last = Activity.objects.filter(incident=OuterRef("pk")).order_by("-seq").values("at")[:1]
    counted = Artifact.objects.filter(incident=OuterRef("pk")).exclude(state=ArtifactState.PURGED).order_by()
    found = mine.select_related("next_update_by").annotate(
        # Counted for the rooms of this page only: sub-queries are answered after the page was cut out.
        artifact_count=Coalesce(Subquery(counted.values("incident").annotate(n=Count("pk")).values("n")), 0),
        last_event=Subquery(last, output_field=DateTimeField()),
    )
    if q:
        hosts = Host.objects.filter(incident=OuterRef("pk"), name__icontains=q)
        found = found.filter(Q(title__icontains=q) | Q(symptom_text__icontains=q) | Exists(hosts))
    found = found.filter(archived_at__isnull=status != ARCHIVED)
    if status in Status.values:
        found = found.filter(status=status)
    paged = Paginator(found.order_by(sort, "-pk"), A_PAGE).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context: dict[str, Any] = {
        "any": bool(paged.paginator.count) or sees_any(request.user),
        "paged": paged,
        "page_rooms": rows(list(paged)),
        "q": q,
        "status": status,
        "statuses": [*Status.choices, (ARCHIVED, "archived")],
        "sort": sort,
        "sorts": SORTS.items(),
        "query": f"{query.urlencode()}&" if query else "",
    }
    return render(request, "incidents/rooms.html", context)


def rows(incidents: list[Incident]) -> list[Row]:
    """Join rooms with the newest verdict, what of it is disputed and the people inside: three queries for all of them."""
    newest = {
        evaluation.incident_id: evaluation
        for evaluation in Evaluation.objects.filter(incident__in=incidents, accepted=True)
        .order_by("incident_id", "-number")
        .distinct("incident_id")
    }
    disputed: dict[int, dict[str, int]] = {}
    for incident_id, key, count in (
        Dispute.objects.filter(OPEN_DISPUTE, incident__in=incidents)
        .values_list("incident_id", "finding__key")
        .annotate(n=Count("pk"))
        .order_by()
    ):
        disputed.setdefault(incident_id, {})[key] = count
    present = live.present_in([incident.pk for incident in incidents])
    inside = {id: [here.user_id for here in people] for id, people in present.items()}
    milestones = standings(incidents)
    users = User.objects.in_bulk({id for ids in inside.values() for id in ids}) if any(inside.values()) else {}
    return [
        Row(
            incident,
            Outlook(
                newest[incident.pk].report if incident.pk in newest else None,
                incident.slug,
                disputes=disputed.get(incident.pk),
            ),
            [users[id] for id in inside[incident.pk] if id in users],
            milestones[incident.pk],
        )
        for incident in incidents
    ]


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
    return render(request, "incidents/room_new.html", {"form": form, "hosts": hosts}, status=status)


@require_POST
def sample(request: HttpRequest) -> HttpResponse:
    """Open a sample room: one of five published incidents, sent through the ordinary upload path."""
    number = request.POST.get("number") or sample_actions.FIRST
    return redirect("room", sample_actions.open_sample(request_user(request), number).slug)


def request_user(request: HttpRequest) -> User:
    """Return the signed-in user; `page` in `shell.py` lets nobody else come here."""
    if not isinstance(request.user, User):
        raise Refused("Sign in first.", 401)
    return request.user

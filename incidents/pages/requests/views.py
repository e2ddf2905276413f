"""Requests: what must be collected, by whom; the list, the form, one request with its answers, links and quarantine."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import artifacts as receiving
from incidents.actions import notices, quarantine
from incidents.actions import requests as actions
from incidents.content import request_words, rulebook
from incidents.content.names import known_as
from incidents.content.report import Ask
from incidents.content.request_words import CollectPart, collect_part, worth_words
from incidents.errors import AlreadyHere, Refused
from incidents.models.evidence.artifact import Way
from incidents.models.evidence.quarantine import GiveLink, Quarantined, QuarantinedFile
from incidents.models.evidence.request import EvidenceRequest, RequestState
from incidents.models.judging.case import Host
from incidents.pages.requests.forms import (
    AnswerFileForm,
    AnswerTextForm,
    ArtifactForm,
    LinkForm,
    RefuseForm,
    RequestForm,
)
from incidents.pages.room.views import newest
from incidents.pages.shell import is_part, shell, takes_files
from incidents.work.arrivals import QUARANTINE_DAYS
from rules.collecting.blocks import system_of

A_PAGE = 25
SHOWN = {
    "": "open",
    "mine": "asked of me",
    "by-me": "asked by me",
    "answered": "answered",
    "withdrawn": "taken back",
    "expired": "run out",
    "all": "all",
}
SORTED = {"": "by worth", "due": "by due time", "new": "newest first"}
MOST_OFFERED = 5
MOST_FURTHER = 300


@dataclass(frozen=True)
class Row:
    """One row of the list: the request and what is shown beside it."""

    request: EvidenceRequest
    worth: str
    waiting: int
    links: int


@dataclass(frozen=True)
class Offer:
    """Missing evidence of the report, as the list offers it."""

    ask: Ask
    worth: str


@require_GET
def requests(request: HttpRequest, slug: str) -> HttpResponse:
    """List the room's requests by worth, and above them missing evidence that nobody has requested yet."""
    room = access.enter(request.user, slug)
    show, sort = request.GET.get("show", ""), request.GET.get("sort", "")
    show, sort = show if show in SHOWN else "", sort if sort in SORTED else ""
    paged = Paginator(_listed(room, show, sort), A_PAGE).get_page(request.GET.get("page"))
    rows = [
        Row(row, worth_words(row.worth), row.waiting, row.living)  # type: ignore[attr-defined]  # annotated
        for row in paged
    ]
    context = shell(room, "requests") | {
        "rows": rows,
        "paged": paged,
        "show": show,
        "sort": sort,
        "shown": SHOWN.items(),
        "sorted": SORTED.items(),
        "any": paged.paginator.count > 0 or room.incident.requests.exists(),
        **_offers(room, shown=show == "" and paged.number == 1),
        "query": "".join(f"{name}={value}&" for name, value in (("show", show), ("sort", sort)) if value),
    }
    return render(request, "requests/requests.html", context)


def _listed(room: Room, show: str, sort: str) -> QuerySet[EvidenceRequest]:
    rows = room.incident.requests.select_related("asked_of", "asked_by")
    match show:
        case "":
            rows = rows.filter(state=RequestState.OPEN)
        case "mine":
            rows = rows.filter(asked_of=room.user)
        case "by-me":
            rows = rows.filter(asked_by=room.user)
        case "answered" | "withdrawn" | "expired":
            rows = rows.filter(state=show)
    waits = Count("links__files", filter=Q(links__files__state=Quarantined.WAITING), distinct=True)
    living = Count("links", filter=Q(links__revoked_at=None, links__expires_at__gt=timezone.now()), distinct=True)
    due = F("due_at").asc(nulls_last=True)
    rows = rows.annotate(waiting=waits, living=living)
    match sort:
        case "due":
            return rows.order_by(due, "-worth", "pk")
        case "new":
            return rows.order_by("-pk")
    return rows.order_by("-worth", due, "pk")


def _offers(room: Room, shown: bool) -> dict[str, list[Offer]]:
    """Return missing evidence without an open request: the most useful, and that of all other rules."""
    if not shown:
        return {"offers": [], "further": []}
    outlook, _, _ = newest(room)
    asked = set(room.incident.requests.exclude(state=RequestState.WITHDRAWN).values_list("ask_id", flat=True))
    offers = [Offer(ask, worth_words(ask.worth)) for ask in outlook.asks if ask.id not in asked]
    return {"offers": offers[:MOST_OFFERED], "further": offers[MOST_OFFERED : MOST_OFFERED + MOST_FURTHER]}


# --- the form -----------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def request_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form of a new request, filled in from `?ask=<id>` of the report, with the words of `what`, or empty."""
    room = access.enter(request.user, slug, Right.PLAN)
    wanted = request.POST.get("ask") or request.GET.get("ask") or ""
    ask = newest(room)[0].ask(wanted) if wanted else None
    hosts = list(room.incident.hosts.all())
    drafted = request_words.draft(room.incident, ask, hosts, rulebook.rule_of(ask.rule) if ask else None)
    before = _asked_before(room, ask)
    data = request.POST if request.method == "POST" else None
    initial = drafted.initial | {"client_id": uuid.uuid4()}
    if ask is None and request.GET.get("what"):
        initial["what"] = request.GET["what"][:500]
    form = RequestForm(data, people=_people(room), initial=initial, auto_id="request_%s")
    context = {"ask": ask, "lost": bool(wanted) and ask is None, "before": before, "row": None}
    return _edit(request, room, form, hosts, None, drafted.hidden, context)


@require_http_methods(["GET", "POST"])
def request_edit(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Change what is asked while the request is open."""
    room = access.enter(request.user, slug, Right.PLAN)
    row = _one(room, id)
    if not row.open:
        raise Refused("This request is not open any more: open it again first.", 409)
    initial = {name: getattr(row, name) for name in RequestForm.base_fields if hasattr(row, name)}
    initial |= {"asked_of": str(row.asked_of_id or "")}
    data = request.POST if request.method == "POST" else None
    form = RequestForm(data, people=_people(room), initial=initial, auto_id="request_%s")
    return _edit(request, room, form, list(room.incident.hosts.all()), row, {}, {"row": row})


def _edit(
    request: HttpRequest,
    room: Room,
    form: RequestForm,
    hosts: list[Host],
    row: EvidenceRequest | None,
    hidden: dict[str, Any],
    more: dict[str, Any],
) -> HttpResponse:
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                said = hidden | form.said()
                done = actions.put(room, said, row.pk if row else None, form.cleaned_data["client_id"])
            except Refused as refused:
                if refused.status in (403, 404, 409):
                    raise
                form.add_error(None, refused.message)
            else:
                if form.by_link and not done.links.exists():
                    return _with_new_link(request, room, done, LinkFields())
                place = "#by-link" if form.by_link else ""
                return redirect(reverse("request", args=[room.incident.slug, done.pk]) + place)
    typed = form["command"].value() or ""
    context = (
        shell(room, "requests")
        | more
        | {
            "form": form,
            "hosts": hosts,
            "cost": actions.cost_in_words(str(typed)),
        }
    )
    return render(request, "requests/request_form.html", context, status=status)


# --- one request --------------------------------------------------------------------------------------------------


@require_GET
def one(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Show a request: what to run, what it costs, what it would decide, its links, quarantined files, answers."""
    room = access.enter(request.user, slug)
    row = _one(room, id)
    notices.seen_request(room, id)
    return render(request, "requests/request.html", _shown(request, room, row))


def _shown(request: HttpRequest, room: Room, row: EvidenceRequest, **forms: Any) -> dict[str, Any]:
    links = list(row.links.select_related("created_by").annotate(n=Count("files")))
    files = list(
        QuarantinedFile.objects.filter(link__request=row)
        .select_related("settled_by", "artifact", "link")
        .order_by("received_at")
    )
    collect = collect_part(
        request.GET.get("system") or system_of(row.os or None, row.os_release or None),
        request.GET.get("symptom") or row.symptom or None,
        room.incident,
        None,
    )
    return shell(room, "requests") | {
        "row": row,
        "worth": worth_words(row.worth),
        "answers": list(row.answers.filter(taken=True).select_related("artifact", "by")),
        "proposals": request_words.proposals(row),
        "links": links,
        "waiting": [file for file in files if file.state == Quarantined.WAITING],
        "settled": [file for file in files if file.state != Quarantined.WAITING],
        "quarantine_days": QUARANTINE_DAYS,
        "collect": collect,
        "own": row.asked_by_id == room.user.pk or room.may(Right.PEOPLE),
        "members": set(room.incident.memberships.values_list("user_id", flat=True)),
        "link_form": LinkForm(
            initial={"hours": quarantine.HOURS, "most": quarantine.FILES, "mib": quarantine.MIB}, auto_id="link_%s"
        ),
        "file_form": AnswerFileForm(auto_id="file_%s"),
        "text_form": AnswerTextForm(auto_id="text_%s"),
        "artifact_form": ArtifactForm(auto_id="artifact_%s"),
        "refuse_form": RefuseForm(auto_id=False),
        **forms,
    }


@require_POST
def request_state(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Withdraw a request, or open it again."""
    room = access.enter(request.user, slug, Right.PLAN)
    match request.POST.get("do"):
        case "withdraw":
            actions.withdraw(room, id)
        case "reopen":
            actions.reopen(room, id)
        case _:
            raise Refused("There is no such action here.")
    return redirect("request", slug, id)


@require_POST
@takes_files
def request_answer(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Answer with a file, with text, or with an artifact of the room; or decline an artifact as answer."""
    room = access.enter(request.user, slug, Right.UPLOAD)
    row = _one(room, id)
    what = request.POST.get("do")
    if what == "decline":
        actions.decline(room, id, _number(request))
        return redirect("request", slug, id)
    kinds: dict[str | None, tuple[str, Any]] = {
        "file": ("file_form", AnswerFileForm(request.POST, request.FILES, auto_id="file_%s")),
        "text": ("text_form", AnswerTextForm(request.POST, auto_id="text_%s")),
        "artifact": ("artifact_form", ArtifactForm(request.POST, auto_id="artifact_%s")),
    }
    if what not in kinds:
        raise Refused("There is no such action here.")
    name, form = kinds[what]
    if form.is_valid():
        try:
            number = form.cleaned_data["artifact"] if what == "artifact" else _received(room, row, form, what or "")
            actions.answer(room, id, [number])
            return redirect("request", slug, id)
        except Refused as refused:
            if refused.status in (403, 409):
                raise
            form.add_error(None, refused.message)
    return render(request, "requests/request.html", _shown(request, room, row, **{name: form}), status=422)


def _received(room: Room, row: EvidenceRequest, form: Any, what: str) -> int:
    """Store what was sent; content that the room already holds is an answer as well."""
    room.require_more_evidence()
    said = {"host": row.host} if row.host else {}
    if what == "file":
        file = form.cleaned_data["file"]
        name, chunks, way = file.name or "unnamed", file.chunks(), Way.PAGE
    else:
        name, way = f"request-{row.pk}.txt", Way.PASTE
        chunks = _one_piece(form.cleaned_data["text"].encode())
    try:
        return receiving.receive_stream(room, name, chunks, way, said).number
    except AlreadyHere as here:
        return here.number


def _one_piece(data: bytes) -> Iterator[bytes]:
    yield data


@require_POST
def request_link(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Make a link for people without an account, shown once; or revoke one."""
    room = access.enter(request.user, slug, Right.PLAN)
    row = _one(room, id)
    if request.POST.get("do") == "revoke":
        quarantine.revoke_link(room, id, _number(request, "link"))
        return redirect(reverse("request", args=[slug, id]) + "#by-link")
    form = LinkForm(request.POST, auto_id="link_%s")
    if form.is_valid():
        fields = form.cleaned_data
        limits = LinkFields(fields["label"] or "", fields["hours"], fields["most"], fields["mib"])
        return _with_new_link(request, room, row, limits)
    return render(request, "requests/request.html", _shown(request, room, row, link_form=form), status=422)


@dataclass(frozen=True)
class LinkFields:
    """Label and limits of an upload link (`most` files, `mib` each), with the default values."""

    label: str = ""
    hours: int = quarantine.HOURS
    most: int = quarantine.FILES
    mib: int = quarantine.MIB


def _with_new_link(request: HttpRequest, room: Room, row: EvidenceRequest, fields: LinkFields) -> HttpResponse:
    """Make a link and show the request with it. The secret is stored hashed, so this page alone can show it."""
    secret = quarantine.make_link(room, row.pk, fields.label, fields.hours, fields.most, fields.mib)
    address = request.build_absolute_uri(reverse("give", args=[secret]))
    made: GiveLink | None = row.links.order_by("-pk").first()
    answer = render(request, "requests/request.html", _shown(request, room, row, made=made, address=address))
    answer["Referrer-Policy"] = "strict-origin"
    return answer


@require_POST
def request_file(request: HttpRequest, slug: str, id: int, file: uuid.UUID) -> HttpResponse:
    """Accept a quarantined file as evidence, or refuse it with a reason."""
    room = access.enter(request.user, slug, Right.UPLOAD)
    row = _one(room, id)
    match request.POST.get("do"):
        case "take":
            quarantine.take_in(room, id, file)
        case "refuse":
            form = RefuseForm(request.POST, auto_id=False)
            if not form.is_valid():
                context = _shown(request, room, row, refuse_form=form, refusing=file)
                return render(request, "requests/request.html", context, status=422)
            quarantine.refuse(room, id, file, form.cleaned_data["reason"])
        case _:
            raise Refused("There is no such action here.")
    return redirect("request", slug, id)


@require_GET
def collect(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the collect block for a system and a symptom; `?download`: as a file."""
    room = access.enter(request.user, slug)
    part = collect_of(request, room)
    if "download" in request.GET:
        answer = HttpResponse(part.block.text, content_type="text/plain; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="collect-{part.system}-{part.symptom}.sh"'
        return answer
    template = "requests/_collect_block.html" if is_part(request) else "requests/collect.html"
    return render(request, template, shell(room, "requests") | {"collect": part})


def collect_of(request: HttpRequest, room: Room) -> CollectPart:
    """Return the block that the address chooses; what it leaves open follows from the case and its database host."""
    hosts = list(room.incident.hosts.all())
    host = next((host for host in hosts if host.role == "database"), hosts[0] if hosts else None)
    return collect_part(request.GET.get("system"), request.GET.get("symptom"), room.incident, host)


# --- shared by the views ---------------------------------------------------------------------------------------------


def _one(room: Room, id: int) -> EvidenceRequest:
    rows = room.incident.requests.select_related("asked_of", "asked_by", "settled_by")
    row = rows.filter(pk=id).first()
    if row is None:
        raise Refused("There is no such request.", 404)
    return row


def _people(room: Room) -> list[tuple[int, str]]:
    rows = room.incident.memberships.select_related("user").filter(user__is_active=True)
    return sorted(((row.user_id, known_as(row.user)) for row in rows), key=lambda one: one[1].lower())


def _asked_before(room: Room, ask: Ask | None) -> EvidenceRequest | None:
    """Return the newest valid request for the same evidence, so that nobody is asked twice unknowingly."""
    if ask is None:
        return None
    rows = room.incident.requests.filter(ask_id=ask.id).exclude(state=RequestState.WITHDRAWN)
    return rows.order_by("-pk").first()


def _number(request: HttpRequest, name: str = "artifact") -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0

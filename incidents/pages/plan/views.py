"""Decisions and actions: the lists, their forms, delete and restore."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import plan as actions
from incidents.content.names import known_as
from incidents.content.visible import visible
from incidents.errors import Overtaken, Refused
from incidents.models.evidence.reading import Part
from incidents.models.people.membership import Role
from incidents.models.plan.action import Action, ActionState
from incidents.models.plan.decision import Decision
from incidents.pages.plan.forms import ActionForm, Choices, DecisionForm, DoneForm, SeenForm, StateForm
from incidents.pages.plan.lists import on_finding
from incidents.pages.room.views import newest
from incidents.pages.shell import shell

A_PAGE = 25
UNDO_FOR = timedelta(minutes=10)
SHOWN = {"": "open first", "open": "open only", "mine": "mine", "overdue": "overdue", "closed": "settled"}
MOST_FINDINGS = 200
_LIVING = ("author", "edited_by", "deleted_by")


@dataclass(frozen=True)
class People:
    """The present members; others are shown as former members, and nothing can be assigned to them."""

    names: dict[int, str]
    roles: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, room: Room) -> People:
        rows = list(room.incident.memberships.select_related("user").filter(user__is_active=True))
        return cls({row.user_id: _name(row.user) for row in rows}, {row.user_id: row.role for row in rows})

    def choices(self, *also: User | None, roles: Collection[str] = tuple(Role.values)) -> Choices:
        """Return the members of some roles by name, and people named before who have left since."""
        named = [(id, name) for id, name in self.names.items() if self.roles.get(id) in roles]
        named.sort(key=lambda pair: pair[1].casefold())
        left = {user.pk: f"{_name(user)} (former member)" for user in also if user and user.pk not in self.names}
        return [*named, *left.items()]


@require_GET
def plan(request: HttpRequest, slug: str) -> HttpResponse:
    """List decisions and actions, the earliest due first; `?finding=`: only those of a finding."""
    room = access.enter(request.user, slug)
    key = _asked_key(request)
    if key and request.GET.get("part") == "finding":
        return render(request, "findings/_finding_plan.html", {"room": room} | on_finding(room, key))
    show = request.GET.get("show", "")
    show = show if show in SHOWN else ""
    now = timezone.now()
    on = Q(finding_key=key) if key else Q()
    decisions = _page(request, _decisions(room, show, now).filter(on), "decisions")
    rows = _page(request, _actions(room, show, now).filter(on), "actions")
    query = request.GET.copy()
    for name in ("decisions", "actions"):
        query.pop(name, None)
    context = shell(room, "plan") | {
        "decisions": decisions,
        "actions": rows,
        "show": show,
        "shown": SHOWN.items(),
        "now": now,
        "members": set(People.of(room).names),
        "any": bool(decisions.paginator.count or rows.paginator.count)
        or room.incident.decisions.filter(deleted_at__isnull=True).exists()
        or room.incident.actions.filter(deleted_at__isnull=True).exists(),
        "states": [choice for choice in ActionState.choices if choice[0] != ActionState.DONE],
        "query": f"{query.urlencode()}&" if query else "",
    }
    return render(request, "plan/plan.html", context)


# --- decisions ----------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def decision_new(request: HttpRequest, slug: str) -> HttpResponse:
    return _edit_decision(request, access.enter(request.user, slug, Right.PLAN), None)


@require_http_methods(["GET", "POST"])
def decision(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    room = access.enter(request.user, slug, Right.PLAN)
    return _edit_decision(
        request, room, _one(room.incident.decisions.select_related("decided_by", "asked_of"), id, "decision")
    )


def _edit_decision(request: HttpRequest, room: Room, row: Decision | None) -> HttpResponse:
    people = People.of(room)
    key = row.finding_key if row else _asked_key(request)
    initial = actions.decision_values(row) if row else {"client_id": uuid.uuid4(), "finding_key": key}
    kwargs = {
        "people": people.choices(*((row.decided_by, row.asked_of) if row else ())),
        "findings": _findings(room, key),
    }
    form = DecisionForm(request.POST or None, initial=initial, auto_id="decision_%s", **kwargs)
    return _edit(request, room, row, form, "decision", actions.put_decision, people)


# --- actions ------------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def action_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for a new action; for a finding, the rule's "did it help?" is offered as the expected effect."""
    return _edit_action(request, access.enter(request.user, slug, Right.PLAN), None)


@require_http_methods(["GET", "POST"])
def action(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    room = access.enter(request.user, slug, Right.PLAN)
    return _edit_action(request, room, _one(room.incident.actions.select_related("owner"), id, "action"))


def _edit_action(request: HttpRequest, room: Room, row: Action | None) -> HttpResponse:
    people = People.of(room)
    if row:
        initial = actions.action_values(row)
    else:
        key = _asked_key(request)
        initial = {"client_id": uuid.uuid4(), "finding_key": key, "owner": room.user.pk}
        claim = newest(room)[0].claim(key) if key else None
        initial |= {"expected": claim.verify or None} if claim else {}
        asked = request.GET.get("decision", "")
        initial |= {"decision": int(asked)} if asked.isascii() and asked.isdigit() and len(asked) < 19 else {}
    open_ones = room.incident.decisions.filter(deleted_at__isnull=True).order_by("-pk")[:MOST_FINDINGS]
    kwargs = {
        "people": people.choices(row.owner if row else None, None if row else room.user),
        "findings": _findings(room, initial.get("finding_key")),
        "decisions": [(one.pk, _short(one.words)) for one in open_ones],
    }
    form = ActionForm(request.POST or None, initial=initial, auto_id="action_%s", **kwargs)
    return _edit(request, room, row, form, "action", actions.put_action, people)


@require_http_methods(["GET", "POST"])
def action_done(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Ask when an action was done and what it changed; the answer becomes a marker of the case."""
    room = access.enter(request.user, slug, Right.PLAN)
    row = _one(room.incident.actions.all(), id, "action")
    form = DoneForm(request.POST or None, initial={"at": timezone.now()}, auto_id="done_%s")
    if request.method == "POST" and form.is_valid():
        fields = form.cleaned_data
        phases = (fields["from_phase"], fields["to_phase"]) if fields["from_phase"] else None
        try:
            actions.finish_action(room, id, fields["at"], fields["changed"], phases)
            return redirect(f"{reverse('plan', args=[slug])}#action-{id}")
        except Refused as refused:
            if refused.status in (403, 404, 409):
                raise
            form.add_error(None, refused.message)
    context = shell(room, "plan") | {"form": form, "row": row, "phases": _phases(room)}
    return render(request, "plan/action_done.html", context, status=422 if form.errors else 200)


@require_POST
def action_state(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Begin an action, drop it, or open it again."""
    room = access.enter(request.user, slug, Right.PLAN)
    form = StateForm(request.POST)
    if not form.is_valid():
        raise Refused("Choose a state from the list.")
    actions.set_state(room, id, form.cleaned_data["state"])
    return redirect(f"{reverse('plan', args=[slug])}#action-{id}")


@require_POST
def delete(request: HttpRequest, slug: str, what: str, id: int) -> HttpResponse:
    """Delete a row; the list offers undo."""
    room = access.enter(request.user, slug, Right.PLAN)
    deletes = {
        "decisions": actions.delete_decision,
        "actions": actions.delete_action,
        "entries": actions.delete_entry,
    }
    deletes[what](room, id)
    return _listed(request, slug, what, id)


@require_POST
def restore(request: HttpRequest, slug: str, what: str, id: int) -> HttpResponse:
    room = access.enter(request.user, slug, Right.PLAN)
    restores = {
        "decisions": actions.restore_decision,
        "actions": actions.restore_action,
        "entries": actions.restore_entry,
    }
    restores[what](room, id)
    return _listed(request, slug, what, id)


def _listed(request: HttpRequest, slug: str, what: str, id: int) -> HttpResponse:
    """Lead back to the list that has the row, or to the log if it was done there."""
    page = "log" if what == "entries" or request.POST.get("next") == "log" else "plan"
    row = {"decisions": "decision", "actions": "action", "entries": "entry"}[what]
    return redirect(f"{reverse(page, args=[slug])}#{row}-{id}")


# --- shared by decisions and actions ----------------------------------------------------------------------------------


def _edit(
    request: HttpRequest,
    room: Room,
    row: Decision | Action | None,
    form: SeenForm,
    what: str,
    put: Callable[..., Decision | Action],
    people: People,
) -> HttpResponse:
    """Show the form or save it. The person who saves second sees both texts before anything is written."""
    slug = room.incident.slug
    if row is not None and row.deleted_at is not None:
        raise Refused(f"This {what} was taken away. Bring it back first.", 409)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            fields = {name: value for name, value in form.cleaned_data.items() if name != "client_id"}
            try:
                done = put(
                    room, fields, row.pk if row else None, form.seen if row else None, form.cleaned_data["client_id"]
                )
                return redirect(f"{reverse('plan', args=[slug])}#{what}-{done.pk}")
            except Overtaken as beaten:
                row = type(row).objects.select_related("edited_by").get(pk=row.pk) if row else None
                who = visible(_name(row.edited_by)) if row and row.edited_by else "Somebody"
                form = form.beside(beaten.now, who, in_words(beaten.now, form))
                status = 409
            except Refused as refused:
                if refused.status in (403, 404, 409):
                    raise
                form.add_error(None, refused.message)
    context = shell(room, "plan") | {"form": form, "row": row, "what": what}
    return render(request, "plan/plan_form.html", context, status=status)


def in_words(now: dict[str, Any], form: SeenForm) -> dict[str, str]:
    """Write values as the page does: people and findings by name, times in UTC."""
    words = {}
    for name, value in now.items():
        choices = dict(getattr(form.fields[name], "choices", ()))
        if isinstance(value, datetime):
            words[name] = f"{value:%Y-%m-%d %H:%M:%S} UTC"
        elif value is not None:
            words[name] = visible(str(choices.get(value, value)), keep="\n")
    return words


def _decisions(room: Room, show: str, now: datetime) -> QuerySet[Decision]:
    rows = room.incident.decisions.filter(_shown_to(room)).select_related("decided_by", "asked_of", *_LIVING)
    match show:
        case "open":
            rows = rows.filter(outcome__isnull=True)
        case "closed":
            rows = rows.filter(outcome__isnull=False)
        case "overdue":
            rows = rows.filter(outcome__isnull=True, needed_by__lt=now)
        case "mine":
            rows = rows.filter(Q(decided_by=room.user) | Q(asked_of=room.user) | Q(author=room.user))
    return rows.order_by(F("decided_at").desc(nulls_first=True), F("needed_by").asc(nulls_last=True), "pk")


def _actions(room: Room, show: str, now: datetime) -> QuerySet[Action]:
    rows = room.incident.actions.filter(_shown_to(room)).select_related(
        "owner", "done_by", "decision", "marker", *_LIVING
    )
    going = (ActionState.OPEN, ActionState.DOING)
    match show:
        case "open":
            rows = rows.filter(state__in=going)
        case "closed":
            rows = rows.exclude(state__in=going)
        case "overdue":
            rows = rows.filter(state__in=going, due_at__lt=now)
        case "mine":
            rows = rows.filter(owner=room.user)
    settled = ExpressionWrapper(~Q(state__in=going), output_field=BooleanField())
    return rows.order_by(settled, F("due_at").asc(nulls_last=True), "pk")


def _shown_to(room: Room) -> Q:
    """Select rows that are not deleted, and those that the reader has just deleted, for undo."""
    return Q(deleted_at__isnull=True) | Q(deleted_by=room.user, deleted_at__gt=timezone.now() - UNDO_FOR)


def _page(request: HttpRequest, rows: QuerySet[Any], name: str) -> Page[Any]:
    return Paginator(rows, A_PAGE).get_page(request.GET.get(name))


def _one(rows: QuerySet[Any], id: int, what: str) -> Any:
    row = rows.filter(pk=id).first()
    if row is None:
        raise Refused(f"There is no such {what}.", 404)
    return row


def _asked_key(request: HttpRequest) -> str | None:
    key = request.GET.get("finding", "")
    return key if len(key) == 16 and set(key) <= set("0123456789abcdef") else None


def _findings(room: Room, chosen: str | None) -> Choices:
    """Offer the present findings, causes first, and the one chosen before even if it is no longer found."""
    rows = room.incident.findings.select_related("current").filter(kind="finding")
    offered = list(rows.filter(gone_since__isnull=True)[:MOST_FINDINGS])
    if chosen and all(row.key != chosen for row in offered):
        offered += list(room.incident.findings.select_related("current").filter(key=chosen))
    return [
        (row.key, _short(str(row.current.content.get("headline") or row.rule) if row.current else row.rule))
        for row in offered
    ]


def _phases(room: Room) -> list[str]:
    """Return the phases that the evidence has, for the two fields of a comparison."""
    stated = room.incident.phases.values_list("phase", flat=True).distinct()
    guessed = (
        Part.objects.filter(reading__artifact__incident=room.incident, phase__isnull=False, reading__state="complete")
        .order_by()
        .values_list("phase", flat=True)
        .distinct()
    )
    return sorted({*stated, *(phase for phase in guessed if phase)})[:50]


def _short(text: str) -> str:
    text = visible(text.split("\n", 1)[0])
    return text if len(text) <= 100 else text[:99] + "…"


def _name(user: User) -> str:
    return known_as(user)

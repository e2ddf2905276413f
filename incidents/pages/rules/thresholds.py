"""A room's changes to the rules: other values for parameters, findings hidden for a while. Rules stay unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import thresholds as actions
from incidents.content import rulebook
from incidents.errors import Refused
from incidents.models.judging.threshold import IN_FORCE, Threshold
from incidents.pages.plan.views import UNDO_FOR
from incidents.pages.shell import shell
from rules.writing.packs import MOST_DAYS
from rules.writing.rule import Param, Rule

A_PAGE = 15
USUAL_DAYS = 30
_LIVING = ("author", "deleted_by")


@dataclass(frozen=True)
class Shown:
    """A parameter with its bounds, and the values of its form."""

    rule: Rule
    name: str
    param: Param
    set: Threshold | None
    typed: Mapping[str, str]
    problem: str = ""

    @property
    def bounds(self) -> str:
        return _bounds(self.param)

    @property
    def value(self) -> str:
        if "value" in self.typed:
            return self.typed["value"]
        return str(self.set.value if self.set else self.param.default)

    @property
    def reason(self) -> str:
        return self.typed.get("reason") or (self.set.reason if self.set else "")

    @property
    def until(self) -> str:
        usual = timezone.now().date() + timedelta(days=USUAL_DAYS)
        return self.typed.get("until") or (self.set.until if self.set else usual).isoformat()


@dataclass(frozen=True)
class Changed:
    """A threshold that is or was set, beside the rule's own value; `param` is None if the rule no longer has it."""

    row: Threshold
    param: Param | None
    title: str

    @property
    def refused(self) -> str | None:
        """Return why the value is not applied, if the rule's bounds have changed since."""
        return self.param.refuse(self.row.value) if self.param else None


@require_http_methods(["GET", "POST"])
def thresholds(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what is set and hidden, and set or hide more (`do`); an error names the bounds and keeps what was typed."""
    room = access.enter(request.user, slug, Right.TUNE if request.method == "POST" else Right.READ)
    problem = ""
    status = 200
    if request.method == "POST":
        rule = rulebook.rule_of(request.POST.get("rule", ""))
        if rule is None:
            raise Refused("There is no such rule.", 404)
        try:
            if request.POST.get("do") == "hide":
                _hide(room, rule, request.POST)
                messages.success(request, "Hidden. They stay counted; the room is judged again.")
            else:
                _set(room, rule, request.POST)
                messages.success(
                    request, f"{rule.id}: {request.POST.get('param', '')} is set. The room is judged again."
                )
        except Refused as refused:
            if refused.status in (403, 404):
                raise
            problem, status = refused.message, refused.status if refused.status == 409 else 422
        else:
            return redirect(f"{reverse('thresholds', args=[slug])}?{urlencode({'rule': rule.id})}#set")
    return render(request, "rules/thresholds.html", _page(request, room, problem), status=status)


@require_POST
def change(request: HttpRequest, slug: str, what: str, id: int) -> HttpResponse:
    """Take a threshold back or show hidden findings again; with `do` restore, the opposite."""
    room = access.enter(request.user, slug, Right.TUNE)
    again = request.POST.get("do") == "restore"
    if what == "values":
        (actions.again_threshold if again else actions.end_threshold)(room, id)
    else:
        (actions.again_hiding if again else actions.end_hiding)(room, id)
    return redirect(f"{reverse('thresholds', args=[slug])}#set")


def _set(room: Room, rule: Rule, said: Mapping[str, str]) -> None:
    name = said.get("param", "")
    param = rule.file.params.get(name)
    if param is None:
        raise Refused("The rule has no such parameter.", 404)
    actions.set_threshold(
        room, rule, name, _value(said.get("value", ""), name, param), said.get("reason", ""), _day(said)
    )


def _hide(room: Room, rule: Rule, said: Mapping[str, str]) -> None:
    actions.hide(room, rule, said.get("subject", ""), said.get("host") or None, said.get("reason", ""), _day(said))


def _bounds(param: Param) -> str:
    """Say which values are allowed."""
    unit = f" {param.unit}" if param.unit else ""
    if param.type in ("number", "int"):
        low, high = ("–" if x is None else f"{x:g}" for x in (param.min, param.max))
        return f"{low} to {high}{unit}" + (", whole" if param.type == "int" else "")
    return ", ".join(param.values) if param.values else "text"


def _value(text: str, name: str, param: Param) -> float | int | str:
    text = text.strip()
    if param.type not in ("number", "int"):
        return text
    try:
        number = float(text)
    except ValueError:
        raise Refused(f"{name} must be a number written like 0.25, {_bounds(param)}; not “{text[:40]}”.", 422) from None
    if param.type == "int" or (number.is_integer() and "." not in text):
        if not number.is_integer():
            raise Refused(f"{name} must be a whole number, not {text[:40]}.", 422)
        return int(number)
    return number


def _day(said: Mapping[str, str]) -> date:
    try:
        return date.fromisoformat(said.get("until", "").strip())
    except ValueError:
        raise Refused("Until when? Write the day like 2027-01-31.", 422) from None


# --- the page -----------------------------------------------------------------------------------------------------


def _page(request: HttpRequest, room: Room, problem: str) -> dict[str, Any]:
    said = request.POST if request.method == "POST" else request.GET
    shown_for_undo = Q(deleted_by=room.user, deleted_at__gt=timezone.now() - UNDO_FOR)
    ended = Q(ended_at__gt=timezone.now() - timedelta(days=7))
    listed = IN_FORCE | shown_for_undo | ended
    values = list(room.incident.thresholds.filter(listed).select_related(*_LIVING))
    hidden = list(room.incident.suppressions.filter(listed).select_related(*_LIVING))
    rules = {rule.id: rule for rule in rulebook.library().rules}
    newest = (
        room.incident.evaluations.filter(accepted=True).order_by("-number").values_list("report__hidden", flat=True)
    )
    finding = _finding(room, said.get("finding", ""))
    rule = rules.get(said.get("rule", "") or (finding or {}).get("rule", ""))
    words = said.get("q", "").strip()
    fit = [r for r in rules.values() if r.file.params and _fits(r, words)]
    today = timezone.now().date()
    until = (today + timedelta(days=USUAL_DAYS)).isoformat()
    typed = (
        {k: said.get(k, "") for k in ("reason", "until", "subject", "host", "value", "param", "do")} if problem else {}
    )
    return shell(room, "thresholds") | {
        "values": [_changed(row, rules) for row in values],
        "hidden": hidden,
        "hidden_now": newest.first() or [],
        "today": today,
        "until": until,
        "most_days": MOST_DAYS,
        "most_until": (today + timedelta(days=MOST_DAYS)).isoformat(),
        "rule": rule,
        "params": _params(rule, values, typed, problem) if rule else [],
        "hide": {
            "subject": typed.get("subject") or (finding or {}).get("subject") or "*",
            "host": typed.get("host") or (finding or {}).get("host") or "",
            "reason": typed.get("reason", "") if typed.get("do") == "hide" else "",
            "until": typed.get("until", "") if typed.get("do") == "hide" else until,
            "problem": problem if typed.get("do") == "hide" else "",
            "open": bool(finding) or typed.get("do") == "hide",
        },
        "hosts": list(room.incident.hosts.values_list("name", flat=True)) if rule else [],
        "q": words,
        "rules": Paginator(fit, A_PAGE).get_page(request.GET.get("page")),
        "query": f"{urlencode({'q': words})}&" if words else "",
    }


def _changed(row: Threshold, rules: Mapping[str, Rule]) -> Changed:
    rule = rules.get(row.rule)
    return Changed(row, rule.file.params.get(row.param) if rule else None, rule.file.title if rule else "")


def _params(rule: Rule, values: list[Threshold], typed: Mapping[str, str], problem: str) -> list[Shown]:
    in_force = {row.param: row for row in values if row.rule == rule.id and not row.deleted_at and not row.ended_at}
    here = typed.get("param") if typed.get("do") != "hide" else None
    return [
        Shown(rule, name, param, in_force.get(name), typed if name == here else {}, problem if name == here else "")
        for name, param in rule.file.params.items()
    ]


def _fits(rule: Rule, words: str) -> bool:
    text = f"{rule.id} {rule.file.slug} {rule.file.title} {' '.join(rule.file.params)}".lower()
    return all(word in text for word in words.lower().split())


def _finding(room: Room, key: str) -> dict[str, Any] | None:
    """Return the content of a finding, to fill in the form for hiding it."""
    if not key:
        return None
    row = room.incident.findings.filter(key=key[:16]).select_related("current").first()
    return dict(row.current.content) if row is not None and row.current is not None else None

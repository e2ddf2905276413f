"""The board: which explanation leads and what speaks against it; rows of evidence and causes that people add."""

from __future__ import annotations

import re
import uuid
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import board as actions
from incidents.content.discussions import UNDO_FOR
from incidents.content.milestones import header
from incidents.content.report import LAYERS
from incidents.content.visible import visible
from incidents.errors import Refused
from incidents.models.judging.argument import Argument
from incidents.models.judging.cause import FreeCause
from incidents.pages.board.course import Course, Judged, course_of
from incidents.pages.board.forms import ArgumentForm, CauseForm
from incidents.pages.board.table import Board, board_of, signed
from incidents.pages.room.views import artifacts_of, newest
from incidents.pages.shell import shell
from rules.judging.scoring import CAUSES

MOST_EVALUATIONS = 200
MOST_FINDINGS = 200


@require_GET
def board(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the board; `?numbers`: with the weights behind the words."""
    room = access.enter(request.user, slug)
    held, counts = artifacts_of(room)
    outlook, evaluation, _ = newest(room, held)
    arguments, gone = _living(
        list(room.incident.arguments.filter(_shown_to(room)).select_related("author", "artifact"))
    )
    free, free_gone = _living(list(room.incident.free_causes.filter(_shown_to(room)).select_related("author")))
    laid = board_of(outlook, arguments, free)
    context = shell(room, "board", counts) | {
        "outlook": outlook,
        "evaluation": evaluation,
        **header(room.incident),
        "board": laid,
        "course": _course(room, laid),
        "people_rows": signed(arguments, laid),
        "gone": gone,
        "free_gone": free_gone,
        "waiting": _waiting(laid, arguments, free),
        "numbers": "numbers" in request.GET,
        "request_new": _request_page(slug),
    }
    return render(request, "board/board.html", context)


# --- rows of evidence -------------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def say(request: HttpRequest, slug: str) -> HttpResponse:
    """Put a row of evidence on the board, filled in by `?finding=`, `?lines=3:91-107`, `?cause=H-NET&word=against`."""
    return _say(request, _entered(request, slug), None)


@require_http_methods(["GET", "POST"])
def said(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Change one's own row."""
    room = _entered(request, slug)
    row = room.incident.arguments.select_related("artifact").filter(pk=id).first()
    if row is None:
        raise Refused("There is no such row on the board.", 404)
    if row.author_id != room.user.pk:
        raise Refused("Only its author can change a row; add one of your own instead.", 403)
    return _say(request, room, row)


@require_POST
def said_off(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Take a row off the board; undo is offered in its place."""
    actions.take_off(access.enter(request.user, slug, Right.CASE), id)
    return redirect(f"{reverse('board', args=[slug])}#said-{id}")


@require_POST
def said_back(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    actions.put_back(access.enter(request.user, slug, Right.CASE), id)
    return redirect(f"{reverse('board', args=[slug])}#said-{id}")


def _say(request: HttpRequest, room: Room, row: Argument | None) -> HttpResponse:
    slug = room.incident.slug
    causes = _causes(room)
    initial = _values(row) if row else _begun(request)
    form = ArgumentForm(
        request.POST or None, initial=initial, causes=causes, findings=_findings(room, initial), auto_id="row_%s"
    )
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            typed = form.cleaned_data
            lines = typed["lines"]
            meant = actions.Said(
                typed["reason"] or "",
                form.said(),
                typed["finding_key"],
                lines[0] if lines else None,
                lines[1:] if lines else None,
            )
            try:
                done = actions.argue(room, meant, row.pk if row else None, typed["version"], typed["client_id"])
                return redirect(f"{reverse('board', args=[slug])}#said-{done.pk}")
            except Refused as refused:
                if refused.status in (403, 404):
                    raise
                status = refused.status if refused.status == 409 else 422
                form.add_error(None, refused.message)
    context = shell(room, "board") | {"form": form, "row": row, "causes": CAUSES}
    return render(request, "board/say.html", context, status=status)


def _values(row: Argument) -> dict[str, Any]:
    lines = f"{row.artifact.number}:{row.line_from}-{row.line_to}" if row.artifact else ""
    words = {f"word_{code}": word for code, word in row.words.items()}
    return {"reason": row.reason, "finding_key": row.finding_key, "lines": lines, "version": row.version, **words}


def _begun(request: HttpRequest) -> dict[str, Any]:
    asked = request.GET
    key = asked.get("finding", "")
    begun: dict[str, Any] = {"client_id": uuid.uuid4(), "lines": asked.get("lines")}
    begun["finding_key"] = key if re.fullmatch("[0-9a-f]{16}", key) else None
    return begun | {f"word_{asked.get('cause', '')}": asked.get("word", "")}


def _causes(room: Room) -> dict[str, str]:
    """Return the causes that a row may concern: those on the board in its order, then all other known causes."""
    on_board = {column.code: column.cause for column in board_of(newest(room, [])[0], (), ()).columns}
    free = dict(room.incident.free_causes.filter(removed_at__isnull=True).values_list("code", "cause"))
    known = {code: cause.text for code, cause in CAUSES.items()}
    # A cause in the report that neither the rules nor a person know any more cannot be chosen.
    return {code: text for code, text in (on_board | free | known).items() if code in known or code in free}


def _findings(room: Room, initial: dict[str, Any]) -> list[tuple[str, str]]:
    rows = room.incident.findings.filter(gone_since__isnull=True)
    chosen = initial.get("finding_key")
    rows = rows | room.incident.findings.filter(key=chosen) if chosen else rows
    named = rows.values_list("key", "rule", "current__content__headline")[:MOST_FINDINGS]
    return [(key, visible(str(headline or rule))[:100]) for key, rule, headline in named]


# --- causes that people add ------------------------------------------------------------------------------------------


@require_http_methods(["GET", "POST"])
def cause_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Put a cause on the board that the rules do not know."""
    return _cause(request, _entered(request, slug), None)


@require_http_methods(["GET", "POST"])
def cause(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    room = _entered(request, slug)
    row = room.incident.free_causes.filter(pk=id, removed_at__isnull=True).first()
    if row is None:
        raise Refused("There is no such cause on the board.", 404)
    return _cause(request, room, row)


@require_POST
def cause_off(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    actions.take_cause_off(access.enter(request.user, slug, Right.CASE), id)
    return redirect(f"{reverse('board', args=[slug])}#cause-{id}")


@require_POST
def cause_back(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    actions.put_cause_back(access.enter(request.user, slug, Right.CASE), id)
    return redirect(f"{reverse('board', args=[slug])}#cause-{id}")


def _cause(request: HttpRequest, room: Room, row: FreeCause | None) -> HttpResponse:
    slug = room.incident.slug
    names = ("code", "cause", "layer", "version")
    initial = {name: getattr(row, name) for name in names} if row else {}
    layers = [(code, name) for code, (_, name) in LAYERS.items() if code in actions.LAYERS]
    form = CauseForm(request.POST or None, initial=initial, layers=layers, fixed=row is not None, auto_id="cause_%s")
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            typed = form.cleaned_data
            try:
                actions.put_cause(
                    room,
                    typed["code"] or "",
                    typed["cause"] or "",
                    typed["layer"],
                    row.pk if row else None,
                    typed["version"],
                )
                return redirect("board", slug)
            except Refused as refused:
                if refused.status in (403, 404):
                    raise
                status = refused.status if refused.status == 409 else 422
                form.add_error(None, refused.message)
    context = shell(room, "board") | {"form": form, "row": row}
    return render(request, "board/cause.html", context, status=status)


# --- shared by the views ---------------------------------------------------------------------------------------------


def _entered(request: HttpRequest, slug: str) -> Room:
    """Enter the room to write. A form posted to a room that was closed meanwhile is shown again with the reason."""
    room = access.enter(request.user, slug)
    if request.method != "POST" or Right.CASE not in room.rights:
        room.require(Right.CASE)
    return room


def _shown_to(room: Room) -> Q:
    """Select rows on the board, and rows just removed, for which their authors and leads are offered undo."""
    lately = Q(removed_at__gt=timezone.now() - UNDO_FOR)
    return Q(removed_at__isnull=True) | (lately if room.may(Right.PEOPLE) else lately & Q(author=room.user))


def _living(rows: list[Any]) -> tuple[list[Any], list[Any]]:
    return [row for row in rows if row.removed_at is None], [row for row in rows if row.removed_at is not None]


def _waiting(laid: Board, arguments: list[Argument], free: list[FreeCause]) -> int:
    """Count people's rows and causes that the shown board does not have yet, because the room is being judged again."""
    there = {row.argument.pk for row in laid.rows if row.argument}
    return sum(row.pk not in there for row in arguments) + sum(row.code not in laid.causes for row in free)


def _course(room: Room, laid: Board) -> Course:
    rows = room.incident.evaluations.filter(accepted=True).order_by("-number")
    kept = rows.values_list("number", "made_at", "scores")[:MOST_EVALUATIONS]
    return course_of([Judged.of(*one) for one in reversed(kept)], laid.causes)


def _request_page(slug: str) -> str:
    try:
        return reverse("request-new", args=[slug])
    except NoReverseMatch:
        return ""

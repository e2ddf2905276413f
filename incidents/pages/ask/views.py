"""Queries of the evidence tables: the page, its answers as table, chart and files, and a rule made from one."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import queries as actions
from incidents.content.names import known_as
from incidents.drawing.exports import flat
from incidents.errors import Refused
from incidents.models.evidence.artifact import ArtifactState
from incidents.models.judging.query import AskedQuery, SavedQuery
from incidents.pages.ask import examples
from incidents.pages.plan.views import UNDO_FOR
from incidents.pages.shell import is_part, shell
from incidents.storage import store
from incidents.work import analysis, queries
from incidents.work.queries import Asked
from rules.engine.ask import NotAnswered
from rules.engine.check import FUNCTIONS
from rules.engine.result_files import cell, parquet
from rules.engine.shelf import Shelf
from rules.model import Layer
from rules.writing.from_query import PLACE, CannotBeRule, Span, Wish, is_number

A_PAGE = 20
#: Mail programs cut links longer than this many characters; such a query has to be saved instead.
LONGEST_LINK = 1500
MOST_CHOSEN = 20
MOST_SHOWN_ASKED = 10
#: Maximum length of a text that serves as a chart label, in characters.
LABEL = 80

Json = dict[str, Any]
FUNCTION_NAMES = " ".join(sorted(name for name in FUNCTIONS if name.isidentifier()))


@dataclass(frozen=True)
class Cell:
    text: str
    number: bool = False
    unknown: bool = False


@dataclass(frozen=True)
class Row:
    """A row of an answer; `href` leads to its lines, `span` names them in a form."""

    cells: list[Cell]
    href: str = ""
    span: str = ""


@require_http_methods(["GET", "POST"])
@never_cache
def ask(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page; a POST runs a query. A link only fills in a query: following one never runs it."""
    room = access.enter(request.user, slug, Right.ASK)
    queries.switched_on()
    if request.method == "GET":
        if request.GET.get("part") == "tables":
            return tables(request, room)
        return render(request, "ask/ask.html", page(request, room, filled(request, room)))
    sql = typed(request)
    fields = {"sql": sql, "saved": _saved_of(request, room)}
    if not sql.strip():
        return answered(request, room, fields, {"problem": NotAnswered("refused", "Type a query first.")}, 422)
    actions.remember(room, sql)
    try:
        asked = queries.ask(room, sql, queries.LIMITS)
    except NotAnswered as problem:
        return answered(request, room, fields, {"problem": problem}, 422)
    except queries.Busy as busy:
        if is_part(request):
            raise
        return answered(request, room, fields, {"problem": NotAnswered("stopped", busy.message)}, busy.status)
    return answered(request, room, fields, result(room, asked, sql), 200)


@require_POST
@never_cache
def rows(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """Hand out an answer as CSV or Parquet: the query runs again, with more rows."""
    room = access.enter(request.user, slug, Right.ASK)
    queries.switched_on()
    sql = typed(request)
    try:
        asked = queries.ask(room, sql, queries.DOWNLOAD)
    except NotAnswered as problem:
        return answered(request, room, {"sql": sql}, {"problem": problem}, 422)
    if form == "parquet":
        body: str | bytes = parquet(asked.columns, asked.answer.types, asked.answer.rows)
        kind = "application/vnd.apache.parquet"
    else:
        body, kind = as_csv(asked), "text/csv; charset=utf-8"
    answer = attached(body, kind, f"{slug}-answer.{form}")
    answer["Exhibit-Rows"] = str(len(asked.answer.rows))
    answer["Exhibit-More-Rows"] = str(asked.answer.more)
    return answer


@require_POST
def stop(request: HttpRequest, slug: str) -> HttpResponse:
    """Stop one's own query, wherever on this server it runs."""
    access.enter(request.user, slug, Right.ASK)
    queries.stop(int(request.user.pk or 0))
    return HttpResponse(status=204) if is_part(request) else redirect("ask", slug)


@require_POST
@never_cache
def rule(request: HttpRequest, slug: str) -> HttpResponse:
    """Hand out a query as a rule file with tests made from the chosen rows; errors keep what was typed."""
    room = access.enter(request.user, slug, Right.ASK)
    queries.switched_on()
    sql = typed(request)
    fields = {
        name: request.POST.get(name, "").strip()
        for name in ("team", "number", "title", "layer", "subject", "magnitude")
    }
    chosen = request.POST.getlist("row")[:MOST_CHOSEN]
    try:
        wish = _wish(room, fields)
        spec, clocks = queries.case_of(room)
        text = queries.rule_file(
            spec, store.cache_dir(room.incident.pk), clocks, sql, _spans(chosen), wish, int(room.user.pk)
        )
    except (CannotBeRule, NotAnswered) as problem:
        words = problem.words if isinstance(problem, NotAnswered) else str(problem)
        context = {"rule_problem": words, "rule": fields, "chosen": chosen, "layers": get_args(Layer), "asked_sql": sql}
        return answered(request, room, {"sql": sql}, context, 422)
    return attached(text, "application/yaml; charset=utf-8", f"{wish.slug}.yaml")


# --- running queries ----------------------------------------------------------------------------------------------


def typed(request: HttpRequest) -> str:
    text = request.POST.get("sql", "").replace("\r\n", "\n").replace("\x00", "\ufffd")
    if len(text) > actions.LONGEST_SQL:
        raise Refused("A query has at most 64 KiB.", 413)
    return text


def result(room: Room, asked: Asked, sql: str) -> Json:
    """Return what the answer shows: rows with their lines, what was left out, columns for charts and rules."""
    answer, columns = asked.answer, asked.columns
    placed = "artifact_id" in columns and "line_no" in columns
    shown = [_row(room, columns, answer.types, row, placed) for row in answer.rows]
    numbers = [name for name, kind in zip(columns, answer.types, strict=True) if is_number(kind)]
    numbers.sort(key=lambda name: name in PLACE)  # measured values before columns that only say where a row stands
    labels = [name for name, kind in zip(columns, answer.types, strict=True) if is_number(kind) or kind == "VARCHAR"]
    return {
        "asked": asked,
        "heads": [
            {"name": name, "type": kind, "number": is_number(kind)}
            for name, kind in zip(columns, answer.types, strict=True)
        ],
        "rows": shown,
        "placed": placed,
        "asked_sql": sql,
        "limits": queries.LIMITS,
        "download": queries.DOWNLOAD,
        "link": f"{reverse('ask', args=[room.incident.slug])}?{urlencode({'sql': sql})}"
        if len(sql) <= LONGEST_LINK
        else "",
        "numbers": numbers,
        "labels": labels,
        "chart_rows": json.dumps(_chart_rows(asked, labels)) if numbers else "",
        "layers": get_args(Layer),
        "rule": {"team": "", "number": "1", "title": "", "layer": "measurement", "subject": "", "magnitude": ""},
        "facts": [name for name in columns if name not in ("artifact_id", "line_no", "line_end")],
    }


def _row(room: Room, columns: tuple[str, ...], types: tuple[str, ...], values: tuple[Any, ...], placed: bool) -> Row:
    cells = [_cell(value, kind) for value, kind in zip(values, types, strict=True)]
    if not placed:
        return Row(cells)
    by_name = dict(zip(columns, values, strict=True))
    artifact, first, last = (by_name.get(name) for name in ("artifact_id", "line_no", "line_end"))
    if not (_is_line(artifact) and _is_line(first)):
        return Row(cells)
    if not _is_line(last) or last < first:  # type: ignore[operator]  # _is_line has looked
        last = first
    anchor = f"L{first}" if last == first else f"L{first}-L{last}"
    href = f"{reverse('lines', args=[room.incident.slug, artifact])}?at={first}#{anchor}"
    return Row(cells, href, f"{artifact}:{first}-{last}")


def _is_line(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**62


def _cell(value: Any, kind: str) -> Cell:
    if value is None:
        return Cell("NULL", number=is_number(kind), unknown=True)
    if isinstance(value, float):
        return Cell(f"{value:.12g}", number=True)
    if isinstance(value, bool):
        return Cell("true" if value else "false")
    return Cell(str(cell(value))[:2000], number=is_number(kind))


def _chart_rows(asked: Asked, labels: list[str]) -> Json:
    """Return numbers and short labels of an answer, with the line that each row leads to."""
    wanted = [
        name for name in labels if all(not isinstance(row[name], str) or len(row[name]) <= LABEL for row in asked.rows)
    ]
    lines = [[row.get("artifact_id"), row.get("line_no")] for row in asked.rows]
    return {"columns": {name: [row[name] for row in asked.rows] for name in wanted}, "lines": lines}


def as_csv(asked: Asked) -> str:
    """Write an answer as CSV in which no cell reads as a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([flat.guarded(name) for name in asked.columns])
    writer.writerows([flat.guarded(cell(value)) for value in row] for row in asked.answer.rows)
    return text.getvalue()


def attached(body: str | bytes, kind: str, name: str) -> HttpResponse:
    answer = HttpResponse(body, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _wish(room: Room, fields: Mapping[str, str]) -> Wish:
    if not re.fullmatch(r"[a-z0-9]{1,20}", fields["team"]):
        raise CannotBeRule("The team's short name has small letters and digits only, as in TEAM-dba-001.")
    if not re.fullmatch(r"[0-9]{1,3}", fields["number"]):
        raise CannotBeRule("The number of the rule is one of 0 to 999.")
    if not re.search(r"[A-Za-z]", fields["title"]) or len(fields["title"]) > 100:
        raise CannotBeRule("The rule needs a title of at most 100 characters, with letters.")
    if fields["layer"] not in get_args(Layer):
        raise CannotBeRule("Choose a layer from the list.")
    layer = cast(Layer, fields["layer"])
    return Wish(
        fields["team"],
        int(fields["number"]),
        fields["title"],
        layer,
        fields["subject"],
        fields["magnitude"],
        known_as(room.user),
    )


def _spans(chosen: list[str]) -> list[Span]:
    found = [re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})-([0-9]{1,18})", text) for text in chosen]
    return [Span(*(int(part) for part in match.groups())) for match in found if match]


# --- the page -----------------------------------------------------------------------------------------------------


def filled(request: HttpRequest, room: Room) -> Json:
    """Return the content of the form: a query from the address, a saved one, an earlier one, or the last one."""
    saved = _saved_of(request, room)
    if "sql" in request.GET:
        return {"sql": request.GET["sql"][: actions.LONGEST_SQL], "linked": True}
    if saved is not None:
        return {"sql": saved.sql, "saved": saved}
    own = AskedQuery.objects.filter(incident=room.incident, person=room.user)
    if number := _number(request.GET.get("asked")):
        before = own.filter(pk=number).first()
        return {"sql": before.sql if before else ""}
    return {"sql": ""}


def answered(request: HttpRequest, room: Room, fields: Json, answer: Json, status: int) -> HttpResponse:
    """Show an answer: alone for htmx, below its query otherwise."""
    if is_part(request):
        context = {"room": room, "may": {"note": room.may(Right.NOTE)}, **fields, **answer}
        return render(request, "ask/_answer.html", context, status=status)
    return render(request, "ask/ask.html", page(request, room, fields) | answer, status=status)


def page(request: HttpRequest, room: Room, fields: Json) -> Json:
    """Return the frame of the page: the form, saved queries, and this person's last queries."""
    gone = Q(deleted_by=room.user, deleted_at__gt=timezone.now() - UNDO_FOR)
    listed = queries.saved(room).filter(Q(deleted_at__isnull=True) | gone).select_related("author", "deleted_by")
    saved = fields.get("saved")
    own = AskedQuery.objects.filter(incident=room.incident, person=room.user)
    return shell(room, "ask") | {
        "saved": None,
        "sql": "",
        "title": saved.title if saved else "",
        "shared": bool(saved and saved.shared),
        "functions": FUNCTION_NAMES,
        "limits": queries.LIMITS,
        "at_once": queries.AT_ONCE,
        "listed": Paginator(listed, A_PAGE).get_page(request.GET.get("queries")),
        "last": own[:MOST_SHOWN_ASKED],
        "fences": sorted(queries.fences().items()) if room.user.is_staff and "fences" in request.GET else [],
        "may_edit": saved is not None and (saved.author_id == room.user.pk or room.may(Right.PEOPLE)),
        **fields,
    }


def tables(request: HttpRequest, room: Room) -> HttpResponse:
    """Show which tables the room has, what their columns mean, and example queries."""
    spec = analysis.case_of(room.incident, judged=False)
    shelf = Shelf(spec, store.cache_dir(room.incident.pk))
    described = shelf.described()
    held = [table for table in described if table.rows]
    there = [
        {
            "words": table,
            "examples": examples.of(table.name),
            "first": examples.first_rows(table.name, [column.name for column in table.columns]),
        }
        for table in held
    ]
    own = ("artifacts", "hosts", "markers", "statements", "notes")
    with_rows = [row for table, row in zip(held, there, strict=True) if table.name not in own]
    context = {
        "room": room,
        "there": there,
        "examples": [example for row in with_rows for example in cast(list[Any], row["examples"])[:2]][:8],
        "empty": [table for table in described if not table.rows],
        "has_evidence": bool(with_rows),
        "purged": not spec.artifacts and room.incident.artifacts.filter(state=ArtifactState.PURGED).exists(),
        "may": {"upload": room.may(Right.UPLOAD)},
    }
    template = "ask/_ask_tables.html" if is_part(request) else "ask/ask_tables.html"
    return render(request, template, context)


def _saved_of(request: HttpRequest, room: Room) -> SavedQuery | None:
    number = _number(request.GET.get("saved") or request.POST.get("saved"))
    if number is None:
        return None
    row = queries.saved(room).filter(pk=number, deleted_at__isnull=True).select_related("author").first()
    if row is None and request.method == "GET":
        raise Refused("There is no such query, or it is not shared with you.", 404)
    return row


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else None

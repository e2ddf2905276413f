"""The case as people describe it: symptom, hosts, markers, phases, statements. Each change judges the room again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import case as actions
from incidents.actions import names, rooms
from incidents.content.visible import visible
from incidents.errors import Refused
from incidents.models.evidence.artifact import ArtifactState
from incidents.models.judging.site_name import SiteName
from incidents.models.room.incident import Status
from incidents.pages.forms import (
    HostForm,
    MarkerForm,
    NameForm,
    PhaseForm,
    Rows,
    StatementForm,
    SymptomForm,
    rows_of,
    values_of_incident,
)
from incidents.pages.shell import shell
from incidents.work import analysis
from rules.collecting import commands as collect

Row = dict[str, Any]
_HOST = ("name", "os", "os_release", "role", "ncpu", "mem_gib", "tz")
_MARKER = ("label", "kind", "at", "from_phase", "to_phase", "hypothesis")
_NAME = ("kind", "name", "text", "author_label", "said_at")
MOST_REMOVED = 20
_STATEMENT = ("name", "subject", "num", "unit", "text", "author_label")


@require_http_methods(["GET", "POST"])
def case(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the case; a POST saves all of it at once or, with an error anywhere, nothing."""
    room = access.enter(request.user, slug)
    if request.method == "POST" and request.POST.get("form") == "status":
        return _status(request, room)
    data = request.POST if request.method == "POST" else None
    if data is not None:
        room.require(Right.CASE)
    form = SymptomForm(data, initial=values_of_incident(room.incident))
    of_site = list(SiteName.objects.filter(Q(incident=room.incident) | Q(incident__isnull=True)).order_by("pk"))
    own = [row for row in of_site if row.incident_id is not None]
    lists = _lists(room, data, [row for row in own if row.removed_at is None])
    # Every list is checked even after an error, so that people see all errors at once.
    if data is not None and all([form.is_valid(), *[rows.is_valid() for rows in lists.values()]]):
        try:
            with transaction.atomic():
                _save(room, form, lists)
        except Refused as refused:
            if refused.status in (403, 404, 409):
                raise
            form.add_error(None, refused.message)
        else:
            messages.success(request, "Saved. The room is judged again where it matters.")
            return redirect("case", slug)
    context = (
        shell(room, "case")
        | lists
        | {
            "form": form,
            "statement_names": collect.STATEMENTS,
            "statuses": Status.choices,
            "removed_names": sorted((row for row in own if row.removed_at), key=_removed_at, reverse=True)[
                :MOST_REMOVED
            ],
            "names_of_all": [row for row in of_site if row.incident_id is None and row.removed_at is None],
        }
    )
    return render(request, "case/case.html", context, status=422 if form.errors or _wrong(lists, data) else 200)


@require_POST
def name_back(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Undo the removal of a name."""
    row = names.put_back(access.enter(request.user, slug, Right.CASE), id)
    messages.success(request, f"Back again: {row}.")
    return redirect(f"{reverse('case', args=[slug])}#names")


def _removed_at(row: SiteName) -> datetime:
    assert row.removed_at is not None
    return row.removed_at


@require_GET
def case_yaml(request: HttpRequest, slug: str) -> HttpResponse:
    """Hand out the case in the form that `python -m rules` reads."""
    room = access.enter(request.user, slug)
    answer = HttpResponse(analysis.case_yaml(room.incident), content_type="application/yaml; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="case.yaml"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def _status(request: HttpRequest, room: Room) -> HttpResponse:
    status = request.POST.get("status", "")
    if status not in Status.values:
        raise Refused("Choose a state from the list.")
    rooms.set_status(room, status)
    return redirect("case", room.incident.slug)


def _wrong(lists: dict[str, Rows], data: Any) -> bool:
    return data is not None and any(not rows.is_valid() for rows in lists.values())


def _lists(room: Room, data: Any, named: list[SiteName]) -> dict[str, Rows]:
    incident = room.incident
    artifacts = [
        (number, f"{number}: {visible(name)[:60]}")
        for number, name in incident.artifacts.exclude(state=ArtifactState.PURGED).values_list("number", "name")
    ]
    hosts = [{"id": row.pk} | {name: getattr(row, name) for name in _HOST} for row in incident.hosts.all()]
    markers = [
        {"id": row.pk, "changed": "\n".join(row.changed)} | {name: getattr(row, name) for name in _MARKER}
        for row in incident.markers.all()
    ]
    phases = [
        {
            "id": row.pk,
            "artifact": row.artifact.number,
            "line_from": row.line_from,
            "line_to": row.line_to,
            "phase": row.phase,
        }
        for row in incident.phases.select_related("artifact")
    ]
    statements = [
        {"id": row.pk} | {name: getattr(row, name) for name in _STATEMENT} for row in incident.statements.all()
    ]
    called = [{"id": row.pk} | {name: getattr(row, name) for name in _NAME} for row in named]
    more = 1 if room.may(Right.CASE) else 0
    return {
        "hosts": rows_of(HostForm, more)(data, initial=hosts, prefix="hosts"),
        "markers": rows_of(MarkerForm, more)(data, initial=markers, prefix="markers"),
        "phases": rows_of(PhaseForm, more)(data, initial=phases, prefix="phases", form_kwargs={"artifacts": artifacts}),
        "statements": rows_of(StatementForm, more)(data, initial=statements, prefix="statements"),
        "names": rows_of(NameForm, more)(data, initial=called, prefix="names"),
    }


def _save(room: Room, form: SymptomForm, lists: dict[str, Rows]) -> None:
    changed = {name: form.cleaned_data[name] for name in form.changed_data}
    if changed:
        rooms.edit(room, changed)
    hosts = {row.pk: row.name for row in room.incident.hosts.all()}

    def put_host(row: Row, id: int | None) -> None:
        if id is not None and hosts.get(id, row["name"]) != row["name"]:
            actions.remove_host(room, hosts[id])
        actions.put_host(room, row["name"], {name: row[name] for name in _HOST if name != "name"})

    def put_phase(row: Row, id: int | None) -> None:
        if id is not None:
            actions.remove_phase(room, id)
        actions.add_phase(room, row["artifact"], row["line_from"], row["line_to"], row["phase"])

    def put_marker(row: Row, id: int | None) -> None:
        actions.put_marker(room, {name: row[name] for name in (*_MARKER, "changed")}, id)

    def put_statement(row: Row, id: int | None) -> None:
        actions.put_statement(room, {name: row[name] for name in _STATEMENT}, id)

    def put_name(row: Row, id: int | None) -> None:
        names.put(room, row["kind"], row["name"], row["text"], id)

    _apply(lists["hosts"], put_host, lambda id: actions.remove_host(room, hosts.get(id, "")))
    _apply(lists["markers"], put_marker, lambda id: actions.remove_marker(room, id))
    _apply(lists["phases"], put_phase, lambda id: actions.remove_phase(room, id))
    _apply(lists["statements"], put_statement, lambda id: actions.remove_statement(room, id))
    _apply(lists["names"], put_name, lambda id: names.remove(room, id))


def _apply(rows: Rows, put: Callable[[Row, int | None], None], remove: Callable[[int], object]) -> None:
    """Carry out only what changed in a list: the activity record names actions, not saved forms."""
    for form in rows.forms:
        id = form.cleaned_data.get("id") if form.cleaned_data else None
        if form.cleaned_data.get("DELETE"):
            if id is not None:
                remove(id)
        elif form.has_changed():
            put(form.cleaned_data, id)

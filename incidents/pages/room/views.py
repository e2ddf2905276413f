"""The room: verdict, whose seconds, findings, timeline, notes, drawer. Read from the newest accepted evaluation."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import notices, requests
from incidents.content import rulebook
from incidents.content.discussions import objections
from incidents.content.grounds import grounds
from incidents.content.milestones import header
from incidents.content.next_steps import steps
from incidents.content.observations import Observation
from incidents.content.references import Known
from incidents.content.report import Claim, Held, Outlook, changes, quantity, symptom_seconds
from incidents.content.request_words import collect_part, draft
from incidents.content.room_face import Progress, face
from incidents.content.spans import span_of
from incidents.drawing.flame_graph import TABLE
from incidents.errors import Refused
from incidents.models.evidence.artifact import ArtifactState, Way
from incidents.models.evidence.request import EvidenceRequest, RequestState
from incidents.models.judging.finding import OPEN_DISPUTE, Evaluation, Finding
from incidents.pages.forms import AnswerForm, NoteForm, ReasonForm
from incidents.pages.notes.views import finding_section, range_section, room_section
from incidents.pages.shell import is_part, shell

# Maximum number of findings listed as no longer found; older ones of many evaluations are of no use.
MOST_GONE = 100

NOT_WELL = ("cause", "suspect", "lead", "undecided", "cannot tell")
"""States in which the seconds of the symptom are still to be explained, or are by what the verdict names."""


@require_GET
def room(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the room; the drawer holds the first claim, else the first observation, until another thing is chosen.

    `?wall`: large, without controls.
    """
    entered = access.enter(request.user, slug)
    context = judged(entered)
    if "wall" in request.GET:
        return render(request, "room/wall.html", context)
    outlook = context["outlook"]
    context |= around(entered, context, outlook.first, None)
    if outlook.first is None and outlook.standing_out and outlook.standing_out[0].key:
        context |= observed(entered, outlook.standing_out[0], context)
    return render(request, "room/room.html", context | {"selected": False, "show_all": "all" in request.GET})


@require_GET
def finding(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Show a finding in the drawer: alone for htmx, inside the whole room otherwise."""
    entered = access.enter(request.user, slug)
    context = judged(entered)
    claim, row = claim_of(entered, context["outlook"], key)
    notices.seen(entered, finding_key=key)
    if is_part(request):
        return render(request, "findings/_finding.html", context | drawer(entered, claim, row, context))
    return render(request, "room/room.html", context | around(entered, context, claim, row) | {"selected": True})


@require_GET
def observation(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Show an observation in the drawer: alone for htmx, inside the whole room otherwise."""
    entered = access.enter(request.user, slug)
    context = judged(entered)
    one = context["outlook"].observation(key)
    if one is None:
        raise Refused("The newest judgement observes no such thing.", 404)
    if is_part(request):
        return render(request, "findings/_observed.html", context | observed(entered, one, context))
    context |= around(entered, context, None, None)
    return render(request, "room/room.html", context | observed(entered, one, context) | {"selected": True})


def observed(room: Room, one: Observation, context: dict[str, Any]) -> dict[str, Any]:
    """Return what the drawer shows of an observation: its grounds, what decides, the notes on its first lines."""
    outlook: Outlook = context["outlook"]
    cited = next(iter(one.citations), None)
    notes = range_section(room, cited.artifact, cited.line_from, cited.line_to, context["known"]) if cited else {}
    return notes | {
        "observation": one,
        "span": span_of(outlook.report, outlook.slug, one.when or {}),
        "grounds": grounds(one),
        "deciding": outlook.deciding(one),
        "found_there": outlook.found_there(one),
        "stacks": cited
        and room.incident.artifacts.filter(number=cited.artifact, reading__tables__has_key=TABLE).exists(),
        "note_form": NoteForm(auto_id="note_%s"),
    }


def claim_of(room: Room, outlook: Outlook, key: str) -> tuple[Claim, Finding | None]:
    """Find a claim by its key in the newest report, else its last version before it was no longer found."""
    claim = outlook.claim(key)
    if claim is not None:
        return claim, None  # it is found now
    row = room.incident.findings.select_related("current").filter(key=key).first()
    if row is not None and row.current is not None:
        why = outlook.left_out.get(row.rule, "")
        claim = Claim(row.current.content, room.incident.slug, outlook.held, left_out=why)
    if claim is None:
        raise Refused("There is no such finding.", 404)
    return claim, row


def judged(room: Room) -> dict[str, Any]:
    """Return the frame and everything that a new evaluation changes: verdict, seconds, findings."""
    held, counts = artifacts_of(room)
    context = shell(room, "room", counts)
    outlook, evaluation, before = newest(room, held)
    incident = room.incident
    head = header(incident)
    progress = Progress(counts["total"], counts["read"], counts["failed"], head["reading_now"])
    explained = outlook.verdict.state in ("cause", "suspect")
    measured = symptom_seconds(
        incident.symptom_bad, incident.symptom_normal, incident.symptom_unit, incident.symptom_text or "", explained
    )
    return context | {
        "outlook": outlook,
        "sample": counts["samples"] > 0,
        "face": face(outlook, progress, takes=not room.takes_nothing),
        "seconds": outlook.seconds or (measured if outlook.exists and outlook.verdict.state in NOT_WELL else None),
        "next_steps": steps(outlook, asked_for(room, outlook)),
        "known": known_of(room, outlook),
        "evaluation": evaluation,
        "changed": "; ".join(changes(before, outlook)),
        "gone": [
            (finding, outlook.left_out.get(finding.rule))
            for finding in incident.findings.select_related("current").filter(gone_since__isnull=False)[:MOST_GONE]
        ],
        **head,
        "symptom_bad": quantity(incident.symptom_bad, incident.symptom_unit),
        "symptom_normal": quantity(incident.symptom_normal, incident.symptom_unit),
    }


def asked_for(room: Room, outlook: Outlook) -> dict[str, EvidenceRequest]:
    """Return the id of each of the report's best asks -> the newest valid request for it."""
    ids = [ask.id for ask in outlook.best_asks]
    if not ids:
        return {}
    rows = room.incident.requests.filter(ask_id__in=ids).exclude(state=RequestState.WITHDRAWN)
    return {row.ask_id: row for row in rows.order_by("pk")}


@require_POST
def ask_next(request: HttpRequest, slug: str) -> HttpResponse:
    """Request what one of the next steps asks for, or take that back; without htmx, show the room again."""
    entered = access.enter(request.user, slug, Right.PLAN)
    outlook, _, _ = newest(entered)
    ask = outlook.ask(request.POST.get("ask", ""))
    if ask is None:
        raise Refused("The report does not ask for this any more: load the page again.", 409)
    if "undo" in request.POST:
        standing = entered.incident.requests.filter(ask_id=ask.id).exclude(state=RequestState.WITHDRAWN).last()
        if standing is not None:
            requests.withdraw(entered, standing.pk)
    else:
        rule = rulebook.rule_of(ask.rule)
        drafted = draft(entered.incident, ask, list(entered.incident.hosts.all()), rule)
        typed = {name: value for name, value in drafted.initial.items() if name in requests.TYPED}
        requests.put_once(entered, ask.id, typed | drafted.hidden)
    if not is_part(request):
        return redirect("room", slug)
    return render(request, "room/_next.html", judged(access.enter(request.user, slug)))


def artifacts_of(room: Room) -> tuple[list[Held], dict[str, int]]:
    """Return all artifacts as reports need them, and the counts that the frame of the room shows."""
    rows = list(room.incident.artifacts.values_list("number", "name", "sha256", "way", "state", "reading"))
    held = [Held(number, name, sha256, state == ArtifactState.PURGED) for number, name, sha256, _, state, _ in rows]
    there = [(state, reading) for *_, state, reading in rows if state != ArtifactState.PURGED]
    samples = sum(way == Way.SAMPLE for _, _, _, way, *_ in rows)
    read = sum(reading is not None or state == ArtifactState.UNPACKED for state, reading in there)
    failed = sum(state == ArtifactState.FAILED for state, _ in there)
    return held, {"total": len(there), "read": read, "failed": failed, "samples": samples}


def newest(room: Room, held: list[Held] | None = None) -> tuple[Outlook, Evaluation | None, Outlook]:
    """Return the outlook of the newest accepted evaluation, that evaluation, and the outlook before it."""
    incident = room.incident
    disputed = ArraySubquery(incident.disputes.filter(OPEN_DISPUTE).order_by().values("finding__key"))
    last = list(incident.evaluations.filter(accepted=True).annotate(disputed=disputed).order_by("-number")[:2])
    held = artifacts_of(room)[0] if held is None else held
    disputes = Counter(last[0].disputed if last else ())
    outlooks = [Outlook(evaluation.report, incident.slug, held, disputes) for evaluation in last]
    nothing = Outlook(None, incident.slug, held, disputes)
    outlooks += [nothing, nothing]
    return outlooks[0], last[0] if last else None, outlooks[1]


def around(room: Room, context: dict[str, Any], claim: Claim | None, row: Finding | None) -> dict[str, Any]:
    """Return the context of the middle of the page and of the drawer."""
    key = claim.key if claim else ""
    return drawer(room, claim, row, context, notes={}) | middle(room, context, key)


def middle(room: Room, context: dict[str, Any], key: str = "") -> dict[str, Any]:
    """Return the context between the columns: notes, and what to collect while there is no evidence.

    With the key of a finding also the notes beside it, which the drawer shows.
    """
    collect = None
    if not context["artifact_count"]:
        hosts = list(room.incident.hosts.all())
        host = next((host for host in hosts if host.role == "database"), hosts[0] if hosts else None)
        collect = collect_part(None, None, room.incident, host)
    return room_section(room, context["known"], key) | {"collect": collect}


def known_of(room: Room, outlook: Outlook) -> Known:
    """Return the things that notes may refer to and that the page has already read."""
    held = {number: (artifact.name, artifact.sha256) for number, artifact in outlook.held.items()}
    findings = {claim.key: (claim.rule, claim.headline) for claim in outlook.claims if claim.key}
    return Known(room, held, findings)


def drawer(
    room: Room, claim: Claim | None, row: Finding | None, context: dict[str, Any], notes: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the context of the drawer besides the claim: disputes, notes (unless passed in), and empty forms."""
    known: Known = context["known"]
    forms = {
        "note_form": NoteForm(auto_id="note_%s"),
        "dispute_form": ReasonForm(auto_id="dispute_%s"),
        "answer_form": AnswerForm(auto_id="answer_%s"),
    }
    if claim is None or not claim.key:
        return forms | {"claim": None}
    disputes = objections(room, claim.key, known)
    return (
        forms
        | {
            "claim": claim,
            "span": span_of(context["outlook"].report, room.incident.slug, claim.raw),
            "traced_request": context["outlook"].request_of(claim),
            "gone_since": row.gone_since if row else None,
            "disputes": disputes,
            "open_disputes": sum(seen.dispute.open for seen in disputes),
            "my_dispute": any(seen.mine and seen.dispute.open for seen in disputes),
        }
        | (finding_section(room, claim.key, known) if notes is None else notes)
    )

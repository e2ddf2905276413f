"""Write what webhooks send: a few words about one event, with secrets masked and without what was deleted since."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.urls import reverse

from incidents.content.chat_forms import written
from incidents.content.milestones import severity_words
from incidents.content.names import known_as
from incidents.content.report import Outlook
from incidents.content.visible import visible
from incidents.models.judging.finding import Evaluation
from incidents.models.room.incident import Incident
from incidents.models.room.standing import Moment
from incidents.models.room.webhook import Delivery, Webhook
from parsers.secrets.words import without_secrets

LONGEST = 1_000
TEST = "test"


def body_of(delivery: Delivery) -> str | None:
    """Return the JSON to send; None if there is nothing left to say, for example because a note was deleted."""
    hook: Webhook = delivery.webhook
    incident = hook.incident
    words = _WORDS[delivery.kind](incident, delivery.object)
    if words is None:
        return None
    said = {
        "id": str(delivery.pk),
        "event": delivery.kind,
        "at": delivery.created_at.isoformat(timespec="milliseconds"),
        "object": delivery.object,
        "room": {
            "title": incident.title,
            "status": incident.status,
            "url": _address("room", incident.slug),
        },
        **words,
    }
    return json.dumps(written(hook.form, _masked(said)), ensure_ascii=False)


def _masked(value: Any) -> Any:
    """Mask secrets in every text, spell out invisible characters and cut long texts."""
    if isinstance(value, dict):
        return {name: _masked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    if isinstance(value, str):
        lines = [without_secrets(visible(line)) for line in value.split("\n")]
        text = "\n".join(lines)
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return value


def _address(page: str, *args: object) -> str:
    return settings.EXHIBIT_URL.rstrip("/") + reverse(page, args=args)


def _name(user: Any) -> str | None:
    return known_as(user) if user else None


def _moment(value: Any) -> str | None:
    return value.isoformat(timespec="seconds") if value else None


def _test(incident: Incident, object: str) -> dict[str, Any]:
    return {"text": "A test: the room can reach you, and you can check the signature."}


def _verdict(incident: Incident, object: str) -> dict[str, Any] | None:
    newest = Evaluation.objects.filter(incident=incident, accepted=True).order_by("-number").first()
    if newest is None:
        return None
    verdict = newest.report.get("verdict") or {}
    return {
        "text": Outlook(newest.report, incident.slug).verdict.told,
        "state": verdict.get("state"),
        "support": verdict.get("support"),
        "rival": verdict.get("rival"),
        "stands_out": [one.headline for one in Outlook(newest.report, incident.slug).first_observations],
    }


def _status(incident: Incident, object: str) -> dict[str, Any]:
    times = dict(incident.milestones.values_list("kind", "at"))
    severity = f", severity {severity_words(incident)}" if incident.severity else ""
    text = f"The incident is {incident.get_status_display()}{severity}."
    if incident.next_update_at and not incident.closed:
        text += f" Next update at {incident.next_update_at:%Y-%m-%d %H:%M} UTC."
    if incident.delete_at is not None:
        text += f" The room is deleted {incident.delete_at:%Y-%m-%d %H:%M} UTC, unless a lead undoes that."
    return {
        "text": text,
        "severity": incident.severity,
        "times": {kind: _moment(times.get(kind)) for kind in Moment.values},
        "next_update_at": _moment(incident.next_update_at),
        "next_update_by": _name(incident.next_update_by),
        "delete_at": _moment(incident.delete_at),
    }


def _decision(incident: Incident, object: str) -> dict[str, Any] | None:
    row = incident.decisions.select_related("decided_by").filter(pk=object, deleted_at__isnull=True).first()
    if row is None:
        return None
    return {
        "text": row.outcome or row.question,
        "question": row.question or None,
        "outcome": row.outcome,
        "decided_by": _name(row.decided_by),
        "decided_at": _moment(row.decided_at),
        "needed_by": _moment(row.needed_by),
        "finding": row.finding_key,
    }


def _action(incident: Incident, object: str) -> dict[str, Any] | None:
    row = incident.actions.select_related("owner").filter(pk=object, deleted_at__isnull=True).first()
    if row is None:
        return None
    return {
        "text": row.text,
        "state": row.state,
        "owner": _name(row.owner),
        "due_at": _moment(row.due_at),
        "done_at": _moment(row.done_at),
        "expected": row.expected,
        "finding": row.finding_key,
    }


def _entry(incident: Incident, object: str) -> dict[str, Any] | None:
    row = incident.entries.select_related("who").filter(pk=object, deleted_at__isnull=True).first()
    if row is None:
        return None
    return {"text": row.text, "kind": row.kind, "who": _name(row.who), "done_at": _moment(row.at)}


def _update(incident: Incident, object: str) -> dict[str, Any] | None:
    """Say that an update is due; return None if it was given or moved on before this could be sent."""
    if incident.next_update_at is None or not incident.update_due:
        return None
    by = _name(incident.next_update_by)
    text = f"The next update is due at {incident.next_update_at:%Y-%m-%d %H:%M} UTC"
    return {"text": f"{text}, by {by}." if by else f"{text}.", "due_at": _moment(incident.next_update_at), "by": by}


def _note(incident: Incident, object: str) -> dict[str, Any] | None:
    row = incident.notes.select_related("author").filter(pk=object, deleted_at__isnull=True).first()
    return {"text": row.text, "author": _name(row.author), "finding": row.finding_key} if row else None


def _dispute(incident: Incident, object: str) -> dict[str, Any] | None:
    rows = incident.disputes.select_related("author").filter(finding__key=object, withdrawn_at__isnull=True)
    row = rows.order_by("-created_at").first()
    if row is None:
        return {"text": "A dispute was withdrawn.", "finding": object}
    return {"text": row.reason, "author": _name(row.author), "finding": object}


def _request(incident: Incident, object: str) -> dict[str, Any] | None:
    """Describe a request and its answers, without its links and without what strangers sent through them."""
    row = incident.requests.select_related("asked_of", "asked_by").filter(pk=object).first()
    if row is None:
        return None
    answers = row.answers.filter(taken=True).order_by("artifact__number").values_list("artifact__number", flat=True)
    return {
        "text": row.changed or row.what,
        "what": row.what,
        "state": row.state,
        "host": row.host or None,
        "command": row.command or None,
        "asked_by": _name(row.asked_by),
        "asked_of": _name(row.asked_of),
        "due_at": _moment(row.due_at),
        "artifacts": list(answers),
        "changed": row.changed,
    }


def _summary(incident: Incident, object: str) -> dict[str, Any] | None:
    """Describe a frozen version. Drafts and links (events whose object is not a number) stay in the room."""
    row = incident.summary_versions.filter(number=int(object)).first() if object.isdigit() else None
    if row is None:
        return None
    return {
        "text": f"Version {row.number} of the summary was frozen: {row.why}",
        "version": row.number,
        "sha256": row.content_hash,
        "made_by": row.made_by_name,
        "made_at": _moment(row.made_at),
        "struck_at": _moment(row.struck_at),
        "url": _address("summary-version", incident.slug, row.number),
    }


def _review(incident: Incident, object: str) -> dict[str, Any] | None:
    """Describe a follow-up, or say that the review was written (an event without an object)."""
    if not object:
        return {"text": "The review of the incident was written.", "url": _address("review", incident.slug)}
    row = incident.follow_ups.select_related("owner").filter(pk=object, deleted_at__isnull=True).first()
    if row is None:
        return None
    done, due = _moment(row.done_at), row.due_on.isoformat() if row.due_on else None
    return {"text": row.text, "owner": _name(row.owner), "due_on": due, "done_at": done}


def _members(incident: Incident, object: str) -> dict[str, Any]:
    return {"text": "The members of the room changed.", "members": incident.memberships.count()}


_WORDS: dict[str, Callable[[Incident, str], dict[str, Any] | None]] = {
    TEST: _test,
    "verdict": _verdict,
    "room": _status,
    "decision": _decision,
    "action": _action,
    "entry": _entry,
    "update": _update,
    "note": _note,
    "dispute": _dispute,
    "request": _request,
    "summary": _summary,
    "members": _members,
    "review": _review,
}

"""Visit the rooms of a restored archive as one of their people, and judge them again. Run by the test beside it.

python -m tests.upgrade.visit   prints one JSON object; database and evidence are those of DATABASE_URL and EXHIBIT_VAR.
"""

from __future__ import annotations

import json
from typing import Any

import django

MEMBER = "ada"
FEW = ("room", "evidence", "notes", "plan", "activity")
PAGES = (
    *FEW, "board", "compare", "case", "clocks", "similar", "ask", "thresholds", "requests", "summary", "summary-versions",
    "summary-links", "status", "webhooks", "members", "questions",
)  # fmt: skip


def visit() -> list[dict[str, Any]]:
    """Return what each room shows and what judging it anew gives."""
    from django.contrib.auth.models import User
    from django.test import Client
    from django.test.utils import setup_test_environment

    from incidents.models.room.incident import Incident

    setup_test_environment()
    member = User.objects.get(username=MEMBER)
    client = Client()
    client.force_login(member)
    rooms = Incident.objects.filter(memberships__user=member).order_by("pk")
    return [_room(client, incident) for incident in rooms]


def _room(client: Any, incident: Any) -> dict[str, Any]:
    """Return what one room shows: all pages if it has a summary, else a few."""
    from django.urls import reverse

    from incidents.models.evidence.artifact import Artifact
    from incidents.models.room.incident import Status
    from incidents.work import analysis

    def page(name: str, *args: object) -> Any:
        return client.get(reverse(name, args=[incident.slug, *args]), follow=True)

    pages = {name: page(name) for name in (PAGES if incident.summary_versions.exists() else FEW)}
    newest = incident.evaluations.filter(accepted=True).order_by("-number").first()
    stored = newest.report if newest else None
    sound = stored is not None and not stored["failed"]  # the report of another room was made to show a failed rule
    again = analysis.judge(analysis.case_of(incident)) if sound and incident.status != Status.CLOSED else None
    artifacts = list(Artifact.objects.filter(incident=incident, reading__isnull=False).order_by("number"))
    return {
        "title": incident.title,
        "pages": {name: answer.status_code for name, answer in pages.items()},
        **{name: pages[name].content.decode() for name in ("room", "notes", "plan")},
        "summary": page("summary-version", 1).content.decode() if incident.summary_versions.exists() else "",
        "lines": {a.name: _lines(page("lines-data", a.number)) for a in artifacts},
        "originals": {a.name: (a.sha256, _sha256(page("original", a.number))) for a in artifacts},
        "findings": {f.key: f.current.content["headline"] for f in _findings(incident)},
        "stored": stored if sound else None,
        "again": again,
    }


def _lines(answer: Any) -> list[str] | None:
    """Return the text of the lines; None for an archive, which has none."""
    return [line["text"] for line in answer.json()["lines"]] if answer.status_code == 200 else None


def _findings(incident: Any) -> Any:
    """Return the findings whose headlines the room shows; of cleared suspects it shows another text."""
    return incident.findings.filter(gone_since=None).exclude(group="cleared").select_related("current").order_by("key")


def _sha256(answer: Any) -> str:
    from hashlib import sha256

    return sha256(b"".join(answer.streaming_content) if answer.streaming else answer.content).hexdigest()


if __name__ == "__main__":
    django.setup()
    print("RESULT" + json.dumps(visit()))

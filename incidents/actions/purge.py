"""Purge evidence uploaded by mistake for good, leaving a tombstone: hash, lines, who, why."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from incidents.access import Right, Room
from incidents.actions import exports
from incidents.actions.record import Deed, deed
from incidents.content.summary import content as summary_content
from incidents.errors import Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState, Way
from incidents.models.judging.finding import Evaluation, Finding, FindingVersion
from incidents.models.judging.observation import Observation
from incidents.models.room.job import Job, JobState
from incidents.models.words.summary import SummaryText, SummaryVersion
from incidents.storage import store
from incidents.work import analysis

WITHDRAWN = "Evidence withdrawn."
# Fields of a finding that may repeat words or figures of the evidence.
_TEXTS = ("headline", "expert", "manager")
_FIGURES: dict[str, Any] = {"facts": {}, "against": [], "clears": [], "cells": {}}


def purge(room: Room, number: int, reason: str) -> Artifact:
    """Remove an artifact's bytes, tables and all quotations of it. Its number stays used; findings say "withdrawn"."""
    reason = reason.strip()
    if not reason:
        raise Refused("Say why it is purged: the tombstone shows it.")
    with deed(room, Right.PURGE) as doing:
        doing.require_no_hold()
        artifact = _purge(doing, number, reason)
        for inside in Artifact.objects.filter(incident=doing.incident, came_in__archive=artifact, way=Way.ARCHIVE):
            # Files unpacked from it are the same content. Those also uploaded, or also in another archive, stay.
            if not inside.purged and not inside.came_in.exclude(archive=artifact).exists():
                _purge(doing, inside.number, reason)
        artifact.members.all().delete()
        doing.rejudge()
    return artifact


def _purge(doing: Deed, number: int, reason: str) -> Artifact:
    artifact = doing.incident.artifacts.select_related("reading").filter(number=number).first()
    if artifact is None:
        raise Refused("There is no such artifact.", 404)
    if artifact.purged:
        raise Refused("This artifact was purged already.", 410)
    lines = artifact.reading.lines if artifact.reading else None
    # A worker that is reading it notices when it next renews its lease that it has lost the job.
    Job.objects.filter(artifact=artifact, state__in=(JobState.QUEUED, JobState.RUNNING)).update(
        state=JobState.FAILED, cause="purged", lease_until=None, finished_at=timezone.now()
    )
    artifact.reading = None
    artifact.state, artifact.cause, artifact.lines_read = ArtifactState.PURGED, None, lines
    artifact.purged_at, artifact.purged_by, artifact.purge_reason = timezone.now(), doing.room.user, reason
    artifact.version += 1
    artifact.save()
    artifact.readings.all().delete()
    artifact.phases.all().delete()
    artifact.lifted_masks.all().delete()
    # The text of what a judgement changed quotes findings, whichever artifact answered the request.
    doing.incident.requests.filter(changed__isnull=False).update(changed=WITHDRAWN)
    for key, version in _withdraw(doing.incident.pk, number):
        doing.tell("finding", key, version)
    doing.record(
        "purged",
        f"artifact {number}",
        sha256=artifact.sha256,
        lines=lines,
        size=artifact.size,
        name=artifact.name,
        reason=reason,
    )
    doing.tell("artifact", number, artifact.version)
    transaction.on_commit(lambda: store.purge(artifact))
    exports.withdraw(doing, "Evidence in it was purged.")
    return artifact


def _withdraw(incident_id: int, number: int) -> list[tuple[str, int]]:
    """Strike the artifact's text out of findings, versions, reports and summaries; return the findings concerned."""
    told = []
    for version in FindingVersion.objects.filter(finding__incident_id=incident_id):
        if cites(version.content, number):
            version.content = struck(version.content)
            version.content_hash = analysis.digest(version.content)
            version.save(update_fields=("content", "content_hash"))
    for finding in Finding.objects.filter(incident_id=incident_id).select_related("current"):
        if finding.current and finding.current.content.get("withdrawn"):
            finding.withdrawn = True
            finding.save(update_fields=("withdrawn",))
            told.append((finding.key, finding.current.number))
    Observation.objects.filter(incident_id=incident_id, cited__contains=[number]).delete()
    for evaluation in Evaluation.objects.filter(incident_id=incident_id):
        evaluation.report = _struck_report(evaluation.report, number)
        evaluation.save(update_fields=("report",))
    for frozen in SummaryVersion.objects.filter(incident_id=incident_id):
        content = summary_content.struck(frozen.content, number)
        if content is not None:
            frozen.content, frozen.struck_at = content, timezone.now()
            frozen.save(update_fields=("content", "struck_at"))
    # Exhibit's text from the time when a lead wrote may quote the evidence; the lead's text stays.
    SummaryText.objects.filter(incident_id=incident_id).exclude(machine="").update(machine=WITHDRAWN)
    return told


def cites(content: Any, number: int) -> bool:
    """Tell whether any citation in a piece of a report names the artifact."""
    if isinstance(content, dict):
        if content.get("artifact") == number and "line_from" in content:
            return True
        return any(cites(value, number) for value in content.values())
    return isinstance(content, list) and any(cites(value, number) for value in content)


def struck(content: dict[str, Any]) -> dict[str, Any]:
    """Return a finding without words or figures of its evidence; the cited line numbers stay."""
    return {
        **content,
        **dict.fromkeys(_TEXTS, WITHDRAWN),
        **{name: empty for name, empty in _FIGURES.items() if name in content},
        "citations": [{**citation, "text": ""} for citation in content["citations"]],
        "withdrawn": True,
    }


def _struck_report(report: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the report without what relies on the artifact; its sentences go if anything in it does."""
    if not cites(report, number) and not any(a.get("id") == number for a in report.get("artifacts", [])):
        return report
    findings = [struck(f) if cites(f, number) else f for f in report["findings"]]
    left = {
        key: [row for row in value if not cites(row, number)] if isinstance(value, list) else value
        for key, value in report.items()
        if key not in ("findings", "verdict", "whose_seconds")
    }
    return {
        **left,
        "findings": findings,
        "verdict": {**report["verdict"], "sentence": WITHDRAWN, "headline": WITHDRAWN},
        "whose_seconds": None if cites(report["whose_seconds"], number) else report["whose_seconds"],
        "compared": [],
    }

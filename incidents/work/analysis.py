"""Judge a room: build its case, run the rules in a child process, and store findings by stable keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import structlog
import yaml
from django.db import connection, transaction
from django.db.models import F, Max, Q, prefetch_related_objects
from django.utils import timezone

from incidents.models.evidence.artifact import Artifact, ArtifactState, Border, CorrectedField, Correction
from incidents.models.evidence.reading import Part, Reading
from incidents.models.judging.case import ClockOffset, Host, Marker, Statement
from incidents.models.judging.finding import Evaluation, Finding, FindingVersion
from incidents.models.judging.observation import Observation
from incidents.models.judging.site_name import SiteName
from incidents.models.judging.threshold import IN_FORCE, Suppression, Threshold
from incidents.models.people.stand_ins import signs_as
from incidents.models.room.incident import Incident, RoomCounter
from incidents.models.room.job import Job, JobState
from incidents.storage import live, store
from incidents.storage.database import AWAY, patiently
from incidents.work import verdict_rows
from incidents.work.judge_process import SCRATCH, JudgeProcess, overlook
from incidents.work.judged_record import Judged
from incidents.work.unpacking import HINTS, told_of
from parsers.scratch_folder import remove_abandoned
from rules import model as rules
from rules.case.case_yaml import dump_case_yaml

log = structlog.get_logger(__name__)
_JUDGE = JudgeProcess()

# --- values of a part ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A guess and a person's correction. The correction is in force even if it means "unknown" (`said` is None)."""

    guess: str | None
    said: str | None = None
    corrected: bool = False

    @property
    def holds(self) -> str | None:
        return self.said if self.corrected else self.guess


@dataclass(frozen=True)
class PartValues:
    """A part with the values of its correctable fields, by name (`CorrectedField`)."""

    part: Part
    values: dict[str, Value]

    def __getitem__(self, field: str) -> str | None:
        return self.values[field].holds


def values_of(artifact: Artifact) -> list[PartValues]:
    """Return the parts of the reading in use with corrections applied to the guesses; empty if there is no reading.

    A correction of lines applies to the part that holds its first line, and overrules one of the whole artifact.
    """
    if artifact.reading is None:
        return []
    corrections = list(artifact.corrections.all())
    return [_part_values(part, corrections) for part in artifact.reading.parts.all()]


def _part_values(part: Part, corrections: list[Correction]) -> PartValues:
    kind = f"{part.kind}/{part.variant}" if part.kind and part.variant else part.kind
    guesses = {"kind": kind, "host": part.host, "os": part.os, "role": part.role, "phase": part.phase}
    values = {field: Value(guesses.get(field)) for field in CorrectedField.values}
    whole_first = sorted(corrections, key=lambda c: c.line_from is not None)
    for said in whole_first:
        if said.line_from is None or part.line_from <= said.line_from <= part.line_to:
            values[said.field] = Value(guesses.get(said.field), said.value, True)
    return PartValues(part, values)


#: An artifact, and the number of its newest reading if there is one.
Held = tuple[Artifact, int | None]


# --- the case -----------------------------------------------------------------------------------------------------


def case_of(incident: Incident, judged: bool = True, held: list[Held] | None = None) -> rules.CaseSpec:
    """Build the case that `rules` judges. Purged artifacts and those that wait to be read are left out.

    `judged` False is for pages that only read tables: without the room's thresholds, suppressions and free causes, and
    where an object store holds the evidence, without the originals. With `held` it is for the words of the case: it
    brings no file.
    """
    if held is None:
        held = _judged(incident)
        store.bring_case(incident.pk, held, originals=judged)
    names = store.export_names([artifact for artifact, _ in held])
    symptom = rules.Symptom(incident.symptom_text, incident.symptom_unit, incident.symptom_bad, incident.symptom_normal)
    return rules.CaseSpec(
        title=incident.title,
        symptom=symptom if symptom != rules.Symptom() else None,
        hosts={host.name: _host(host) for host in incident.hosts.all()},
        artifacts=tuple(_artifact(artifact, reading, names[artifact.number]) for artifact, reading in held),
        markers=tuple(_marker(marker) for marker in incident.markers.all()),
        phases=tuple(
            rules.PhaseSpec(phase.artifact.number, phase.line_from, phase.line_to, phase.phase)
            for phase in incident.phases.select_related("artifact")
            if phase.artifact.number in names
        ),
        statements=(*(_statement(statement) for statement in incident.statements.all()), *_argued(incident)),
        offsets=tuple(_offset(offset) for offset in incident.clock_offsets.all()),
        t_zero=incident.t_zero.isoformat() if incident.t_zero else None,
        hypotheses=tuple(
            rules.FreeHypothesis(row.code, row.cause, cast("rules.Layer | None", row.layer), row.author_label)
            for row in (incident.free_causes.filter(removed_at__isnull=True) if judged else ())
        ),
        rules=_choices(incident) if judged else rules.RuleChoices(),
        names=_names(incident) if judged else (),
    )


def case_yaml(incident: Incident) -> str:
    """Return the room as `case.yaml`. Beside the originals under their export names, it gives `rules` the same case."""
    held = _judged(incident)
    written: dict[str, Any] = yaml.safe_load(dump_case_yaml(case_of(incident, held=held)))
    names = store.export_names([artifact for artifact, _ in held])
    entries: dict[str, list[dict[str, Any]]] = {}
    for entry in written.get("artifacts", []):
        entries.setdefault(entry["file"], []).append(entry)
    prefetch_related_objects([artifact for artifact, _ in held], "came_in")
    for artifact, _ in held:
        # Corrections of how to read the bytes are not part of the case, but the command line needs them too.
        parts, borders, told = values_of(artifact), _borders(artifact), told_of(artifact)
        for values, entry in zip(parts, entries.get(names[artifact.number], []), strict=False):
            said = {field: value.said for field, value in values.values.items() if value.corrected and value.said}
            if borders:
                entry["lines"] = f"{values.part.line_from}-{values.part.line_to}"
            if "lines" in entry and values["kind"]:  # with borders the command line does not detect the kind
                entry["kind"] = values["kind"]
            # The tree of a collecting tool is not there any more: an original is exported under its own name.
            said = {field: word for field, word in told.items() if field in HINTS} | said
            for field in ("kind", "os", "tz", "date", "date_order", "columns", "command"):
                if field in said:
                    entry[field] = said[field]
            if "year" in said:
                entry["year"] = int(said["year"] or 0)
            if "interval_s" in said:
                entry["interval"] = float(said["interval_s"] or 0)
        for first, last in borders if parts else ():
            prose = {
                "file": names[artifact.number],
                "lines": f"{first}-{last}",
                "kind": Border.PROSE.value,
                "id": artifact.number,
            }
            written["artifacts"].append(prose)
    return yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=120)


def _borders(artifact: Artifact) -> list[tuple[int, int]]:
    """Return the line ranges that a person marked as prose."""
    return [
        (said.line_from or 0, said.line_to or 0)
        for said in artifact.corrections.all()
        if said.field == CorrectedField.BORDER and said.value == Border.PROSE
    ]


def _judged(incident: Incident) -> list[Held]:
    """Return the artifacts of the case, read or failed, each with the number of its newest reading.

    An unpacked archive is not among them, but its files are.
    """
    waiting = (ArtifactState.RECEIVED, ArtifactState.QUEUED, ArtifactState.READING, ArtifactState.STOPPED)
    rows = (
        incident.artifacts.exclude(state=ArtifactState.PURGED)
        .exclude(state__in=waiting, reading__isnull=True)
        .exclude(state=ArtifactState.UNPACKED)
        .select_related("reading")
        .prefetch_related("reading__parts", "corrections")
        .annotate(newest_reading=Max("readings__number"))
        .order_by("number")
    )
    return [(artifact, artifact.newest_reading) for artifact in rows]


def _artifact(artifact: Artifact, newest: int | None, name: str) -> rules.ArtifactSpec:
    parts = tuple(
        rules.PartSpec(
            values.part.part,
            values.part.line_from,
            values.part.line_to,
            host=values["host"],
            phase=values["phase"],
            role=values["role"],
            clock=values["clock"],
        )
        for values in values_of(artifact)
    )
    number = artifact.reading.number if artifact.reading else newest
    folder = store.reading_dir(Reading(artifact=artifact, number=number)) if number else None
    where = str(folder) if folder else None
    original = str(store.original(artifact)) if artifact.has_original else None
    return rules.ArtifactSpec(artifact.number, name, artifact.sha256, original, where, parts)


def _host(host: Host) -> rules.HostSpec:
    return rules.HostSpec(host.os, host.os_release, host.model, host.ncpu, host.mem_gib, host.role, host.tz)


def _marker(marker: Marker) -> rules.Marker:
    between = (marker.from_phase, marker.to_phase) if marker.from_phase and marker.to_phase else None
    at = marker.at.isoformat() if marker.at else None
    return rules.Marker(marker.kind, marker.label, at, between, tuple(marker.changed), marker.hypothesis)


def _statement(statement: Statement) -> rules.Statement:
    return rules.Statement(
        statement.name, statement.num, statement.unit, statement.text, statement.author_label, statement.subject or None
    )


def _argued(incident: Incident) -> Iterable[rules.Statement]:
    """Yield people's arguments on the board as statements: one for each word of each row, in the order of the codes."""
    for row in incident.arguments.filter(removed_at__isnull=True):
        for code, word in sorted(row.words.items()):
            yield rules.Statement(code, text=f"{word}: {row.reason}", author=row.author_label)


def _offset(offset: ClockOffset) -> rules.Offset:
    return rules.Offset(offset.clock, offset.ref, offset.lo, offset.hi, signs_as(offset.author), offset.text)


def _names(incident: Incident) -> tuple[rules.SiteName, ...]:
    """Return the names of the whole site, then the room's own: of two for one thing the later counts."""
    rows = SiteName.objects.filter(Q(incident=incident) | Q(incident__isnull=True), removed_at__isnull=True)
    return tuple(
        rules.SiteName(
            cast("rules.NameKind", row.kind), row.name, row.text, row.author_label, row.said_at.date().isoformat()
        )
        for row in rows.order_by(F("incident").asc(nulls_first=True), "pk")
    )


def _choices(incident: Incident) -> rules.RuleChoices:
    return rules.RuleChoices(
        tuple(_override(row) for row in incident.thresholds.filter(IN_FORCE)),
        tuple(_suppression(row) for row in incident.suppressions.filter(IN_FORCE)),
    )


def _override(row: Threshold) -> rules.Override:
    return rules.Override(row.rule, row.param, row.value, row.reason, row.author_label, "room", row.until.isoformat())


def _suppression(row: Suppression) -> rules.Suppression:
    scope: Literal["host", "incident"] = "host" if row.host else "incident"
    return rules.Suppression(
        row.rule, row.reason, row.author_label, row.until.isoformat(), row.subject, row.host, scope
    )


# --- judging ------------------------------------------------------------------------------------------------------


def analyze(job: Job) -> None:
    """Judge the job's room as it is now. Evidence that arrives meanwhile waits for the room's next judgement."""
    incident = patiently(lambda: Incident.objects.get(pk=job.incident_id))
    spec = patiently(lambda: case_of(incident))
    report = judge(spec, lambda: _still_ours(job), store.cache_dir(incident.pk))
    overlook(spec, lambda: _still_ours(job), store.cache_dir(incident.pk))
    stored = store.send_cache(incident.pk)
    patiently(lambda: save(job, incident, spec, report, stored))


def judge(
    spec: rules.CaseSpec, each_second: Callable[[], None] | None = None, cache: Path | None = None
) -> dict[str, Any]:
    """Judge a case in a child process; return the report's JSON object."""
    return _JUDGE.judge(spec, each_second, cache)


def warm() -> None:
    """Start a process that judges, so that the first judgement need not wait for rules and libraries to load.

    What workers left that were killed goes first.
    """
    remove_abandoned(SCRATCH)
    _JUDGE.warm()


def _still_ours(job: Job) -> None:
    try:
        job.renew()
    except AWAY as error:  # the lease is long enough to wait for the database
        log.warning("analysis.database_away", error=str(error))
        connection.close()


def fail(job: Job, cause: str) -> None:
    """Record that the room could not be judged; its pages show the cause with "try again"."""
    with transaction.atomic():
        RoomCounter.lock(job.incident_id)
        job.finish(JobState.FAILED, cause)
        live.tell(job.incident_id, "verdict")


# --- storing ------------------------------------------------------------------------------------------------------


def save(job: Job, incident: Incident, spec: rules.CaseSpec, report: dict[str, Any], stored: str = "") -> None:
    """Store a report in one transaction, if the job is still ours and none of its evidence was purged meanwhile.

    `stored` names the derived tables in the object store, if there is one.
    """
    with transaction.atomic():
        RoomCounter.lock(incident.pk)
        job.hold()
        incident.refresh_from_db()
        purged = set(incident.artifacts.filter(state=ArtifactState.PURGED).values_list("number", flat=True))
        if purged & {artifact.id for artifact in spec.artifacts}:
            job.queue_again(cause="an artifact was purged meanwhile")
            return
        save_report(incident, spec, report)
        if stored:
            RoomCounter.objects.filter(incident=incident).update(cache_stored=stored)
        job.finish()


def save_report(incident: Incident, spec: rules.CaseSpec, report: dict[str, Any]) -> Evaluation | None:
    """Store a report as the room's newest evaluation and update the findings; inside a transaction.

    Returns None if the room's newest report is the same. In a closed room the report waits until a lead accepts it.
    """
    newest = incident.evaluations.order_by("-number").first()
    if newest is not None and digest(_lasting(newest.report)) == digest(_lasting(report)):
        return None
    evaluation = Evaluation.objects.create(
        incident=incident,
        number=newest.number + 1 if newest else 1,
        inputs_hash=inputs_hash(spec),
        version=digest(sorted({(f["rule"], f.get("version")) for f in report["findings"]})),
        report=report,
        accepted=not incident.closed,
    )
    if evaluation.accepted:
        save_findings(evaluation)
    live.tell(incident.pk, "verdict", evaluation.number)
    return evaluation


def save_findings(evaluation: Evaluation) -> None:
    """Match the report's findings with the room's by key: new, changed, found again, no longer found.

    Updates the rows of the room's verdict and observations too, and records in the activity what the judgement changed.
    An evaluation that a lead has not accepted yet changes none of them.
    """
    incident_id = evaluation.incident_id
    news = Judged(evaluation)
    verdict_rows.keep(evaluation)
    Observation.objects.replace(incident_id, evaluation.report.get("observations") or [])
    known = {f.key: f for f in Finding.objects.filter(incident_id=incident_id).select_related("current")}
    seen: set[str] = set()
    for rank, content in enumerate(evaluation.report["findings"], start=1):
        if content["key"] in seen:
            continue
        seen.add(content["key"])
        finding = known.get(content["key"])
        if finding is None:
            finding = Finding(incident_id=incident_id, key=content["key"], rule=content["rule"])
        told = finding.pk is None or finding.gone_since is not None or finding.withdrawn
        if told:
            news.found.append(finding.rule)
        finding.kind, finding.group, finding.rank = content["kind"], content["group"], rank
        finding.gone_since, finding.withdrawn = None, False
        for name, value in verdict_rows.told(content).items():
            setattr(finding, name, value)
        finding.save()
        content_hash = digest(content)
        if finding.current is None or finding.current.content_hash != content_hash:
            number = (finding.current.number if finding.current else 0) + 1
            finding.current = FindingVersion.objects.create(
                finding=finding, number=number, evaluation=evaluation, content=content, content_hash=content_hash
            )
            finding.save(update_fields=("current",))
            told = True
        if told and finding.current:
            live.tell(incident_id, "finding", finding.key, finding.current.number)
    for finding in _no_longer(known.values(), seen):
        finding.gone_since = timezone.now()
        finding.save(update_fields=("gone_since",))
        live.tell(incident_id, "finding", finding.key, finding.current.number if finding.current else 1)
        news.lost.append(finding.rule)
    news.record()


def _no_longer(known: Iterable[Finding], seen: set[str]) -> list[Finding]:
    return [finding for finding in known if finding.key not in seen and finding.gone_since is None]


def inputs_hash(spec: rules.CaseSpec) -> str:
    return digest(spec.as_json())


def _lasting(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report without what differs between two runs on the same case."""
    return {key: value for key, value in report.items() if key != "seconds"}


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()

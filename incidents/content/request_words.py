"""Texts of evidence requests: a draft made from what is missing, its collect block, artifacts that may answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from incidents.content.report import Ask
from incidents.models.evidence.artifact import Artifact, ArtifactState
from incidents.models.evidence.request import EvidenceRequest
from incidents.models.judging.case import Host
from incidents.models.room.incident import Incident
from rules.collecting.blocks import SYMPTOMS, SYSTEMS, Block, block, symptom_of, system_of
from rules.collecting.commands import for_version
from rules.judging.scoring import CAUSES
from rules.writing.rule import Rule

MOST_PROPOSED = 20
MOST_CAUSES = 4
# Tables that rules derive -> the evidence table that a file fills.
_MADE_OF = {
    "listener_cycles": "syscalls", "listener_load": "syscalls", "name_calls": "syscalls", "pipe_pairs": "syscalls",
    "proc_tree": "syscalls", "call_profile": "syscalls", "stop_waits": "syscalls", "requests": "syscalls",
    "request_parts": "syscalls", "open_calls": "syscalls", "unbroken trace": "syscalls", "answered_by": "syscalls",
    "seg_groups": "pmap", "counter_growth": "counters", "wait_cover": "sqlnet", "sqlnet_waits": "sqlnet",
    "tcp_flows": "packets", "trends": "ps", "hist_modes": "hist", "profile_kinds": "profile_symbols",
    "changes": "conn_times", "predictions": "conn_times",
}  # fmt: skip
_SYMPTOM_OF_TABLE = (
    ("memory", {"meminfo", "numa"}),
    ("disk", {"iostat"}),
    ("network", {"counters", "packets", "sockets"}),
    ("locks", {"ipcs_sem", "locks"}),
    ("cpu", {"vmstat", "mpstat", "ps", "profile_symbols"}),
)


def tables_of(needs: Iterable[str]) -> list[str]:
    """Name the evidence tables behind a rule's needs; a statement needs no table.

    >>> tables_of(["syscalls.cpu_s", "counter_growth[grp = 'tcp']", "vmstat_i x 3", "statement:workers"])
    ['syscalls', 'counters', 'vmstat']
    """
    found = []
    for need in needs:
        if need.startswith("statement:"):
            continue
        plain = re.sub(r"\[.*\]| x \d+$| of the same start$", "", need)
        table = plain.split(".")[0].removesuffix("_i")
        found.append(_MADE_OF.get(plain, _MADE_OF.get(table, table)))
    return list(dict.fromkeys(found))


def worth_words(worth: float) -> str:
    """Describe a worth in decibans in words.

    >>> [worth_words(db) for db in (0, 2, 5, 8, 12)]
    ['', 'would tell a little', 'would tell something', 'would tell much', 'could settle it']
    """
    if worth <= 0:
        return ""
    steps = ((10, "could settle it"), (7, "would tell much"), (4, "would tell something"))
    return next((words for least, words in steps if worth >= least), "would tell a little")


@dataclass(frozen=True)
class Draft:
    """First values of the request form, and the hidden values stored with them."""

    initial: dict[str, Any]
    hidden: dict[str, Any]


def draft(incident: Incident, ask: Ask | None, hosts: Sequence[Host], rule: Rule | None = None) -> Draft:
    """Fill in a new request from what is missing, or from the case alone. `rule`: the rule that lacks the evidence."""
    if ask is None:
        only = hosts[0] if len(hosts) == 1 else None
        fields = {"host": only.name, "os": only.os or "", "os_release": only.os_release or ""} if only else {}
        return Draft({**fields, "symptom": symptom_of_case(incident)}, {})
    host = next((host for host in hosts if host.name == ask.host), None)
    os = ask.os or (host.os if host else None) or ""
    release = (host.os_release if host else None) or ""
    tables = tables_of(ask.needs)
    initial = {
        "what": (ask.named if ask.settles else ask.why)[:500],
        "command": for_version(ask.command, os or None, release),
        "host": ask.host,
        "os": os,
        "os_release": release,
        "who": ask.who,
        "decides": decides(ask, rule),
        "symptom": symptom_of_tables(tables) or symptom_of_case(incident),
        "ask": ask.id,
    }
    return Draft(initial, hidden_of(ask))


def decides(ask: Ask, rule: Rule | None) -> str:
    """Say what the answer would decide: the rule's claim, how much it tells, which causes it concerns."""
    settles = worth_words(ask.worth)
    title = rule.file.title.rstrip(".") if rule else ""
    sentence = f"Whether {ask.rule} holds{f' ({title})' if title else ''}{f': it {settles}' if settles else ''}."
    if not ask.rule:
        sentence = f"It would settle: {ask.settles}." if ask.settles else f"{ask.why}."
    causes = [CAUSES[code].text for code in (rule.file.hypotheses if rule else {}) if code in CAUSES]
    more = f"; {len(causes) - MOST_CAUSES} more" if len(causes) > MOST_CAUSES else ""
    return f"{sentence} It bears on: {'; '.join(causes[:MOST_CAUSES])}{more}." if causes else sentence


def hidden_of(ask: Ask) -> dict[str, Any]:
    return {"rule": ask.rule[:80], "ask_id": ask.id, "tables": tables_of(ask.needs), "worth": ask.worth}


def symptom_of_case(incident: Incident) -> str:
    return symptom_of(incident.symptom_text, incident.title)


def symptom_of_tables(tables: Sequence[str]) -> str:
    """Choose the symptom whose collect block brings these tables; empty if no block does."""
    return next((symptom for symptom, has in _SYMPTOM_OF_TABLE if has & set(tables)), "")


@dataclass(frozen=True)
class CollectPart:
    """What the page shows of a collect block."""

    system: str
    symptom: str
    block: Block
    systems: dict[str, str]
    symptoms: dict[str, str]


def collect_part(system: str | None, symptom: str | None, incident: Incident | None, host: Host | None) -> CollectPart:
    """Make the chosen block; system and symptom that were not chosen follow from the host and the case."""
    system = system if system in SYSTEMS else system_of(host.os if host else None, host.os_release if host else None)
    guessed = symptom_of_case(incident) if incident is not None else "connects"
    symptom = symptom if symptom in SYMPTOMS else guessed
    return CollectPart(system, symptom, block(system, symptom), SYSTEMS, SYMPTOMS)


def block_of(request: EvidenceRequest) -> Block | None:
    """Return the collect block of a request; None if none was chosen."""
    if request.symptom not in SYMPTOMS:
        return None
    return block(system_of(request.os or None, request.os_release or None), request.symptom)


def proposals(request: EvidenceRequest) -> list[Artifact]:
    """Return artifacts that arrived after an open request and would fit it, by the tables they filled and their host.

    They are offered to a person and never accepted automatically: a file of the right kind may be of the wrong process.
    """
    if not request.open or not request.tables:
        return []
    rows = (
        Artifact.objects.filter(incident=request.incident_id, received_at__gte=request.created_at)
        .filter(reading__isnull=False, reading__tables__has_any_keys=list(request.tables))
        .exclude(state=ArtifactState.PURGED)
        .exclude(answered__request=request)
        .select_related("uploader", "reading")
        .prefetch_related("reading__parts", "corrections")
        .order_by("-number")[:MOST_PROPOSED]
    )
    return [artifact for artifact in rows if _fits_host(artifact, request.host)]


def _fits_host(artifact: Artifact, host: str) -> bool:
    """Decide whether an artifact may come from the host: a part of it does, or a part's host is unknown."""
    if not host:
        return True
    hosts: set[str | None] = {row.value for row in artifact.corrections.all() if row.field == "host" and row.value}
    if not hosts and artifact.reading is not None:
        hosts = {part.host for part in artifact.reading.parts.all()}
    return None in hosts or host.lower() in {(name or "").lower() for name in hosts}

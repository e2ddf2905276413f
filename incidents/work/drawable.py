"""What a room's timeline is drawn from: its newest report, and the tables that lanes read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.db.models import Count, Q

from incidents.access import Room
from incidents.drawing import frames
from incidents.drawing.frames import Frame
from incidents.models.evidence.artifact import ArtifactState
from incidents.models.judging.finding import Evaluation
from incidents.models.room.incident import Incident
from incidents.storage import store
from incidents.storage.database import let_go
from incidents.work import analysis
from rules.engine.read import ReadOnly

Json = dict[str, Any]


def opened(room: Room) -> ReadOnly:
    """Open the tables that lanes draw, evidence and what the last evaluation derived.

    Whoever draws may wait for a turn: the connection to the database goes back to the pool meanwhile.
    """
    incident = room.incident
    case = analysis.case_of(incident, judged=False)
    let_go()
    return ReadOnly(case, frames.tables(), store.cache_dir(incident.pk), with_text=True)


def newest_report(incident: Incident) -> Json | None:
    purged = Count("incident__artifacts", filter=Q(incident__artifacts__state=ArtifactState.PURGED))
    newest = incident.evaluations.filter(accepted=True).annotate(purged=purged).order_by("-number")
    found = newest.values_list("pk", "purged").first()
    return None if found is None else _report(*found)


@lru_cache(maxsize=16)
def _report(pk: int, purged: int) -> Json:
    """Return the report of an evaluation, cached for zooming. Only a purge changes it; `purged` counts purges."""
    report: Json = Evaluation.objects.values_list("report", flat=True).get(pk=pk)
    return report


def frames_named(report: Json, source: ReadOnly, wanted: str | None = None) -> list[Frame]:
    """Return the frame of this name, or all of them; none for an unknown name."""
    found = [frame for frame in frames.frames_of(report) if wanted in (None, frame.name)]
    if wanted in (None, frames.ORDER) and (ordered := frames.in_order(report, source)):
        found.append(ordered)
    return found

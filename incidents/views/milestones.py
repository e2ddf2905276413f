"""The moments of incidents as headers and lists show them."""

from __future__ import annotations

from typing import Any

from incidents.models.incident import Incident
from incidents.models.standing import Milestone, Moment


def standing(incident: Incident) -> dict[str, Any]:
    """Return what the header of a room says of its status: the moments reached, with who set them."""
    order = {kind: place for place, kind in enumerate(Moment.values)}
    milestones = sorted(incident.milestones.select_related("set_by"), key=lambda row: order[row.kind])
    return {"milestones": milestones, "update_by": incident.next_update_by}


def standings(incidents: list[Incident]) -> dict[int, list[Milestone]]:
    """Return the moments of many rooms in one query, for the list of rooms."""
    found: dict[int, list[Milestone]] = {incident.pk: [] for incident in incidents}
    for row in Milestone.objects.filter(incident__in=incidents).select_related("set_by").order_by("incident", "at"):
        found[row.incident_id].append(row)
    return found

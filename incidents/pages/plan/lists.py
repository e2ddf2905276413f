"""Decisions and actions as other pages show them."""

from __future__ import annotations

from typing import Any

from incidents.access import Room

MOST = 20


def on_finding(room: Room, key: str) -> dict[str, Any]:
    """Return the decisions and actions of a finding for the drawer, the earliest due first."""
    living = {"finding_key": key, "deleted_at__isnull": True}
    return {
        "finding_decisions": list(
            room.incident.decisions.filter(**living).select_related("decided_by").order_by("needed_by", "pk")[:MOST]
        ),
        "finding_actions": list(
            room.incident.actions.filter(**living).select_related("owner").order_by("due_at", "pk")[:MOST]
        ),
    }

"""What people stated and did, on a calendar clock (UTC): the last frame of the timeline."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.urls import reverse

from incidents.access import Room
from incidents.content.visible import visible

NAME = "people"
#: Maximum number of entries of each kind; the newest are shown.
MOST = 200
Json = dict[str, Any]


def frame(room: Room) -> Json | None:
    """Return the frame of markers with a time, statements, and notes without a clock; None without any.

    It is not aligned with the clocks of evidence: what was stated at 10:00 may be about anything before.
    """
    incident, slug = room.incident, room.incident.slug
    case = reverse("case", args=[slug])
    notes = incident.notes.filter(deleted_at=None, reply_to=None, clock=None).order_by("-created_at")
    kinds = (
        ("markers", "markers", incident.markers.filter(at__isnull=False).order_by("-at").values_list("pk", "at", "label"), lambda _: case),
        ("statements", "statements", incident.statements.order_by("-created_at").values_list("pk", "created_at", "text"), lambda _: case),
        ("notes", "notes", notes.values_list("pk", "created_at", "text"), lambda pk: reverse("note-thread", args=[slug, pk])),
    )  # fmt: skip
    strips = [strip(name, label, rows[:MOST], href) for name, label, rows, href in kinds]
    filled = [one for one in strips if one["spans"]]
    if not filled:
        return None
    times = [span[0] for one in filled for span in one["spans"]]
    margin = max((max(times) - min(times)) * 0.05, 30.0)
    return {
        "frame": NAME,
        "title": "What people said and did",
        "reason": "UTC, when it was entered",
        "why": "in UTC, when it was entered; markers when it was done",
        "axis": "clock",
        "unit": "s",
        "t0": min(times) - margin,
        "t1": max(times) + margin,
        "zero": 0.0,
        "dated": True,
        "when": "",
        "at": None,
        "clocks": [{"clock": NAME, "shift": 0.0, "err": 0.0}],
        "lanes": filled,
        "more": 0,
        **{name: [] for name in ("bands", "culprits", "notes", "markers")},
        "bad": None,
    }


def strip(name: str, label: str, rows: Iterable[tuple[int, datetime | None, str]], href: Any) -> Json:
    spans, hrefs = [], {}
    for pk, at, text in sorted((pk, at, text) for pk, at, text in rows if at is not None):
        t = round(at.timestamp(), 3)
        words = visible(" ".join(text.split()))
        spans.append([t, t, words[:160], "rest", 0, pk, pk, 0, 1, 0.0, 0.0])
        hrefs[pk] = href(pk)
    return {
        "lane": f"people.{name}",
        "kind": "event",
        "clock": NAME,
        "host": None,
        "label": label,
        "unit": "",
        "rows": len(spans),
        "thinned": False,
        "spans": spans,
        "hrefs": hrefs,
    }

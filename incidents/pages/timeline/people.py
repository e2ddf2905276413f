"""What people stated and did, on a calendar clock (UTC): the last frame of the timeline."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.urls import reverse

from incidents.access import Room
from incidents.content.visible import visible
from incidents.models.plan.entry import EntryKind

NAME = "people"
#: Maximum number of entries of each kind; the newest are shown.
MOST = 200
Json = dict[str, Any]


def frame(room: Room) -> Json | None:
    """Return the frame of what people did and wrote: decisions, markers with a time, entries of the log, statements, notes.

    None if there are none. Notes on a clock are in that clock's frame.

    It is not aligned with the clocks of evidence: what was stated at 10:00 may be about anything before.
    """
    incident, slug = room.incident, room.incident.slug
    case = reverse("case", args=[slug])
    log = reverse("log", args=[slug])
    decided = incident.decisions.filter(deleted_at=None, outcome__isnull=False).order_by("-decided_at")
    # A change is a marker already.
    entries = incident.entries.filter(deleted_at=None).exclude(kind=EntryKind.CHANGE).order_by("-at")
    notes = incident.notes.filter(deleted_at=None, reply_to=None, clock=None).order_by("-created_at")
    kinds = (
        ("decisions", "decisions", decided.values_list("pk", "decided_at", "outcome"), lambda pk: f"{log}#decision-{pk}"),
        ("markers", "markers", incident.markers.filter(at__isnull=False).order_by("-at").values_list("pk", "at", "label"), lambda _: case),
        ("entries", "updates and steps", entries.values_list("pk", "at", "text"), lambda pk: f"{log}#entry-{pk}"),
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
        "reason": "UTC",
        "why": "in UTC; decisions, markers, updates and steps when they were done, the others when they were entered",
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


def decided(room: Room) -> list[Json]:
    """Return the newest decisions as marks of the frames of evidence, beside the markers of the case."""
    rows = room.incident.decisions.filter(deleted_at=None, outcome__isnull=False).order_by("-decided_at")[:MOST]
    return [
        {
            "id": f"decision-{row.pk}",
            "label": visible(f"decided: {' '.join((row.outcome or '').split())}")[:60],
            "kind": "decision",
            "at": row.decided_at,
        }
        for row in rows
    ]


def strip(name: str, label: str, rows: Iterable[tuple[int, datetime | None, str | None]], href: Any) -> Json:
    spans, hrefs = [], {}
    for pk, at, text in sorted((pk, at, text) for pk, at, text in rows if at is not None and text):
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

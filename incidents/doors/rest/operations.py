"""The whole API: every operation of this folder. Whoever describes or serves it takes it from here."""

from __future__ import annotations

from incidents.doors.rest import asking, dashboards, evidence, judging, notes, plan, requests, rooms
from incidents.doors.rest.api import api

for _of in (rooms, evidence, judging, dashboards, notes, requests, plan, asking):
    api.add_router("", _of.router)

__all__ = ["api"]

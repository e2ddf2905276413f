"""`GET /api/rooms/<slug>/report.json`: the room's newest report, the JSON object of `python -m rules --json`."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_GET

from incidents import access
from incidents.doors.api.answers import resource
from incidents.errors import Refused
from incidents.models.judging.finding import OPEN_DISPUTE


@resource
@require_GET
def report(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer the report that the room shows; 409 if the room was never judged."""
    room = access.enter(request.user, slug)
    newest = room.incident.evaluations.filter(accepted=True).order_by("-number").first()
    if newest is None:
        raise Refused("This room was not judged yet.", 409)
    answer = JsonResponse(newest.report)
    answer["Exhibit-Evaluation"] = str(newest.number)
    # Sent as a header, not in the report: the report stays exactly what `python -m rules` makes of the same evidence.
    disputed = (
        room.incident.disputes.filter(OPEN_DISPUTE).order_by("finding__key").values_list("finding__key", flat=True)
    )
    answer["Exhibit-Disputed"] = ",".join(disputed.distinct())
    return answer


urlpatterns = [path("rooms/<slug:slug>/report.json", report, name="api-report")]

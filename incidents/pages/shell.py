"""What every page shares: access checks, refusals, the room's navigation."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.db import DataError
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers

from incidents import access
from incidents.access import Right, Room
from incidents.content import problems
from incidents.content.moments import zone_of
from incidents.errors import STORE_WORDS, FactorNeeded, NotAMember, Refused, StoreError, WrongSecret
from incidents.models.evidence.artifact import ArtifactState
from incidents.storage import devices
from incidents.storage.database import AWAY, no_text
from rules.errors import TablesBusy, TablesTooLarge

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponseBase]

AWAY_WORDS = "The database does not answer just now. What was stored is safe."
TOO_MUCH_WORDS = (
    "This view needs more memory than a page may take: choose a shorter time, fewer series or one phase. The evidence and"
    " every other page are as they were."
)
BUSY_WORDS = "Many people look at large views at this moment. Nothing is lost: load the page again in a few seconds."
AGAIN_S = 5
HEADINGS = {
    400: "Not taken",
    401: "This link does not open anything",
    403: "Not allowed",
    404: "Not found",
    409: "Not now",
    410: "Gone",
    413: "Too large",
    422: "Not taken",
    429: "Wait a little",
    503: "Just a moment",
    507: "No space left",
}
MAY = {
    "upload": Right.UPLOAD,
    "correct": Right.CORRECT,
    "note": Right.NOTE,
    "dispute": Right.DISPUTE,
    "case": Right.CASE,
    "plan": Right.PLAN,
    "people": Right.PEOPLE,
    "original": Right.ORIGINAL,
    "purge": Right.PURGE,
    "unmask": Right.UNMASK,
    "close": Right.CLOSE,
    "hooks": Right.HOOKS,
    "ask": Right.ASK,
    "tune": Right.TUNE,
    "share": Right.SHARE,
    "export": Right.EXPORT,
    "review": Right.REVIEW,
    "hold": Right.HOLD,
    "delete": Right.DELETE,
}


def takes_files(view: View) -> View:
    """Mark a view as one that takes a file: members may send it a body as large as `EXHIBIT_MAX_FORM_BYTES`."""
    view.takes_files = True  # type: ignore[attr-defined]  # read by incidents.doors.bodies through the address
    return view


def page(view: View) -> View:
    """Wrap a view for signed-in people. Others are sent to sign in, whatever the address, to disclose nothing."""

    @wraps(view)
    def inside(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            if not request.user.is_authenticated:
                if wants_json(request) or request.headers.get("HX-Request"):
                    return refusal(request, Refused("Sign in first.", 401))
                return redirect_to_login(request.get_full_path())
            devices.note_seen(request, request.user)
            if access.lacks_factor(request.user):
                return _without_factor(request)
            return answered(view, request, *args, **kwargs)
        except AWAY as error:
            return away(request, str(error))

    return inside


def _without_factor(request: HttpRequest) -> HttpResponse:
    """Send somebody who must have a second factor to where they set it up; parts and scripts are refused in words."""
    needed = FactorNeeded()
    if wants_json(request) or request.headers.get("HX-Request"):
        return refusal(request, needed)
    messages.info(request, needed.message)
    return redirect("mfa_index")


def open_page(view: View) -> View:
    """Wrap a view that needs no account: the view itself checks the secret in its address."""

    @wraps(view)
    def outside(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        answer = answered(view, request, *args, **kwargs)
        answer["Referrer-Policy"] = "strict-origin"
        answer["X-Robots-Tag"] = "noindex"
        return answer

    return outside


def answered(view: View, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    """Call a view in the time zone of its forms, turn refusals into answers, and forbid caches to store the answer."""
    try:
        with timezone.override(zone_of(request)):
            answer = view(request, *args, **kwargs)
    except Refused as refused:
        answer = refusal(request, refused)
    except DataError as error:
        answer = refusal(request, no_text(error))
    except StoreError as error:
        log.warning("views.store", path=request.path, error=str(error))
        answer = refusal(request, Refused(STORE_WORDS, 503))
    except (TablesTooLarge, TablesBusy) as error:
        log.warning("views.tables", path=request.path, error=str(error))
        words = TOO_MUCH_WORDS if isinstance(error, TablesTooLarge) else BUSY_WORDS
        answer = refusal(request, Refused(words, 503))
    add_never_cache_headers(answer)
    return answer


def away(request: HttpRequest, why: str) -> HttpResponse:
    """Answer that the database is away, with a page that needs no database; after a GET it reloads by itself."""
    log.warning("views.database_away", path=request.path, why=why)
    again = request.method == "GET" and not is_part(request)
    answer: HttpResponse
    if problems.wanted_at(request.path):
        answer = JsonResponse(problems.problem(503, f"{AWAY_WORDS} Try again in a moment."), status=503)
        answer["Content-Type"] = problems.MEDIA_TYPE
    elif wants_json(request):
        answer = JsonResponse({"error": f"{AWAY_WORDS} Try again in a moment."}, status=503)
    else:
        shown = {"words": AWAY_WORDS, "again": again, "request": request}
        answer = HttpResponse(render_to_string("503.html", shown), status=503)
        if again:
            answer["Refresh"] = str(AGAIN_S)
    answer["Retry-After"] = str(AGAIN_S)
    add_never_cache_headers(answer)
    return answer


def refusal(request: HttpRequest, refused: Refused) -> HttpResponse:
    """Answer a refusal as a page, a part or JSON. A room closed to this person looks like an unknown address."""
    if wants_json(request):
        return JsonResponse({"error": refused.message}, status=refused.status)
    if isinstance(refused, NotAMember) and not isinstance(refused, WrongSecret):
        return render(request, "404.html", status=refused.status)
    words = {
        "heading": HEADINGS.get(refused.status, "Refused"),
        "words": [refused.message],
        "links": _ways_back(request, refused),
    }
    return render(request, "plain.html", words, status=refused.status)


def _ways_back(request: HttpRequest, refused: Refused) -> list[tuple[str, str]]:
    """Return where somebody who is signed in can go from a refusal: the room, if only this is not theirs; all rooms."""
    if not request.user.is_authenticated:
        return []
    slug = request.resolver_match.kwargs.get("slug") if request.resolver_match else None
    in_room = slug and not isinstance(refused, NotAMember) and request.path.startswith(f"/rooms/{slug}/")
    room = [("Back to the room", reverse("room", args=[slug]))] if in_room else []
    return [*room, ("All your rooms", reverse("rooms"))]


def wants_json(request: HttpRequest) -> bool:
    """Return whether the caller is a script that reads JSON, judged by address or Accept header."""
    return request.path.startswith("/api/") or request.headers.get("Accept", "").startswith("application/json")


def shell(room: Room, name: str, counts: dict[str, int] | None = None) -> dict[str, Any]:
    """Return what the room's frame shows: navigation, rights, counts of artifacts, the newest event number.

    The number was read when the room was entered, before the page read anything else. `counts`: for a page that has
    read all artifacts itself.
    """
    counts = counts_of(room) if counts is None else counts
    return {
        "room": room,
        "page": name,
        "seq": room.incident.counter.event_seq,
        "counts": counts,
        "artifact_count": counts["total"],
        "takes_nothing": room.takes_nothing,
        "may": {word: room.may(right) for word, right in MAY.items()},
    }


def counts_of(room: Room) -> dict[str, int]:
    """Count a room's artifacts in one query: in all, read, failed and purged."""
    there, read = ~Q(state=ArtifactState.PURGED), Q(reading__isnull=False) | Q(state=ArtifactState.UNPACKED)
    return room.incident.artifacts.aggregate(
        total=Count("pk", filter=there),
        read=Count("pk", filter=there & read),
        failed=Count("pk", filter=Q(state=ArtifactState.FAILED)),
        purged=Count("pk", filter=~there),
    )


def people_named(ids: list[int]) -> list[User]:
    """Return the users with these ids in one query, in the order of the ids."""
    users = User.objects.in_bulk(ids) if ids else {}
    return [users[id] for id in ids if id in users]


def is_part(request: HttpRequest) -> bool:
    """Return whether htmx asks for a part; going back in the history asks for the whole page."""
    return request.headers.get("HX-Request") == "true" and "HX-History-Restore-Request" not in request.headers

"""Wrap API resources: answers for members with a session, some also for upload tokens; refusals with the text of
`Refused`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.db import DataError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern
from django.utils.cache import add_never_cache_headers

from incidents import access
from incidents.access import Right, Room
from incidents.actions.limits import count_try
from incidents.errors import STORE_WORDS, Refused, StoreError
from incidents.storage.database import AWAY, no_text

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]
urlpatterns: list[URLPattern] = []


SIGN_IN_WORDS = "Sign in first: this address takes the session of a member."
TOKEN_WORDS = (
    "No token opens this address. Upload tokens send evidence only; access tokens read and write under /api/v1/;"
    " everything else takes a member's session."
)


def resource(view: View) -> View:
    """Wrap a view of the API: a refusal becomes `{"error": words}` with its status; nothing is cached."""
    return _answering(view, takes_tokens=False)


def resource_for_tokens(view: View) -> View:
    """Wrap a view as `resource` does; a holder of an upload token may call it as well as a member (`entered`)."""
    return _answering(view, takes_tokens=True)


def entered(request: HttpRequest, slug: str, right: Right) -> Room:
    """Return the room as the sender's upload token opens it, or the session of a member. Raises `Refused`."""
    secret = _token_of(request)
    if not secret:
        return access.enter(request.user, slug, right)
    count_try("token", request.META.get("REMOTE_ADDR", ""), most=600)
    room = access.enter_with_token(slug, secret)
    room.require(right)
    return room


def _token_of(request: HttpRequest) -> str:
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def _answering(view: View, takes_tokens: bool) -> View:
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            by_token = takes_tokens and bool(_token_of(request))
            if not by_token and not request.user.is_authenticated:
                # Said before the room is looked up: the answer is the same for every room and for nonsense.
                raise Refused(TOKEN_WORDS if "Authorization" in request.headers else SIGN_IN_WORDS, 401)
            if not by_token:
                access.require_factor(request.user)
            try:
                made = view(request, *args, **kwargs)
            except DataError as error:
                raise no_text(error) from error
        except Refused as refused:
            made = JsonResponse({"error": refused.message}, status=refused.status)
            if refused.status == 401:
                made["WWW-Authenticate"] = "Bearer"
        except StoreError as error:
            log.warning("api.store", path=request.path, error=str(error))
            made = JsonResponse({"error": STORE_WORDS}, status=503)
            made["Retry-After"] = "5"
        except AWAY as error:
            log.warning("api.database_away", path=request.path, error=str(error))
            made = JsonResponse({"error": "The database does not answer just now. Try again in a moment."}, status=503)
            made["Retry-After"] = "5"
        add_never_cache_headers(made)
        return made

    return answer

"""Wrap API resources: JSON answers, for members with a session, and refusals with the text of `Refused`."""

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
from incidents.errors import Refused
from incidents.storage.database import AWAY, no_text

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]
urlpatterns: list[URLPattern] = []


SIGN_IN_WORDS = "Sign in first: this address takes the session of a member."
TOKEN_WORDS = "No token opens this address. Upload tokens send evidence only; everything else takes a member's session."


def resource(view: View) -> View:
    """Wrap a view of the API: a refusal becomes `{"error": words}` with its status; nothing is cached."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            if not request.user.is_authenticated:
                # Said before the room is looked up: the answer is the same for every room and for nonsense.
                raise Refused(TOKEN_WORDS if "Authorization" in request.headers else SIGN_IN_WORDS, 401)
            access.require_factor(request.user)
            try:
                made = view(request, *args, **kwargs)
            except DataError as error:
                raise no_text(error) from error
        except Refused as refused:
            made = JsonResponse({"error": refused.message}, status=refused.status)
            if refused.status == 401:
                made["WWW-Authenticate"] = "Bearer"
        except AWAY as error:
            log.warning("api.database_away", path=request.path, error=str(error))
            made = JsonResponse({"error": "The database does not answer just now. Try again in a moment."}, status=503)
            made["Retry-After"] = "5"
        add_never_cache_headers(made)
        return made

    return answer

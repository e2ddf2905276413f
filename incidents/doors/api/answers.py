"""Wrap API resources: JSON answers, for members with a session, and refusals with the text of `Refused`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern
from django.utils.cache import add_never_cache_headers

from incidents.errors import Refused
from incidents.storage.database import AWAY

log = structlog.get_logger(__name__)

View = Callable[..., HttpResponse]
urlpatterns: list[URLPattern] = []


def resource(view: View) -> View:
    """Wrap a view of the API: a refusal becomes `{"error": words}` with its status; nothing is cached."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            made = view(request, *args, **kwargs)
        except Refused as refused:
            made = JsonResponse({"error": refused.message}, status=refused.status)
        except AWAY as error:
            log.warning("api.database_away", path=request.path, error=str(error))
            made = JsonResponse({"error": "The database does not answer just now. Try again in a moment."}, status=503)
            made["Retry-After"] = "5"
        add_never_cache_headers(made)
        return made

    return answer

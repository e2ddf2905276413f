"""Measure the answers of the web process: the name of the route, the status, and the seconds until the answer began."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from incidents.storage import meters

ROUTE = "exhibit.route"
"""Where the name of the route stands in the scope of a connection, once it is known."""


def routed(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Return a middleware that stores the name of the route in the scope."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if isinstance(request, ASGIRequest) and request.resolver_match is not None:
            cast(dict[str, Any], request.scope)[ROUTE] = request.resolver_match.view_name
        return response

    return middleware


async def measured(scope: Any, receive: Any, send: Any, answer: Callable[[Any, Any, Any], Awaitable[None]]) -> None:
    """Let `answer` answer, and count the answer when it begins: a stream or a download may go on for hours."""
    if not meters.on():
        await answer(scope, receive, send)
        return
    begun, counted = time.perf_counter(), False

    def count(status: str) -> None:
        nonlocal counted
        if not counted:
            counted = True
            meters.answered(_route(scope), scope["method"], status, time.perf_counter() - begun)

    async def noted(message: Any) -> None:
        if message["type"] == "http.response.start":
            count(str(message["status"]))
        await send(message)

    try:
        await answer(scope, receive, noted)
    except Exception:  # not recorded here: the server does that, and answers with 500
        count("500")
        raise
    finally:
        count("gone")


def _route(scope: Any) -> str:
    """Return the name of the route; `static` or `other` for a request that no view answered."""
    named: str | None = scope.get(ROUTE)
    static = scope["path"].startswith(f"/{settings.STATIC_URL.strip('/')}/")
    return named or ("static" if static else "other")

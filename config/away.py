"""Answer at once while the database is away, instead of letting people wait for a connection.

Uploads are left out: they wait for the database themselves, and what arrived of them is kept meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from incidents.pages.shell import away as away_page
from incidents.storage import pulse

Send = Callable[[Any], Awaitable[None]]
Receive = Callable[[], Awaitable[Any]]
Answer = Callable[[Any, Receive, Send], Awaitable[None]]

log = structlog.get_logger(__name__)

_hanging: set[asyncio.Future[None]] = set()


def at_once(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Return a middleware that answers every request but /healthz itself while the database is away."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if pulse.away() and request.path != "/healthz":
            return away_page(request, "no pulse")
        return get_response(request)

    return middleware


async def not_waiting(scope: Any, receive: Receive, send: Send, answer: Answer) -> None:
    """Let `answer` answer a GET; if the database stops answering meanwhile, call it again, so that it refuses at once.

    The first call hangs in a query that cannot be cancelled. It ends when the connection ends, and its answer is
    dropped. Requests that change something are not repeated, because nobody knows whether the change was made.
    """
    if scope["method"] not in {"GET", "HEAD"} or pulse.away():
        await answer(scope, receive, send)
        return
    began = replaced = False

    async def unless_replaced(message: Any) -> None:
        nonlocal began
        if not replaced:
            began = True
            await send(message)

    work = asyncio.ensure_future(answer(scope, receive, unless_replaced))
    silence = asyncio.ensure_future(pulse.until_away())
    await asyncio.wait({work, silence}, return_when=asyncio.FIRST_COMPLETED)
    silence.cancel()
    if work.done() or began:
        await work
        return
    replaced = True
    _hanging.add(work)
    work.add_done_callback(_ended)
    await answer(scope, _without_body(receive), send)


def _without_body(receive: Receive) -> Receive:
    """Return a `receive` for the second call: the first call has consumed the message that the body is empty."""
    first = [{"type": "http.request", "body": b"", "more_body": False}]

    async def again() -> Any:
        return first.pop() if first else await receive()

    return again


def _ended(work: asyncio.Future[None]) -> None:
    _hanging.discard(work)
    if not work.cancelled() and (error := work.exception()) is not None:
        log.warning("away.attempt_failed", error=repr(error))

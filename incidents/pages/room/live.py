"""The room's stream: server-sent events that name what changed.

An open stream is a request that lasts for hours, so it must release whatever a request may hold, above all the database
connection after each query. Measured (`web-stack`): 500 streams use 6 connections.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_GET

from incidents import access
from incidents.errors import FactorNeeded, NotAMember
from incidents.storage import live
from incidents.storage.database import let_go

T = TypeVar("T")
CHECK_S = 30.0
HEARTBEAT_S = 15.0


@require_GET
async def stream(request: HttpRequest, slug: str) -> HttpResponse | StreamingHttpResponse:
    """Answer `text/event-stream`. The cursor comes in `Last-Event-ID` or `?after=`; without one it starts now."""
    hub = live.hub()
    try:
        room = await _ask(hub, lambda: access.enter(request.user, slug), own_thread=True)
    except (NotAMember, FactorNeeded):
        # This view answers errors itself: an EventSource that gets an error page would retry for ever.
        return HttpResponse(status=204 if "Last-Event-ID" in request.headers else 404)
    cursor = request.headers.get("Last-Event-ID") or request.GET.get("after", "")
    after = int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None
    session: SessionBase = request.session
    listener = live.Listener(room.incident.pk, room.user.pk, session.session_key or "")
    answer = StreamingHttpResponse(_frames(hub, listener, session, after), content_type="text/event-stream")
    answer["Cache-Control"] = "no-cache"
    answer["X-Accel-Buffering"] = "no"
    return answer


async def _frames(
    hub: live.Hub, listener: live.Listener, session: SessionBase, after: int | None
) -> AsyncIterator[bytes]:
    room, user = listener.incident_id, listener.user_id
    async with hub.listen(listener):
        begin = await _ask(hub, lambda: live.replay(room, after))
        sent = after if after is not None and not begin.reload else begin.newest
        # The cursor is sent first, so that a page cut off before its first event knows where it was.
        yield f"retry: 1000\nid: {sent}\n\n".encode()
        if begin.reload:
            yield _frame("reload", {})
        await sync_to_async(live.come, thread_sensitive=False)(room, user, listener.id)
        loop = asyncio.get_running_loop()
        checked = loop.time() + random.uniform(-5, 0)  # random, so that streams opened together do not query together
        try:
            while True:
                if listener.ended or loop.time() - checked >= CHECK_S:
                    if listener.ended or not await _ask(hub, lambda: _still_open(listener, session)):
                        yield _frame("gone", {})
                        return
                    checked = loop.time()
                    listener.lost = True  # the broker may have lost events
                    await sync_to_async(live.come, thread_sensitive=False)(room, user, listener.id)
                while listener.heard and not listener.lost:
                    heard = listener.heard.popleft()
                    if heard.seq == sent + 1:
                        sent = heard.seq
                        yield _event(heard)
                    elif heard.seq > sent:
                        listener.lost = True
                if listener.lost:
                    listener.lost = False
                    missed = await _ask(hub, partial(live.replay, room, sent))
                    for event in missed.events:
                        sent = event.seq
                        yield _event(event)
                    if missed.reload:
                        sent = missed.newest
                        yield f"id: {sent}\n".encode() + _frame("reload", {})
                    continue
                while listener.passing:
                    _, (kind, what) = listener.passing.popitem()
                    yield _frame(kind, what)
                if not listener.heard and not listener.ended:
                    listener.news.clear()
                    try:
                        # Not wait_for: up to Python 3.11 it can lose a cancellation that arrives together with an
                        # event, and the stream of a closed page would run on for ever.
                        async with asyncio.timeout(HEARTBEAT_S):
                            await listener.news.wait()
                    except TimeoutError:
                        yield b": still here\n\n"
        finally:
            await sync_to_async(live.leave, thread_sensitive=False)(room, user, listener.id)


def _still_open(listener: live.Listener, session: SessionBase) -> bool:
    """Return whether this person is still a member and still signed in with this session."""
    return access.enter_by_id(listener.user_id, listener.incident_id) is not None and session.exists(listener.session)


def _event(event: live.Heard) -> bytes:
    return f"id: {event.seq}\n".encode() + _frame(event.kind, {"object": event.object, "version": event.version})


def _frame(kind: str, what: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(what)}\n\n".encode()


async def _ask(hub: live.Hub, question: Callable[[], T], own_thread: bool = False) -> T:
    """Query the database in a thread and release the connection at once: an open stream must not hold one.

    `own_thread`: in the request's own thread, where the session and the user were read before.
    """

    def and_let_go() -> T:
        try:
            return question()
        finally:
            let_go()

    async with hub.database:
        return await sync_to_async(and_let_go, thread_sensitive=own_thread)()

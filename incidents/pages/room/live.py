"""The room's stream: server-sent events that name what changed.

One open stream is one request that lasts for hours, so everything that a request may hold must be let go of: the
database connection after each question, above all. `web-stack` measurements behind this: 500 streams, 6 connections.
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
from incidents.errors import NotAMember
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
    except NotAMember:
        # The only view that answers for itself: an EventSource that got an error page would try again for ever.
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
        # The cursor first: a page cut off before its first event must know where it was.
        yield f"retry: 1000\nid: {sent}\n\n".encode()
        if begin.reload:
            yield _frame("reload", {})
        await sync_to_async(live.come, thread_sensitive=False)(room, user, listener.id)
        loop = asyncio.get_running_loop()
        checked = loop.time() + random.uniform(-5, 0)  # so that streams opened together do not ask together
        try:
            while True:
                if listener.ended or loop.time() - checked >= CHECK_S:
                    if listener.ended or not await _ask(hub, lambda: _still_open(listener, session)):
                        yield _frame("gone", {})
                        return
                    checked = loop.time()
                    listener.lost = True  # whatever the broker may have swallowed
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
                        # Not wait_for: up to Python 3.11 it can swallow a cancellation that comes with the news,
                        # and the stream of a page that was closed would run on for ever.
                        async with asyncio.timeout(HEARTBEAT_S):
                            await listener.news.wait()
                    except TimeoutError:
                        yield b": still here\n\n"
        finally:
            await sync_to_async(live.leave, thread_sensitive=False)(room, user, listener.id)


def _still_open(listener: live.Listener, session: SessionBase) -> bool:
    """Look whether this person still is a member and still signed in with this session."""
    return access.enter_by_id(listener.user_id, listener.incident_id) is not None and session.exists(listener.session)


def _event(event: live.Heard) -> bytes:
    return f"id: {event.seq}\n".encode() + _frame(event.kind, {"object": event.object, "version": event.version})


def _frame(kind: str, what: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(what)}\n\n".encode()


async def _ask(hub: live.Hub, question: Callable[[], T], own_thread: bool = False) -> T:
    """Ask the database in a thread and let go of the connection at once: an open stream must not keep one.

    `own_thread`: in the request's own thread, where the session and the user were looked up before.
    """

    def and_let_go() -> T:
        try:
            return question()
        finally:
            let_go()

    async with hub.database:
        return await sync_to_async(and_let_go, thread_sensitive=own_thread)()

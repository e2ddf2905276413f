"""Live updates of rooms. Events are rows, numbered per room; the broker only signals that there is a new one.

Publishing is plain synchronous code inside the transaction of the change. Listening uses one subscription per process
(`hub()`), which feeds the queue of each open stream. Events hold no content: an event names what changed, and the page
fetches what its reader may see.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from incidents.models.room.event import Event
from incidents.models.room.incident import RoomCounter
from incidents.models.room.webhook import Delivery

log = structlog.get_logger(__name__)

KEPT = timedelta(hours=24)  # age at which events are deleted
CHANNEL = "exhibit:live"
# A stream renews its presence at each 30 s check; after two missed checks the person counts as gone.
PRESENT_S = 75
MOST_HEARD = 200  # queued events of one stream before it reads the table instead
MOST_REPLAYED = 500  # missed events above which the page reloads
# Seconds of silence after which the broker is pinged; after as long again without an answer it counts as lost.
SILENCE_S = 2.0
BROKER_AWAY = (redis.ConnectionError, redis.TimeoutError, OSError)


@cache
def broker() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)


# --- publishing ---------------------------------------------------------------------------------------------------


def tell(incident_id: int, kind: str, object: str | int = "", version: int = 1) -> Event:
    """Store an event and publish it when the transaction commits. Call it inside the transaction of the change."""
    RoomCounter.lock(incident_id)
    seq = RoomCounter.next_number(incident_id, "event_seq")
    event = Event.objects.create(incident_id=incident_id, seq=seq, kind=kind, object=str(object), version=version)
    event.leaves = Delivery.objects.ask(incident_id, kind, event.object)
    said = {"room": incident_id, "seq": seq, "kind": kind, "object": event.object, "version": version}
    transaction.on_commit(partial(_publish, said))
    return event


def progress(incident_id: int, number: int, lines: int, bytes: int, bytes_total: int) -> None:
    """Publish the progress of a reading. Not stored; the caller publishes at most once a second."""
    what = {"artifact": number, "lines": lines, "bytes": bytes, "bytes_total": bytes_total}
    _publish({"room": incident_id, "kind": "progress", "data": what})


def end_streams(user_id: int, incident_id: int | None = None, session: str | None = None) -> None:
    """End a person's streams on commit: all of them, those of one room, or those of one session."""
    transaction.on_commit(partial(_publish, {"end": user_id, "room": incident_id, "session": session}))


def _publish(message: dict[str, Any]) -> None:
    try:
        broker().publish(CHANNEL, json.dumps(message))
    except BROKER_AWAY as error:
        # Nothing is lost: streams read the table again every 30 s and whenever the broker comes back.
        log.warning("live.broker_away", error=str(error))


@dataclass(frozen=True)
class Here:
    """A person with an open page of the room; `path` is the page they look at, empty while unknown."""

    user_id: int
    path: str


def come(incident_id: int, user_id: int, stream: str) -> None:
    """Record that a person's page is open, or is still open."""
    key = _present(incident_id)
    try:
        added = broker().zadd(key, {f"{int(user_id)}:{stream}": time.time()})
        broker().expire(key, PRESENT_S * 2)
        broker().expire(f"{key}:pages", PRESENT_S * 2)
    except BROKER_AWAY as error:
        log.warning("live.broker_away", error=str(error))
        return
    if added:
        _publish({"room": incident_id, "kind": "presence", "data": {}})


def leave(incident_id: int, user_id: int, stream: str) -> None:
    _gone(incident_id, user_id, [f"{int(user_id)}:{stream}"])


def look_at(incident_id: int, user_id: int, path: str) -> None:
    """Record which page of the room a person looks at. It is deleted with the last of their streams."""
    key = f"{_present(incident_id)}:pages"
    try:
        before = broker().hget(key, str(int(user_id)))
        broker().hset(key, str(int(user_id)), path[:200])
        broker().expire(key, PRESENT_S * 2)
    except BROKER_AWAY as error:
        log.warning("live.broker_away", error=str(error))
        return
    if before != path[:200].encode():
        _publish({"room": incident_id, "kind": "presence", "data": {}})


def forget(incident_id: int, user_id: int) -> None:
    """Remove a person's presence from the room on commit, whatever happens to their streams."""
    transaction.on_commit(partial(_gone, incident_id, user_id, None))


def _gone(incident_id: int, user_id: int, streams: list[str] | None) -> None:
    """Remove some of a person's streams, None for all; with the last one also the page that they looked at."""
    key, mark = _present(incident_id), f"{int(user_id)}:"
    try:
        theirs = [name for name in _names(broker().zrange(key, 0, -1)) if name.startswith(mark)]
        ended = theirs if streams is None else streams
        if ended:
            broker().zrem(key, *ended)
        if set(theirs) <= set(ended):
            broker().hdel(f"{key}:pages", str(int(user_id)))
    except BROKER_AWAY as error:
        log.warning("live.broker_away", error=str(error))
        return
    _publish({"room": incident_id, "kind": "presence", "data": {}})


def present(incident_id: int) -> list[int]:
    """Return the ids of the people whose pages are open now, in ascending order; empty while the broker is away."""
    return [here.user_id for here in present_in([incident_id])[incident_id]]


def present_in(incident_ids: Sequence[int]) -> dict[int, list[Here]]:
    """Return who is in each of these rooms now, with one round trip to the broker."""
    found: dict[int, list[Here]] = {id: [] for id in incident_ids}
    if not found:
        return found
    try:
        asked = broker().pipeline(transaction=False)
        for id in found:
            asked.zrangebyscore(_present(id), time.time() - PRESENT_S, "+inf")
            asked.hgetall(f"{_present(id)}:pages")
        answers = asked.execute()
    except BROKER_AWAY as error:
        log.warning("live.broker_away", error=str(error))
        return found
    for id, names, pages in zip(found, answers[::2], answers[1::2], strict=True):
        paths = {int(user): path.decode(errors="replace") for user, path in pages.items()}
        users = sorted({int(name.split(":")[0]) for name in _names(names)})
        found[id] = [Here(user, paths.get(user, "")) for user in users]
    return found


def _present(incident_id: int) -> str:
    return f"exhibit:present:{int(incident_id)}"


def _names(members: Any) -> list[str]:
    return [member.decode() for member in members if isinstance(member, bytes)]


def forget_old() -> int:
    """Delete events older than `KEPT`; return how many."""
    return Event.objects.filter(made_at__lt=timezone.now() - KEPT).delete()[0]


# --- listening ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heard:
    seq: int
    kind: str
    object: str
    version: int


@dataclass(frozen=True)
class Replay:
    """Events that a stream missed. `reload`: its cursor is older than the stored events, or ahead of them."""

    events: tuple[Heard, ...]
    reload: bool
    newest: int


def replay(incident_id: int, after: int | None) -> Replay:
    """Return the events after a cursor; without a cursor only the newest number."""
    newest = RoomCounter.objects.values_list("event_seq", flat=True).get(incident_id=incident_id)
    if after is None or after == newest:
        return Replay((), False, newest)
    rows = Event.objects.filter(incident_id=incident_id, seq__gt=after).order_by("seq")
    events = tuple(Heard(*row) for row in rows.values_list("seq", "kind", "object", "version")[: MOST_REPLAYED + 1])
    # Numbers have no gaps: if the first one after the cursor is missing, it was deleted already.
    if after > newest or not events or events[0].seq != after + 1 or len(events) > MOST_REPLAYED:
        return Replay((), True, newest)
    return Replay(events, False, newest)


@dataclass(eq=False)
class Listener:
    """The queue of one stream. `news` wakes it; `lost` tells it to read the table; `ended` to stop at once.

    `heard` holds stored events in the order of arrival, which may differ from that of their numbers: the stream
    forwards an event only if its number is the next one, and reads the table otherwise.
    """

    incident_id: int
    user_id: int
    session: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    lost: bool = True  # so that it begins by reading the table
    ended: bool = False
    heard: deque[Heard] = field(default_factory=deque)
    # Signals without a number, only the newest of each kind: progress per artifact, presence, whether the broker is
    # away. Older ones are out of date.
    passing: dict[str, tuple[str, Any]] = field(default_factory=dict)

    def hear(self, message: dict[str, Any]) -> None:
        if "end" in message:
            if message["end"] != self.user_id or message["room"] not in (None, self.incident_id):
                return
            if message["session"] not in (None, self.session):
                return
            self.ended = True
        elif message["room"] != self.incident_id:
            return
        elif "seq" in message:
            self.heard.append(Heard(message["seq"], message["kind"], message["object"], message["version"]))
            if len(self.heard) > MOST_HEARD:  # a reader this slow is served from the table
                self.heard.clear()
                self.lost = True
        else:
            kind, what = message["kind"], message["data"]
            self.passing[f"{kind} {what.get('artifact', '')}"] = (kind, what)
        self.news.set()

    def late(self, late: bool) -> None:
        """Tell the page whether events come late (read from the table only) or at once again."""
        self.passing["late"] = ("late", {"late": late})
        self.news.set()


class Hub:
    """The only subscription of a process (of an event loop, to be exact) and the listeners that it feeds."""

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()
        self._pump: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        # Streams that may query the database at once: there are far more streams than connections.
        self.database = asyncio.Semaphore(6)

    @asynccontextmanager
    async def listen(self, listener: Listener) -> AsyncIterator[Listener]:
        """Register a listener for the context: it hears later events; earlier ones must be read from the table."""
        self.listeners.add(listener)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._run())
        try:
            # A broker that is away must not keep the page from its stream: the 30 s check still reads the table.
            async with asyncio.timeout(2):
                await self._ready.wait()
        except TimeoutError:
            log.warning("live.not_subscribed_yet")
            listener.late(True)
        try:
            yield listener
        finally:
            self.listeners.discard(listener)

    async def _run(self) -> None:
        pause = 0.1
        while self.listeners:
            try:
                await self._listen_until_cut()
            except BROKER_AWAY as error:
                self._ready.clear()
                log.warning("live.subscription_cut", error=str(error))
                for listener in self.listeners:
                    listener.late(True)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 2.0)
            else:
                pause = 0.1

    async def _listen_until_cut(self) -> None:
        # Without redis-py's retries: `_run` retries, and tells the pages meanwhile.
        client = redis.asyncio.Redis.from_url(
            settings.REDIS_URL, socket_connect_timeout=2, socket_timeout=2, retry=Retry(NoBackoff(), 0)
        )
        pubsub = client.pubsub()
        asked = False
        try:
            await pubsub.subscribe(CHANNEL)
            while self.listeners:
                message = await pubsub.get_message(timeout=SILENCE_S)
                if message is None:
                    if asked:
                        raise redis.TimeoutError("the broker does not answer")
                    await pubsub.ping()
                    asked = True
                    continue
                asked = False
                if message["type"] == "subscribe":
                    self._ready.set()
                    for listener in self.listeners:  # events published during the interruption
                        listener.lost = True
                        listener.late(False)
                elif message["type"] == "message":
                    what = json.loads(message["data"])
                    for listener in tuple(self.listeners):
                        listener.hear(what)
        finally:
            self._ready.clear()
            await pubsub.aclose()  # type: ignore[no-untyped-call]  # redis-py leaves this one without a type
            await client.aclose()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Return the running event loop's hub. There is one per loop, since queues and locks belong to a loop."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


def open_streams() -> int:
    """Return the number of streams that this process serves."""
    return sum(len(hub.listeners) for hub in list(_hubs.values()))

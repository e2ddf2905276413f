"""Watch in the web process whether the database answers, so that code can check that at once without a query."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable

import psycopg
import structlog
from django.db import connection

log = structlog.get_logger(__name__)

EVERY_S = 0.5
SILENT_S = 1.5
"""The database is away after so many seconds without an answer; with a request's way, a page says so within two."""
CONNECT_S = 5
GIVE_UP_MS = 10_000
"""A host that no longer acknowledges what was sent is given up after this, and another connection is tried."""
_SLICE_S = 0.25

_silence: asyncio.Event | None = None  # of the loop that watches; set while the database does not answer


def away() -> bool:
    """Return whether the database does not answer. False where nobody watches: in workers, commands and tests."""
    return _silence is not None and _silence.is_set()


async def until_away() -> None:
    """Return as soon as the database does not answer; never, where nobody watches."""
    await (_silence or asyncio.Event()).wait()


async def watch() -> None:
    """Ask the database every half second over a connection of its own, until cancelled."""
    global _silence
    _silence = silence = asyncio.Event()
    try:
        while True:
            try:
                await _ask_again_and_again(silence)
            except (psycopg.Error, OSError) as error:
                _gone(silence, str(error))
            await asyncio.sleep(EVERY_S)
    finally:
        _silence = None


async def _ask_again_and_again(silence: asyncio.Event) -> None:
    """Connect and ask, until an error."""
    known = {
        name: value
        for name, value in connection.get_connection_params().items()
        if name not in {"context", "cursor_factory", "prepare_threshold"}  # those of Django's own, blocking connections
    }
    known = {"connect_timeout": CONNECT_S, "tcp_user_timeout": GIVE_UP_MS} | known
    held = await psycopg.AsyncConnection.connect(**known, autocommit=True)
    try:
        while True:
            await heard(held.execute("SELECT 1"), silence)
            if silence.is_set():
                log.warning("database.answers_again")
                silence.clear()
            await asyncio.sleep(EVERY_S)
    finally:
        await held.close()


async def heard(answer: Awaitable[object], silence: asyncio.Event) -> None:
    """Wait for an answer; set `silence` when it does not come.

    Time in which this process was held up itself does not count: on a loaded machine the answer may lie here unread.
    """
    asked = asyncio.ensure_future(answer)
    silent_s = 0.0
    while not asked.done():
        begun = time.monotonic()
        await asyncio.wait({asked}, timeout=_SLICE_S)
        waited_s = time.monotonic() - begun
        silent_s += waited_s if waited_s < 2 * _SLICE_S else 0.0
        if silent_s >= SILENT_S and not asked.done():
            _gone(silence, f"no answer for {silent_s:.1f} s")
    await asked


def _gone(silence: asyncio.Event, why: str) -> None:
    if not silence.is_set():
        log.warning("database.away", why=why)
    silence.set()

"""Retry while the database is away, so that received data is not lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DataError, InterfaceError, OperationalError, connection, connections

from incidents.errors import Refused

T = TypeVar("T")
AWAY = (OperationalError, InterfaceError)


def let_go() -> None:
    """Close this thread's connections, or return them to the pool: for code that waits long between database queries.

    A connection inside a transaction stays open: its transaction has not ended yet.
    """
    for held in connections.all(initialized_only=True):
        if not held.in_atomic_block:
            held.close()


def patiently(deed: Callable[[], T], seconds: float = 30.0) -> T:
    """Call `deed`, which must be repeatable, and retry for about `seconds` while the database is away.

    Never retries inside a transaction: the whole transaction must be repeated.
    """
    deadline = time.monotonic() + seconds
    pause = 0.1
    while True:
        try:
            return deed()
        except AWAY:
            if connection.in_atomic_block or time.monotonic() + pause > deadline:
                raise
            connection.close()  # Django does not notice a broken connection by itself
            time.sleep(pause)
            pause = min(pause * 2, 1.0)


def no_text(error: DataError) -> Refused:
    """Return the refusal for a text that contains NUL, which the database cannot store; re-raise any other `DataError`.

    People do not type NUL, so forms do not check for it; it is refused here, whatever the source.
    """
    # In a text, and in a text within JSON.
    if not any(words in str(error) for words in ("NUL (0x00)", "\\u0000 cannot be converted to text")):
        raise error
    return Refused("What was sent holds a NUL character, which no text can hold. Nothing was stored.")

"""What to do while the database is away: wait a moment, with what was received still in hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, connections

T = TypeVar("T")
AWAY = (OperationalError, InterfaceError)


def let_go() -> None:
    """Close this thread's connections, or give them back to the pool: for code that waits long between questions.

    Not inside a transaction: whoever opened it is not done yet.
    """
    for held in connections.all(initialized_only=True):
        if not held.in_atomic_block:
            held.close()


def patiently(deed: Callable[[], T], seconds: float = 30.0) -> T:
    """Do a deed that may be done twice, trying again while the database is away, for about so many seconds.

    Never inside a transaction: the whole transaction is what must be done again.
    """
    deadline = time.monotonic() + seconds
    pause = 0.1
    while True:
        try:
            return deed()
        except AWAY:
            if connection.in_atomic_block or time.monotonic() + pause > deadline:
                raise
            connection.close()  # a broken connection is not noticed by itself
            time.sleep(pause)
            pause = min(pause * 2, 1.0)

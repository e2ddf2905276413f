"""Cache parts that many people fetch at once when a room changes: made once per process for all with the same rights.

A part is cached under the room's event number, the rights and the address, so it is made again after a change. It is
cached only for a few seconds (longer if it takes long to make), since not every change makes an event. Access is
checked each time before the cache is read. Such a part may contain nothing personal: the CSRF token of its forms is
inserted for each reader.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string

from incidents.access import Room
from incidents.storage.database import let_go

KEPT_S = 20.0
KEPT_FOR_MAKING = 20.0
"""Seconds that a text is kept for each second that it took to make: what is dear is made less often, and a change of the
room makes it anew anyway."""

MOST_KEPT_S = 300.0
MOST_BYTES = 32 * 2**20
TOKEN = secrets.token_hex(16)
"""Placeholder for a form's token; nobody can write it into a text, since nobody knows it."""


class Shelf:
    """Texts by key, least recently used dropped first. One thread makes a text; others that want it wait."""

    def __init__(self, most_bytes: int = MOST_BYTES, kept_s: float = KEPT_S) -> None:
        self.most_bytes, self.kept_s = most_bytes, kept_s
        self._texts: OrderedDict[tuple[object, ...], tuple[float, str]] = OrderedDict()
        """Texts with the time until which they are kept."""
        self._making: dict[tuple[object, ...], threading.Lock] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[object, ...], make: Callable[[], str]) -> str:
        """Return the cached text of a key, or make it if it is too old. Exceptions of `make` reach the caller."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            if not making.acquire(blocking=False):
                let_go()  # somebody makes it, which may take a while
                making.acquire()
            try:
                with self._lock:
                    until, text = self._texts.get(key, (0.0, ""))
                    if text and time.monotonic() < until:
                        self._texts.move_to_end(key)
                        return text
                began = time.monotonic()
                text = make()
                took = time.monotonic() - began
                dear = min(KEPT_FOR_MAKING * took, MOST_KEPT_S) if self.kept_s else 0.0
                self._keep(key, text, time.monotonic() + max(self.kept_s, dear))
                return text
            finally:
                making.release()
        finally:
            with self._lock:
                self._making.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._texts.clear()
            self._bytes = 0

    def _keep(self, key: tuple[object, ...], text: str, until: float) -> None:
        with self._lock:
            self._bytes -= len(self._texts.pop(key, (0.0, ""))[1])
            self._texts[key] = (until, text)
            self._bytes += len(text)
            while self._bytes > self.most_bytes:
                self._bytes -= len(self._texts.popitem(last=False)[1][1])


SHELF = Shelf()


def text_of(request: HttpRequest, room: Room, name: str, make: Callable[[], str]) -> str:
    """Return a text of a room that is the same for everybody with these rights."""
    incident = room.incident
    rights = tuple(sorted(room.rights))
    key = (
        incident.pk,
        incident.counter.event_seq,
        name,
        rights,
        incident.closed,
        incident.archived,
        incident.to_be_deleted,
        request.GET.urlencode(),
    )
    return SHELF.get(key, make)  # fmt: skip


def part_of(request: HttpRequest, room: Room, template: str, context: Callable[[], Mapping[str, Any]]) -> str:
    """Render a part for everybody with these rights, and insert the reader's own token into its forms."""
    text = text_of(
        request, room, template, lambda: render_to_string(template, {**context(), "csrf_token": TOKEN}, request)
    )
    return text.replace(TOKEN, get_token(request)) if TOKEN in text else text

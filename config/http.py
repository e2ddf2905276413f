"""The server's HTTP protocol with a limit on the head of a request, which uvicorn itself does not limit."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_B = 64 * 2**10
"""Maximum bytes of a request's first line and headers; those of a browser with many cookies have a tenth."""
HEAD_S = 20.0
"""Seconds within which they must be complete, from the connection or the first byte of a further request on."""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Protocol(HttpToolsProtocol):
    """The class for `uvicorn --http config.http:Protocol`: limits size and time of a request's head."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._in_head, self._head = True, 0
        self._patience: asyncio.TimerHandle | None = None
        self._wait_for_head()  # uvicorn makes a protocol when somebody connects

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > HEAD_B and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if not self._in_head:  # not the first of its connection
            self._in_head, self._head = True, 0
            self._wait_for_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def _wait_for_head(self) -> None:
        self._stop_waiting()
        self._patience = self.loop.call_later(HEAD_S, self._leave)

    def _leave(self) -> None:
        self.transport.close()

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

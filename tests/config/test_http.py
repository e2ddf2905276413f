"""The head of a request has an end, in bytes and in seconds; what is ordinary passes."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from config import http


async def application(scope, receive, send) -> None:
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    told = f"{len(scope['headers'])} headers, {size} bytes".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(told))]})
    await send({"type": "http.response.body", "body": told})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    held = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, http=http.Protocol, lifespan="off", log_level="critical"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[held])))
    thread.start()
    try:
        yield held.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)
        held.close()


def answer(connection: socket.socket, until: bytes = b"bytes") -> bytes:
    """Read until these bytes have come or the server closes."""
    got = b""
    while until not in got and (piece := connection.recv(65536)):
        got += piece
    return got


def test_requests_pass_one_after_the_other_on_one_connection(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for n in (0, 100_000, 3):
            many = b"".join(b"x-%d: %s\r\n" % (k, b"v" * 1000) for k in range(40))
            connection.sendall(b"POST / HTTP/1.1\r\nhost: x\r\n%scontent-length: %d\r\n\r\n" % (many, n) + b"b" * n)
            assert answer(connection).endswith(b"42 headers, %d bytes" % n)


@pytest.mark.parametrize(
    "first", [b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nx: ", b"GET /", b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET /"]
)
def test_a_head_that_does_not_end_is_refused(port, first):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(first)
        got, sent = b"", 0
        connection.settimeout(0.05)
        while b" 431 " not in got and sent < 20 * http.HEAD_B:
            try:
                sent += connection.send(b"a: bbbbbbbbbbbbbbbbbb\r\n" * 100 if first.endswith(b"\n") else b"b" * 2000)
                got += connection.recv(65536)
            except TimeoutError:
                continue
            except ConnectionError:
                break
        assert sent < 10 * http.HEAD_B


def test_whoever_sends_nothing_or_too_slowly_is_left(port, monkeypatch):
    monkeypatch.setattr(http, "HEAD_S", 0.4)
    for first in (b"", b"GET / HTTP/1.1\r\nhost"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(first)
            begun = time.monotonic()
            assert connection.recv(10) == b""
            assert time.monotonic() - begun < 8


def test_a_slow_body_is_not_the_heads_matter(port, monkeypatch):
    monkeypatch.setattr(http, "HEAD_S", 0.3)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nab")
        time.sleep(0.7)
        connection.sendall(b"cd")
        assert answer(connection).endswith(b"2 headers, 4 bytes")

"""Tests that no request writes more bytes to the disk than its address allows, whoever sends it and however."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import OperationalError
from django.test import Client
from django.urls import get_resolver

from incidents.doors import bodies
from tests.incidents.conftest import make_member, make_room, make_user

pytestmark = pytest.mark.django_db(transaction=True)
MIB = 2**20


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    read: int = 0  # bytes that the server took
    passed: int = -1  # bytes that reached Django, -1 if it was not called

    @property
    def words(self) -> str:
        return " ".join(self.body.decode().split())


def ask(path: str, headers: dict[str, str], pieces: Iterable[bytes], method: str = "POST") -> Answer:
    """Send one request through the limit to an application that reads it as Django does, and answers 200."""
    answer, left = Answer(), iter(pieces)

    async def receive() -> dict[str, Any]:
        piece = next(left, None)
        answer.read += len(piece or b"")
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    async def pages(scope: Any, receive: Any, send: Any) -> None:
        answer.passed = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            answer.passed += len(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"read"})

    named = [(k.lower().encode(), v.encode()) for k, v in {"host": "127.0.0.1:8000", **headers}.items()]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": named,
    }
    asyncio.run(bodies.limited(scope, receive, send, pages))
    return answer


CHUNKED = {"transfer-encoding": "chunked"}


def endless(most: int = 200) -> Iterator[bytes]:
    for _ in range(most):
        yield b"x" * MIB


def session(member: Any) -> dict[str, str]:
    client = Client()
    client.force_login(member)
    return {
        "cookie": f"{django_settings.SESSION_COOKIE_NAME}={client.cookies[django_settings.SESSION_COOKIE_NAME].value}"
    }


@pytest.mark.parametrize(
    "path", ["/", "/accounts/login/", "/rooms/no-such-room/add/", "/api/rooms/x/", "/no/such/page"]
)
@pytest.mark.parametrize("method", ["POST", "GET", "PUT"])
def test_a_strangers_endless_body_ends_after_a_mebibyte(path: str, method: str) -> None:
    answer = ask(path, CHUNKED, endless(), method)
    assert answer.status == 413
    assert answer.passed <= bodies.STRANGER
    assert answer.read <= bodies.LINGER_B + 4 * MIB, "what is thrown away is bounded too"
    assert answer.headers["connection"] == "close"


def test_an_announced_body_is_refused_before_anything_is_read_to_disk() -> None:
    answer = ask("/accounts/login/", {"content-length": str(3 * MIB)}, endless(3))
    assert (answer.status, answer.passed) == (413, -1)
    assert "larger than the 1 MiB" in answer.words


def test_programs_get_json() -> None:
    answer = ask("/api/rooms/x/notes", {"content-length": str(3 * MIB)}, endless(3))
    assert "larger than" in json.loads(answer.body)["error"]


def test_callers_of_the_rest_api_get_a_problem() -> None:
    answer = ask("/api/v1/rooms", {"content-length": str(3 * MIB)}, endless(3))
    assert answer.headers["content-type"] == "application/problem+json"
    assert (json.loads(answer.body)["status"], "larger than" in json.loads(answer.body)["detail"]) == (413, True)


def test_bodies_up_to_the_limit_arrive_whole() -> None:
    for headers in (CHUNKED, {"content-length": str(MIB - bodies.AROUND)}):
        answer = ask("/accounts/login/", headers, [b"x" * (MIB - bodies.AROUND)])
        assert (answer.status, answer.passed) == (200, MIB - bodies.AROUND)
    assert ask("/", {}, []).status == 200, "no body at all"


def test_who_shows_a_session_or_token_may_paste(settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * MIB
    for known in ({"authorization": "Bearer of-nothing"}, {"cookie": f"{settings.SESSION_COOKIE_NAME}=forged"}):
        assert ask("/api/rooms/x/", known | CHUNKED, endless(4)).passed == 4 * MIB
        assert ask("/api/rooms/x/", known | CHUNKED, endless(5)).status == 413


class TestFiles:
    """Tests that a page which accepts files accepts them from members only."""

    @pytest.fixture
    def room(self) -> Any:
        return make_room()

    @pytest.fixture
    def path(self, room: Any) -> str:
        return f"/rooms/{room.incident.slug}/evidence/add/"

    def test_the_marked_addresses_are_those_whose_views_read_files(self) -> None:
        marked = {p.callback.__name__ for p in _patterns(get_resolver()) if getattr(p.callback, "takes_files", False)}
        root = Path(django_settings.BASE_DIR) / "incidents" / "pages"
        reading = {f.parent.name for f in root.rglob("*.py") if "request.FILES" in f.read_text()}
        assert marked == {"add", "bring", "request_answer"}
        assert reading == {"evidence", "export", "requests", "upload_link"}, (
            "upload links limit their bodies themselves"
        )

    def test_a_member_sends_a_file_that_others_may_not(self, room: Any, path: str, settings: Any) -> None:
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * MIB
        size = {"content-length": str(5 * MIB)}
        assert ask(path, size | session(make_member(room.incident).user), endless(5)).passed == 5 * MIB
        assert ask(path, size | {"cookie": f"{settings.SESSION_COOKIE_NAME}=forged"}, endless(5)).status == 413
        assert ask(path, size, endless(5)).status == 413

    def test_the_cap_the_size_and_the_disk(self, room: Any, path: str, settings: Any) -> None:
        member = session(make_member(room.incident).user)
        settings.EXHIBIT_MAX_FORM_BYTES, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * MIB, 2 * MIB
        assert ask(path, {"content-length": str(7 * MIB)} | member, endless(7)).status == 413
        assert ask(path, CHUNKED | member, endless(2)).passed == 2 * MIB
        assert ask(path, CHUNKED | member, endless(3)).status == 413, "of unknown size it is no file"
        settings.EXHIBIT_MIN_FREE_BYTES = 2**60
        full = ask(path, {"content-length": str(5 * MIB)} | member, endless(5))
        assert (full.status, full.passed) == (507, -1)
        assert "no room for this file" in full.words

    def test_a_database_that_is_away_is_no_large_file(
        self, room: Any, path: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        member = session(make_member(room.incident).user)

        def away(request: Any) -> None:
            raise OperationalError("gone")

        monkeypatch.setattr(bodies, "user_of", away)
        answer = ask(path, {"content-length": str(20 * MIB)} | member, endless(20))
        assert (answer.status, "just now" in answer.words) == (503, True)

    def test_somebody_who_was_signed_out_is_a_stranger(self, path: str) -> None:
        user = make_user("gone")
        held = session(user)
        user.is_active = False
        user.save()
        assert ask(path, {"content-length": str(20 * MIB)} | held, endless(20)).status == 413


def _patterns(resolver: Any) -> Iterator[Any]:
    for one in resolver.url_patterns:
        if hasattr(one, "url_patterns"):
            yield from _patterns(one)
        else:
            yield one


def test_the_whole_application_is_behind_the_limit() -> None:
    from config.asgi import application

    answer, left = Answer(), endless()

    async def receive() -> dict[str, Any]:
        answer.read += MIB
        return {"type": "http.request", "body": next(left), "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        answer.status = message.get("status", answer.status)

    headers = [(b"host", b"127.0.0.1:8000"), (b"transfer-encoding", b"chunked")]
    scope = {
        "type": "http", "method": "POST", "path": "/accounts/login/", "raw_path": b"/accounts/login/", "query_string": b"",
        "headers": headers, "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    asyncio.run(application(scope, receive, send))
    assert answer.status == 413
    assert answer.read <= bodies.LINGER_B + 4 * MIB
